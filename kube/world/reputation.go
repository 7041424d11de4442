package world

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
)

// This file learns how far nodes are to be trusted, and has that feed tiers: a node is shown to all that decides as if it had a label that says so, which a tier may ask for as for any other; who has given a node that label himself is believed. Nothing of it is written. It failed when it ceases to be ready, and when it goes with pods of ours on it; but not while it is cordoned, as it is then taken
// out of service. Of what was before it was first seen the last failure is known, by when its condition last changed.

// ReputationLabel is the label by which a tier asks for nodes of a reputation: high, average or low.
const ReputationLabel = "fairlead.dev/reputation"

// settles is how long a new node may take until it is ready for good.
const settles = 10 * cluster.Minute

// reputations are those of nodes, by name.
type reputations struct {
	journal *journal
	// at is a moment of the API server's clock; nil if nothing is learned.
	at func(metav1.Time) cluster.Time
	of map[string]*reputed
	// count is how many nodes have which label.
	count map[string]int
	next  cluster.Time // when the next one may change by time alone
}

func newReputations(j *journal, at func(metav1.Time) cluster.Time) reputations {
	return reputations{journal: j, at: at, of: map[string]*reputed{}, count: map[string]int{}, next: cluster.Never}
}

// reputed is a node with what is remembered of it.
type reputed struct {
	class.Reputation
	object *v1.Node // as it was last seen; nil if it is gone
	label  string   // that it was last shown with; empty if it is gone
	ready  bool
}

// see takes in a node as it is now, and returns how it is to be seen.
func (r *reputations) see(object *v1.Node) *v1.Node {
	if r.at == nil {
		return object
	}
	n := r.of[object.Name]
	if n == nil {
		n = &reputed{ready: true}
		r.of[object.Name] = n
	}
	if c := readiness(object); c != nil {
		ready := c.Status == v1.ConditionTrue
		switch first := n.object == nil || n.object.UID != object.UID; {
		case object.Spec.Unschedulable:
		case first && r.at(c.LastTransitionTime) > r.at(object.CreationTimestamp)+settles:
			r.failed(n, min(r.at(c.LastTransitionTime), r.journal.now))
		case !first && n.ready && !ready:
			r.failed(n, r.journal.now)
		}
		n.ready = ready
	}
	n.object = object
	return r.dressed(n)
}

// readiness is the condition by which a node says whether it is ready; nil if it does not say.
func readiness(object *v1.Node) *v1.NodeCondition {
	at := slices.IndexFunc(object.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady })
	if at < 0 {
		return nil
	}
	return &object.Status.Conditions[at]
}

// failed takes in a failure.
func (r *reputations) failed(n *reputed, at cluster.Time) {
	n.Failed(at)
	r.next = min(r.next, n.Changes(r.journal.now))
}

// lose takes in that a node is gone, with those of its pods that nobody had told to leave. What it failed of before that counts once.
func (r *reputations) lose(gone *node) {
	n := r.of[gone.object.Name]
	if n == nil {
		return
	}
	if n.ready && !gone.object.Spec.Unschedulable && hasOurs(gone) {
		r.failed(n, r.journal.now)
	}
	r.relabel(n, "")
	if n.object = nil; n.Clean(r.journal.now) {
		delete(r.of, gone.object.Name)
	}
}

// hasOurs reports whether the node has a pod of ours that could stand elsewhere, and that nobody has told to leave.
func hasOurs(n *node) bool {
	for _, p := range n.pods {
		if p.Ours && p.seen.DeletionTimestamp == nil && chooses(p.seen) {
			return true
		}
	}
	return false
}

// dressed is the node with a label of its reputation.
func (r *reputations) dressed(n *reputed) *v1.Node {
	if given, is := n.object.Labels[ReputationLabel]; is {
		r.relabel(n, given)
		return n.object
	}
	r.relabel(n, class.TierName(n.Tier(r.journal.now)))
	with := *n.object
	with.Labels = labels.Merge(with.Labels, labels.Set{ReputationLabel: n.label})
	return &with
}

// relabel counts the node with another label.
func (r *reputations) relabel(n *reputed, label string) {
	if n.label != "" {
		r.count[n.label]--
	}
	if n.label = label; label != "" {
		r.count[label]++
	}
}

// due takes in what is forgotten by now.
func (r *reputations) due(w *World) {
	if r.next > r.journal.now {
		return
	}
	r.next = cluster.Never
	for _, name := range sortedKeys(r.of) {
		n := r.of[name]
		r.next = min(r.next, n.Changes(r.journal.now))
		switch {
		case n.object != nil:
			seeNode(w, r.dressed(n))
		case n.Clean(r.journal.now):
			delete(r.of, name)
		}
	}
}

// report says of how many nodes which reputation is learned.
func (r *reputations) report() string {
	low, average, high := class.Tiers()[0], class.Tiers()[1], class.Tiers()[2]
	return fmt.Sprintf("by their failures of the last %d days %d nodes are %s, %d %s and %d %s", class.Remembered/cluster.Day, r.count[high], high, r.count[average], average, r.count[low], low)
}
