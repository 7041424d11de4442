package cluster

import "fmt"

// This file applies the events of classes. What a task was promised may change while it
// waits or runs: its account says how it has spent its time, whatever the promise, and
// counts on.

// classTable is the classes by row, and which rows hold one.
type classTable struct {
	rows []Class
	live []bool
}

// define makes a class, or replaces it.
func (c *classTable) define(log *log, e ClassDefined) error {
	if e.Class >= MaxClasses {
		return fmt.Errorf("class row %d is too large, want a row below %d", e.Class, MaxClasses)
	}
	if err := e.Spec.check(); err != nil {
		return fmt.Errorf("class %q: %w", e.Spec.Name, err)
	}
	c.set(e.Class, e.Spec, true)
	log.note(Classes, uint32(e.Class))
	return nil
}

// forget frees the row of a class that none of the tasks has.
func (c *classTable) forget(log *log, tasks []Task, e ClassForgotten) error {
	if int(e.Class) >= len(c.live) || !c.live[e.Class] {
		return fmt.Errorf("class row %d holds no class", e.Class)
	}
	// Classes go so seldom that a count of their tasks is not worth its upkeep.
	for t := range tasks {
		if task := &tasks[t]; task.Phase != Absent && task.Class == e.Class {
			return fmt.Errorf("class row %d: %q is still that of task row %d", e.Class, c.rows[e.Class].Name, t)
		}
	}
	c.set(e.Class, Class{}, false)
	log.note(Classes, uint32(e.Class))
	return nil
}

// set writes a row. Those before it that were never used hold no class.
func (c *classTable) set(id ClassID, class Class, live bool) {
	c.rows, c.live = grown(c.rows, int(id)), grown(c.live, int(id))
	c.rows[id], c.live[id] = class, live
}
