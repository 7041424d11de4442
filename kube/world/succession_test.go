package world

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/cluster"
)

// TestWhoComesForAnother: the core hears of a pod that comes while the one before it is ending that it comes for an eviction if that one leaves by a decision of the core, of one pod
// for each; of no other, as somebody else deletes pods as well.
func TestWhoComesForAnother(t *testing.T) {
	for _, evicted := range []bool{true, false} {
		r := deviceRig(t, 1, 0, 0)
		low := r.has(t, "", "", "low cpu=4 owner=web priority=1", nodeName(1))
		r.turn()
		if evicted {
			r.comes(t, "", "high cpu=4 priority=9")
			r.turn()
			if len(r.leaving) != 1 || r.leaving[0] != low {
				t.Fatalf("%d are asked to leave, want low", len(r.leaving))
			}
			r.granted(low)
		} else {
			ending := low.object.DeepCopy()
			ending.DeletionTimestamp = &metav1.Time{}
			r.seePod(ending)
		}
		r.observe()
		for _, want := range []bool{evicted, false} {
			name := map[bool]string{true: "next", false: "another"}[want]
			r.comes(t, "", name+" cpu=4 owner=web priority=1")
			events := r.world.Take()
			submitted := 0
			for _, e := range events {
				if e, is := e.(cluster.TaskSubmitted); is {
					submitted++
					if e.Displaced != want {
						t.Errorf("evicted %v, %s: it comes for an eviction: %v, want %v", evicted, name, e.Displaced, want)
					}
				}
			}
			if submitted != 1 {
				t.Fatalf("%d tasks came for one pod", submitted)
			}
			if _, err := r.core.Observe(r.now, events, nil); err != nil {
				t.Fatal(err)
			}
			if !evicted {
				break
			}
		}
		r.turn()
		r.losePod(low.object.UID)
		r.turn()
		if of := r.world.slots.byTask[low.slot.task]; of == low.slot {
			t.Errorf("evicted %v: the slot of who is gone, and has an heir, is there", evicted)
		}
	}
}
