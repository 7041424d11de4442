package world

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	fwk "k8s.io/kube-scheduler/framework"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/judge"
	"fairlead.dev/fairlead/sched"
)

// This file follows a decision from the core to its outcome. Upstream's filters
// have the last word on it; then the pod is assumed to be on its node, so that
// the next decision is judged with it in place, and its bind goes out. Only the
// outcome makes it more than an assumption.

// Backoff says how long a pod backs off after a refusal: Initial after the first,
// doubled up to Max.
type Backoff struct{ Initial, Max cluster.Time }

// SetBackoff replaces the default of one to ten seconds.
func (w *World) SetBackoff(b Backoff) { w.backoffBounds = b }

func (w *World) backoff(refusals int) cluster.Time {
	return min(w.backoffBounds.Max, w.backoffBounds.Initial<<min(refusals-1, 20))
}

// Judge runs upstream's filters on a decision to place a pod. It returns the
// pod, and a status that is no success if the decision must not be carried out;
// that has been reported to the core then.
func (w *World) Judge(ctx context.Context, d sched.Decision) (*Pod, *fwk.Status) {
	s := w.tasks[d.Task]
	if s == nil || s.seq != d.Seq || s.pod == nil || s.pod.Stage != Waiting {
		panic(fmt.Sprintf("world: the core placed task row %d, seq %d, which does not wait", d.Task, d.Seq))
	}
	p, n := s.pod, w.byRow[d.Node]
	w.handling(p.object)
	w.runs[d.Task], p.attempt, p.begun = d.Attempt, d.Attempt, false
	if n == nil {
		panic(fmt.Sprintf("world: the core placed task row %d on node row %d, which holds no node", d.Task, d.Node))
	}
	judged, status := w.caseOf(p)
	if status.IsSuccess() {
		status = judged.LastWord(p.object, n.object.Name)
	}
	if status.IsSuccess() {
		p.reserved, status = w.judge.Reserve(ctx, judged, p.object, n.object.Name)
	}
	if !status.IsSuccess() {
		w.refuse(p)
		return p, status
	}
	if set := s.shape.set; set != nil {
		w.leave(set)
	}
	w.move(p, Assumed)
	p.node = n
	if p.query != nil {
		// The query has its result; what it is known by need not be kept.
		p.query = nil
		info, _ := p.read()
		demand, _ := w.demand(p, info)
		w.reshape(p, w.shapeOf(nil, demand))
	}
	w.putOn(p, n)
	return p, nil
}

// caseOf returns the open case that the pod is judged by. Pods of one shape
// share it, unless there are pods that mind others' labels.
func (w *World) caseOf(p *Pod) (*judge.Case, *fwk.Status) {
	if p.query != nil && p.query.judged != nil {
		return p.query.judged, nil
	}
	key := w.Likeness(p) // of one whose room was being freed, the query is closed
	if c := w.cases[key]; c != nil {
		return c, nil
	}
	c, status := w.judge.Case(p.object)
	if status.IsSuccess() {
		w.cases[key] = c
	}
	return c, status
}

// alikeKey is equal for pods without a query that all filters judge alike.
func (w *World) alikeKey(p *Pod) string {
	key := p.slot.shape.key
	if w.judge.MindsLabels() {
		key = strings.Join([]string{key, p.object.Namespace, fmt.Sprint(p.object.Labels)}, "\n")
	}
	return key
}

// refuse takes back a decision that upstream's filters did not admit.
func (w *World) refuse(p *Pod) {
	w.emit(cluster.BindRefused{Task: p.slot.task, Attempt: p.attempt})
	q := p.query
	w.retract(p)
	p.Refusals++
	if q != nil {
		q.refused = true
	}
	p.special = true
	w.changes++
	if p.Refusals > quickRefusals {
		w.backOff(p, p.Refusals-quickRefusals)
		return
	}
	w.sort(p)
}

// quickRefusals is how often a query is run for a pod again at once. The first
// result may have been given for several pods, of which another was faster; but
// what is set aside for a pod may also fail for ever.
const quickRefusals = 3

// backOff lets the pod, whose task is gated, back off after so many refusals.
func (w *World) backOff(p *Pod, refusals int) {
	w.move(p, BackingOff)
	p.until, p.reserved = w.now+w.backoff(refusals), nil
	w.backingOff.Push(backoffEntry{p, p.until})
}

// Started takes in that the bind succeeded.
func (w *World) Started(p *Pod) {
	if w.pods[p.object.UID] == p && p.Stage == Assumed {
		w.started(p)
	}
}

func (w *World) started(p *Pod) {
	if !p.begun {
		w.emit(cluster.TaskStarted{Task: p.slot.task, Attempt: p.attempt, Node: p.node.row})
	}
	w.move(p, Bound)
	p.Refusals, p.reserved = 0, nil
}

// Failed takes in that the bind did not and will not happen. The pod backs off
// and is tried again.
func (w *World) Failed(p *Pod) {
	if w.pods[p.object.UID] != p {
		return
	}
	if p.object.Spec.NodeName != "" || p.Stage != Assumed && p.Stage != Bound && p.Stage != UnknownNode {
		return // seen to be bound after all, or long past it
	}
	if p.node != nil {
		w.takeOff(p)
		w.goneFromNode(p)
	}
	w.stopAwaitingNode(p) // its node was lost meanwhile
	if p.info != nil {    // it may have changed while the bind was out
		p.refresh(alike(p.info.Pod, p.object))
	}
	p.Refusals++
	w.backOff(p, p.Refusals)
}

// goneFromNode reports that the pod's run on its node is over, or never
// began, and that it is not to be placed for now.
func (w *World) goneFromNode(p *Pod) {
	if p.begun || p.Stage == Bound {
		w.emit(cluster.TaskLeft{Task: p.slot.task, Attempt: p.attempt})
	} else {
		w.emit(cluster.BindRefused{Task: p.slot.task, Attempt: p.attempt})
	}
	w.gate(p)
}

// Settle ends a round: it returns the pods that the core was given and could
// not place. Those with a query will await it again; the others go on waiting.
// Reserved says whether the core holds room for a task that others have yet to
// leave; such pods stay in its hands, and each costs one call of it a round.
func (w *World) Settle(reserved func(cluster.TaskID) bool) []*Pod {
	kept := w.offered[:0]
	var unplaced []*Pod
	for _, p := range w.offered {
		waits := p.Stage == Waiting && w.pods[p.object.UID] == p
		if waits && reserved(p.slot.task) {
			kept = append(kept, p)
			continue
		}
		p.offered = false
		if waits && w.settle(p) {
			unplaced = append(unplaced, p)
		}
	}
	clear(w.offered[len(kept):])
	w.offered = kept
	w.settleQueries()
	w.CloseCases()
	return unplaced
}

// settle takes back a pod that the core could not place, if it is to await a query
// again. It reports whether that is to be explained.
func (w *World) settle(p *Pod) bool {
	switch q := p.query; {
	case q != nil && w.queries[q.key] != q: // given up while room was being made
		w.retract(p)
		w.sort(p)
		return false
	case q != nil:
		w.gate(p)
		w.leave(q.set)
		w.move(p, AwaitingQuery)
		q.insert(p)
		q.refused = true
		w.postpone(q)
	case !p.second && w.softTaints > 0:
		w.retract(p)
		p.second = true
		w.sort(p)
		return false
	}
	return true
}

// CloseCases ends what decisions were judged by: nodes may change now.
func (w *World) CloseCases() {
	for _, key := range sortedKeys(w.cases) {
		w.cases[key].Close()
	}
	clear(w.cases)
}

// Due lets pods wait again that have backed off, and ends slots that were vacant
// for too long. Once in a while it lets all queries be run again.
func (w *World) Due() {
	for len(w.backingOff) > 0 && w.backingOff[0].until <= w.now {
		p := w.backingOff.Pop().pod
		if p.Stage == BackingOff && p.until <= w.now && w.pods[p.object.UID] == p {
			w.sort(p)
		}
	}
	if w.now >= w.recheckAt {
		w.recheckAt = w.now + recheckEvery
		w.MarkDirty()
	}
	w.expire()
}

// recheckEvery is how often queries are run although nothing is known to have
// changed: filters keep books of their own, which may lag behind what is reported
// to the world.
const recheckEvery = cluster.Minute

// Wake is when the world next has something to do although nothing happens.
func (w *World) Wake() cluster.Time {
	wake := w.exitWake()
	if len(w.backingOff) > 0 {
		wake = min(wake, w.backingOff[0].until)
	}
	if len(w.vacant) > 0 {
		wake = min(wake, w.vacant[0].until)
	}
	for _, q := range w.queries {
		if len(q.pods) == 0 {
			continue
		}
		wake = min(wake, w.recheckAt)
		if w.worthRunning(q) {
			wake = min(wake, w.nextRun(q))
		}
	}
	return wake
}

// Counts are how many pods of ours stand where, and how much is known in all.
type Counts struct {
	Gated, BackingOff, Queued, AwaitingQuery, Waiting, Assumed int
	Nodes, OnNodes                                             int
}

// Counts returns how many pods of ours stand where.
func (w *World) Counts() Counts {
	return Counts{
		Gated: w.stages[Gated], BackingOff: w.stages[BackingOff], Queued: w.stages[Queued], AwaitingQuery: w.stages[AwaitingQuery], Waiting: w.stages[Waiting], Assumed: w.stages[Assumed],
		Nodes: len(w.nodes), OnNodes: w.onNodes,
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

// MarkDirty takes in that something changed which the results of queries may depend
// on.
func (w *World) MarkDirty() { w.changes++ }

// Changes grows with everything that may let a pod through that was refused.
func (w *World) Changes() uint64 { return w.changes }

// Pending reports whether there are events that were not taken yet.
func (w *World) Pending() bool { return len(w.events) > 0 }

// Waits reports whether the pod is known and not placed.
func (w *World) Waits(p *Pod) bool {
	return w.pods[p.object.UID] == p && (p.Stage == Waiting || p.Stage == AwaitingQuery || p.Stage == Gated && p.Why != "")
}

// Of is the pod of a task in the core; nil if it has none.
func (w *World) Of(t cluster.TaskID) *Pod {
	if s := w.tasks[t]; s != nil {
		return s.pod
	}
	return nil
}

// Task is the row of the pod's task in the core.
func (w *World) Task(p *Pod) cluster.TaskID { return p.slot.task }

// Likeness is equal for pods that wait for the same reasons.
func (w *World) Likeness(p *Pod) string {
	if p.query != nil {
		return p.query.key
	}
	return w.alikeKey(p)
}

// BacksOff reports whether the pod is known and backs off after a refusal.
func (w *World) BacksOff(p *Pod) bool { return w.pods[p.object.UID] == p && p.Stage == BackingOff }
