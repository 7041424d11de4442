package world

import (
	"fmt"
	"slices"

	promises "fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
)

// This file says what was promised to a pod: the class that its label names, or else the
// one that its priority leads to. The table of classes may change while the core runs: a class
// of the same name goes on with what is promised now, and accounts count on; one that is new
// is defined; one that is gone is forgotten with the last slot that has it. A slot keeps its
// class for as long as it is filled; which class a replica has does not change under way.

// ClassLabel is the label of pods that names their class.
const ClassLabel = "fairlead.dev/class"

// classes keeps the classes of the core, by row, and the table that they come from. Each class
// of the table has a row, and so has each that a slot still has.
type classes struct {
	journal *journal
	table   *promises.Table
	rows    []classRow
	of      []cluster.ClassID // by place in the table: the row
}

// classRow is a class of the core; the zero value is a free row.
type classRow struct {
	class  cluster.Class
	live   bool
	listed bool // the table has it
	slots  int  // that have it
}

// NoClasses is the table of those who promise nothing: one class for all pods.
func NoClasses() *promises.Table {
	return &promises.Table{Classes: []promises.Class{{Class: cluster.Class{Name: "all"}}}}
}

// begin gives the classes of the table the first rows, for a new core.
func (c *classes) begin() {
	c.rows, c.of = nil, nil
	for i, class := range c.table.Rows() {
		c.rows = append(c.rows, classRow{class: class, live: true, listed: true})
		c.of = append(c.of, cluster.ClassID(i))
	}
}

// change takes over another table, and reports what that is to the core.
func (c *classes) change(table *promises.Table) {
	c.table, c.of = table, nil
	for i := range c.rows { // so that rows come free before others are taken
		_, c.rows[i].listed = table.ByName(c.rows[i].class.Name)
		c.retire(cluster.ClassID(i))
	}
	for _, class := range table.Rows() {
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
		row.class, row.live, row.listed = class, true, true
		c.of = append(c.of, cluster.ClassID(at))
	}
}

// retire forgets a class that the table has no more, and no slot.
func (c *classes) retire(id cluster.ClassID) {
	if row := &c.rows[id]; row.live && !row.listed && row.slots == 0 {
		*row = classRow{}
		c.journal.emit(cluster.ClassForgotten{Class: id})
	}
}

// unpromising reports whether there is no table of classes.
func (c *classes) unpromising() bool {
	return len(c.table.Classes) == 1 && c.table.Classes[0].Class == cluster.Class{Name: "all"}
}

// fits reports whether the core has rows for the table's classes, beside those of before that
// slots still have.
func (c *classes) fits(table *promises.Table) bool {
	held := 0
	for _, row := range c.rows {
		if _, listed := table.ByName(row.class.Name); row.slots > 0 && !listed {
			held++
		}
	}
	return len(table.Classes)+held <= cluster.MaxClasses
}

// promised is the class of the pod, and what is wrong with its label; where there is
// something, the class is that of its priority. To pods of other schedulers the least is
// promised.
func (c *classes) promised(p *Pod) (cluster.ClassID, string) {
	if !p.Ours {
		return c.of[len(c.of)-1], ""
	}
	name, labelled := p.object.Labels[ClassLabel]
	at, err := c.table.Of(name, labelled && !c.unpromising(), p.priority())
	if err != nil {
		return c.of[at], fmt.Sprintf("its label %s is %q: %v", ClassLabel, name, err)
	}
	return c.of[at], ""
}

// SetClasses says which classes there are from now on. It returns false, and changes
// nothing, where the core has no rows for so many beside those that pods still have.
func (w *World) SetClasses(table *promises.Table) bool {
	if !w.slots.classes.fits(table) {
		return false
	}
	w.slots.classes.change(table)
	for _, p := range inOrder(w.pods.byUID) {
		if p.Ours && !p.placed() && (p.Stage == Waiting || p.Stage == Queued || p.Stage == AwaitingQuery || p.Stage == Gated) {
			w.waiting.again(p)
		}
	}
	w.MarkDirty()
	return true
}

// Classes are the rows that a core has to have that is made now.
func (w *World) Classes() []cluster.Class { return w.slots.classes.table.Rows() }
