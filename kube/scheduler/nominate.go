package scheduler

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/world"
	"fairlead.dev/fairlead/sched"
)

// This file tells others that room is made for a pod, as kube-scheduler does: from the moment that the
// API server is asked to evict somebody for it, the pod has a nominated node, so that schedulers
// and autoscalers leave that room alone, a condition that says who leaves and where, and an
// event. The node is taken back when its room is no longer held for the pod. When the pod is
// bound, the API server does that. Who is to leave and was not asked yet may still stay, so that nothing
// is nominated for that.

// nomination is a node that is nominated for a pod, or is to be taken back.
type nomination struct {
	pod   *world.Pod
	node  string       // empty while it is taken back
	retry cluster.Time // when it is written again, after a failure
	// until is how long what a leader before has nominated stays, as long as nobody has looked for a node for the pod.
	until cluster.Time
}

// rewriteAfter is the pause before something is written again: mostly the pod had changed, and is seen as it is by then.
const rewriteAfter = cluster.Second

// refusal is a budget that did not let a pod go.
type refusal struct {
	text string
	at   cluster.Time
}

// roomHeld is the node whose room is held for the pod until others have left, empty if there is none.
func roomHeld(s *Scheduler, p *world.Pod) string {
	if p.Stage != world.Waiting || !s.epochs.reserved(p.Task()) {
		return ""
	}
	v := s.epochs.core.View()
	return v.NodeSpec(v.Task(p.Task()).Node).Name
}

// heldFor says that room is held for the pod, and who leaves. Pods of other namespaces are not named to
// whoever may read this one.
func heldFor(s *Scheduler, p *world.Pod, node string) string {
	var named []string
	leave, others := 0, 0
	for _, d := range s.epochs.core.Ledger().Open(p.Task(), nil) {
		if t, serves := d.Purpose.Serves(); d.Kind != sched.Evict || !serves || t != p.Task() {
			continue
		}
		victim := s.world.Of(d.Task)
		switch leave++; {
		case victim == nil || victim.Object().Namespace != p.Object().Namespace:
			others++
		case len(named) < 3:
			named = append(named, victim.Object().Name)
		}
	}
	if leave == 0 {
		return world.KeptWords(node) + " until others have left."
	}
	slices.Sort(named)
	if others > 0 {
		named = append(named, fmt.Sprintf("%d of other namespaces", others))
	}
	if rest := leave - others - min(leave-others, 3); rest > 0 {
		named = append(named, fmt.Sprintf("%d more", rest))
	}
	pods := "pods have"
	if leave == 1 {
		pods = "pod has"
	}
	proof := ""
	if f := p.Fewest(); f != (sched.Fewest{}) {
		proof = fmt.Sprintf(" In all %s.", f)
	}
	return fmt.Sprintf("%s until %d %s left (%s).%s", world.KeptWords(node), leave, pods, strings.Join(named, ", "), proof)
}

// nominate nominates the node for whose room others have been told to leave.
func (e *explainer) nominate(s *Scheduler, p *world.Pod) {
	node := roomHeld(s, p)
	if node == "" {
		return
	}
	at := slices.IndexFunc(e.nominations, func(n *nomination) bool { return n.pod == p })
	if at < 0 {
		at = len(e.nominations)
		e.nominations = append(e.nominations, &nomination{pod: p})
	}
	n := e.nominations[at]
	if n.node == node {
		return
	}
	n.node, n.retry = node, cluster.Never
	e.report(s, p, condition{reason: v1.PodReasonUnschedulable, nominated: new(node)}, e.reasons(s, p))
}

// nominateHeirs nominates the nodes of pods for which room is held that was made for others, who are less important, or by a leader before: those who leave were asked to before.
func (e *explainer) nominateHeirs(s *Scheduler, held []cluster.TaskID) {
	for _, t := range held {
		p := s.world.Of(t)
		if p == nil || slices.ContainsFunc(e.nominations, func(n *nomination) bool { return n.pod == p && n.node != "" }) {
			continue
		}
		asked, decided := false, false
		for _, d := range s.epochs.core.Ledger().Open(t, nil) {
			if victim := s.world.Of(d.Task); d.Kind == sched.Evict && d.Task != t && victim != nil {
				decided = true
				asked = asked || victim.Object().DeletionTimestamp != nil
			}
		}
		if asked || !decided {
			e.nominate(s, p)
		}
	}
}

// inherit takes over what a leader before nominated. It is taken back unless the first round holds the same room. A node
// that somebody else has nominated, an autoscaler, say, stays.
func (e *explainer) inherit(s *Scheduler, p *world.Pod) {
	node := p.Object().Status.NominatedNodeName
	if node == "" || !p.Ours || p.Object().Spec.NodeName != "" {
		return
	}
	for _, c := range p.Object().Status.Conditions {
		if c.Type == v1.PodScheduled && strings.Contains(c.Message, world.KeptWords(node)) {
			e.nominations = append(e.nominations, &nomination{pod: p, node: node, retry: cluster.Never, until: s.now() + inheritedFor})
		}
	}
}

// inheritedFor is for how long a pod that is asked about may wait until it is, for the first time.
const inheritedFor = 5 * cluster.Second

// follow takes back the nominations whose room is not held any more, and writes again what could not be written.
func (e *explainer) follow(s *Scheduler) {
	e.nominations = slices.DeleteFunc(e.nominations, func(n *nomination) bool {
		p := n.pod
		switch {
		case s.world.Pod(p.Object().UID) != p || p.Stage == world.Bound || p.Stage == world.UnknownNode:
			return true // gone, or the API server took it back
		case p.Stage == world.Assumed:
			n.retry = s.now() // nothing is written of it meanwhile, and should its bind fail, that has to be
			return false
		case n.node != "" && roomHeld(s, p) == n.node:
		case p.Stage != world.Waiting && n.until > s.now(): // it was not its turn yet
			n.retry = n.until
			return false
		case n.node != "":
			n.node = ""
			e.takeBack(n)
			if _, known := e.reported[p.Object().UID]; known { // what was said of the node holds no more
				e.wantNow([]*world.Pod{p})
			}
		}
		if n.retry <= s.now() {
			e.rewrite(s, n)
		}
		return false
	})
}

// rewrite writes the nomination again, with the words: by these it is known for ours.
func (e *explainer) rewrite(s *Scheduler, n *nomination) {
	if n.node == "" {
		e.takeBack(n)
		return
	}
	n.retry = cluster.Never
	e.report(s, n.pod, condition{reason: v1.PodReasonUnschedulable, nominated: new(n.node)}, e.reasons(s, n.pod))
}

// takeBack writes that no node is nominated.
func (e *explainer) takeBack(n *nomination) {
	n.retry = cluster.Never
	e.writer.put(condition{pod: n.pod.Object(), nominated: new("")})
}

// wrote takes in what came of writing the status of a pod, or of a group.
func (e *explainer) wrote(s *Scheduler, c condition, done bool) {
	if c.written != nil {
		c.written.unwritten(s)
		return
	}
	if c.object != nil {
		e.standRetries = append(e.standRetries, standRetry{c, s.now() + rewriteAfter})
		return
	}
	if p := s.world.Pod(c.pod.UID); !done && p != nil {
		if last, known := e.reported[c.pod.UID]; known { // it counts as it did, and is said again
			last.message, last.at = "", last.at-explainAgain
			e.reported[c.pod.UID] = last
		}
		e.retries = append(e.retries, reminder{p, s.now() + rewriteAfter})
	}
	e.nominations = slices.DeleteFunc(e.nominations, func(n *nomination) bool {
		if c.nominated == nil || n.pod.Object().UID != c.pod.UID || n.node != *c.nominated {
			return false
		}
		if !done {
			n.retry = s.now() + rewriteAfter
		}
		return done && n.node == ""
	})
}

// wake is when something is next written, or looked at, again.
func (e *explainer) wake() cluster.Time {
	wake := e.again.wake()
	if len(e.retries) > 0 {
		wake = min(wake, e.retries[0].at)
	}
	if len(e.standRetries) > 0 {
		wake = min(wake, e.standRetries[0].at)
	}
	for _, n := range e.nominations {
		if n.pod.Stage != world.Assumed { // else its bind wakes the loop
			wake = min(wake, n.retry)
		}
	}
	return wake
}

// refusedByBudget notes which budget kept a pod from leaving for another.
func (e *explainer) refusedByBudget(s *Scheduler, d *departure, err error) {
	if d.by == nil {
		return
	}
	said, ok := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause)
	if !ok {
		return
	}
	text := fmt.Sprintf("A budget keeps pod %s on node %s: %s.", d.object.Name, d.node, strings.TrimSuffix(said.Message, "."))
	if d.object.Namespace != d.by.pod.Namespace {
		text = fmt.Sprintf("A disruption budget of another namespace keeps a pod on node %s.", d.node)
	}
	e.kept[d.by.pod.UID] = refusal{text, s.now()}
}
