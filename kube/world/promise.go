package world

import (
	"fmt"

	promises "fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
)

// This file says what was promised to a pod: the class that its label names, or else the
// one that its priority leads to. A slot keeps its class for as long as it is filled;
// what was promised to a replica does not change under way.

// ClassLabel is the label of pods that names their class.
const ClassLabel = "fairlead.dev/class"

// SetClasses says which classes there are. It is called before the first Restart.
func (w *World) SetClasses(table *promises.Table) { w.table = table }

// Classes are the rows that the core has to have.
func (w *World) Classes() []cluster.Class { return w.table.Rows() }

// NoClasses is the table of those who promise nothing: one class for all pods.
func NoClasses() *promises.Table {
	return &promises.Table{Classes: []promises.Class{{Class: cluster.Class{Name: "all"}}}}
}

// promised is the class of the pod, and what is wrong with its label; where there is
// something, the class is that of its priority. To pods of other schedulers the least is
// promised.
func (w *World) promised(p *Pod) (cluster.ClassID, string) {
	if !p.Ours {
		return cluster.ClassID(len(w.table.Classes) - 1), ""
	}
	byPriority := w.table.ByPriority(priority(p.object))
	name, labelled := p.object.Labels[ClassLabel]
	if !labelled || w.unpromising() {
		return byPriority, ""
	}
	id, err := w.table.Find(name)
	if err != nil {
		return byPriority, fmt.Sprintf("its label %s is %q: %v", ClassLabel, name, err)
	}
	return id, ""
}

// unpromising reports whether there is no table of classes.
func (w *World) unpromising() bool {
	return len(w.table.Classes) == 1 && w.table.Classes[0].Class == cluster.Class{Name: "all"}
}

// reclass gives up the slot of a pod, whose task is gated, if another class than the
// slot's is now promised to it. A new slot has a new account.
func (w *World) reclass(p *Pod) {
	if p.slot == nil {
		return
	}
	if id, _ := w.promised(p); id != p.slot.class {
		w.end(p.slot)
		p.slot = nil
	}
}
