package google2011

import (
	"math"
	"strconv"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// This file reads the constraints of tasks. Those of a task have the time of
// its SUBMIT, but are in a table of their own; they wait here until the task
// is submitted.

type constraintEvent struct {
	taskKey
	requirement cluster.Requirement
}

type constraints struct {
	table   table[constraintEvent]
	waiting map[taskKey][]cluster.Requirement
}

func newConstraints(files []string, skips *trace.Skips, names names) *constraints {
	return &constraints{
		table:   table[constraintEvent]{fields: 6, parse: names.constraintEvent, files: files, skips: skips},
		waiting: map[taskKey][]cluster.Requirement{},
	}
}

func (n names) constraintEvent(row *trace.Row, e *constraintEvent) {
	e.job = row.Uint(2, "a job ID", math.MaxInt64)
	e.index = uint32(row.Uint(3, "a task index", math.MaxUint32))
	// Google numbers the operators as package cluster does.
	op := row.Uint(4, "an operator: 0 (=), 1 (!=), 2 (<) or 3 (>)", uint64(cluster.Greater))
	if row.Empty(5) {
		row.Fail(5, "an attribute's name")
	}
	e.requirement = cluster.Requirement{Key: n.of(row.Text(5)), Op: cluster.Op(op), Value: n.of(row.Text(6))}
	if e.requirement.Op == cluster.Less || e.requirement.Op == cluster.Greater {
		if _, err := strconv.ParseInt(e.requirement.Value, 10, 64); err != nil {
			row.Fail(6, "an integer to compare with")
		}
	}
}

// upTo reads the rows up to a moment.
func (c *constraints) upTo(at cluster.Time) error {
	for c.table.time <= at && c.table.time != cluster.Never {
		e := &c.table.head
		c.waiting[e.taskKey] = append(c.waiting[e.taskKey], e.requirement)
		if err := c.table.next(); err != nil {
			return err
		}
	}
	return nil
}

// take returns the task's requirements, and forgets them.
func (c *constraints) take(task taskKey) []cluster.Requirement {
	requirements := c.waiting[task]
	if requirements != nil {
		delete(c.waiting, task)
	}
	return requirements
}
