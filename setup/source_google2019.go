package setup

import (
	"errors"

	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/google2019"
)

func google2019Format() Format {
	return Format{
		Name:  "google2019",
		Lacks: "amounts in units of their own, names of tasks, devices, or tiers of nodes",
		Help: `  google2019:DIR?allocs=hold|tasks&priority=tier|own
                   Google's traces of 2019, a cell as BigQuery exports it, JSON lines or Parquet:
                   DIR holds shards of machine_events and instance_events, better of
                   collection_events, too. allocs=hold: alloc sets hold room, and what
                   runs in them is left out; tasks: the other way. Tiers become
                   priorities of 2011; own: they are those of the trace
`,
		options: []string{"allocs", "priority"},
		check:   func(s URL) error { _, err := s.google2019(); return err },
		open: func(s URL, _ uint64, lenient bool) (trace.Source, error) {
			o, err := s.google2019()
			if err != nil {
				return nil, err
			}
			o.Lenient = lenient
			return google2019.Open(s.Path, o)
		},
	}
}

// google2019 are the options of a cell of 2019.
func (s URL) google2019() (o google2019.Options, err error) {
	err = errors.Join(
		s.choice("allocs", []string{"hold", "tasks"}, func(text string) { o.OpenAllocs = text == "tasks" }),
		s.choice("priority", []string{"tier", "own"}, func(text string) { o.OwnPriorities = text == "own" }),
	)
	return o, err
}
