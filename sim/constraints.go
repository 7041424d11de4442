package sim

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
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
	name string // of its constraint
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
	if c.Hard && len(c.Any) == 1 && !slices.ContainsFunc(c.Any[0], func(o cluster.Bound) bool { return o.Min > 0 || len(o.Subject) == 0 }) {
		for _, o := range c.Any[0] {
			b.most = append(b.most, mostBound{c.Name, o})
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

// checkMost refuses a placement that breaks the most of a hard constraint, for the task or
// for another one in its set.
func (s *simulation) checkMost(d sched.Decision) error {
	t := &s.tasks.list[d.Task]
	for i := range s.constraints.most {
		b := &s.constraints.most[i]
		set, in := s.nodes.list[d.Node].setOf(b.Group)
		subject, target := b.Affects(t.tags)
		if !in || !subject && !target {
			continue
		}
		c := s.countIn(b, set)
		self := int32(0) // who counts itself beside others
		if b.SelfCounted {
			self = 1
		}
		over := subject && (!target && c.targets > b.Max || target && c.targets+self > b.Max)
		if target && (c.subjects > c.both && c.targets == b.Max || c.both > 0 && c.targets+self == b.Max+1) {
			over = true
		}
		if over {
			return fmt.Errorf("checker: %s is placed on node %s, where %d are counted already and %q allows %d", t.called(), s.nodes.list[d.Node].name, c.targets, b.name, b.Max)
		}
	}
	return nil
}

// inSet is how many tasks of a set are what in a bound.
type inSet struct{ subjects, targets, both int32 }

// countIn counts the runs in a set of which the core knows.
func (s *simulation) countIn(b *mostBound, set string) (c inSet) {
	for row := range s.tasks.list {
		o := &s.tasks.list[row]
		if o.seq == 0 || o.phase == idle || o.silent {
			continue
		}
		if other, in := s.nodes.list[o.node].setOf(b.Group); !in || other != set {
			continue
		}
		subject, target := b.Affects(o.tags)
		if subject {
			c.subjects++
		}
		if target {
			c.targets++
		}
		if subject && target {
			c.both++
		}
	}
	return c
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
