package setup

import (
	"errors"
	"fmt"

	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/gavel"
)

// gavelFormat is a trace of Gavel, with a table of throughputs.
func gavelFormat() Format {
	return Format{
		Name: "gavel", Lacks: lacksOfJobs,
		Help: `  gavel:FILE?table=FILE&worker=v100&nodes=N&gpus=8&pod=8&gangs=true
                   a trace of Gavel, in steps of training, and the table of throughputs
                   that says how many of them GPUs of that kind do in a second
`,
		options: []string{"table", "worker", "nodes", "gpus", "pod", "gangs"},
		check: func(s URL) error {
			o, err := s.gavel()
			if o.Table == "" {
				err = errors.Join(err, fmt.Errorf("%s: the trace counts steps; want table=FILE, a table of throughputs such as Gavel's simulation_throughputs.json", s.Text))
			}
			return err
		},
		open: func(s URL, _ uint64, lenient bool) (trace.Source, error) {
			o, err := s.gavel()
			if err != nil {
				return nil, err
			}
			o.Lenient = lenient
			return gavel.Open(s.Path, o)
		},
	}
}

// gavel are the options of a trace of Gavel.
func (s URL) gavel() (o gavel.Options, err error) {
	o = gavel.Default()
	o.Options, err = s.gpuJobs(o.Options)
	o.Table = throughputs(s)
	if s.values.Has("worker") {
		o.Worker = s.values.Get("worker")
	}
	return o, err
}

// throughputs is the file with the table of throughputs that a source reads beside its own; empty where it reads none.
func throughputs(s URL) string { return s.values.Get("table") }
