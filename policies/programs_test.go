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
			events := unmendable(demand)
			if tc.ready {
				events = append(events, cluster.SolverReady{})
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

// TestProgramsOfFairlead holds fairlead to asking the solver in lanes beside the core alone, whose rounds may take seconds; that it is ready is a cause for a round of these, in which what runs may move.
func TestProgramsOfFairlead(t *testing.T) {
	engine := highs.Start(highs.Options{})
	if err := engine.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, beside := range []bool{false, true} {
		solver := &counting{Solver: engine}
		policy, err := policies.New("fairlead", policies.Options{Seed: 1, Programs: solver, Beside: beside})
		if err != nil {
			t.Fatal(err)
		}
		core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1}}, nil), sched.Lane{Name: "long", Policy: policy, Beside: beside})
		if err != nil {
			t.Fatal(err)
		}
		round := func(now cluster.Time) []sched.Decision {
			r := core.Begin(0, now)
			r.Run(0)
			return core.Finish(r, now, nil)
		}
		if _, err := core.Observe(0, unmendable(3), nil); err != nil {
			t.Fatal(err)
		}
		placed := round(0)
		if len(placed) != 2 || solver.asked > 0 {
			t.Fatalf("beside %t: decided %v, and asked the solver %d times before it was ready", beside, placed, solver.asked)
		}
		var events []cluster.Event
		for _, d := range placed {
			events = append(events, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
		}
		if _, err := core.Observe(cluster.Second, events, nil); err != nil {
			t.Fatal(err)
		}
		round(cluster.Second)
		if _, _, due := sched.DueBeside(core, cluster.Second); due {
			t.Errorf("beside %t: a round is due though nothing happened", beside)
		}
		if _, err := core.Observe(2*cluster.Second, []cluster.Event{cluster.SolverReady{}}, nil); err != nil {
			t.Fatal(err)
		}
		if _, _, due := sched.DueBeside(core, 2*cluster.Second); due != beside {
			t.Errorf("beside %t: that a round is due since the solver is ready is %t", beside, due)
		}
		round(2 * cluster.Second)
		if asked := solver.asked > 0; asked != beside {
			t.Errorf("beside %t: asked the solver %d times", beside, solver.asked)
		}
	}
}

// unmendable are three nodes of 4, and two applications of one task that takes so much, of which the second wants to stand beside the first.
func unmendable(demand int64) (events []cluster.Event) {
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
	return events
}
