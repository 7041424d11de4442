package fairlead_test

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/fairlead"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// foundNone finds no place for any application.
type foundNone struct{}

func (foundNone) Plan(*sched.Trial, *sched.Changed, int64, *sched.Plan) {}

func (foundNone) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return sched.Explain(t.View(), task)
}

// foundNode finds a place for each container, on one node.
type foundNode struct {
	foundNone
	node cluster.NodeID
}

func (f foundNode) Plan(t *sched.Trial, c *sched.Changed, _ int64, out *sched.Plan) {
	for _, task := range c.Tasks {
		if a := (sched.Action{Kind: sched.Place, Task: task, Node: f.node}); !t.Try(a).Refused() {
			out.Add(a)
			out.Close()
		}
	}
}

// TestTasksGoByWhatApplicationsTook: who comes in the same round as an application is placed by the nodes as that leaves them. The node that has a container
// is a better one than those that are empty; by the nodes as they were, all are as good, and the first would be taken.
func TestTasksGoByWhatApplicationsTook(t *testing.T) {
	core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}, {Name: "memory"}}, nil), sched.Lane{Name: "all", Policy: fairlead.New(fairlead.Options{Ties: book.Lowest, Applications: foundNode{node: 1}})})
	if err != nil {
		t.Fatal(err)
	}
	step := func(now cluster.Time, events ...cluster.Event) []sched.Decision {
		t.Helper()
		out, _, err := core.Step(now, events, nil)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	events := []cluster.Event{
		cluster.JobSubmitted{Job: 0, Name: "batch"},
		cluster.JobSubmitted{Job: 1, Name: "application", LongRunning: true},
		cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{2, 1}}},
		cluster.ShapeDefined{Shape: 1, Spec: cluster.Shape{Demand: cluster.Vector{1, 1}, Tags: []string{"web"}}},
		cluster.ShapeDefined{Shape: 2, Spec: cluster.Shape{Demand: cluster.Vector{1, 2}}},
	}
	for n := range cluster.NodeID(3) {
		events = append(events, cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{6, 6}}})
	}
	// Those who came before have made the nodes known.
	step(0, append(events, cluster.TaskSubmitted{Task: 0, Seq: 0}, cluster.TaskSubmitted{Task: 3, Seq: 3, Shape: 2})...)
	step(1, cluster.TaskEnded{Task: 0, Seq: 0}, cluster.TaskEnded{Task: 3, Seq: 3})
	both := step(2, cluster.TaskSubmitted{Task: 1, Seq: 1, Job: 1, Shape: 1}, cluster.TaskSubmitted{Task: 2, Seq: 2})
	if len(both) != 2 || both[0].Task != 1 || both[0].Node != 1 || both[1].Task != 2 || both[1].Node != 1 {
		t.Errorf("the container and the task beside it are placed by %v, want both on node 1", both)
	}
}

// TestApplicationsMakeRoom: for an application of a higher priority tasks leave, for all of its containers in one bundle; for one that would not fit then, nobody
// does.
func TestApplicationsMakeRoom(t *testing.T) {
	for _, test := range []struct {
		containers, priority int
		leave                int
	}{{2, 9, 4}, {1, 9, 2}, {3, 9, 0}, {2, 0, 0}} {
		core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil), sched.Lane{Name: "all", Policy: fairlead.New(fairlead.Options{Ties: book.Lowest, Applications: foundNone{}})})
		if err != nil {
			t.Fatal(err)
		}
		events := []cluster.Event{
			cluster.NodeAdded{Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{4}}},
			cluster.JobSubmitted{Job: 0, Name: "batch"},
			cluster.JobSubmitted{Job: 1, Name: "application", LongRunning: true},
			cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{1}}},
			cluster.ShapeDefined{Shape: 1, Spec: cluster.Shape{Demand: cluster.Vector{2}, Tags: []string{"web"}}},
		}
		for i := range 4 {
			events = append(events, cluster.TaskSubmitted{Task: cluster.TaskID(i), Seq: cluster.Seq(i)})
		}
		out, _, err := core.Step(0, events, nil)
		if err != nil {
			t.Fatal(err)
		}
		events = events[:0]
		for _, d := range out {
			events = append(events, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
		}
		for i := range test.containers {
			events = append(events, cluster.TaskSubmitted{Task: cluster.TaskID(4 + i), Seq: cluster.Seq(4 + i), Job: 1, Shape: 1, Priority: int32(test.priority)})
		}
		bundles, leave := map[uint64]bool{}, 0
		for now := cluster.Second; now < 2*cluster.Minute; now += cluster.Second {
			if out, _, err = core.Step(now, events, nil); err != nil {
				t.Fatal(err)
			}
			events = events[:0]
			if now < 30*cluster.Second && len(out) > 0 {
				t.Errorf("%d containers: %v at %v, before their policy has had its turn", test.containers, out, now)
			}
			for _, d := range out {
				if d.Kind == sched.Evict {
					leave++
					bundles[d.Purpose.Bundle] = true
				}
			}
		}
		if leave != test.leave || leave > 0 && len(bundles) != 1 {
			t.Errorf("%d containers of priority %d: %d leave, in %d bundles, want %d in one", test.containers, test.priority, leave, len(bundles), test.leave)
		}
		for i := range test.containers {
			if phase := core.View().Task(cluster.TaskID(4 + i)).Phase; (phase == cluster.Reserved) != (test.leave > 0) {
				t.Errorf("%d containers of priority %d: one is %v", test.containers, test.priority, phase)
			}
		}
	}
}

// TestLooseApplicationsMakeRoomAtOnce: the container of an application that need not be placed whole waits for nobody's turn, be it the first moment of all.
func TestLooseApplicationsMakeRoomAtOnce(t *testing.T) {
	for _, loose := range []bool{true, false} {
		core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil), sched.Lane{Name: "all", Policy: fairlead.New(fairlead.Options{Ties: book.Lowest, Applications: foundNone{}})})
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := core.Step(0, []cluster.Event{
			cluster.NodeAdded{Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{2}}},
			cluster.JobSubmitted{Job: 0, Name: "batch"},
			cluster.JobSubmitted{Job: 1, Name: "application", LongRunning: true, Loose: loose},
			cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{2}}},
			cluster.ShapeDefined{Shape: 1, Spec: cluster.Shape{Demand: cluster.Vector{2}, Tags: []string{"web"}}},
			cluster.TaskSubmitted{Task: 0, Seq: 0},
			cluster.TaskFound{Task: 0, Seq: 0},
			cluster.TaskSubmitted{Task: 1, Seq: 1, Job: 1, Shape: 1, Priority: 9},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if evicts := len(out) == 1 && out[0].Kind == sched.Evict && out[0].Task == 0; evicts != loose {
			t.Errorf("loose %v: %v is decided", loose, out)
		}
	}
}

// TestApplicationsBesideOthersCostNothing: a round in which no room is made for an application that waits takes as many ticks for
// the other tasks as it does without the application.
func TestApplicationsBesideOthersCostNothing(t *testing.T) {
	ticks := func(application bool) int64 {
		core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil), sched.Lane{Name: "all", Policy: fairlead.New(fairlead.Options{Ties: book.Lowest, Applications: foundNone{}})})
		if err != nil {
			t.Fatal(err)
		}
		events := []cluster.Event{
			cluster.NodeAdded{Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{4}}},
			cluster.JobSubmitted{Job: 0, Name: "batch"},
			cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{1}}},
			cluster.TaskSubmitted{Task: 0, Seq: 1},
			cluster.TaskSubmitted{Task: 1, Seq: 2},
		}
		if application {
			events = append(events,
				cluster.JobSubmitted{Job: 1, Name: "application", LongRunning: true},
				cluster.ShapeDefined{Shape: 1, Spec: cluster.Shape{Demand: cluster.Vector{2}, Tags: []string{"web"}}},
				cluster.TaskSubmitted{Task: 2, Seq: 3, Job: 1, Shape: 1})
		}
		if out, _, err := core.Step(0, events, nil); err != nil || len(out) != 2 {
			t.Fatalf("%v, %v; want two placements", out, err)
		}
		return core.Counts().Ticks
	}
	if alone, beside := ticks(false), ticks(true); alone == 0 || beside != alone {
		t.Errorf("%d ticks beside an application, %d without", beside, alone)
	}
}
