package fairlead_test

import (
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/fairlead"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// TestWhoWaitsForItsGangIsGivenNoMore: of a gang some have room now, and others where somebody leaves for them first, beside tasks that ask for ranges as well. Whoever has to wait for the others of its gang
// cannot be given more yet, so that no plan in which it is holds; and some are given more in the same round.
func TestWhoWaitsForItsGangIsGivenNoMore(t *testing.T) {
	waits, grow := 0, 0
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 0x67677261)) //nolint:gosec // no secret
		var events []cluster.Event
		emit := func(e cluster.Event) { events = append(events, e) }
		for shape := range cluster.ShapeID(4) { // those with an odd number ask for a range
			least := 1 + rng.Int64N(3)
			spec := cluster.Shape{Demand: cluster.Vector{least}}
			if shape%2 == 1 {
				spec.Max = cluster.Vector{least + 1 + rng.Int64N(4)}
			}
			emit(cluster.ShapeDefined{Shape: shape, Spec: spec})
		}
		for job, gang := range []int32{0, 2 + rng.Int32N(2), 0} { // who is there, a gang that comes, and others
			emit(cluster.JobSubmitted{Job: cluster.JobID(job), Gang: gang})
		}
		task := cluster.TaskID(0)
		submit := func(job cluster.JobID, priority int32) cluster.TaskID {
			emit(cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(task), Job: job, Shape: cluster.ShapeID(rng.IntN(4)), Priority: priority})
			task++
			return task - 1
		}
		for n := range cluster.NodeID(2 + rng.IntN(2)) {
			emit(cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Capacity: cluster.Vector{3 + rng.Int64N(6)}}})
			for range rng.IntN(3) {
				there := submit(0, 0)
				emit(cluster.TaskFound{Task: there, Seq: cluster.Seq(there), Node: n})
			}
		}
		for range 2 + rng.IntN(2) {
			submit(1, 5)
		}
		for range 1 + rng.IntN(2) {
			submit(2, int32(rng.IntN(8)))
		}
		core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1}}, nil), sched.Lane{Name: "all", Policy: fairlead.New(fairlead.Options{Ties: book.Lowest})})
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
		for row := range cluster.TaskID(s.TaskRows()) {
			if k := s.Task(row); k.Phase == cluster.Reserved && k.Job == 1 {
				waits++
			}
		}
		for _, d := range out {
			if d.Kind == sched.Resize {
				grow++
			}
		}
	}
	if waits < 100 || grow < 100 {
		t.Errorf("%d of gangs wait for others, and %d tasks are given more: this says little", waits, grow)
	}
}
