package setup

import (
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/alibaba2018"
)

func alibaba2018Format() Format {
	return Format{
		Name:  "alibaba2018",
		Lacks: "users, priorities, requirements, limits per node, or names of its own",
		Help: `  alibaba2018:DIR  Alibaba's trace of 2018, services beside batch: DIR holds machine_meta.csv, and
                   container_meta.csv, batch_task.csv or both. A row of batch_task is as many
                   tasks as it has instances
`,
		open: func(s URL, _ uint64, lenient bool) (trace.Source, error) {
			return alibaba2018.Open(s.Path, alibaba2018.Options{Lenient: lenient})
		},
	}
}
