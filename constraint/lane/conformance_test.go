package lane_test

import (
	"testing"

	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/greedy"
	"fairlead.dev/fairlead/constraint/lane"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/schedtest"
)

// whole says of the policy that it places applications whole. The world's other jobs have dozens of
// tasks, some larger than any node, so that most find no place as a whole: what is held to
// everything is half of what comes, jobs of one task. The stories of this
// package are about whole applications.
type whole struct{ *lane.Policy }

func (whole) PlacesWhole() {}

func TestConformance(t *testing.T) {
	yarn := func(p *constraint.Problem, _ int64) (constraint.Assignment, int64) {
		h, _ := greedy.Named("yarn")
		return h.Solve(p)
	}
	for _, tc := range []struct {
		name  string
		solve lane.Solver
		moves bool
	}{{"serial", serial, false}, {"yarn", yarn, false}, {"search", searched, false}, {"search that moves", searched, true}} {
		t.Run(tc.name, func(t *testing.T) {
			schedtest.Conformance(t, func(uint64) sched.Policy {
				return whole{lane.New(lane.Options{Solve: tc.solve, Quick: serial, Objective: constraint.Standard(), Moves: tc.moves})}
			})
		})
	}
}
