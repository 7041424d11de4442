package world

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/fairlead/cluster"
	promises "fairlead.dev/fairlead/kube/classes"
)

// This file says what was promised to a pod: the class that its label names, or else the
// one that its priority leads to, as far as its namespace may use these. The classes may change while the core runs: one
// of the same name goes on with what is promised now, and accounts count on; one that is new
// is defined; one that is gone is forgotten with the last slot that has it. A slot keeps its
// class for as long as it is filled; which class a replica has does not change under way.

// ClassLabel is the label of pods that names their class.
const ClassLabel = promises.Label

// classes keeps the classes of the core, by row, and the promises that they come from. Each class
// of these has a row, and so has each that a slot still has.
type classes struct {
	journal  *journal
	promises *promises.Promises
	labelsOf func(namespace string) labels.Set
	ledger   *Ledger // of what is spent of them
	rows     []classRow
	of       []cluster.ClassID // by place in the promises: the row
	first    []cluster.Class   // with which the core began
}

// classRow is a class of the core; the zero value is a free row.
type classRow struct {
	class  cluster.Class
	manner promises.Manner
	live   bool
	listed bool // the table has it
	slots  int  // that have it
}

// begin gives the classes of the promises the first rows, for a new core, and the next ones to those that slots had and that are promised no more.
func (c *classes) begin() {
	before := c.rows
	c.rows, c.of = nil, nil
	for i, class := range c.promises.Rows() {
		c.rows = append(c.rows, classRow{class: class, manner: c.promises.Manner(i), live: true, listed: true})
		c.of = append(c.of, cluster.ClassID(i))
	}
	for _, row := range before {
		if row.slots > 0 && !row.listed && row.class.Name != promises.Nobodys {
			c.rows = append(c.rows, classRow{class: row.class, manner: row.manner, live: true})
		}
	}
	c.first = nil
	for _, row := range c.rows {
		c.first = append(c.first, row.class)
	}
}

// begun forgets those of before that no pod has any more, once all pods are with the new core.
func (c *classes) begun() {
	for i := range c.rows {
		c.retire(cluster.ClassID(i))
	}
}

// change takes over other promises, and reports what that is to the core.
func (c *classes) change(now *promises.Promises) {
	c.promises, c.of = now, nil
	for i := range c.rows { // so that rows come free before others are taken
		_, c.rows[i].listed = now.ByName(c.rows[i].class.Name)
		c.retire(cluster.ClassID(i))
	}
	for place, class := range now.Rows() {
		at := slices.IndexFunc(c.rows, func(r classRow) bool { return r.live && r.class.Name == class.Name })
		if at < 0 {
			if at = slices.IndexFunc(c.rows, func(r classRow) bool { return !r.live }); at < 0 {
				at, c.rows = len(c.rows), append(c.rows, classRow{})
			}
		}
		row := &c.rows[at]
		if !row.live || row.class != class {
			c.journal.emit(cluster.ClassDefined{Class: cluster.ClassID(at), Spec: class})
		}
		row.class, row.manner, row.live, row.listed = class, now.Manner(place), true, true
		c.of = append(c.of, cluster.ClassID(at))
	}
}

// stale says that pods were placed while nothing was promised to anybody, and something is by now: they have their classes with the next core. Empty if there are none.
func (c *classes) stale() string {
	if !c.promises.Nothing() && slices.ContainsFunc(c.rows, func(r classRow) bool { return r.slots > 0 && !r.listed && r.class.Name == promises.Nobodys }) {
		return "something is promised to pods that were placed when nothing was"
	}
	return ""
}

// retire forgets a class that the table has no more, and no slot.
func (c *classes) retire(id cluster.ClassID) {
	if row := &c.rows[id]; row.live && !row.listed && row.slots == 0 {
		*row = classRow{}
		c.journal.emit(cluster.ClassForgotten{Class: id})
	}
}

// fits reports whether the core has rows for the classes, beside those of before that
// slots still have.
func (c *classes) fits(now *promises.Promises) bool {
	held := 0
	for _, row := range c.rows {
		if _, listed := now.ByName(row.class.Name); row.slots > 0 && !listed {
			held++
		}
	}
	return len(now.Classes)+held <= cluster.MaxClasses
}

// rowOf is the class of the pod.
func (c *classes) rowOf(p *Pod) *classRow {
	at, _ := c.promised(p)
	return &c.rows[at]
}

// promised is the class of the pod, and what is wrong with its label; where there is
// something, the class is that of its priority. To pods of other schedulers the least is
// promised. One on a node keeps what it had, whatever its label says by now.
func (c *classes) promised(p *Pod) (cluster.ClassID, string) {
	if !p.Ours {
		return c.of[c.promises.Least()], ""
	}
	has := p.class
	if has == "" && c.ledger.keeps() {
		has = c.ledger.classOf(p.object)
	}
	if has != "" && has != promises.Nobodys && p.placed() {
		if at := slices.IndexFunc(c.rows, func(r classRow) bool { return r.live && r.class.Name == has }); at >= 0 {
			return cluster.ClassID(at), ""
		}
	}
	at, err := c.wanted(p)
	if err != nil {
		return c.of[at], fmt.Sprintf("its label %s is %q: %v", ClassLabel, p.object.Labels[ClassLabel], err)
	}
	return c.of[at], ""
}

// wanted is the class that the pod would have if it were to be placed now, by its place in the promises.
func (c *classes) wanted(p *Pod) (cluster.ClassID, error) {
	name, labelled := p.object.Labels[ClassLabel]
	asked := promises.Pod{Name: name, Labelled: labelled, Priority: p.priority()}
	if c.promises.ByNamespace() {
		asked.Namespace = c.labelsOf(p.object.Namespace)
	}
	return c.promises.Of(asked)
}

// Promise says what is promised to whom from now on, and returns the pods that are held from now on as they may not have the class that they name. It returns false, and changes
// nothing, where the core has no rows for so many classes beside those that pods still have.
func (w *World) Promise(now *promises.Promises) (held []*Pod, ok bool) {
	classes := w.slots.classes
	if !classes.fits(now) {
		return nil, false
	}
	classes.change(now)
	for _, p := range inOrder(w.pods.byUID) {
		w.pods.handling(p.object)
		if p.Ours && !p.placed() && p.Stage.sortable() {
			before := p.Why
			w.waiting.again(p)
			if p.Why != before && p.Why != "" {
				held = append(held, p)
			}
		}
		if p.slot != nil {
			classes.ledger.open(p, classes.rows[p.slot.class].accounted())
			p.slot.workload.touch()
		}
		switch row := classes.rowOf(p); {
		case !p.Ours || p.node == nil:
		case p.growth != nil || !row.manner.Sizes.None():
			w.placed.sizes.reclassed(p)
		case p.slot.shape.apart != row.apart():
			w.slots.reshape(p, w.shapes.known(p))
		}
	}
	w.MarkDirty()
	return held, true
}

// accounted reports whether something is written of the replicas of the class.
func (r *classRow) accounted() bool { return r.class.Promises() || r.class.Replicas > 1 }

// apart is how many pods of one owner may be on a node; 0 is any number.
func (r *classRow) apart() int32 {
	if r.class.Replicas > 1 {
		return 1
	}
	return 0
}

// sortable reports whether a pod in the stage may be sorted anew because of something else than itself: not while it backs off.
func (s Stage) sortable() bool {
	return s == Waiting || s == Queued || s == AwaitingQuery || s == Gated
}

// Classes are the rows with which a core has to begin, of the latest Restart.
func (w *World) Classes() []cluster.Class { return w.slots.classes.first }

// Relabelled says of a pod on a node that its label, or its namespace, would give it another class than it has, which it keeps; empty if it would not.
func Relabelled(w *World, p *Pod) string {
	c := w.slots.classes
	if !p.Ours || !p.placed() || p.slot == nil {
		return ""
	}
	at, err := c.wanted(p)
	has := c.rows[p.slot.class].class.Name
	if name, labelled := p.object.Labels[ClassLabel]; labelled && err != nil {
		return fmt.Sprintf("its label %s is %q, and it keeps the class %s that it has: %v", ClassLabel, name, has, err)
	}
	if c.of[at] == p.slot.class {
		return ""
	}
	return fmt.Sprintf("its class would be %s by now, and is %s: a pod keeps the class with which it was placed; delete it to have another", c.promises.Classes[at].Name, has)
}
