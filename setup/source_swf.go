package setup

import (
	"errors"
	"math"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/swf"
)

// swfFormat is a log of the Parallel Workloads Archive.
func swfFormat() Format {
	return Format{
		Name:  "swf",
		Lacks: "nodes that differ, demands other than whole processors, priorities, requirements, kills, or tasks that run at the start",
		Help: `  swf:FILE?nodes=128&procs=1024&memory=64&gangs=true
                   a log in the Standard Workload Format, as the Parallel Workloads
                   Archive has them: a job of p processors is p tasks of one core.
                   nodes and procs, of all nodes together, are otherwise as in the
                   header; memory, GiB of a node, lets memory count;
                   gangs=true: the tasks of a job begin together
`,
		options: []string{"nodes", "procs", "memory", "gangs"},
		check:   func(s URL) error { _, err := s.swf(false); return err },
		open: func(s URL, _ uint64, lenient bool) (trace.Source, error) {
			o, err := s.swf(lenient)
			if err != nil {
				return nil, err
			}
			return swf.Open(s.Path, o)
		},
	}
}

// swf are the options of a log in the Standard Workload Format.
func (s URL) swf(lenient bool) (swf.Options, error) {
	o := swf.Options{Lenient: lenient, TasksOnly: s.Role == TasksAlone}
	err := errors.Join(
		s.whole("nodes", 1, 10_000_000, func(v int64) { o.Nodes = int(v) }),
		s.whole("procs", 1, 1_000_000_000, func(v int64) { o.Procs = v }),
		s.number("memory", cluster.MaxQuantity/1024, func(v float64) { o.Memory = int64(math.Round(v * 1024)) }),
		s.truth("gangs", func(gangs bool) { o.Gangs = gangs }),
	)
	return o, err
}
