package fairlead_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/fairlead"
	"fairlead.dev/fairlead/queue"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// TestAsQoS compares whom the policy serves with whom QoS-driven scheduling does, as published, where all else is switched off: one user, one resource,
// tasks of one size, and no slack to be gained by whoever runs. Who is critical is in another order within a class here, the nearest to its promise
// first, so that there is one of each class at most; and steps of slack are 8 seconds, so that slacks differ by more.
func TestAsQoS(t *testing.T) {
	const start = 10 * cluster.Hour
	evicted := 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 9))
		var classes []cluster.Class
		for i, name := range []string{"gold", "silver", "bronze"} {
			classes = append(classes, cluster.Class{Name: name, Importance: int32(i), Availability: cluster.Whole / 2, Budget: cluster.Whole, KeepsWork: true})
		}
		slots := make([]int64, 1+r.IntN(4))
		running := 0
		for n := range slots {
			slots[n] = 1 + r.Int64N(3)
			running += int(slots[n])
		}
		// All slacks differ by a minute; up to three tasks are critical, each of another class.
		slacks := r.Perm(running * 2)
		critical := r.IntN(4)
		var tasks []cluster.TaskSubmitted
		for i, k := range slacks {
			slack, class := cluster.Time(k+1)*cluster.Minute, cluster.ClassID(r.IntN(3))
			if k < critical {
				slack, class = -cluster.Time(k+1)*cluster.Minute, cluster.ClassID(k)
			}
			const age = 4 * cluster.Hour
			run := (age + slack) / 2 // twice that, less the age, is the slack
			tasks = append(tasks, cluster.TaskSubmitted{
				Task: cluster.TaskID(i), Seq: cluster.Seq(i), Class: class,
				Account: &cluster.Account{Submitted: start - age, Since: start, Waiting: age - run, Running: run, FirstRun: start - age},
			})
		}
		served := func(p sched.Policy) (list []cluster.TaskID) {
			core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, classes), sched.Lane{Name: "all", Policy: p})
			if err != nil {
				t.Fatal(err)
			}
			events := []cluster.Event{cluster.JobSubmitted{Name: "j"}, cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{1}}}}
			for n, size := range slots {
				events = append(events, cluster.NodeAdded{Node: cluster.NodeID(n), Spec: cluster.NodeSpec{Name: string(rune('a' + n)), Capacity: cluster.Vector{size}}})
			}
			for i := range running {
				events = append(events, tasks[i])
			}
			out, _, err := core.Step(start, events, nil)
			if err != nil || len(out) != running {
				t.Fatalf("seed %d: %d of %d are placed first, error %v", seed, len(out), running, err)
			}
			events = events[:0]
			for _, d := range out {
				events = append(events, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
			}
			for i := running; i < len(tasks); i++ {
				events = append(events, tasks[i])
			}
			if out, _, err = core.Step(start, events, nil); err != nil {
				t.Fatal(err)
			}
			evicted += len(out)
			for i := range tasks {
				if phase := core.View().Task(cluster.TaskID(i)).Phase; phase == cluster.Running || phase == cluster.Starting || phase == cluster.Reserved {
					list = append(list, cluster.TaskID(i))
				}
			}
			return list
		}
		qos, err := queue.New("qos", queue.Options{Ties: book.Lowest})
		if err != nil {
			t.Fatal(err)
		}
		off := fairlead.WithoutSwitching | fairlead.WithoutBound | fairlead.WithoutStretch | fairlead.WithoutShares | fairlead.WithoutClaims | fairlead.WithoutMoves | fairlead.WithoutRefine
		got, want := served(fairlead.New(fairlead.Options{Ties: book.Lowest, Without: off})), served(qos)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: fairlead serves %v, and qos %v", seed, got, want)
		}
	}
	if evicted < 4000 {
		t.Errorf("%d evictions: the worlds are too tame", evicted)
	}
}
