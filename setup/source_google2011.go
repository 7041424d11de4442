package setup

import (
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/google2011"
)

func google2011Format() Format {
	return Format{
		Name:  "google2011",
		Lacks: "amounts in units of their own, names of tasks, devices, or a limit per node other than 1",
		Help: `  google2011:DIR   Google's trace of 2011, as published: DIR holds machine_events and task_events
`,
		open: func(s URL, _ uint64, lenient bool) (trace.Source, error) {
			return google2011.Open(s.Path, google2011.Options{Lenient: lenient})
		},
	}
}
