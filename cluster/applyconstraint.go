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
	if e.Constraint >= maxRow {
		return fmt.Errorf("constraint row %d is too large", e.Constraint)
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
	own := e.Spec.Clone()
	s.constraints.row = grown(s.constraints.row, int(e.Constraint))
	for _, bounds := range own.Any {
		for i := range bounds {
			s.nameGroup(bounds[i].Group)
		}
	}
	s.constraints.define(e.Constraint, &own)
	s.reassign(e.Constraint, s.constraints.row[e.Constraint].bound)
	s.log.note(Constraints, uint32(e.Constraint))
	return nil
}

func (s *State) constraintForgotten(e ConstraintForgotten) error {
	if s.Constraint(e.Constraint) == nil {
		return fmt.Errorf("constraint row %d holds no constraint", e.Constraint)
	}
	s.reassign(e.Constraint, nil)
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
			b := boundRow{Bound: &bounds[i], alternative: int32(alternative)}
			b.group = int32(slices.IndexFunc(t.group, func(g nodeGroup) bool { return g.key == b.Group }))
			row.far = row.far || b.Group != EachNode
			row.attracts = row.attracts || b.Min > 0
			for set, nodes := range t.group[b.group].nodes {
				b.resize(int32(set), 0, nodes)
			}
			row.bound = append(row.bound, b)
		}
	}
	row.far = spec.Hard && (row.far || len(spec.Any) > 1)
	row.attracts = spec.Hard && (row.attracts || len(spec.Any) > 1)
	t.row[c] = row
}

// rolesOf is what tasks with these tags are in all of the bounds.
func (s *State) rolesOf(tags []string) []role {
	if s.constraints == nil {
		return nil
	}
	var roles []role
	for c := range s.constraints.row {
		roles = appendRoles(roles, ConstraintID(c), s.constraints.row[c].bound, tags)
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

// reassign gives each shape the roles that it has in these bounds of the constraint,
// instead of any it had in it, and counts the tasks of those for whom that changes.
func (s *State) reassign(c ConstraintID, bounds []boundRow) {
	roles := make([][]role, len(s.shape))
	changed := make([]bool, len(s.shape))
	for i := range s.shape {
		shape := &s.shape[i]
		if !shape.live {
			continue
		}
		of := appendRoles(nil, c, bounds, shape.Tags)
		had := slices.IndexFunc(shape.roles, func(r role) bool { return r.constraint == c })
		if len(of) == 0 && had < 0 {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(shape.roles), func(r role) bool { return r.constraint == c })
		roles[i], changed[i] = append(others, of...), true
		slices.SortStableFunc(roles[i], func(a, b role) int { return cmp.Compare(a.constraint, b.constraint) })
	}
	if !slices.Contains(changed, true) {
		return
	}
	for t, st := range s.constraints.stances {
		if st.counted && changed[st.shape] {
			s.stand(TaskID(t), stance{})
		}
	}
	for i := range s.shape {
		if changed[i] {
			s.shape[i].roles = roles[i]
			s.log.note(Shapes, uint32(i))
		}
	}
	for i := range s.task {
		task := &s.task[i]
		if !task.Placed() || !changed[task.Shape] {
			continue
		}
		s.noteTask(TaskID(i)) // and so counts it
		for _, n := range [2]NodeID{task.Node, task.Next} {
			if n != NoNode {
				s.noteNode(n)
			}
		}
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
	s.regroup(n, true)
	for _, t := range s.node[n].tasks {
		s.recount(t)
		for _, other := range [2]NodeID{s.task[t].Node, s.task[t].Next} {
			if other != NoNode { // a task that moves counts elsewhere by where it is here
				s.noteNode(other)
			}
		}
	}
	for c := range s.constraints.row {
		if s.constraints.row[c].far {
			s.log.note(Constraints, uint32(c))
		}
	}
}

// noteCounts notes that counts have changed by a task of the shape, for those hard
// constraints of which another node than the task's may be concerned.
func (s *State) noteCounts(id ShapeID) {
	last := ConstraintID(maxRow)
	for _, r := range s.shape[id].roles {
		if r.constraint != last && s.constraints.row[r.constraint].far {
			s.log.note(Constraints, uint32(r.constraint))
		}
		last = r.constraint
	}
}

// noteSets notes those hard constraints that count whole sets in one of several
// alternatives: with a set more or less another one may be the least violated.
func (s *State) noteSets() {
	for c := range s.constraints.row {
		row := &s.constraints.row[c]
		if row.far && len(row.spec.Any) > 1 && slices.ContainsFunc(row.bound, func(b boundRow) bool { return b.whole() }) {
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
func (s *State) copying(from *State) *constraintTable {
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
func (s *State) copyTally(from *State, n NodeID) {
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
func (s *State) copyStance(from *State, id TaskID) {
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

// copyConstraint copies a constraint that has come or gone, and counts what the nodes add
// to it.
func (s *State) copyConstraint(from *State, c ConstraintID) {
	t := s.copying(from)
	if t == nil {
		return
	}
	t.row = grown(t.row, int(c))
	if t.row[c].spec == from.constraints.row[c].spec {
		return // its counts have come with the nodes
	}
	t.row[c] = constraintRow{}
	if !from.constraints.row[c].live() {
		return
	}
	t.define(c, from.constraints.row[c].spec)
	for n := range t.tally {
		for _, part := range t.tally[n] {
			if part.constraint == c {
				t.spread(NodeID(n), part, 1)
			}
		}
	}
}
