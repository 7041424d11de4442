package setup

import (
	"errors"
	"math"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/azure2017"
)

func azure2017Format() Format {
	return Format{
		Name:  "azure2017",
		Lacks: "demands that are no flavour, nodes, users, priorities, requirements, kills, or kinds other than cpu and memory",
		Help: `  azure2017:DIR?part=all&nodes=6500&cores=48&memory=256&movable=true&seed=1
                   30 days of virtual machines at Azure, by flavour: v1.train.txt,
                   v1.dev.txt, v1.test.txt and what belongs to them; part=dev reads one
                   of these. A VM may not be evicted or moved unless movable=true. The
                   trace has no nodes, nor how long the VMs of train lived: the nodes
                   are made up, so that its peak fits, and durations are drawn by flavour
                   from those of dev
`,
		options: []string{"part", "nodes", "cores", "memory", "movable", "seed"},
		check:   func(s URL) error { _, err := azure2017Options(s, false); return err },
		open: func(s URL, _ uint64, lenient bool) (trace.Source, error) {
			o, err := azure2017Options(s, lenient)
			if err != nil {
				return nil, err
			}
			return azure2017.Open(s.Path, o)
		},
	}
}

// azure2017Options are the options of Azure's VMs.
func azure2017Options(s URL, lenient bool) (azure2017.Options, error) {
	o := azure2017.Default()
	o.Lenient, o.TasksOnly = lenient, s.Role == TasksAlone
	err := errors.Join(
		s.choice("part", azure2017.Parts(), func(v string) { o.Part = v }),
		s.whole("nodes", 1, 1_000_000, func(v int64) { o.Nodes = int(v) }),
		s.number("cores", cluster.MaxQuantity/1000, func(v float64) { o.CPU = int64(math.Round(v * 1000)) }),
		s.number("memory", cluster.MaxQuantity/1024, func(v float64) { o.Memory = int64(math.Round(v * 1024)) }),
		s.truth("movable", func(v bool) { o.Movable = v }),
		s.whole("seed", 0, math.MaxInt64, func(v int64) { o.Seed = uint64(v) }),
	)
	return o, err
}
