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
// the next decision is judged with it in place, and its bind goes out. Only an
// answer makes it more than an assumption.

// Backoff says how long a pod rests after a refusal: Initial after the first,
// doubled up to Max.
type Backoff struct{ Initial, Max cluster.Time }

// SetBackoff replaces the default of one to ten seconds.
func (w *World) SetBackoff(b Backoff) { w.rest = b }

func (w *World) backoff(refusals int) cluster.Time {
	return min(w.rest.Max, w.rest.Initial<<min(refusals-1, 20))
}

// Judge asks upstream's filters about a decision to place a pod. It returns the
// pod, and a status that is no success if the decision must not be carried out;
// the core has been told so then.
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
	if c := s.shape.class; c != nil {
		w.leave(c)
	}
	w.move(p, Assumed)
	p.node = n
	if p.question != nil {
		// The question is answered; what it is known by need not be kept.
		p.question = nil
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
	if p.question != nil && p.question.judged != nil {
		return p.question.judged, nil
	}
	key := w.Likeness(p) // of one whose room was being freed, the question is closed
	if c := w.cases[key]; c != nil {
		return c, nil
	}
	c, status := w.judge.Case(p.object)
	if status.IsSuccess() {
		w.cases[key] = c
	}
	return c, status
}

// alikeKey is equal for pods that do not ask and that all filters answer alike.
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
	q := p.question
	w.retract(p)
	p.Refusals++
	if q != nil {
		q.refused = true
	}
	p.special = true
	w.changes++
	if p.Refusals > quickRefusals {
		w.pause(p, p.Refusals-quickRefusals)
		return
	}
	w.sort(p)
}

// quickRefusals is how often a pod is asked about again at once. The first
// answer may have been given for several pods, of which another was faster; but
// what is set aside for a pod may also fail for ever.
const quickRefusals = 3

// pause lets the pod, whose task is gated, rest after so many refusals.
func (w *World) pause(p *Pod, refusals int) {
	w.move(p, Resting)
	p.until, p.reserved = w.now+w.backoff(refusals), nil
	w.resting.Push(rest{p, p.until})
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

// Failed takes in that the bind did not and will not happen. The pod rests and
// is tried again.
func (w *World) Failed(p *Pod) {
	if w.pods[p.object.UID] != p {
		return
	}
	if p.object.Spec.NodeName != "" || p.Stage != Assumed && p.Stage != Bound && p.Stage != Homeless {
		return // seen to be bound after all, or long past it
	}
	if p.node != nil {
		w.takeOff(p)
		w.goneFromNode(p)
	}
	w.house(p)         // its node was lost meanwhile
	if p.info != nil { // it may have changed while the bind was out
		p.refresh(alike(p.info.Pod, p.object))
	}
	p.Refusals++
	w.pause(p, p.Refusals)
}

// goneFromNode tells the core that the pod's run on its node is over, or never
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
// not place. Those that ask will ask again; the others go on waiting. Reserved
// says whether the core holds room for a task that others have yet to leave; such
// pods stay in its hands, and each costs one question a round.
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
	w.settleQuestions()
	w.CloseCases()
	return unplaced
}

// settle takes back a pod that the core could not place, if it is to ask again.
// It reports whether that is to be explained.
func (w *World) settle(p *Pod) bool {
	switch q := p.question; {
	case q != nil && w.asking[q.key] != q: // given up while room was being made
		w.retract(p)
		w.sort(p)
		return false
	case q != nil:
		w.gate(p)
		w.leave(q.class)
		w.move(p, Asking)
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

// Due lets pods wait again whose rest is over, and ends slots that were vacant
// for too long. Once in a while it lets everything be asked again.
func (w *World) Due() {
	for len(w.resting) > 0 && w.resting[0].until <= w.now {
		p := w.resting.Pop().pod
		if p.Stage == Resting && p.until <= w.now && w.pods[p.object.UID] == p {
			w.sort(p)
		}
	}
	if w.now >= w.stirAt {
		w.stirAt = w.now + stirEvery
		w.Stir()
	}
	w.expire()
}

// stirEvery is how often pods that ask are asked about although nothing is known
// to have changed: filters keep books of their own, which may lag behind what
// the world is told.
const stirEvery = cluster.Minute

// Wake is when the world next wants to be asked although nothing happens.
func (w *World) Wake() cluster.Time {
	wake := w.exitWake()
	if len(w.resting) > 0 {
		wake = min(wake, w.resting[0].until)
	}
	if len(w.vacant) > 0 {
		wake = min(wake, w.vacant[0].until)
	}
	for _, q := range w.asking {
		if len(q.pods) == 0 {
			continue
		}
		wake = min(wake, w.stirAt)
		if w.mayAsk(q) {
			wake = min(wake, w.askAt(q))
		}
	}
	return wake
}

// Counts are how many pods of ours stand where, and how much is known in all.
type Counts struct {
	Held, Resting, Lined, Asking, Waiting, Assumed int
	Nodes, OnNodes                                 int
}

// Counts returns how many pods of ours stand where.
func (w *World) Counts() Counts {
	return Counts{
		Held: w.stages[Held], Resting: w.stages[Resting], Lined: w.stages[Lining], Asking: w.stages[Asking], Waiting: w.stages[Waiting], Assumed: w.stages[Assumed],
		Nodes: len(w.nodes), OnNodes: w.onNodes,
	}
}

// rest is a pod's place among the resting. A pod may have an old one that is
// passed over.
type rest struct {
	pod   *Pod
	until cluster.Time
}

// Before puts first who may go first.
func (r rest) Before(other rest) bool {
	return cmp.Or(cmp.Compare(r.until, other.until), cmp.Compare(r.pod.order, other.pod.order)) < 0
}

// Stir takes in that something changed which pods that ask may depend on.
func (w *World) Stir() { w.changes++ }

// Changes grows with everything that may let a pod through that was refused.
func (w *World) Changes() uint64 { return w.changes }

// Pending reports whether there are events that were not taken yet.
func (w *World) Pending() bool { return len(w.events) > 0 }

// Waits reports whether the pod is known and not placed.
func (w *World) Waits(p *Pod) bool {
	return w.pods[p.object.UID] == p && (p.Stage == Waiting || p.Stage == Asking || p.Stage == Held && p.Why != "")
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
	if p.question != nil {
		return p.question.key
	}
	return w.alikeKey(p)
}

// Rests reports whether the pod is known and rests after a refusal.
func (w *World) Rests(p *Pod) bool { return w.pods[p.object.UID] == p && p.Stage == Resting }
