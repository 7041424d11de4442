package fairlead_test

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/fairlead"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// TestPreferredNodesChange: tasks go to the node that they prefer, or away from the one that they shun, also when another one has become
// that since the last was placed. Nothing else of the nodes changes, so that an index that looked at changed nodes alone would be stale.
func TestPreferredNodesChange(t *testing.T) {
	for _, weight := range []int32{100, -100} {
		core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil), sched.Lane{Name: "all", Policy: fairlead.New(fairlead.Options{Ties: book.Lowest})})
		if err != nil {
			t.Fatal(err)
		}
		// The set starts as the first node where it is preferred, and as the second where it is shunned.
		liked := weight > 0
		const first, second = cluster.NodeID(0), cluster.NodeID(1)
		in := first
		if !liked {
			in = second
		}
		pending := []cluster.Event{
			cluster.NodeAdded{Node: first, Spec: cluster.NodeSpec{Name: "a", Capacity: cluster.Vector{100}}},
			cluster.NodeAdded{Node: second, Spec: cluster.NodeSpec{Name: "b", Capacity: cluster.Vector{100}}},
			cluster.SetDefined{Set: 1, Nodes: []cluster.NodeID{in}},
			cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{1}, Prefers: []cluster.Preference{{Set: 1, Weight: weight}}}},
			cluster.JobSubmitted{Name: "j"},
		}
		came := cluster.TaskID(0)
		comes := func(want cluster.NodeID) {
			t.Helper()
			pending = append(pending, cluster.TaskSubmitted{Task: came, Seq: cluster.Seq(came)})
			out, _, err := core.Step(cluster.Time(came), pending, nil)
			if err != nil {
				t.Fatal(err)
			}
			pending = pending[:0]
			if len(out) != 1 || out[0].Kind != sched.Place || out[0].Node != want {
				t.Errorf("weight %d, task %d: %+v, want a place on node %d", weight, came, out, want)
			}
			came++
		}
		comes(first)
		comes(first)
		pending = append(pending, cluster.EligibilityChanged{Set: 1, Node: first, Eligible: !liked}, cluster.EligibilityChanged{Set: 1, Node: second, Eligible: liked})
		comes(second)
		comes(second)
		pending = append(pending, cluster.SetDefined{Set: 1, Nodes: []cluster.NodeID{in}})
		comes(first)
	}
}
