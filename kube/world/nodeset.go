package world

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/judge"
)

// A node set is the nodes that upstream's node-local filters admit for all pods
// that request the same. It is worked out over all nodes when the first pod of
// the set begins to wait, and corrected node by node while pods wait. Sets that
// nobody waits for are kept up to date for a while, as the next pod like the last
// one is seldom far; then they grow cold and are worked out anew when they are
// wanted again.

const maxIdleSets = 64

type nodeSet struct {
	key     string
	id      cluster.SetID
	defined bool // the core knows the set
	// forgotten says that the row of the set was given back.
	forgotten bool
	isHint    bool // of a node that somebody has nominated
	local     *judge.LocalCase
	reach     *reach              // of volumes that its pods have; nil if that is all nodes
	likes     func(*v1.Node) bool // of nodes that pods prefer, or shun (prefer.go); nil of others
	// avoid leaves out the nodes with a PreferNoSchedule taint that these
	// tolerations do not tolerate.
	avoid       bool
	tolerations []v1.Toleration
	members     []bool // by node row; nil while cold
	waiting     int    // pods
	shapes      int
}

// nodeSets keeps the node sets that pods have, by what they request. The core knows of each
// set that is defined the members as they are, and those of a set without members (a cold one)
// as they once were, which nobody waits for.
type nodeSets struct {
	journal *journal
	judge   *judge.Judge
	nodes   *nodes
	byKey   map[string]*nodeSet
	idle    []*nodeSet // nobody waits for them; the longest idle first
	rows    cluster.Rows
	hints   int // sets of a node that somebody has nominated
}

// begin forgets all sets, for a new core.
func (s *nodeSets) begin() {
	s.byKey, s.idle, s.rows, s.hints = map[string]*nodeSet{}, nil, cluster.Rows{}, 0
	s.rows.Take() // cluster.AllNodes
}

// update corrects every warm node set for the node.
func (s *nodeSets) update(n *node) {
	for _, key := range sortedKeys(s.byKey) {
		ns := s.byKey[key]
		if ns.members == nil || ns.local == nil && ns.likes == nil {
			continue
		}
		for int(n.row) >= len(ns.members) {
			ns.members = append(ns.members, false)
		}
		if in := ns.admits(n); in != ns.members[n.row] {
			ns.members[n.row] = in
			s.journal.emit(cluster.EligibilityChanged{Set: ns.id, Node: n.row, Eligible: in})
		}
	}
}

// drop takes a node that is gone out of all sets. The core does so by itself.
func (s *nodeSets) drop(row cluster.NodeID) {
	for _, ns := range s.byKey {
		if int(row) < len(ns.members) {
			ns.members[row] = false
		}
	}
}

func (ns *nodeSet) admits(n *node) bool {
	if ns.likes != nil {
		return ns.likes(n.object)
	}
	if n.contest.until > 0 {
		return false
	}
	if ns.avoid && n.soft {
		if _, hostile := corev1.FindMatchingUntoleratedTaint(klog.Background(), n.object.Spec.Taints, ns.tolerations, softOnly, true); hostile {
			return false
		}
	}
	return ns.local.Admits(n.object.Name) && ns.reach.admits(n)
}

func softOnly(t *v1.Taint) bool { return isSoft(*t) }

// local returns the node set of a pod whose nodes depend on itself alone.
func (s *nodeSets) local(p *Pod) *nodeSet {
	key := p.localKey(s.judge)
	if p.second {
		key += "\n" // its nodes include those to be avoided
	}
	var near *reach
	if p.stock != nil && p.stock.reach != nil {
		near = p.stock.reach
		key += "\nvolumes " + near.key
	}
	return s.of(p.object, key, !p.second, near)
}

// known returns the node set of a pod that is on a node, or is gated: those where it could be, its volumes aside. The core knows it. It is nil, which
// is all nodes, for a pod that names its nodes, as a DaemonSet's do: each of these would have one of its own.
func (s *nodeSets) known(p *Pod) *nodeSet {
	if p.set == "" { // a pod is on its node in many cores
		p.set = p.localKey(s.judge)
	}
	ns := s.byKey[p.set]
	if ns != nil && ns.defined {
		p.keep(ns)
		return ns
	}
	object := *p.object
	object.Spec.NodeName = ""
	if ns == nil && s.judge.Local(&object).Names() != nil {
		return nil
	}
	if ns = s.of(&object, p.set, true, nil); !ns.defined {
		s.row(ns)
		s.warm(ns)
		s.leave(ns)
	}
	p.keep(ns)
	return ns
}

// keep has the pod know the set where it could be, and one text for all pods of the set be its key.
func (p *sight) keep(ns *nodeSet) {
	if p.set = ns.key; p.reading != nil && p.reading.local == ns.key {
		p.reading.local = ns.key
	}
}

// of returns the node set of that key, to which pods like the object belong; that of a first try leaves out nodes to be avoided.
func (s *nodeSets) of(object *v1.Pod, key string, avoid bool, near *reach) *nodeSet {
	ns := s.byKey[key]
	if ns == nil {
		ns = &nodeSet{
			key: key, id: cluster.SetID(s.rows.Take()), local: s.judge.Local(object), reach: near,
			avoid: avoid, tolerations: object.Spec.Tolerations,
		}
		s.byKey[key] = ns
	}
	return ns
}

// result returns the set for the result of a full-filter query. It is the query's alone.
func (s *nodeSets) result(key string) *nodeSet {
	return &nodeSet{key: key, id: cluster.SetID(s.rows.Take())}
}

// row is the set's row in the core, another one than before if that was given back.
func (s *nodeSets) row(ns *nodeSet) cluster.SetID {
	if ns.forgotten { // the row may be another's by now
		ns.id, ns.forgotten = cluster.SetID(s.rows.Take()), false
	}
	return ns.id
}

// warm makes sure that the core knows the set's nodes as they are.
func (s *nodeSets) warm(ns *nodeSet) {
	ns.waiting++
	if ns.members != nil || ns.local == nil {
		return
	}
	ns.members = make([]bool, len(s.nodes.byRow))
	var rows []cluster.NodeID
	look := func(n *node) {
		if n != nil && ns.admits(n) {
			ns.members[n.row] = true
			rows = append(rows, n.row)
		}
	}
	if names := ns.local.Names(); names != nil { // as a DaemonSet's pods have it
		for _, name := range sets.List(names) {
			look(s.nodes.byName[name])
		}
	} else {
		for _, n := range s.nodes.byRow {
			look(n)
		}
	}
	s.define(ns, rows)
}

// define reports the set's nodes to the core.
func (s *nodeSets) define(ns *nodeSet, rows []cluster.NodeID) {
	s.journal.emit(cluster.SetDefined{Set: ns.id, Nodes: rows})
	ns.defined = true
}

// leave counts a pod of the set that waits no more.
func (s *nodeSets) leave(ns *nodeSet) {
	ns.waiting--
	if ns.waiting > 0 || ns.local == nil {
		return
	}
	s.idle = append(s.idle, ns)
	if len(s.idle) <= maxIdleSets {
		return
	}
	oldest := s.idle[0]
	s.idle = slices.Delete(s.idle, 0, 1)
	if oldest.waiting == 0 && !slices.Contains(s.idle, oldest) {
		oldest.members = nil
	}
}

// forget forgets a set that no shape has any more.
func (s *nodeSets) forget(ns *nodeSet) {
	if s.byKey[ns.key] == ns {
		delete(s.byKey, ns.key)
	}
	s.idle = slices.DeleteFunc(s.idle, func(other *nodeSet) bool { return other == ns })
	s.journal.emit(cluster.SetForgotten{Set: ns.id})
	s.rows.Give(uint32(ns.id))
	ns.defined, ns.forgotten = false, true
	if ns.isHint {
		s.hints--
	}
}
