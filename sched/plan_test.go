package sched_test

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// TestPlanIsCut: a plan keeps its first bundles and forgets the others, and the open one with
// them; what is added then goes behind those.
func TestPlanIsCut(t *testing.T) {
	for keep := range 4 {
		var p sched.Plan
		p.Reset()
		for task := range cluster.TaskID(3) { // bundles of one, two and three actions
			for range task + 1 {
				p.Add(sched.Action{Kind: sched.Place, Task: task})
			}
			p.Close()
		}
		p.Add(sched.Action{Kind: sched.Evict, Task: 7})
		p.Cut(keep)
		p.Close() // nothing is open
		p.Add(sched.Action{Kind: sched.Evict, Task: 8})
		p.Drop()
		p.Add(sched.Action{Kind: sched.Evict, Task: 9})
		p.Close()
		got, want := "", ""
		for i := range p.Bundles() {
			for _, a := range p.Bundle(i) {
				got += fmt.Sprint(a.Kind, a.Task, " ")
			}
			got += "| "
		}
		for task := range keep {
			for range task + 1 {
				want += fmt.Sprint("place ", task, " ")
			}
			want += "| "
		}
		if want += "evict 9 | "; got != want {
			t.Errorf("cut at %d: %s, want %s", keep, got, want)
		}
	}
}

// together is a policy that tries to place all that waits at once on the first node, and then each
// alone, and counts what it does.
type together struct {
	idle
	refused int
	after   int64 // what the node has in use after the bundle was refused
}

func (p *together) Plan(t *sched.Trial, c *sched.Changed, _ int64, out *sched.Plan) {
	var bundle []sched.Action
	for _, id := range c.Tasks {
		if t.View().Task(id).Phase == cluster.Waiting {
			bundle = append(bundle, sched.Action{Kind: sched.Place, Task: id, Attempt: t.View().Task(id).Attempt})
		}
	}
	out.Ticks = 5
	if t.TryTogether(bundle).Refused() {
		p.refused++
		p.after = t.View().Used(0)[0]
		return
	}
	for _, a := range bundle {
		out.Add(a)
	}
	out.Close()
}

// TestTogetherOrNotAtAll: of actions that hold together none is left when the last of them does
// not fit, or when all of them violate a constraint. The effort of each round is counted.
func TestTogetherOrNotAtAll(t *testing.T) {
	apart := cluster.Constraint{Name: "apart", Hard: true, Any: [][]cluster.Bound{{{Subject: []string{"a"}, Target: []string{"a"}, Group: cluster.EachNode}}}}
	for name, tc := range map[string]struct {
		cpu     int64
		rule    bool
		refused int
	}{"room for one": {1, false, 1}, "one on a node": {9, true, 1}, "room for both": {2, false, 0}} {
		p := &together{}
		core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil), sched.Lane{Name: "l", Policy: p})
		if err != nil {
			t.Fatal(err)
		}
		events := []cluster.Event{
			cluster.NodeAdded{Spec: cluster.NodeSpec{Name: "n1", Capacity: cluster.Vector{tc.cpu}}},
			cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{1}, Tags: []string{"a"}}},
		}
		if tc.rule {
			events = append(events, cluster.ConstraintDefined{Spec: apart})
		}
		events = append(events, cluster.JobSubmitted{Name: "j"}, cluster.TaskSubmitted{Task: 0, Seq: 1}, cluster.TaskSubmitted{Task: 1, Seq: 2})
		out, _, err := core.Step(0, events, nil)
		if err != nil {
			t.Fatal(err)
		}
		if p.refused != tc.refused || p.after != 0 || len(out) != 2-2*tc.refused {
			t.Errorf("%s: refused %d times, then the node has %d in use; %d decisions", name, p.refused, p.after, len(out))
		}
		if got := core.Counts(); got.Ticks != 5 || got.Rounds != 1 || got.Placed != int64(len(out)) || got.Refused != 0 {
			t.Errorf("%s: counted %+v, want one round of 5 ticks and %d placements", name, got, len(out))
		}
	}
}

// stubborn is a policy that plans a placement on a node that is full, and each time it
// is asked to replan, on each of its nodes.
type stubborn struct {
	idle
	replans []cluster.NodeID
}

func (p *stubborn) Plan(_ *sched.Trial, c *sched.Changed, _ int64, out *sched.Plan) {
	for _, id := range c.Tasks {
		out.Add(sched.Action{Kind: sched.Place, Task: id})
		out.Close()
	}
	out.Ticks = 10
}

func (p *stubborn) Replan(_ *sched.Trial, refused []sched.Action, out *sched.Plan) {
	for _, n := range p.replans {
		out.Add(sched.Action{Kind: sched.Place, Task: refused[0].Task, Node: n})
		out.Close()
	}
	out.Ticks = 3
}

// TestReplan: what commit refuses may be planned once more at once; each bundle that is refused then
// counts as well, and so does the effort.
func TestReplan(t *testing.T) {
	for _, tc := range []struct {
		replans         []cluster.NodeID
		placed, refused int64
	}{{nil, 0, 1}, {[]cluster.NodeID{1}, 1, 1}, {[]cluster.NodeID{0, 0}, 0, 3}, {[]cluster.NodeID{0, 1}, 1, 2}} {
		core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil), sched.Lane{Name: "l", Policy: &stubborn{replans: tc.replans}})
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := core.Step(0, []cluster.Event{
			cluster.NodeAdded{Node: 0, Spec: cluster.NodeSpec{Name: "full", Capacity: cluster.Vector{0}}},
			cluster.NodeAdded{Node: 1, Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{1}}},
			cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{1}}},
			cluster.JobSubmitted{Name: "j"},
			cluster.TaskSubmitted{Task: 0, Seq: 1},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c := core.Counts(); c.Placed != tc.placed || c.Refused != tc.refused || c.Ticks != 13 || int64(len(out)) != tc.placed {
			t.Errorf("who replans on %v: %d decisions, counted %+v; want %d placed, %d refused, 13 ticks", tc.replans, len(out), c, tc.placed, tc.refused)
		}
	}
}
