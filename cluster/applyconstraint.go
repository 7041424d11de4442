package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// This file applies the events of constraints, and copies what is counted for them to
// views. What a constraint touches is found when it is defined, and when a shape is: each
// shape lists its roles.

func (s *State) constraintDefined(e ConstraintDefined) error {
	if err := s.checkRow(Constraints, "constraint", uint32(e.Constraint)); err != nil {
		return err
	}
	if c := s.Constraint(e.Constraint); c != nil {
		return fmt.Errorf("constraint row %d is in use by %q", e.Constraint, c.Name)
	}
	if err := CheckConstraint(&e.Spec); err != nil {
		return fmt.Errorf("constraint row %d: %w", e.Constraint, err)
	}
	if s.constraints == nil {
		s.constraints = &constraintTable{}
	}
	s.log.made[Constraints]++
	own := e.Spec.Clone()
	s.constraints.row = grown(s.constraints.row, int(e.Constraint))
	for _, bounds := range own.Any {
		for i := range bounds {
			s.nameGroup(bounds[i].Group)
		}
	}
	index := s.tags()
	s.constraints.define(e.Constraint, &own)
	bounds := s.constraints.row[e.Constraint].bound
	index.addConstraint(e.Constraint, bounds)
	s.reassign(e.Constraint, bounds, index.affected(bounds))
	s.log.note(Constraints, uint32(e.Constraint))
	return nil
}

func (s *State) constraintForgotten(e ConstraintForgotten) error {
	if s.Constraint(e.Constraint) == nil {
		return fmt.Errorf("constraint row %d holds no constraint", e.Constraint)
	}
	index, bounds := s.tags(), s.constraints.row[e.Constraint].bound
	index.dropConstraint(e.Constraint, bounds)
	s.reassign(e.Constraint, nil, index.affected(bounds))
	s.constraints.row[e.Constraint] = constraintRow{}
	s.log.note(Constraints, uint32(e.Constraint))
	return nil
}

// nameGroup keeps the group from now on.
func (s *State) nameGroup(key string) {
	t := s.constraints
	if slices.ContainsFunc(t.group, func(g nodeGroup) bool { return g.key == key }) {
		return
	}
	g := newNodeGroup(key)
	for i := range s.node {
		if s.live[i] {
			g.move(NodeID(i), g.set(NodeID(i), s.node[i].spec.Groups))
		}
	}
	t.group = append(t.group, g)
}

// define makes a row for the constraint, in which no task is counted yet.
func (t *constraintTable) define(c ConstraintID, spec *Constraint) {
	row := constraintRow{spec: spec}
	for alternative, bounds := range spec.Any {
		for i := range bounds {
			b := boundRow{Bound: &bounds[i], alternative: int32(alternative), arriving: spec.Arriving}
			b.group = int32(slices.IndexFunc(t.group, func(g nodeGroup) bool { return g.key == b.Group }))
			row.far = row.far || b.Group != EachNode || b.OrFirst || b.OverFewest
			row.attracts = row.attracts || b.Min > 0 || b.OverFewest
			b.open(t.group[b.group].nodes)
			row.bound = append(row.bound, b)
		}
	}
	row.far = spec.Hard && (row.far || len(spec.Any) > 1)
	row.attracts = spec.Hard && (row.attracts || len(spec.Any) > 1)
	t.row[c] = row
}

// rolesOf is what tasks with these tags are in all of the bounds.
func (s *State) rolesOf(tags []string) []role {
	if s.constraints == nil || len(tags) == 0 {
		return nil
	}
	var roles []role
	for _, c := range s.tags().affecting(tags) {
		roles = appendRoles(roles, c, s.constraints.row[c].bound, tags)
	}
	return roles
}

func appendRoles(roles []role, c ConstraintID, bounds []boundRow, tags []string) []role {
	for i := range bounds {
		if subject, target := bounds[i].Affects(tags); subject || target {
			roles = append(roles, role{c, int32(i), subject, target})
		}
	}
	return roles
}

// reassign gives each of the shapes the roles that it has in these bounds of the constraint,
// instead of any it had in it, and counts the tasks of those for whom that changes.
func (s *State) reassign(c ConstraintID, bounds []boundRow, shapes []ShapeID) {
	changed, populated := make(map[ShapeID][]role, len(shapes)), false
	for _, id := range shapes {
		shape := &s.shape[id]
		of := appendRoles(nil, c, bounds, shape.Tags)
		others := slices.DeleteFunc(slices.Clone(shape.roles), func(r role) bool { return r.constraint == c })
		if len(of) == 0 && len(others) == len(shape.roles) {
			continue
		}
		roles := append(others, of...)
		slices.SortStableFunc(roles, func(a, b role) int { return cmp.Compare(a.constraint, b.constraint) })
		changed[id], populated = roles, populated || shape.tasks > 0
	}
	if populated {
		s.untally(changed)
	}
	for _, id := range shapes {
		if roles, is := changed[id]; is {
			s.shape[id].roles = roles
			s.log.note(Shapes, uint32(id))
		}
	}
	if populated {
		s.tallyAnew(changed)
	}
}

// untally takes tasks of the shapes out of what is counted.
func (s *State) untally(changed map[ShapeID][]role) {
	for t, st := range s.constraints.stances {
		if st.counted {
			if _, is := changed[st.shape]; is {
				s.stand(TaskID(t), stance{})
			}
		}
	}
}

// tallyAnew counts those of them that are placed.
func (s *State) tallyAnew(changed map[ShapeID][]role) {
	for i := range s.task {
		task := &s.task[i]
		if !task.Placed() {
			continue
		}
		if _, is := changed[task.Shape]; !is {
			continue
		}
		noteTaskAndNodes(s, TaskID(i)) // and so counts it
	}
}

// regroupUsed is regroup for a node whose tasks stay.
func (s *State) regroupUsed(n NodeID) {
	if s.constraints == nil {
		return
	}
	for _, t := range s.node[n].tasks {
		s.stand(t, stance{})
	}
	moved := s.regroup(n, true)
	for _, t := range s.node[n].tasks {
		s.recount(t)
		for _, other := range [2]NodeID{s.task[t].Node, s.task[t].Next} {
			if other != NoNode { // a task that moves counts elsewhere by where it is here
				s.noteNode(other)
			}
		}
	}
	for c := range s.constraints.row {
		row := &s.constraints.row[c]
		if row.far && slices.ContainsFunc(row.bound, func(b boundRow) bool { return moved[b.group] }) {
			s.log.note(Constraints, uint32(c))
		}
	}
}

// noteCounts notes that counts have changed by a task of the shape, for those hard
// constraints of which another node than the task's may be concerned.
func (s *State) noteCounts(id ShapeID) {
	last := ConstraintID(maxRow)
	for _, r := range s.shape[id].roles {
		row := &s.constraints.row[r.constraint]
		if r.constraint == last || row.spec.Arriving && !r.target {
			continue
		}
		if row.far {
			s.log.note(Constraints, uint32(r.constraint))
		}
		last = r.constraint
	}
}

// noteSets notes those hard constraints that count whole sets in one of several
// alternatives, or go by the fewest: with a set more or less another one may be the least violated, or have the fewest.
func (s *State) noteSets() {
	for c := range s.constraints.row {
		row := &s.constraints.row[c]
		counts := func(b boundRow) bool { return b.OverFewest || len(row.spec.Any) > 1 && b.whole() }
		if row.far && slices.ContainsFunc(row.bound, counts) {
			s.log.note(Constraints, uint32(c))
		}
	}
}

// follow takes over what another table knows of groups, which it has seen grow.
func (t *constraintTable) follow(from *constraintTable) {
	for i := range from.group {
		g := &from.group[i]
		if i == len(t.group) {
			t.group = append(t.group, g.clone())
		}
		if own := &t.group[i]; len(own.number) != len(g.number) {
			own.number = maps.Clone(g.number)
		}
	}
}

// copying returns the table of a copy of from, nil if there is nothing to copy.
func (s *State) copying(from *View) *constraintTable {
	if from.constraints == nil {
		return nil
	}
	if s.constraints == nil {
		s.constraints = &constraintTable{}
	}
	s.constraints.follow(from.constraints)
	return s.constraints
}

// copyTally copies the sets that a node is in, and what it adds to the counts.
func (s *State) copyTally(from *View, n NodeID) {
	t := s.copying(from)
	if t == nil {
		return
	}
	for _, part := range t.tallyOf(n) {
		t.spread(n, part, -1)
	}
	for i := range t.group {
		t.enter(i, n, from.constraints.group[i].setOf(n))
	}
	if parts := from.constraints.tallyOf(n); len(parts)+len(t.tallyOf(n)) > 0 {
		t.tally = grown(t.tally, int(n))
		t.tally[n] = append(t.tally[n][:0], parts...)
	}
	for _, part := range t.tallyOf(n) {
		t.spread(n, part, 1)
	}
}

// copyStance copies as what a task is counted. The counts come with its nodes.
func (s *State) copyStance(from *View, id TaskID) {
	t := s.copying(from)
	if t == nil {
		return
	}
	var st stance
	if int(id) < len(from.constraints.stances) {
		st = from.constraints.stances[id]
	}
	if st.counted || int(id) < len(t.stances) {
		t.stances = grown(t.stances, int(id))
		t.stances[id] = st
	}
}

// copyConstraints copies those of the rows that are constraints which have come or gone, and counts
// what the nodes add to those that have come.
func (s *State) copyConstraints(from *View, touches []Touch) {
	t := s.copying(from)
	if t == nil {
		return
	}
	came := make(map[ConstraintID]bool)
	for _, touch := range touches {
		if c := ConstraintID(touch.Row); touch.Table == Constraints && s.copyConstraint(from, c) {
			came[c] = true
		}
	}
	if len(came) == 0 {
		return
	}
	for n := range t.tally {
		for _, part := range t.tally[n] {
			if came[part.constraint] {
				t.spread(NodeID(n), part, 1)
			}
		}
	}
}

// copyConstraint copies a constraint, and reports whether it has come.
func (s *State) copyConstraint(from *View, c ConstraintID) bool {
	t := s.constraints
	t.row = grown(t.row, int(c))
	if t.row[c].spec == from.constraints.row[c].spec {
		return false // its counts have come with the nodes
	}
	t.row[c], t.index = constraintRow{}, nil
	if !from.constraints.row[c].live() {
		return false
	}
	t.define(c, from.constraints.row[c].spec)
	return true
}
