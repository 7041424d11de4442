//go:build !nohighs

package policies_test

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/ilp"
	"fairlead.dev/fairlead/ilp/highs"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/sched"
)

// counting is a solver that counts how often it is asked.
type counting struct {
	ilp.Solver
	asked int
}

func (c *counting) Solve(m *ilp.Model, start []float64, l ilp.Limits) (ilp.Solution, error) {
	c.asked++
	return c.Solver.Solve(m, start, l)
}

// TestWhenProgramsAreSolved holds medea to asking the solver when it is ready and a plan may be
// made better, and never else: not where all is placed and nothing violated.
func TestWhenProgramsAreSolved(t *testing.T) {
	engine := highs.Start(highs.Options{})
	if err := engine.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name         string
		ready, fits  bool
		asked, other bool
	}{
		{name: "not ready"},
		{name: "nothing to mend", ready: true, fits: true},
		{name: "something to mend", ready: true, asked: true},
		{name: "another policy", ready: true, other: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			solver := &counting{Solver: engine}
			name := "medea"
			if tc.other {
				name = "serial"
			}
			policy, err := policies.New(name, policies.Options{Seed: 1, Programs: solver})
			if err != nil {
				t.Fatal(err)
			}
			core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1}}, nil), sched.Lane{Name: "long", Policy: policy})
			if err != nil {
				t.Fatal(err)
			}
			demand := int64(3) // two of which no node holds
			if tc.fits {
				demand = 2
			}
			var events []cluster.Event
			if tc.ready {
				events = append(events, cluster.SolverReady{})
			}
			for n := range cluster.NodeID(3) {
				events = append(events, cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Capacity: cluster.Vector{4}}})
			}
			events = append(events, cluster.ConstraintDefined{Spec: cluster.Constraint{Name: "c", Weight: cluster.DefaultWeight, Any: [][]cluster.Bound{{
				{Subject: []string{"b"}, Target: []string{"a"}, Min: 1, Max: cluster.Unbounded, Group: cluster.EachNode},
			}}}})
			for i, tag := range []string{"a", "b"} {
				events = append(events,
					cluster.ShapeDefined{Shape: cluster.ShapeID(i), Spec: cluster.Shape{Demand: cluster.Vector{demand}, Tags: []string{tag}}},
					cluster.JobSubmitted{Job: cluster.JobID(i), LongRunning: true},
					cluster.TaskSubmitted{Task: cluster.TaskID(i), Seq: cluster.Seq(i + 1), Job: cluster.JobID(i), Shape: cluster.ShapeID(i)})
			}
			out, _, err := core.Step(cluster.Second, events, nil)
			if err != nil || len(out) != 2 {
				t.Fatalf("decided %v (%v), want two placements", out, err)
			}
			if (solver.asked > 0) != tc.asked {
				t.Errorf("the solver was asked %d times", solver.asked)
			}
		})
	}
}
