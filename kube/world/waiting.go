package world

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/heap"
	"fairlead.dev/fairlead/kube/judge"
)

// waiting keeps the pods of ours that are to be placed. Each is in one place, which is its
// stage: it is gated, backs off here, stands in the queue, awaits a query, or is in the core's
// hands. sort puts it there, and retract takes it out again.
type waiting struct {
	journal    *journal
	judge      *judge.Judge
	backoff    Backoff
	pods       *Pods
	nodes      *nodes
	shapes     *shapes
	slots      *slots
	queue      *queue
	queries    *queries
	backingOff heap.Heap[backoffEntry]
	closed     map[string]bool // namespaces that are being deleted
	noClaims   string          // why no claim of devices is ever seen; empty if they are
}

// sort finds out what keeps a pod that is to be placed, and lets it wait if
// nothing does. Its task, if it has one, is gated.
func (l *waiting) sort(p *Pod) {
	l.pods.handling(p.object)
	l.slots.classes.dress(p)
	p.lined = false
	info, err := p.read()
	_, mislabelled := l.slots.classes.promised(p)
	p.second = (p.second || l.shapes.prices(p.object.Spec.SchedulerName).Nodes) && l.nodes.softTaints > 0
	demand, uncounted := l.demand(p, info, err)
	asked := func() bool { return len(uncounted) > 0 || p.special || l.judge.Bespoke(l.shapes.unsaid(p)) }
	p.selected = err == nil && l.slots.binds(p)
	p.bound = p.selected && !asked() // whoever is asked about is asked for one round
	l.slots.reclass(p)
	switch {
	case p.noted:
		l.hold(p, "")
	case err != nil:
		l.hold(p, fmt.Sprintf("its affinity terms cannot be read: %v", err))
	case len(p.object.Spec.SchedulingGates) > 0:
		l.slots.take(p, l.shapes.known(p)) // policies learn what room will be wanted; gates are never added, so it is Gated since it came
	case mislabelled != "":
		l.hold(p, mislabelled)
	case l.slots.classes.torn(p) != "":
		l.hold(p, l.slots.classes.torn(p))
	case absurd(p.object) != "":
		l.hold(p, absurd(p.object))
	case p.object.DeletionTimestamp != nil:
		l.hold(p, "")
	case l.closed[p.object.Namespace]:
		l.hold(p, closedNamespace)
	case l.noClaims != "" && len(p.object.Spec.ResourceClaims) > 0:
		l.hold(p, fmt.Sprintf("it has claims of devices (%d in spec.resourceClaims), and none is read: %s", len(p.object.Spec.ResourceClaims), l.noClaims))
	case p.group != nil && p.group.why != "":
		l.hold(p, p.group.why)
	case p.group != nil && p.group.parent != nil && !p.letIn:
		p.lined = true
		l.hold(p, p.group.notice)
	case asked():
		p.Ready = min(p.Ready, l.journal.now)
		l.queries.await(p, demand, uncounted)
	default:
		p.Ready = min(p.Ready, l.journal.now)
		l.slots.take(p, l.shapes.waiting(p, l.shapes.sets.local(p), demand))
		l.queue.push(p)
	}
}

// demand is what the pod takes, and what of it no vector counts: nothing in particular if some of it is more than one holds.
func (l *waiting) demand(p *Pod, info *framework.PodInfo, unread error) (cluster.Vector, []need) {
	if unread != nil {
		return nil, nil
	}
	demand, uncounted := l.shapes.demand(p, info)
	if slices.ContainsFunc(demand, func(q int64) bool { return q >= cluster.MaxQuantity }) {
		uncounted = append(uncounted, need{})
	}
	return demand, uncounted
}

// hold keeps the pod from being placed until it is seen to have changed.
func (l *waiting) hold(p *Pod, why string) {
	if p.slot == nil {
		l.slots.occupy(p, l.shapes.empty())
	}
	l.pods.move(p, Gated)
	p.Why = why
}

// retract takes a pod that is not on a node out of every queue.
func (l *waiting) retract(p *Pod) {
	if p.Stage == Waiting {
		l.slots.gate(p)
		if set := p.slot.shape.set; set != nil {
			l.shapes.sets.leave(set)
		}
	}
	if p.query != nil {
		l.queries.leave(p)
	}
	if p.Stage == Waiting || p.Stage == Queued || p.Stage == AwaitingQuery || p.Stage == BackingOff {
		l.pods.move(p, Gated)
	}
}

// again sorts the pod anew, wherever it waits.
func (l *waiting) again(p *Pod) {
	l.retract(p)
	l.sort(p)
}

// adapt adapts to a node that was added or changed, before which so many had a soft taint.
func (l *waiting) adapt(n *node, softTaints int) {
	if softTaints == 0 && l.nodes.softTaints > 0 {
		l.queue.offerAgain()
	}
	l.shapes.sets.update(n)
	if softTaints > 0 || l.nodes.softTaints == 0 {
		return
	}
	for _, p := range inOrder(l.pods.byUID) { // who shuns it has to say so
		if (p.Stage == Waiting || p.Stage == Queued) && l.shapes.prices(p.object.Spec.SchedulerName).Nodes {
			l.again(p)
		}
	}
}

// appeared lets pods that ask for resources that no node had be counted by
// vectors, now that one has them.
func (l *waiting) appeared(resources []v1.ResourceName) {
	if len(resources) == 0 {
		return
	}
	for _, p := range inOrder(l.pods.byUID) {
		if p.Stage != AwaitingQuery {
			continue
		}
		info, _ := p.read()
		asked := judge.Requests(info).ScalarResources
		if slices.ContainsFunc(resources, func(name v1.ResourceName) bool {
			return asked[name] > 0 && !slices.Contains(p.needs, need{resource: name})
		}) {
			l.again(p)
		}
	}
}

// Backoff says how long a pod backs off after a refusal: Initial after the first,
// doubled up to Max.
type Backoff struct{ Initial, Max cluster.Time }

// After is how long to back off after so many refusals.
func (b Backoff) After(refusals int) cluster.Time {
	return min(b.Max, b.Initial<<min(refusals-1, 20))
}

// backOff lets the pod, whose task is gated, back off after so many refusals.
func (l *waiting) backOff(p *Pod, refusals int) {
	l.pods.move(p, BackingOff)
	p.until, p.reserved = l.journal.now+l.backoff.After(refusals), nil
	l.backingOff.Push(backoffEntry{p, p.until})
}

// settle takes back the pods that the core was given and could not place, and returns those
// that are to be explained. Reserved as of Settle.
func (l *waiting) settle(reserved func(cluster.TaskID) bool) []*Pod {
	kept := l.queue.offered[:0]
	var unplaced []*Pod
	for _, p := range l.queue.offered {
		waits := p.Stage == Waiting && l.pods.has(p)
		if waits && reserved(p.slot.task) {
			kept = append(kept, p)
			if p.way != nil {
				p.way.kept = true
			}
			if q := p.query; q != nil && q.judged != nil && p.slot.shape.set == q.set {
				l.queries.keeps(q)
			}
			continue
		}
		p.offered = false
		if waits && l.settleOne(p) {
			unplaced = append(unplaced, p)
			if q := p.query; q != nil && q.evicting { // nor are the others
				unplaced = append(unplaced, slices.DeleteFunc(slices.Clone(q.pods), func(other *Pod) bool { return other == p })...)
			}
		}
	}
	clear(l.queue.offered[len(kept):])
	l.queue.offered = kept
	return unplaced
}

// settleOne takes back a pod that the core could not place, if it is to await a query
// again. It reports whether that is to be explained.
func (l *waiting) settleOne(p *Pod) bool {
	switch q := p.query; {
	case q != nil && !l.queries.has(q): // given up while room was being made
		l.again(p)
		return false
	case q != nil:
		p.doubted, p.choice = p.choice != nil, nil
		if p.way != nil {
			q.vain++
		}
		l.queries.ways.lift(p)
		l.slots.gate(p)
		l.shapes.sets.leave(p.slot.shape.set)
		l.pods.move(p, AwaitingQuery)
		q.insert(p)
		q.refused = true
		l.queries.postpone(q)
	case !p.second && l.nodes.softTaints > 0:
		l.retract(p)
		p.second = true
		l.sort(p)
		return false
	}
	return true
}

// due lets pods wait again that have backed off.
func (l *waiting) due() {
	for len(l.backingOff) > 0 && l.backingOff[0].until <= l.journal.now {
		p := l.backingOff.Pop().pod
		if p.Stage == BackingOff && p.until <= l.journal.now && l.pods.has(p) {
			l.sort(p)
		}
	}
}

// backoffEntry is a pod's place among those that back off. A pod may have an old
// one that is passed over.
type backoffEntry struct {
	pod   *Pod
	until cluster.Time
}

// Before puts first who may go first.
func (r backoffEntry) Before(other backoffEntry) bool {
	return cmp.Or(cmp.Compare(r.until, other.until), cmp.Compare(r.pod.order, other.pod.order)) < 0
}
