package sim

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/sched"
)

// guarded is a task that was placed by evicting another lane's, until when, and by which lane.
type guarded struct {
	lane  int
	until cluster.Time
}

// TestTwoLanesInACrowd lets two lanes share crowded clusters for some hours. Every eviction is looked at from outside: a task for which another
// lane's was evicted is not evicted by any lane but its own before the switching time is over, nor is who evicts it there. Without the latter some
// of these runs never end, as lanes take a place back by way of another task.
func TestTwoLanesInACrowd(t *testing.T) {
	names, across, within := []string{"fairlead", "priority", "qos"}, 0, 0
	for seed := range uint64(12) {
		var lanes []sched.Lane
		for i := range uint64(2) {
			name := names[(seed+i*(1+seed/3%2))%3] // two of them, in every order
			p, err := policies.New(name, policies.Options{Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			lanes = append(lanes, sched.Lane{Name: name, Policy: p})
		}
		lanes[0].Owns = func(j *cluster.Job) bool { return j.User < "user 3" }
		var core *sched.Core
		kept := map[cluster.Seq]guarded{}
		look := func(c Call) {
			for _, d := range c.Out {
				served, some := d.Purpose.Serves()
				if d.Kind != sched.Evict || !some || served == d.Task {
					continue
				}
				own, _ := core.LaneOf(d.Task)
				by, _ := core.LaneOf(served)
				g := kept[d.Seq]
				if g.until > c.At && g.lane != by {
					t.Errorf("seed %d: at %v lane %d evicts a task for which lane %d made room, until %v", seed, c.At, by, g.lane, g.until)
				}
				delete(kept, d.Seq)
				switch {
				case own != by:
					across++
					class := core.View().Task(served).Class
					kept[d.Purpose.Seq] = guarded{by, c.At + sched.SwitchTimeOf(&core.View().Classes()[class])}
				case g.until > c.At: // it has the same room
					within++
					kept[d.Purpose.Seq] = g
				}
			}
		}
		s, err := newSimulation(Config{Source: crowded(seed), Lanes: lanes, Until: 5 * cluster.Hour, Calls: look, Stop: t.Failed})
		if err != nil {
			t.Fatal(err)
		}
		core = s.planner.core
		if err := s.play(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	t.Logf("%d evictions of another lane's task, %d of those who had been placed by one within their lane", across, within)
	if across < 100 || within < 5 {
		t.Error("too few evictions: the worlds are too tame")
	}
}
