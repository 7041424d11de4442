package sched_test

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// crowded is a core with nodes of 100 runs each, one more shape of which has a range or not, and nobody who waits.
func crowded(tb testing.TB, nodes int, ranged bool) *sched.Core {
	tb.Helper()
	s := cluster.NewState([]cluster.Kind{{Name: "cpu"}}, []cluster.Class{{Name: "all"}})
	core, err := sched.New(s, sched.Lane{Name: "l", Policy: idle{}})
	if err != nil {
		tb.Fatal(err)
	}
	in := []cluster.Event{cluster.JobSubmitted{Job: 0}, cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{1}}}}
	if ranged {
		in = append(in, cluster.ShapeDefined{Shape: 1, Spec: cluster.Shape{Demand: cluster.Vector{1}, Max: cluster.Vector{2}}})
	}
	for n := range nodes {
		node := cluster.NodeID(n)
		in = append(in, cluster.NodeAdded{Node: node, Spec: cluster.NodeSpec{Name: fmt.Sprint(n), Capacity: cluster.Vector{200}}})
		for i := range 100 {
			t := cluster.TaskID(n*100 + i)
			in = append(in, cluster.TaskSubmitted{Task: t, Seq: cluster.Seq(t) + 1, Job: 0}, cluster.TaskFound{Task: t, Seq: cluster.Seq(t) + 1, Node: node})
		}
	}
	if _, _, err := core.Step(0, in, nil); err != nil {
		tb.Fatal(err)
	}
	return core
}

// turnover is a run that ends on each node, the last that came in its row, and another that is found in its place.
func turnover(nodes, turn int) (in []cluster.Event) {
	for n := range nodes {
		t := cluster.TaskID(n * 100)
		seq := cluster.Seq(t) + 1 + cluster.Seq(turn*100*nodes)
		next := seq + cluster.Seq(100*nodes)
		in = append(in, cluster.TaskEnded{Task: t, Seq: seq}, cluster.TaskSubmitted{Task: t, Seq: next, Job: 0}, cluster.TaskFound{Task: t, Seq: next, Node: cluster.NodeID(n)})
	}
	return in
}

// A run that could take more than it has gives cause for a round when something happens on its node; where no shape has a range nothing does.
func TestGrowersAreNoticed(t *testing.T) {
	for _, ranged := range []bool{true, false} {
		core := crowded(t, 1, ranged)
		if ranged {
			if _, _, err := core.Step(1, []cluster.Event{cluster.TaskSubmitted{Task: 100, Seq: 101, Job: 0, Shape: 1}, cluster.TaskFound{Task: 100, Seq: 101, Node: 0}}, nil); err != nil {
				t.Fatal(err)
			}
		}
		before := core.Counts().Rounds
		if _, _, err := core.Step(2, []cluster.Event{cluster.TaskEnded{Task: 1, Seq: 2}}, nil); err != nil {
			t.Fatal(err)
		}
		if rounds := core.Counts().Rounds - before; (rounds > 0) != ranged {
			t.Errorf("with ranges %v: %d rounds", ranged, rounds)
		}
	}
}

// BenchmarkObserve is what a core makes of a run that ends on each of 100 nodes with 100 runs, and another that is found there, with and without a shape that has a range.
func BenchmarkObserve(b *testing.B) {
	for _, ranged := range []bool{false, true} {
		b.Run(fmt.Sprintf("ranges=%v", ranged), func(b *testing.B) {
			core, turns := crowded(b, 100, ranged), 0
			for b.Loop() {
				if _, err := core.Observe(cluster.Time(turns), turnover(100, turns), nil); err != nil {
					b.Fatal(err)
				}
				turns++
			}
		})
	}
}
