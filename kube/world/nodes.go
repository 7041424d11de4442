package world

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/cluster"
)

// This file takes in nodes. Most updates of a node are heartbeats and change
// nothing that a decision could depend on; they are told from the others here.

type node struct {
	object *v1.Node
	row    cluster.NodeID
	pods   map[types.UID]*Pod // bound here, or assumed to be
	soft   bool               // has a PreferNoSchedule taint
}

// SeeNode takes in a node as it is now.
func (w *World) SeeNode(object *v1.Node) {
	n := w.nodes[object.Name]
	switch {
	case n == nil:
		n = &node{object: object, pods: map[types.UID]*Pod{}}
		w.nodes[object.Name] = n
		alone := w.enterNode(n)
		for _, p := range inOrder(w.unknownNode[object.Name]) {
			w.settleOn(p, n)
		}
		delete(w.unknownNode, object.Name)
		w.appeared(alone)
	case n.object.UID != object.UID:
		w.LoseNode(object.Name)
		w.SeeNode(object)
	case sameNode(n.object, object):
		n.object = object
	default:
		resized := !maps.EqualFunc(n.object.Status.Allocatable, object.Status.Allocatable, equalQuantity)
		moved := n.object.Labels[w.rackLabel] != object.Labels[w.rackLabel]
		var alone []v1.ResourceName
		if resized {
			w.kinds.offer(n.object, -1)
			alone = w.kinds.offer(object, 1)
		}
		n.object = object
		w.judge.SetNode(object)
		if resized || moved {
			w.emit(cluster.NodeChanged{Node: n.row, Spec: w.spec(n)})
		}
		w.countSoft(n)
		w.updateSets(n)
		w.changes++
		w.appeared(alone)
	}
}

// LoseNode takes in that a node is gone. Pods that are bound to it stay bound,
// and come to life again should a node of that name appear.
func (w *World) LoseNode(name string) {
	n := w.nodes[name]
	if n == nil {
		return
	}
	delete(w.nodes, name)
	w.byRow[n.row] = nil
	w.judge.RemoveNode(name)
	w.emit(cluster.NodeLost{Node: n.row})
	for _, set := range w.nodeSets {
		set.drop(n.row)
	}
	if n.soft {
		w.softTaints--
	}
	for _, p := range inOrder(n.pods) {
		w.awaitNode(p, name)
	}
	w.kinds.offer(n.object, -1)
	w.nodeRows.Give(uint32(n.row))
	w.changes++
}

// enterNode gives the node a row and reports it. It returns the resources that
// no other node has.
func (w *World) enterNode(n *node) []v1.ResourceName {
	n.row = cluster.NodeID(w.nodeRows.Take())
	for int(n.row) >= len(w.byRow) {
		w.byRow = append(w.byRow, nil)
	}
	w.byRow[n.row] = n
	w.judge.SetNode(n.object)
	w.emit(cluster.NodeAdded{Node: n.row, Spec: w.spec(n)})
	w.countSoft(n)
	w.updateSets(n)
	w.changes++
	return w.kinds.offer(n.object, 1)
}

func (w *World) spec(n *node) cluster.NodeSpec {
	spec := cluster.NodeSpec{Name: n.object.Name, Capacity: w.kinds.capacity(n.object)}
	if rack := n.object.Labels[w.rackLabel]; rack != "" {
		spec.Groups = []cluster.Label{{Key: "rack", Value: rack}}
	}
	return spec
}

// SetRackLabel says by which label nodes name their rack. Without one they stand
// in none.
func (w *World) SetRackLabel(label string) { w.rackLabel = label }

func (w *World) countSoft(n *node) {
	soft := slices.ContainsFunc(n.object.Spec.Taints, isSoft)
	if soft && !n.soft {
		if w.softTaints++; w.softTaints == 1 {
			w.offerAgain()
		}
	}
	if !soft && n.soft {
		w.softTaints--
	}
	n.soft = soft
}

// offerAgain lets Settle look at all pods that wait. Those that have done so
// since before there was a soft taint would else never have their second try.
func (w *World) offerAgain() {
	w.offered = w.offered[:0]
	for _, p := range inOrder(w.pods) {
		if p.Stage == Waiting {
			w.offered = append(w.offered, p)
		}
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
