package world

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// TestLeaversAwaitMovers: of a bundle by which one pod moves and another leaves, the latter is asked once the former goes, as it would leave in vain if that were kept.
func TestLeaversAwaitMovers(t *testing.T) {
	r := vainRig(t, newBench(t), "fairlead", "n1", coresOf{cores: 2})
	x := r.world.Exits()
	moves, leaves := r.world.Pod("uid-low1"), r.world.Pod("uid-low2")
	owned := moves.object.DeepCopy()
	owned.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "set", UID: "uid-set", Controller: new(true)}}
	moves.object = owned
	high := coreOf("high", 10)
	high.Spec.PreemptionPolicy = new(v1.PreemptNever)
	r.seePod(high)
	r.turn()
	evict := func(p, by *Pod) {
		x.Evict(sched.Decision{
			Kind: sched.Evict, Task: p.Task(), Seq: p.slot.seq, Attempt: p.attempt,
			Purpose: sched.Purpose{Bundle: 7, Task: by.Task(), Seq: by.slot.seq},
		})
	}
	evict(leaves, r.world.Pod("uid-high"))
	evict(moves, moves)
	if asked := x.Dismiss(); !slices.Equal(asked, []*Pod{moves}) || x.wake() != cluster.Never {
		t.Fatalf("%d are asked at first, and the next at %v, want who moves, and never", len(asked), x.wake())
	}
	gone := moves.object.DeepCopy()
	gone.DeletionTimestamp = new(metav1.Now())
	moves.object = gone
	if asked := x.Dismiss(); !slices.Equal(asked, []*Pod{leaves}) {
		t.Errorf("%d are asked once that goes, want who leaves", len(asked))
	}
}

// TestOwnNominationIsNoHint: a pod that has a hint, and for which a node is kept then, which is nominated in its words, stays what it is to the core.
func TestOwnNominationIsNoHint(t *testing.T) {
	r := vainRig(t, newBench(t), "fairlead", "n1", coresOf{cores: 1})
	r.world.shapes.prices = func(string) Prices { return Prices{Nodes: true} }
	high := coreOf("high", 10)
	high.Status.NominatedNodeName = "n1"
	r.seePod(high)
	if leave, _, _ := r.asked(1); !slices.Equal(leave, []string{"low1"}) {
		t.Fatalf("%v are asked to leave, want low1", leave)
	}
	kept := high.DeepCopy()
	kept.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Message: "0/1 nodes are available. " + KeptWords("n1") + " until 1 pod has left (low1)."}}
	r.seePod(kept)
	p := r.world.Pod("uid-high")
	if phase := r.core.View().Task(p.Task()).Phase; p.Stage != Waiting || phase != cluster.Reserved {
		t.Errorf("it is in stage %v and its task %v, want waiting with its room reserved", p.Stage, phase)
	}
	if r.turn(); len(p.exit.victims) != 1 {
		t.Errorf("%d leave for it, want 1", len(p.exit.victims))
	}
}
