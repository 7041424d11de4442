package sched_test

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// gainer is a policy that, once both of its tasks run on the first node, says of three bundles what they gain: of one that is dropped,
// of one that moves both to the second node, and of one that evicts a task that waits then.
type gainer struct {
	idle
	to    cluster.NodeID
	moves bool
}

func (p *gainer) Plan(t *sched.Trial, _ *sched.Changed, _ int64, out *sched.Plan) {
	s := t.View()
	evict := func(task cluster.TaskID) sched.Action {
		return sched.Action{Kind: sched.Evict, Task: task, Attempt: s.Task(task).Attempt}
	}
	place := func(task cluster.TaskID, n cluster.NodeID) sched.Action {
		return sched.Action{Kind: sched.Place, Task: task, Attempt: s.Task(task).Attempt, Node: n}
	}
	if s.Task(0).Phase == cluster.Waiting {
		out.Add(place(0, 0))
		out.Add(place(1, 0))
		out.Gains(sched.Gain{Served: 7}) // nobody is moved
		out.Close()
		return
	}
	out.Add(evict(0))
	out.Gains(sched.Gain{Room: 5})
	out.Drop()
	for task := range cluster.TaskID(2) {
		out.Add(evict(task))
		if p.moves {
			out.Add(place(task, p.to))
		}
		out.Gains(sched.Gain{Room: sched.OneNode / 2, Served: 1})
	}
	out.Close()
}

// TestGainOfMoves: what a bundle's moves gain comes with the first run that it moves, and with nothing else; not at all if commit
// refuses the bundle, or if it moves nobody.
func TestGainOfMoves(t *testing.T) {
	for _, tc := range []struct {
		name   string
		policy *gainer
		want   string
	}{
		{"moves", &gainer{to: 1, moves: true}, "evict 0 room=1000000 served=2, evict 1, "},
		{"refused", &gainer{to: 2, moves: true}, ""},
		{"evicts", &gainer{}, "evict 0, evict 1, "},
	} {
		core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil), sched.Lane{Name: "l", Policy: tc.policy})
		if err != nil {
			t.Fatal(err)
		}
		events := []cluster.Event{
			cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{2}}},
			cluster.JobSubmitted{Name: "j"},
			cluster.TaskSubmitted{Task: 0, Seq: 1},
			cluster.TaskSubmitted{Task: 1, Seq: 2},
		}
		for n := range cluster.NodeID(3) {
			events = append(events, cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Name: fmt.Sprint(n), Capacity: cluster.Vector{4 - int64(n/2)}}})
		}
		out, _, err := core.Step(0, events, nil)
		if err != nil || len(out) != 2 || out[0].Gain != (sched.Gain{}) {
			t.Fatalf("%s: %v, error %v: want both placed, and no gain", tc.name, out, err)
		}
		out, _, err = core.Step(1, []cluster.Event{
			cluster.TaskStarted{Task: 0, Attempt: 1},
			cluster.TaskStarted{Task: 1, Attempt: 1},
			cluster.TaskSubmitted{Task: 2, Seq: 3}, // a cause for a round
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, d := range out {
			got += fmt.Sprintf("%s %d%v, ", d.Kind, d.Task, d.Gain)
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
