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

// A class is a set of nodes: those that upstream's node-local filters admit for
// all pods that ask alike. It is worked out over all nodes when the first pod
// of the class begins to wait, and corrected node by node while pods wait.
// Classes that nobody waits for are kept up for a while, as the next pod like
// the last one is seldom far; then they grow cold and are worked out anew when
// they are wanted again.

const maxIdleClasses = 64

type class struct {
	key     string
	set     cluster.SetID
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

// reclassify corrects every warm class for the node.
func (w *World) reclassify(n *node) {
	for _, key := range sortedKeys(w.classes) {
		c := w.classes[key]
		if c.members == nil || c.local == nil {
			continue
		}
		for int(n.row) >= len(c.members) {
			c.members = append(c.members, false)
		}
		if in := c.admits(n); in != c.members[n.row] {
			c.members[n.row] = in
			w.emit(cluster.EligibilityChanged{Set: c.set, Node: n.row, Eligible: in})
		}
	}
}

// drop takes out a node that is gone. The core does so by itself.
func (c *class) drop(row cluster.NodeID) {
	if int(row) < len(c.members) {
		c.members[row] = false
	}
}

func (c *class) admits(n *node) bool {
	if c.avoid && n.soft {
		if _, hostile := corev1.FindMatchingUntoleratedTaint(klog.Background(), n.object.Spec.Taints, c.tolerations, softOnly, true); hostile {
			return false
		}
	}
	return c.local.Admits(n.object.Name)
}

func softOnly(t *v1.Taint) bool { return isSoft(*t) }

// plainClass returns the class of a pod whose nodes depend on itself alone.
func (w *World) plainClass(p *Pod) *class {
	key := w.judge.LocalKey(p.object)
	if p.second {
		key += "\n" // its nodes include those to be avoided
	}
	c := w.classes[key]
	if c == nil {
		c = &class{
			key: key, set: cluster.SetID(w.setRows.Take()), local: w.judge.Local(p.object),
			avoid: !p.second, tolerations: p.object.Spec.Tolerations,
		}
		w.classes[key] = c
	}
	return c
}

// warm makes sure that the core knows the class's nodes as they are.
func (w *World) warm(c *class) {
	c.waiting++
	if c.members != nil || c.local == nil {
		return
	}
	c.members = make([]bool, len(w.byRow))
	var rows []cluster.NodeID
	look := func(n *node) {
		if n != nil && c.admits(n) {
			c.members[n.row] = true
			rows = append(rows, n.row)
		}
	}
	if names := c.local.Names(); names != nil { // as a DaemonSet's pods have it
		for _, name := range sets.List(names) {
			look(w.nodes[name])
		}
	} else {
		for _, n := range w.byRow {
			look(n)
		}
	}
	w.define(c, rows)
}

// define tells the core the class's nodes.
func (w *World) define(c *class, rows []cluster.NodeID) {
	w.emit(cluster.SetDefined{Set: c.set, Nodes: rows})
	c.defined = true
}

// leave counts a pod of the class that waits no more.
func (w *World) leave(c *class) {
	c.waiting--
	if c.waiting > 0 || c.local == nil {
		return
	}
	w.idle = append(w.idle, c)
	if len(w.idle) <= maxIdleClasses {
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
	class  *class // nil for pods that are not ours
	demand cluster.Vector
	tasks  int
}

// shapeOf returns the shape of pods of the class with the demand.
func (w *World) shapeOf(c *class, demand cluster.Vector) *shape {
	set := cluster.AllNodes
	if c != nil {
		if c.forgotten { // the row may be another's by now
			c.set, c.forgotten = cluster.SetID(w.setRows.Take()), false
		}
		set = c.set
	}
	key := shapeKey(set, demand)
	s := w.shapes[key]
	if s == nil {
		if c != nil {
			if !c.defined {
				w.define(c, nil)
			}
			c.shapes++
		}
		s = &shape{key: key, row: cluster.ShapeID(w.shapeRows.Take()), class: c, demand: demand}
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

// release forgets a shape that no task has any more, and its class with the
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
	c := s.class
	if c == nil {
		return
	}
	if c.shapes--; c.shapes > 0 {
		return
	}
	if w.classes[c.key] == c {
		delete(w.classes, c.key)
	}
	w.idle = slices.DeleteFunc(w.idle, func(other *class) bool { return other == c })
	w.emit(cluster.SetForgotten{Set: c.set})
	w.setRows.Give(uint32(c.set))
	c.defined, c.forgotten = false, true
}
