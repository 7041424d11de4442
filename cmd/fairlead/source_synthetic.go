package main

import (
	"errors"
	"fmt"
	"math"

	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/workload"
)

func syntheticFormat() format {
	return format{
		name: "synthetic",
		help: `  synthetic:google?nodes=1000&tasks-per-node=11.57&rate=1&churn=0&constrained=0.06&seed=1
                   a cluster like Google's of 2011, made up; without seed, the run's
`,
		options: []string{"nodes", "tasks-per-node", "rate", "churn", "constrained", "seed"},
		check:   func(s sourceSpec) error { _, err := s.google(0); return err },
		open: func(s sourceSpec, seed uint64, _ bool) (trace.Source, error) {
			g, err := s.google(seed)
			if err != nil {
				return nil, err
			}
			return workload.New(g)
		},
	}
}

// google is the generator that a synthetic source describes.
func (s sourceSpec) google(seed uint64) (workload.Google, error) {
	if s.path != "google" {
		return workload.Google{}, fmt.Errorf("%s: %w", s.text, unknown("generator", s.path, []string{"google"}))
	}
	g := workload.Default()
	g.Seed = seed
	err := errors.Join(
		s.whole("nodes", 1, 1_000_000, func(v int64) { g.Nodes = int(v) }),
		s.number("tasks-per-node", 100, func(v float64) { g.TasksPerNode = v }),
		s.number("rate", 1e4, func(v float64) { g.Rate = v }),
		s.number("churn", 1e4, func(v float64) { g.Churn = v }),
		s.number("constrained", 1, func(v float64) { g.Constrained = v }),
		s.whole("seed", 0, math.MaxInt64, func(v int64) { g.Seed = uint64(v) }),
	)
	if err == nil {
		err = g.Validate()
	}
	// What is not used is not made: it has no end, and would be read for the
	// sake of what comes between.
	switch s.role {
	case nodesAlone:
		g.Rate, g.TasksPerNode = 0, 0
	case tasksAlone:
		g.Churn = 0
	case everything:
	}
	return g, err
}

// endless says whether the source goes on for ever in the role it has.
func (s sourceSpec) endless() bool {
	if s.format != "synthetic" {
		return false
	}
	g, err := s.google(0)
	return err == nil && (g.Churn > 0 || s.role != nodesAlone)
}
