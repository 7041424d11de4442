package fairlead

import (
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// TestNoPairTakesTurns lets twice as many tasks as there is room for evict each other for four hours; nobody comes after the first
// minute. Whoever was evicted for another one is not placed by evicting that one before either of two times has passed: the one in which
// the other, who runs, gains what runs are to gain, or the one in which itself, who waits, loses as much. So of the switching time
// at least the share passes that was promised to the one, or that was not promised to the other.
func TestNoPairTakesTurns(t *testing.T) {
	type pair struct{ evicted, served cluster.TaskID }
	worlds, turns, evictions := uint64(300), 0, 0
	if testing.Short() {
		worlds = 30
	}
	for seed := range worlds {
		chance := rand.New(rand.NewPCG(seed, 0x7a1c))
		classes := []cluster.Class{{Name: "none", Importance: 9}}
		for _, name := range []string{"gold", "silver", "bronze"} {
			classes = append(classes, cluster.Class{
				Name: name, Importance: int32(len(classes)), Availability: cluster.Whole * cluster.Share(30+chance.IntN(65)) / 100, Budget: cluster.Whole,
				KeepsWork: chance.IntN(2) == 0,
			})
		}
		var sizes []cluster.Vector
		for range 1 + chance.IntN(4) {
			sizes = append(sizes, cluster.Vector{1 + chance.Int64N(4), 4})
		}
		w := newWorld(seed, Options{Seed: seed}, classes, sizes)
		for range 4 * len(sizes) {
			lasts := cluster.Time(10+chance.IntN(300)) * cluster.Minute
			w.comes(cluster.Time(chance.IntN(60))*cluster.Second, "u", cluster.Vector{1 + chance.Int64N(sizes[0][0]), 1}, lasts, cluster.TaskSubmitted{
				Class: cluster.ClassID(chance.IntN(4)), Priority: int32(chance.IntN(3)),
			})
		}
		last := map[pair]cluster.Time{}
		w.watch = func() {
			s := w.core.View()
			for _, d := range w.done {
				victim, served := s.Task(d.Task).Class, d.Purpose.Task
				if d.Kind != sched.Evict || served == cluster.NoTask || served == d.Task { // who moves serves itself
					continue
				}
				evictions++
				last[pair{d.Task, served}] = w.now
				before, turn := last[pair{served, d.Task}]
				if !turn {
					continue
				}
				turns++
				runs, waits := &s.Classes()[victim], &s.Classes()[s.Task(served).Class]
				least := min(part(sched.SwitchTimeOf(runs), runs.Availability, cluster.Whole), gain(waits)) - 2<<stepBits
				if w.now-before < least {
					t.Errorf("seed %d: task row %d (%s) is evicted at %v for %d (%s), which was evicted for it at %v: want %v between these at least",
						seed, d.Task, runs.Name, w.now, served, waits.Name, before, least)
				}
			}
		}
		if err := w.run(4 * cluster.Hour); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	t.Logf("%d evictions in %d worlds, %d of them turned one back", evictions, worlds, turns)
	if turns < int(worlds)/4 {
		t.Error("too few turns: the worlds are too tame")
	}
}
