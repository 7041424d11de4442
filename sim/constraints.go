package sim

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file is the world's book of constraints: which row stands for which name.

// constraints are those that are there, by name.
type constraints struct {
	rows  cluster.Rows
	named map[string]cluster.ConstraintID
	// most are the bounds of those hard ones that only say how many there may be at most,
	// and leave no choice: what a checker can judge placement by placement.
	most []mostBound
}

// mostBound is a bound that no placement may break.
type mostBound struct {
	name     string // of its constraint
	arriving bool   // it binds who comes alone
	cluster.Bound
}

// add takes in a constraint, and tells the core.
func (b *constraints) add(c *cluster.Constraint, emit func(cluster.Event)) error {
	if err := cluster.CheckConstraint(c); err != nil {
		return err
	}
	if _, known := b.named[c.Name]; known {
		return fmt.Errorf("constraint %q is there already", c.Name)
	}
	if b.named == nil {
		b.named = map[string]cluster.ConstraintID{}
	}
	row := cluster.ConstraintID(b.rows.Take())
	b.named[c.Name] = row
	if c.Hard && len(c.Any) == 1 && !slices.ContainsFunc(c.Any[0], func(o cluster.Bound) bool { return o.Min > 0 || o.OverFewest || len(o.Subject) == 0 }) {
		for _, o := range c.Any[0] {
			b.most = append(b.most, mostBound{c.Name, c.Arriving, o})
		}
	}
	emit(cluster.ConstraintDefined{Constraint: row, Spec: c.Clone()})
	return nil
}

// remove forgets a constraint, and tells the core. Its row may be used again at once,
// since the core is told in order.
func (b *constraints) remove(name string, emit func(cluster.Event)) error {
	row, known := b.named[name]
	if !known {
		return fmt.Errorf("constraint %q is not there", name)
	}
	delete(b.named, name)
	b.most = slices.DeleteFunc(b.most, func(m mostBound) bool { return m.name == name })
	b.rows.Give(uint32(row))
	emit(cluster.ConstraintForgotten{Constraint: row})
	return nil
}

// setOf is the set of the group that the node is in.
func (n *node) setOf(group string) (set string, in bool) {
	if group == cluster.EachNode {
		return fmt.Sprint(n.id), true
	}
	for _, l := range n.groups {
		if l.Key == group {
			return l.Value, true
		}
	}
	return "", false
}
