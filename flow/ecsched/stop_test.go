package ecsched

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// TestStop stops a heartbeat while it solves: nobody is placed, and all are in the next
// one, which nobody stops. With package mcmf only large networks ask.
func TestStop(t *testing.T) {
	const requests = 300
	for _, solver := range []string{"", "successive-shortest-paths", Literal} {
		if testing.Short() && solver != "" {
			continue
		}
		stop, asked := true, 0
		p := newPolicy(t, Options{Solver: solver, Window: requests, Stop: func() bool {
			asked++
			return stop
		}})
		core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}, {Name: "memory"}}, nil), sched.Lane{Name: "ecsched", Policy: p})
		if err != nil {
			t.Fatal(err)
		}
		events := []cluster.Event{cluster.JobSubmitted{Job: 0, Name: "j"}}
		for i := range requests {
			size := int64(1000 + 7*i%50)
			events = append(events,
				cluster.NodeAdded{Node: cluster.NodeID(i), Spec: cluster.NodeSpec{Name: fmt.Sprint("n", i), Capacity: cluster.Vector{size, 2 * size}}},
				cluster.ShapeDefined{Shape: cluster.ShapeID(i), Spec: cluster.Shape{Demand: cluster.Vector{int64(100 + i), int64(700 - i)}}},
				cluster.TaskSubmitted{Task: cluster.TaskID(i), Seq: cluster.Seq(i + 1), Shape: cluster.ShapeID(i)})
		}
		out, wake, err := core.Step(0, events, nil)
		if err != nil || len(out) > 0 || asked == 0 {
			t.Errorf("solver %q: stopped, after %d questions it placed %d, %v", solver, asked, len(out), err)
		}
		stop = false
		for i := 0; i < 10 && len(out) < requests && wake != cluster.Never; i++ {
			if out, wake, err = core.Step(wake, nil, out); err != nil {
				t.Fatal(err)
			}
		}
		if len(out) != requests {
			t.Errorf("solver %q: in the heartbeats after it %d of %d were placed", solver, len(out), requests)
		}
	}
}
