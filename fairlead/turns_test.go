package fairlead_test

import (
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/fairlead"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// TestEqualsDoNotTakeTurns lets tasks of one class, twice as many as there is room for, evict each other for two hours: nobody who was evicted for another one comes
// back by evicting that one before it has lost as much slack as runs are to gain, or that one has gained as much: of the switching time the share
// that was not promised passes until then, or the one that was.
func TestEqualsDoNotTakeTurns(t *testing.T) {
	type pair struct{ evicted, served cluster.TaskID }
	evictions := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 6))
		class := cluster.Class{Name: "half", Availability: cluster.Whole * cluster.Share(40+r.IntN(30)) / 100, Budget: cluster.Whole / 2, Margin: 10 * cluster.Second, Restart: 2 * cluster.Second, KeepsWork: seed%2 == 0}
		promised := cluster.Time(class.Availability * 100 / cluster.Whole)
		gain := sched.SwitchTimeOf(&class) * min(100-promised, promised) / 100
		core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, []cluster.Class{class}), sched.Lane{Name: "all", Policy: fairlead.New(fairlead.Options{Ties: book.Lowest, Without: fairlead.WithoutBound})})
		if err != nil {
			t.Fatal(err)
		}
		slots := 1 + r.IntN(4)
		pending := []cluster.Event{cluster.JobSubmitted{Name: "j"}, cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{1}}}}
		for n := range slots {
			pending = append(pending, cluster.NodeAdded{Node: cluster.NodeID(n), Spec: cluster.NodeSpec{Name: string(rune('a' + n)), Capacity: cluster.Vector{1}}})
		}
		tasks, came := 2*slots, 0
		last := map[pair]cluster.Time{}
		for now := cluster.Time(0); now < 2*cluster.Hour; {
			if came < tasks {
				pending = append(pending, cluster.TaskSubmitted{Task: cluster.TaskID(came), Seq: cluster.Seq(came)})
				came++
			}
			for first := true; first || len(pending) > 0; first = false {
				out, _, err := core.Step(now, pending, nil)
				if err != nil {
					t.Fatal(err)
				}
				pending = pending[:0]
				for _, d := range out {
					if d.Kind == sched.Place {
						pending = append(pending, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
						continue
					}
					pending = append(pending, cluster.TaskLeft{Task: d.Task, Attempt: d.Attempt})
					evictions++
					last[pair{d.Task, d.Purpose.Task}] = now
					if before, turns := last[pair{d.Purpose.Task, d.Task}]; turns && now-before < gain {
						t.Fatalf("seed %d: %d is evicted for %d at %v, which was evicted for it at %v: want %v between these at least", seed, d.Task, d.Purpose.Task, now, before, gain)
					}
				}
			}
			now = min(max(core.Wake(now), now+1), now+cluster.Time(1+r.IntN(60))*cluster.Second)
		}
	}
	if evictions < 200 {
		t.Errorf("%d evictions: the worlds are too tame", evictions)
	}
}
