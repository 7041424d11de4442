package setup

import (
	"errors"
	"math"

	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/azure2020"
)

func azure2020Format() Format {
	return Format{
		Name:  "azure2020",
		Lacks: "nodes, jobs of several tasks, priorities other than two, requirements, kills, or kinds other than shares of a machine",
		Help: `  azure2020:DIR?nodes=1000&machine=N&movable=true
                   Azure's trace for packing of 2020, as the tables vm.csv and vmType.csv
                   of its database: requests for VMs of 14 days, in shares of a machine.
                   The trace does not say how many machines there are; machine names
                   their type, by default the one that most types of VM run on
`,
		options: []string{"nodes", "machine", "movable"},
		check:   func(s URL) error { _, err := azure2020Options(s, false); return err },
		open: func(s URL, _ uint64, lenient bool) (trace.Source, error) {
			o, err := azure2020Options(s, lenient)
			if err != nil {
				return nil, err
			}
			return azure2020.Open(s.Path, o)
		},
	}
}

// azure2020Options are the options of Azure's trace for packing.
func azure2020Options(s URL, lenient bool) (azure2020.Options, error) {
	o := azure2020.Options{Nodes: 1000, Lenient: lenient, TasksOnly: s.Role == TasksAlone}
	err := errors.Join(
		s.whole("nodes", 1, 1_000_000, func(v int64) { o.Nodes = int(v) }),
		s.whole("machine", 0, math.MaxInt64, func(v int64) { o.Machine, o.Chosen = uint64(v), true }),
		s.truth("movable", func(v bool) { o.Movable = v }),
	)
	return o, err
}
