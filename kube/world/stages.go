package world

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Stage is where a pod stands.
type Stage uint8

// The stages of a pod. The core's task is gated in those before Waiting.
const (
	Gated         Stage = iota // something outside keeps it from being placed
	BackingOff                 // waits out the time after a refusal
	AwaitingQuery              // waits until a full-filter query has worked out its nodes
	UnknownNode                // bound to a node that is not known
	Queued                     // may be placed; waits to be let through to the core
	Waiting                    // in the core's hands
	Assumed                    // decided; its bind is under way
	Bound
)

// String names the stage as stories print it.
func (s Stage) String() string {
	return [...]string{"gated", "backing off", "awaiting query", "node unknown", "queued", "waiting", "assumed", "bound"}[s]
}

// Pods keeps the pods that are known, and counts them by where they stand. They come, change
// their stage and go by add, move and remove alone, so that the counts are those of the pods.
type Pods struct {
	byUID    map[types.UID]*Pod
	arrivals uint64
	stages   [Bound + 1]int      // how many pods of ours stand in each
	ranks    map[int32]int       // how many pods of each priority wait in the core without a query
	unplaced map[int32]int       // how many pods of ours of each priority wait for a node
	handling func(metav1.Object) // see Options
	moved    func(*Pod)          // is told of those of groups that change their stage
	readings readings
}

// add takes in a pod that was not known.
func (ps *Pods) add(p *Pod) {
	p.order = ps.arrivals
	ps.arrivals++
	if p.Ours {
		ps.stages[p.Stage]++
	}
	ps.byUID[p.object.UID] = p
	ps.readings.share(p)
}

// remove forgets a pod that is gone.
func (ps *Pods) remove(p *Pod) {
	if p.Ours {
		ps.stages[p.Stage]--
	}
	if p.Ours && p.Stage.waitsForNode() {
		ps.countUnplaced(p, false)
	}
	delete(ps.byUID, p.object.UID)
}

// move changes the pod's stage.
func (ps *Pods) move(p *Pod, to Stage) {
	if p.Ours {
		ps.stages[p.Stage]--
		ps.stages[to]++
	}
	if was, is := p.Stage.waitsForNode(), to.waitsForNode(); p.Ours && was != is {
		ps.countUnplaced(p, is)
	}
	if p.Stage == Waiting && p.query == nil {
		ps.rank(p, -1)
	}
	if to == Waiting && p.query == nil {
		ps.rank(p, 1)
	}
	p.Stage = to
	if p.slot != nil {
		p.slot.workload.touch()
	}
	if p.group != nil {
		ps.moved(p)
	}
}

// rank counts the pod among those that wait in the core without a query.
func (ps *Pods) rank(p *Pod, change int) {
	p.ranked = p.ranked || change > 0
	if !p.ranked {
		return
	}
	p.ranked = change > 0
	rank := p.priority()
	if ps.ranks[rank] += change; ps.ranks[rank] == 0 {
		delete(ps.ranks, rank)
	}
}

// has reports whether the pod is still known.
func (ps *Pods) has(p *Pod) bool { return ps.byUID[p.object.UID] == p }

// InHands are the pods that the core may place at this moment.
func (ps *Pods) InHands() []*v1.Pod {
	var pods []*v1.Pod
	for _, p := range inOrder(ps.byUID) {
		if p.Stage == Waiting {
			pods = append(pods, p.object)
		}
	}
	return pods
}

// Queued is how many pods are queued.
func (ps *Pods) Queued() int { return ps.stages[Queued] }

// Waits reports whether the pod is known and not placed.
func (ps *Pods) Waits(p *Pod) bool {
	return ps.has(p) && (p.Stage == Waiting || p.Stage == AwaitingQuery || p.Stage == Gated && p.Why != "")
}

// BacksOff reports whether the pod is known and backs off after a refusal.
func (ps *Pods) BacksOff(p *Pod) bool { return ps.has(p) && p.Stage == BackingOff }

func inOrder(pods map[types.UID]*Pod) []*Pod {
	list := make([]*Pod, 0, len(pods))
	for _, p := range pods {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *Pod) int { return cmp.Compare(a.order, b.order) })
	return list
}
