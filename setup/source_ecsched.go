package setup

import (
	"errors"
	"fmt"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/ecsched"
)

// ecschedFormat is a job list of ECSched's authors, with nodes for it.
func ecschedFormat() Format {
	return Format{
		Name:  "ecsched",
		Lacks: "nodes, jobs of several tasks, users, priorities, requirements, kills, or kinds other than cpu and memory",
		Help: `  ecsched:FILE?nodes=50&cpu=50&memory=50&testbed=true
                   a job list of the authors of ECSched, and nodes for it, measured in
                   slots; testbed=true: the 30 nodes of the paper's test bed instead
`,
		options: []string{"nodes", "cpu", "memory", "testbed"},
		check:   func(s URL) error { _, err := s.ecsched(); return err },
		open: func(s URL, _ uint64, lenient bool) (trace.Source, error) {
			nodes, err := s.ecsched()
			if err != nil {
				return nil, err
			}
			return ecsched.Open(s.Path, ecsched.Options{Nodes: nodes, Lenient: lenient})
		},
	}
}

// ecsched are the nodes for a job list of ECSched.
func (s URL) ecsched() ([]cluster.Vector, error) {
	nodes, cpu, memory, testbed := int64(50), int64(50), int64(50), false
	err := errors.Join(
		s.whole("nodes", 1, 1_000_000, func(v int64) { nodes = v }),
		s.whole("cpu", 1, cluster.MaxQuantity, func(v int64) { cpu = v }),
		s.whole("memory", 1, cluster.MaxQuantity, func(v int64) { memory = v }),
		s.truth("testbed", func(v bool) { testbed = v }),
	)
	if !testbed {
		return ecsched.Equal(int(nodes), cpu, memory), err
	}
	if s.values.Has("nodes") || s.values.Has("cpu") || s.values.Has("memory") {
		err = errors.Join(err, fmt.Errorf("%s: testbed=true says what nodes there are; nodes, cpu and memory do not go with it", s.Text))
	}
	return ecsched.TestBed(), err
}
