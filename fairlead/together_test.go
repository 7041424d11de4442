package fairlead_test

import (
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/fairlead"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// crew is a core of which runs of job 1 leave all at once: two of them on node 0, one on node 1.
func crew(t *testing.T, more ...cluster.Event) *sched.Core {
	t.Helper()
	core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil), sched.Lane{Name: "all", Policy: fairlead.New(fairlead.Options{Ties: book.Lowest})})
	if err != nil {
		t.Fatal(err)
	}
	events := []cluster.Event{
		cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{2}}},
		cluster.NodeAdded{Node: 0, Spec: cluster.NodeSpec{Name: "n0", Capacity: cluster.Vector{4}}},
		cluster.NodeAdded{Node: 1, Spec: cluster.NodeSpec{Name: "n1", Capacity: cluster.Vector{2}}},
		cluster.JobSubmitted{Job: 0, Name: "others"},
		cluster.JobSubmitted{Job: 1, Name: "crew", Disruption: cluster.DisruptTogether},
	}
	for task, node := range []cluster.NodeID{0, 0, 1} {
		events = append(events, cluster.TaskSubmitted{Task: cluster.TaskID(task), Seq: cluster.Seq(task), Job: 1, Shape: 0},
			cluster.TaskFound{Task: cluster.TaskID(task), Seq: cluster.Seq(task), Node: node})
	}
	if out, _, err := core.Step(0, append(events, more...), nil); err != nil || len(out) > 0 {
		t.Fatal(err, out)
	}
	return core
}

// evicted are the tasks that are told to leave.
func evicted(out []sched.Decision) (tasks []cluster.TaskID) {
	for _, d := range out {
		if d.Kind == sched.Evict {
			tasks = append(tasks, d.Task)
		}
	}
	return tasks
}

// TestRunsLeaveTogether: for one task all runs of a job leave, on other nodes, too; and nobody does while one of them may not. When that has
// changed on another node, they do.
func TestRunsLeaveTogether(t *testing.T) {
	urgent := cluster.TaskSubmitted{Task: 3, Seq: 3, Job: 0, Shape: 0, Priority: 5}
	core := crew(t)
	out, _, err := core.Step(1, []cluster.Event{urgent}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := evicted(out); len(got) != 3 {
		t.Errorf("the tasks %v leave, want all of 0, 1 and 2", got)
	}
	core = crew(t, cluster.TaskProtected{Task: 2, Attempt: 1, Until: 10, Reason: "test"})
	if out, _, err = core.Step(1, []cluster.Event{urgent}, nil); err != nil || len(out) > 0 {
		t.Errorf("%v: %v is decided, though one of the job may not leave", err, out)
	}
	if out, _, err = core.Step(11, nil, nil); err != nil || len(evicted(out)) != 3 {
		t.Errorf("%v: %v is decided when all may leave", err, out)
	}
}

// TestSleepersWakeForRunsElsewhere: whoever may stand on one node alone is looked at again when the run may leave, on another node, without which those
// on its own may not.
func TestSleepersWakeForRunsElsewhere(t *testing.T) {
	bound := cluster.TaskSubmitted{Task: 3, Seq: 3, Job: 0, Shape: 1, Priority: 5}
	core := crew(t, cluster.SetDefined{Set: 1, Nodes: []cluster.NodeID{0}}, cluster.ShapeDefined{Shape: 1, Spec: cluster.Shape{Demand: cluster.Vector{2}, Eligible: 1}}, cluster.TaskProtected{Task: 2, Attempt: 1, Until: 10, Reason: "test"})
	out, _, err := core.Step(1, []cluster.Event{bound}, nil)
	if err != nil || len(out) > 0 {
		t.Errorf("%v: %v is decided, though one of the job may not leave", err, out)
	}
	if out, _, err = core.Step(11, nil, nil); err != nil || len(evicted(out)) != 3 {
		t.Errorf("%v: %v is decided when all may leave", err, out)
	}
}

// TestRunsAreNotTorn: whatever stands where, of a job whose runs leave all at once all do, or none; and some do.
func TestRunsAreNotTorn(t *testing.T) {
	left, gangs := 0, 0
	for seed := range uint64(1500) {
		rng := rand.New(rand.NewPCG(seed, 0x6a72))
		var events []cluster.Event
		emit := func(e cluster.Event) { events = append(events, e) }
		for j := range cluster.JobID(4) {
			emit(cluster.JobSubmitted{Job: j, Name: "there", Disruption: cluster.Disruption(rng.IntN(3) % 2), Gang: int32(rng.IntN(4))})
		}
		for size := range cluster.ShapeID(3) {
			emit(cluster.ShapeDefined{Shape: size, Spec: cluster.Shape{Demand: cluster.Vector{int64(size) + 1}}})
		}
		task := cluster.TaskID(0)
		for n := range cluster.NodeID(1 + rng.IntN(4)) {
			size := 2 + rng.Int64N(7)
			emit(cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Capacity: cluster.Vector{size}}})
			for size > 1 {
				shape := cluster.ShapeID(rng.Int64N(min(size, 3)))
				size -= int64(shape) + 1 + rng.Int64N(2)
				job := cluster.JobID(rng.IntN(4))
				emit(cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(task), Job: job, Shape: shape, Priority: int32(job)})
				emit(cluster.TaskFound{Task: task, Seq: cluster.Seq(task), Node: n})
				task++
			}
		}
		gang := int32(rng.IntN(4))
		emit(cluster.JobSubmitted{Job: 4, Name: "comes", Gang: gang})
		for range 1 + rng.IntN(4) {
			emit(cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(task), Job: 4, Shape: cluster.ShapeID(rng.IntN(3)), Priority: int32(1 + rng.IntN(4))})
			task++
		}
		core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil), sched.Lane{Name: "all", Policy: fairlead.New(fairlead.Options{Ties: book.Lowest})})
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := core.Step(0, events, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := core.View()
		if n := core.Counts().Refused; n > 0 {
			t.Fatalf("seed %d: %d bundles are refused:\n%s", seed, n, s.Picture())
		}
		for _, v := range evicted(out) {
			if s.Job(s.Task(v).Job).Disruption != cluster.DisruptTogether {
				continue
			}
			if stay, _ := cluster.DisruptedTogether(s, s.Task(v).Job); len(stay) > 0 {
				t.Fatalf("seed %d: task %d leaves, and %v of its job stay:\n%s", seed, v, stay, s.Picture())
			}
			if left++; gang > 1 {
				gangs++
			}
		}
	}
	if left < 100 || gangs < 30 {
		t.Errorf("%d runs leave with others, %d of them for a gang: this says little", left, gangs)
	}
}
