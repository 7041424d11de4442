package world

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/judge"
)

// This file takes in nodes. Most updates of a node are heartbeats and change
// nothing that a decision could depend on; they are told from the others here.

type node struct {
	object  *v1.Node
	row     cluster.NodeID
	pods    map[types.UID]*Pod // bound here, or assumed to be
	soft    bool               // has a PreferNoSchedule taint
	odd     bool               // its label of a host name is not its name
	contest contest

	drivers *nodeDrivers       // nil of a node that has said nothing of them
	holders map[types.UID]*Pod // of its pods those with volumes
	// uncounted is how many disks there are on it, by driver, that no vector counts.
	uncounted map[string]int64
}

// nodes keeps the nodes that are known, by name and by row. Of each node the judge, the
// columns, the core and softTaints have what was last seen, and once: whatever changes a node
// goes through enter, change or lose.
type nodes struct {
	journal *journal
	judge   *judge.Judge
	columns *Columns
	byName  map[string]*node
	byRow   []*node // nil where a row is free
	rows    cluster.Rows
	// softTaints counts the nodes with a PreferNoSchedule taint.
	softTaints int
	// misnamed counts the nodes whose label of a host name is not their name.
	misnamed  int
	domains   *domains
	rackLabel string // see Options
	// resized is told of a node that offers something else.
	resized     func(*node)
	reputations reputations
}

// begin takes the rows from all nodes, for a new core.
func (ns *nodes) begin() {
	ns.byRow, ns.rows = nil, cluster.Rows{}
	ns.domains.begin()
}

// enter gives the node a row and reports it. It returns the resources that
// no other node has.
func (ns *nodes) enter(n *node) []v1.ResourceName {
	ns.byName[n.object.Name] = n
	n.row = cluster.NodeID(ns.rows.Take())
	for int(n.row) >= len(ns.byRow) {
		ns.byRow = append(ns.byRow, nil)
	}
	ns.byRow[n.row] = n
	ns.judge.SetNode(n.object)
	ns.journal.emit(cluster.NodeAdded{Node: n.row, Spec: ns.spec(n)})
	ns.count(n)
	ns.journal.changes++
	return ns.columns.offer(n.object, 1)
}

// change takes over the node as it is now, and reports it if the core can tell. It
// returns the resources that no node had before.
func (ns *nodes) change(n *node, object *v1.Node) []v1.ResourceName {
	resized := !maps.EqualFunc(n.object.Status.Allocatable, object.Status.Allocatable, equalQuantity)
	moved := n.object.Labels[v1.LabelTopologyZone] != object.Labels[v1.LabelTopologyZone] || !slices.Equal(ns.groups(n.object), ns.groups(object))
	var alone []v1.ResourceName
	if resized {
		ns.columns.offer(n.object, -1)
		alone = ns.columns.offer(object, 1)
	}
	n.object = object
	ns.judge.SetNode(object)
	if resized && ns.resized != nil {
		ns.resized(n)
	}
	if resized || moved {
		ns.journal.emit(cluster.NodeChanged{Node: n.row, Spec: ns.spec(n)})
	}
	ns.count(n)
	ns.journal.changes++
	return alone
}

// lose forgets a node that is gone, and gives back its row.
func (ns *nodes) lose(n *node) {
	delete(ns.byName, n.object.Name)
	ns.byRow[n.row] = nil
	ns.judge.RemoveNode(n.object.Name)
	ns.journal.emit(cluster.NodeLost{Node: n.row})
	ns.countSoft(n, false)
	ns.countOdd(n, false)
	ns.columns.offer(n.object, -1)
	ns.rows.Give(uint32(n.row))
	ns.journal.changes++
}

// spec is the node as the core knows it. Of the labels it has the zone alone, over which policies spread: what pods ask of labels is in
// their sets.
func (ns *nodes) spec(n *node) cluster.NodeSpec {
	spec := cluster.NodeSpec{Name: n.object.Name, Capacity: ns.columns.capacity(n)}
	if zone := n.object.Labels[v1.LabelTopologyZone]; zone != "" {
		spec.Labels = []cluster.Label{{Key: v1.LabelTopologyZone, Value: zone}}
	}
	spec.Groups = ns.groups(n.object)
	return spec
}

// groups are its rack, and the sets over which rules between pods count.
func (ns *nodes) groups(n *v1.Node) (groups []cluster.Label) {
	if rack := n.Labels[ns.rackLabel]; rack != "" {
		groups = []cluster.Label{{Key: "rack", Value: rack}}
	}
	return ns.domains.of(n, groups)
}

// reportCapacity reports to the core the nodes that have another amount of what a
// column stands for now than of what it stood for before.
func (ns *nodes) reportCapacity(before, now need) {
	if before.isPort() && now.isPort() {
		return
	}
	for _, n := range ns.byRow {
		if n == nil {
			continue
		}
		if r := framework.NewResource(n.object.Status.Allocatable); before.of(n, r) != now.of(n, r) {
			ns.journal.emit(cluster.NodeChanged{Node: n.row, Spec: ns.spec(n)})
		}
	}
}

// count counts the node by what it is now.
func (ns *nodes) count(n *node) {
	ns.countSoft(n, slices.ContainsFunc(n.object.Spec.Taints, isSoft))
	ns.countOdd(n, n.object.Labels[v1.LabelHostname] != n.object.Name)
}

func (ns *nodes) countSoft(n *node, soft bool) { flip(&n.soft, soft, &ns.softTaints) }

func (ns *nodes) countOdd(n *node, odd bool) { flip(&n.odd, odd, &ns.misnamed) }

// flip notes what is so now, and counts it.
func flip(was *bool, is bool, count *int) {
	if is && !*was {
		*count++
	}
	if !is && *was {
		*count--
	}
	*was = is
}

// leftAlone reports whether the node is left to other schedulers for now.
func (ns *nodes) leftAlone(name string) bool {
	n := ns.byName[name]
	return n != nil && n.contest.until > 0
}

// SeeNode takes in a node as it is now.
func (w *World) SeeNode(object *v1.Node) {
	if n := w.nodes.byName[object.Name]; n != nil && n.object.UID != object.UID {
		w.LoseNode(object.Name)
	}
	seeNode(w, w.nodes.reputations.see(object))
}

// seeNode takes in a node as it is to be seen.
func seeNode(w *World, object *v1.Node) {
	n := w.nodes.byName[object.Name]
	defer w.rules.rename(w.nodes.misnamed > 0)
	switch {
	case n == nil:
		n = &node{object: object, pods: map[types.UID]*Pod{}, holders: map[types.UID]*Pod{}}
		w.placed.volumes.equip(n)
		had := w.nodes.softTaints
		alone := w.nodes.enter(n)
		w.waiting.adapt(n, had)
		w.placed.appeared(n)
		w.waiting.appeared(alone)
	case sameNode(n.object, object):
		n.object = object
	default:
		had := w.nodes.softTaints
		alone := w.nodes.change(n, object)
		w.waiting.adapt(n, had)
		w.waiting.appeared(alone)
	}
}

// LoseNode takes in that a node is gone. Pods that are bound to it stay bound,
// and come to life again should a node of that name appear.
func (w *World) LoseNode(name string) {
	n := w.nodes.byName[name]
	if n == nil {
		return
	}
	defer w.rules.rename(w.nodes.misnamed > 0)
	w.nodes.reputations.lose(n)
	w.placed.nominations.releaseAll(n)
	w.nodes.lose(n)
	w.shapes.sets.drop(n.row)
	for _, p := range inOrder(n.pods) {
		w.placed.awaitNode(p, name)
	}
}

func isSoft(t v1.Taint) bool { return t.Effect == v1.TaintEffectPreferNoSchedule }

// sameNode reports whether no decision can tell the two apart.
func sameNode(a, b *v1.Node) bool {
	return a.Spec.Unschedulable == b.Spec.Unschedulable &&
		maps.Equal(a.Labels, b.Labels) &&
		slices.EqualFunc(a.Spec.Taints, b.Spec.Taints, func(s, t v1.Taint) bool { return s.MatchTaint(&t) && s.Value == t.Value }) &&
		maps.EqualFunc(a.Status.Allocatable, b.Status.Allocatable, equalQuantity) &&
		slices.Equal(a.Status.DeclaredFeatures, b.Status.DeclaredFeatures)
}
