package world

import (
	"slices"
	"strconv"

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
	local     *judge.LocalCase
	// avoid leaves out the nodes with a PreferNoSchedule taint that these
	// tolerations do not tolerate.
	avoid       bool
	tolerations []v1.Toleration
	members     []bool // by node row; nil while cold
	waiting     int    // pods
	shapes      int
}

// updateSets corrects every warm node set for the node.
func (w *World) updateSets(n *node) {
	for _, key := range sortedKeys(w.nodeSets) {
		ns := w.nodeSets[key]
		if ns.members == nil || ns.local == nil {
			continue
		}
		for int(n.row) >= len(ns.members) {
			ns.members = append(ns.members, false)
		}
		if in := ns.admits(n); in != ns.members[n.row] {
			ns.members[n.row] = in
			w.emit(cluster.EligibilityChanged{Set: ns.id, Node: n.row, Eligible: in})
		}
	}
}

// drop takes out a node that is gone. The core does so by itself.
func (ns *nodeSet) drop(row cluster.NodeID) {
	if int(row) < len(ns.members) {
		ns.members[row] = false
	}
}

func (ns *nodeSet) admits(n *node) bool {
	if ns.avoid && n.soft {
		if _, hostile := corev1.FindMatchingUntoleratedTaint(klog.Background(), n.object.Spec.Taints, ns.tolerations, softOnly, true); hostile {
			return false
		}
	}
	return ns.local.Admits(n.object.Name)
}

func softOnly(t *v1.Taint) bool { return isSoft(*t) }

// localSet returns the node set of a pod whose nodes depend on itself alone.
func (w *World) localSet(p *Pod) *nodeSet {
	key := w.judge.LocalKey(p.object)
	if p.second {
		key += "\n" // its nodes include those to be avoided
	}
	ns := w.nodeSets[key]
	if ns == nil {
		ns = &nodeSet{
			key: key, id: cluster.SetID(w.setRows.Take()), local: w.judge.Local(p.object),
			avoid: !p.second, tolerations: p.object.Spec.Tolerations,
		}
		w.nodeSets[key] = ns
	}
	return ns
}

// warm makes sure that the core knows the set's nodes as they are.
func (w *World) warm(ns *nodeSet) {
	ns.waiting++
	if ns.members != nil || ns.local == nil {
		return
	}
	ns.members = make([]bool, len(w.byRow))
	var rows []cluster.NodeID
	look := func(n *node) {
		if n != nil && ns.admits(n) {
			ns.members[n.row] = true
			rows = append(rows, n.row)
		}
	}
	if names := ns.local.Names(); names != nil { // as a DaemonSet's pods have it
		for _, name := range sets.List(names) {
			look(w.nodes[name])
		}
	} else {
		for _, n := range w.byRow {
			look(n)
		}
	}
	w.define(ns, rows)
}

// define reports the set's nodes to the core.
func (w *World) define(ns *nodeSet, rows []cluster.NodeID) {
	w.emit(cluster.SetDefined{Set: ns.id, Nodes: rows})
	ns.defined = true
}

// leave counts a pod of the set that waits no more.
func (w *World) leave(ns *nodeSet) {
	ns.waiting--
	if ns.waiting > 0 || ns.local == nil {
		return
	}
	w.idle = append(w.idle, ns)
	if len(w.idle) <= maxIdleSets {
		return
	}
	oldest := w.idle[0]
	w.idle = slices.Delete(w.idle, 0, 1)
	if oldest.waiting == 0 && !slices.Contains(w.idle, oldest) {
		oldest.members = nil
	}
}

// shape is an interned row of the core's shapes.
type shape struct {
	key    string
	row    cluster.ShapeID
	set    *nodeSet // nil for pods that are not ours
	demand cluster.Vector
	tasks  int
}

// shapeOf returns the shape of pods of the node set with the demand.
func (w *World) shapeOf(ns *nodeSet, demand cluster.Vector) *shape {
	set := cluster.AllNodes
	if ns != nil {
		if ns.forgotten { // the row may be another's by now
			ns.id, ns.forgotten = cluster.SetID(w.setRows.Take()), false
		}
		set = ns.id
	}
	key := shapeKey(set, demand)
	s := w.shapes[key]
	if s == nil {
		if ns != nil {
			if !ns.defined {
				w.define(ns, nil)
			}
			ns.shapes++
		}
		s = &shape{key: key, row: cluster.ShapeID(w.shapeRows.Take()), set: ns, demand: demand}
		w.shapes[key] = s
		w.kinds.count(demand, 1)
		w.emit(cluster.ShapeDefined{Shape: s.row, Spec: cluster.Shape{Demand: demand, Eligible: set}})
	}
	return s
}

// emptyShape is that of who takes nothing.
func (w *World) emptyShape() *shape { return w.shapeOf(nil, make(cluster.Vector, len(w.kinds.list))) }

func shapeKey(set cluster.SetID, demand cluster.Vector) string {
	key := strconv.AppendUint(make([]byte, 0, 64), uint64(set), 36)
	for _, q := range demand {
		key = strconv.AppendInt(append(key, ' '), q, 36)
	}
	return string(key)
}

// release forgets a shape that no task has any more, and its node set with the
// last shape.
func (w *World) release(s *shape) {
	s.tasks--
	if s.tasks > 0 {
		return
	}
	delete(w.shapes, s.key)
	w.kinds.count(s.demand, -1)
	w.emit(cluster.ShapeForgotten{Shape: s.row})
	w.shapeRows.Give(uint32(s.row))
	ns := s.set
	if ns == nil {
		return
	}
	if ns.shapes--; ns.shapes > 0 {
		return
	}
	if w.nodeSets[ns.key] == ns {
		delete(w.nodeSets, ns.key)
	}
	w.idle = slices.DeleteFunc(w.idle, func(other *nodeSet) bool { return other == ns })
	w.emit(cluster.SetForgotten{Set: ns.id})
	w.setRows.Give(uint32(ns.id))
	ns.defined, ns.forgotten = false, true
}
