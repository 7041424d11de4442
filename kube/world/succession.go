package world

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/cluster"
)

// This file is how a pod goes on from the account of one that is ending: it is there until its containers have ended, and its owner may make the next one at once.

// lineage is what a pod has of others of its replica, and who has it after it.
type lineage struct {
	past *cluster.Account // how its slot spent its time in the core before this, or another pod's did; nil if its slot is new, or knows
	// preemptions is how many pods of its slot were evicted before that.
	preemptions int32
	// waited is for how long its slot was vacant after an eviction, until the core has heard of that.
	waited    cluster.Time
	ending    *Workload // among whose pods that are ending it is; nil if it is not
	succeeded bool      // it is ending, and another pod of its owner goes on from its account
}

// ends takes in that a pod on its node is marked as deleted. A StatefulSet makes no other before it is gone, as no name is there twice.
func (l *Ledger) ends(p *Pod) {
	owner := metav1.GetControllerOfNoCopy(p.object)
	if !p.Ours || owner == nil || owner.Kind == "StatefulSet" || p.lineage.ending != nil || p.lineage.succeeded {
		return
	}
	of := WorkloadOf(p.object)
	p.lineage.ending = &of
	if l.ending == nil {
		l.ending = map[Workload][]*Pod{}
	}
	l.ending[of] = append(l.ending[of], p)
}

// endsNoMore forgets that the pod is ending: it is gone, or another one goes on from its account.
func (l *Ledger) endsNoMore(p *Pod) {
	if p.lineage.ending == nil {
		return
	}
	of := *p.lineage.ending
	p.lineage.ending = nil
	if l.ending[of] = slices.DeleteFunc(l.ending[of], func(other *Pod) bool { return other == p }); len(l.ending[of]) == 0 {
		delete(l.ending, of)
	}
}

// succeed lets a pod that is new go on from the account of the one of its workload and class that has been ending the longest, and reports whether that one leaves by a decision of
// the core. A pod that is ending when it is first seen has no account that is known: another one may have gone on from it.
func succeed(l *Ledger, p *Pod, promised cluster.ClassID) (displaced bool) {
	if p.lineage.past != nil || l.remembers(p) {
		return false
	}
	if p.object.DeletionTimestamp != nil {
		p.lineage.succeeded = true
		return false
	}
	if len(l.ending) == 0 || !p.Ours {
		return false
	}
	ending := l.ending[WorkloadOf(p.object)]
	at := slices.IndexFunc(ending, func(other *Pod) bool { return other.slot.class == promised })
	if at < 0 {
		return false
	}
	before := ending[at]
	l.endsNoMore(before)
	before.lineage.succeeded = true
	if spent := l.handOn(before.slot); spent != nil {
		p.lineage.past, p.lineage.preemptions = &spent.Account, spent.Preemptions
		if before.exit.requested {
			p.lineage.preemptions++
		}
	}
	return before.exit.leaving
}
