package schedtest

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file reads the events of constraints: stories have one bound in each.

// tags takes the tags of the argument, sorted.
func (a *args) tags(key string) []string {
	tags := a.values(key)
	slices.Sort(tags)
	return slices.Compact(tags)
}

// constraintEvent reads a constraint that comes or goes.
func (s *story) constraintEvent(a *args, events []cluster.Event) ([]cluster.Event, error) {
	name, err := a.name()
	if err != nil {
		return nil, err
	}
	row := slices.Index(s.constraints, name)
	if known := row >= 0; known != (a.of == "forget-constraint") {
		return nil, fmt.Errorf("is constraint %s there: %v", name, known)
	}
	if a.of == "forget-constraint" {
		s.constraints[row] = ""
		return append(events, cluster.ConstraintForgotten{Constraint: cluster.ConstraintID(row)}), nil
	}
	least, err := a.integer("min", 0)
	if err != nil {
		return nil, err
	}
	most, err := a.integer("max", int64(cluster.Unbounded))
	if err != nil {
		return nil, err
	}
	sets, err := a.integer("least-sets", 0)
	if err != nil {
		return nil, err
	}
	bound := cluster.Bound{
		Subject: a.tags("subject"), Target: a.tags("target"), Min: int32(least), Max: int32(most),
		Group: a.value("group"), SelfCounted: a.flag("self-counted"),
		OrFirst: a.flag("or-first"), OverFewest: a.flag("over-fewest"), LeastSets: int32(sets),
	}
	spec := cluster.Constraint{Name: name, Hard: !a.flag("soft"), Arriving: a.flag("arriving"), Any: [][]cluster.Bound{{bound}}}
	if !spec.Hard {
		spec.Weight = cluster.DefaultWeight
	}
	s.constraints = append(s.constraints, name)
	return append(events, cluster.ConstraintDefined{Constraint: cluster.ConstraintID(len(s.constraints) - 1), Spec: spec}), nil
}
