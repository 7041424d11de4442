package policies_test

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/sched"
)

// TestNobodyLeavesForWhomRoomIsComing holds every policy that evicts to waiting for room that is on its way: a node is full of bronze, and gold comes. Nobody is told to leave
// while room is coming for it; once it is not any more, bronze is. Where a node comes before, nobody ever is.
func TestNobodyLeavesForWhomRoomIsComing(t *testing.T) {
	ran := 0
	for _, info := range policies.All() {
		if !info.Evicts {
			continue
		}
		ran++
		for what, comes := range map[string]bool{"no room comes": false, "a node comes": true} {
			t.Run(info.Name+"/"+what, func(t *testing.T) {
				w := newRefusing(t, info)
				w.in = append(w.in, cluster.RoomComing{Coming: true})
				for range 40 {
					w.step()
				}
				state := w.core.View()
				if phase := state.Task(gold).Phase; phase != cluster.Waiting || len(w.asked) > 0 {
					t.Fatalf("gold is %s at %v, and asked to leave were %v; want it to wait, and nobody asked", phase, w.now, w.asked)
				}
				w.in = append(w.in, cluster.RoomComing{})
				if comes {
					w.in = append(w.in, cluster.NodeAdded{Node: 2, Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{4}}})
				}
				for range 400 {
					if w.step(); state.Task(gold).Phase == cluster.Running {
						break
					}
				}
				if phase := state.Task(gold).Phase; phase != cluster.Running || len(w.asked) > 0 == comes {
					t.Errorf("gold is %s at %v, and asked to leave were %v", phase, w.now, w.asked)
				}
			})
		}
	}
	if ran < 4 {
		t.Errorf("%d policies evict, want at least 4", ran)
	}
}

// TestRoomThatComesIsSaid: why a task waits says that nobody is evicted for it, and why.
func TestRoomThatComesIsSaid(t *testing.T) {
	info, err := policies.Find("priority")
	if err != nil {
		t.Fatal(err)
	}
	w := newRefusing(t, info)
	w.in = append(w.in, cluster.RoomComing{Coming: true})
	w.step()
	said := false
	for _, cause := range w.core.Why(gold).Causes {
		evicts, is := cause.(sched.EvictsNobody)
		said = said || is && evicts.Coming
	}
	if !said {
		t.Errorf("it says %+v", w.core.Why(gold).Causes)
	}
}
