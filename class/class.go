// Package class is the table of what was promised to whom: the one definition of
// classes for availability targets (gold, silver, bronze) and for SLA classes (Premium,
// Advanced, Best effort). What policies read of a class is a cluster.Class; here stands
// beside it what only people, traces and invoices need: which tasks are of the class,
// and what it costs.
package class

import (
	"fmt"
	"math"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/document"
	"fairlead.dev/fairlead/queue/promethee"
)

// Class is a row of the table.
type Class struct {
	cluster.Class
	// From is the least priority of tasks that belong to the class where nothing else
	// says which class they have; NoPriority if only those do that name it.
	From  int32
	Price Price
}

// NoPriority is the From of a class that no priority leads to.
const NoPriority int32 = math.MaxInt32

// Table is the classes of a cluster, the most important first. A task belongs to the
// class that its record names, or else to the first whose From its priority reaches.
type Table struct {
	Classes []Class
	// Priced is the kind that prices are for, of all classes; empty is the first one of
	// the cluster.
	Priced string
	// Credits are what tasks get back whose promise was broken: the first row that they
	// attained. They fall, and the last is for all.
	Credits []Credit
	// Criteria are how much urgency, tier, size and redundancy count in the order of
	// the queue, one for each of the names of Criteria; nil is all the same, by the usual
	// preference, as the policy sla reads it.
	Criteria []promethee.Criterion
}

// Rows are the classes as policies see them.
func (t *Table) Rows() []cluster.Class {
	rows := make([]cluster.Class, len(t.Classes))
	for i := range t.Classes {
		rows[i] = t.Classes[i].Class
	}
	return rows
}

// Names are the names of the classes.
func (t *Table) Names() []string {
	list := make([]string, len(t.Classes))
	for i := range t.Classes {
		list[i] = t.Classes[i].Name
	}
	return list
}

// ByName is the class of that name, and false if there is none.
func (t *Table) ByName(name string) (cluster.ClassID, bool) {
	for i := range t.Classes {
		if t.Classes[i].Name == name {
			return cluster.ClassID(i), true
		}
	}
	return 0, false
}

// Of is the class of a task: the one that it names, or that of its priority where it names
// none. If there is none of that name, an error says which name is near.
func (t *Table) Of(name string, named bool, priority int32) (cluster.ClassID, error) {
	if !named {
		return t.ByPriority(priority), nil
	}
	if id, known := t.ByName(name); known {
		return id, nil
	}
	return t.ByPriority(priority), fmt.Errorf("no such class; %s", document.Meant(name, t.Names()))
}

// ByPriority is the class of tasks that say nothing but their priority; the last one
// where it reaches none.
func (t *Table) ByPriority(priority int32) cluster.ClassID {
	for i := range t.Classes {
		if from := t.Classes[i].From; priority >= from && from != NoPriority {
			return cluster.ClassID(i)
		}
	}
	return cluster.ClassID(len(t.Classes) - 1)
}
