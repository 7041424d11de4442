package cluster

import (
	"cmp"
	"slices"
)

// This file counts for every bound of every constraint, in each set of its group, the
// tasks that are its subjects, its targets, or both. What each node adds is kept by
// the node, so that a node's row is copied to a view with its part of the counts, and
// the sums over sets follow. A task whose shape has no role in any bound costs nothing,
// and a state without constraints keeps none of this.
//
// Counts come in two tenses. Present is all that takes room, leaving tasks included, as
// they are still there; settled is what stays when all that is leaving has left. Room on
// the next node of a leaving task counts in both, but not in the present if the node is in
// the same set as the task's own, as a task is no other beside itself. Hard constraints
// hold in both tenses: what is placed counts on nobody who leaves, and stands beside
// nobody whom it must not, though he leaves. A place may be kept for a task beside him (obstacle.go).

// tense is which of the tasks are counted.
type tense uint8

const (
	present tense = iota
	settled
	tenses
)

// Count is how many tasks are subjects of a bound, how many are its targets, and how
// many of them are both.
type Count struct{ Subjects, Targets, Both int32 }

// constraintTable is what a state keeps of constraints.
type constraintTable struct {
	row     []constraintRow
	group   []nodeGroup // that bounds have named, in the order of their first naming
	tally   [][]tally   // by node, in the order of constraints and bounds
	stances []stance    // by task: as what it was counted
	index   *tagIndex   // nil until it is asked
}

// constraintRow is a constraint with the bounds of all its alternatives, one after the
// other.
type constraintRow struct {
	spec  *Constraint // never written to; nil if the row is free
	bound []boundRow
	// far says that it is hard, and that a task on one node may change what it says of
	// another.
	far bool
	// attracts says that it is hard, and that who comes may let others come: it has a
	// minimum, or another alternative, or goes by the fewest.
	attracts bool
}

func (r *constraintRow) live() bool { return r.spec != nil }

type boundRow struct {
	*Bound
	alternative int32
	group       int32
	sets        counts
	subjects    int64         // in all, or how many sets are bound; present
	violating   [tenses]int64 // of those
	misses      int64         // of all of these, Bound.Misses; present
	arriving    bool          // it binds who comes: who violates it is found when somebody asks
	arrivals    arrivals      // of such a bound
}

// tally is what the tasks of a node add to the counts of a bound.
type tally struct {
	constraint ConstraintID
	bound      int32
	count      [tenses]Count
}

// role is what tasks of a shape are in a bound.
type role struct {
	constraint      ConstraintID
	bound           int32
	subject, target bool
}

// stance is what a task is counted by; the zero value is not at all.
type stance struct {
	counted    bool
	leaving    bool
	shape      ShapeID
	node, next NodeID
}

// once is the count of one task with the role, sign times.
func (r role) once(sign int32) Count {
	var c Count
	if r.subject {
		c.Subjects = sign
	}
	if r.target {
		c.Targets = sign
	}
	if r.subject && r.target {
		c.Both = sign
	}
	return c
}

func (c Count) plus(o Count) Count {
	return Count{c.Subjects + o.Subjects, c.Targets + o.Targets, c.Both + o.Both}
}

func (c Count) minus(o Count) Count {
	return Count{c.Subjects - o.Subjects, c.Targets - o.Targets, c.Both - o.Both}
}

// whole reports whether sets are bound, not tasks.
func (b *boundRow) whole() bool { return len(b.Subject) == 0 }

// counted is the count of a set.
func (b *boundRow) counted(set int32, t tense) Count {
	return b.sets.at(set)[t]
}

// broken is how many of so many subjects of a set the bound does not hold for, and what
// they miss; of a bound of whole sets whether it does not hold for the set, which has
// so many nodes.
func (b *boundRow) broken(set int32, c Count, nodes int32) (violating, misses int64) {
	if b.arriving {
		return 0, 0
	}
	if b.whole() {
		if set == outside || nodes == 0 {
			return 0, 0
		}
		misses = b.Misses(c.Targets)
		return min(misses, 1), misses
	}
	others, beside := c.Targets, c.Targets // of who is no target, and of who is one
	switch {
	case set == outside:
		others, beside = 0, 0
	case !b.SelfCounted:
		beside--
	}
	if only := int64(c.Subjects - c.Both); only > 0 {
		if m := b.Misses(others); m > 0 {
			violating, misses = only, only*m
		}
	}
	if both := int64(c.Both); both > 0 {
		if m := b.Misses(beside); m > 0 {
			violating, misses = violating+both, misses+both*m
		}
	}
	return violating, misses
}

// change adds to the count of a set.
func (b *boundRow) change(set int32, t tense, by Count, nodes int32) {
	if by == (Count{}) {
		return
	}
	c := &b.sets.of(set)[t]
	violating, misses := b.broken(set, *c, nodes)
	*c = c.plus(by)
	if b.arriving && set != outside {
		b.arrivals.count(t, c.Targets-by.Targets, c.Targets)
	}
	violatingNow, missesNow := b.broken(set, *c, nodes)
	b.violating[t] += violatingNow - violating
	if t == present {
		b.misses += missesNow - misses
		b.subjects += int64(by.Subjects)
	}
}

// open says of a bound that counts nothing yet how many nodes each set has. Where sets are bound, all that have one miss the same.
func (b *boundRow) open(nodes []int32) {
	switch {
	case b.OverFewest:
		for set, n := range nodes {
			b.resize(int32(set), 0, n)
		}
		return
	case !b.whole():
		return
	}
	for set, n := range nodes {
		if int32(set) != outside && n > 0 {
			b.subjects++
		}
	}
	violating, misses := b.broken(outside+1, Count{}, 1)
	for t := range tenses {
		b.violating[t] = b.subjects * violating
	}
	b.misses = b.subjects * misses
}

// resize says that the set, of a bound to which it matters whether there is one, has another number of nodes.
func (b *boundRow) resize(set, before, now int32) {
	if set == outside || (before == 0) == (now == 0) {
		return
	}
	if b.OverFewest {
		b.arrivals.enter(b.counted(set, settled).Targets, now > 0)
	}
	if !b.whole() {
		return
	}
	sign := int64(1)
	if now == 0 {
		sign = -1
	}
	b.subjects += sign
	for t := range tenses {
		violating, misses := b.broken(set, b.counted(set, t), 1)
		b.violating[t] += sign * violating
		if t == present {
			b.misses += sign * misses
		}
	}
}

// bound is the bound of that number, nil where a view has yet to hear of it.
func (t *constraintTable) bound(c ConstraintID, i int32) *boundRow {
	if int(c) >= len(t.row) || int(i) >= len(t.row[c].bound) {
		return nil
	}
	return &t.row[c].bound[i]
}

// in is where a node's list has, or would have, what it adds to the bound of the role.
func (r role) in(list []tally) (at int, found bool) {
	return slices.BinarySearchFunc(list, r, func(e tally, r role) int {
		return cmp.Or(cmp.Compare(e.constraint, r.constraint), cmp.Compare(e.bound, r.bound))
	})
}

// add adds to what a node adds to the counts of a bound.
func (t *constraintTable) add(n NodeID, r role, when tense, sign int32) {
	t.tally = grown(t.tally, int(n))
	by := r.once(sign)
	list := t.tally[n]
	at, found := r.in(list)
	if !found {
		list = slices.Insert(list, at, tally{constraint: r.constraint, bound: r.bound})
	}
	list[at].count[when] = list[at].count[when].plus(by)
	if list[at].count == ([tenses]Count{}) {
		list = slices.Delete(list, at, at+1)
	}
	t.tally[n] = list
	b := t.bound(r.constraint, r.bound)
	set := t.group[b.group].setOf(n)
	b.change(set, when, by, t.group[b.group].size(set))
}

// spread adds sign times a part of what a node adds to the set that it is in.
func (t *constraintTable) spread(n NodeID, part tally, sign int32) {
	b := t.bound(part.constraint, part.bound)
	if b == nil {
		return // a view that has yet to hear of it counts its nodes then
	}
	g := &t.group[b.group]
	set := g.setOf(n)
	for when, by := range part.count {
		if sign < 0 {
			by = Count{}.minus(by)
		}
		b.change(set, tense(when), by, g.size(set))
	}
}

// tallyOf is what the node adds to the counts.
func (t *constraintTable) tallyOf(n NodeID) []tally {
	if int(n) >= len(t.tally) {
		return nil
	}
	return t.tally[n]
}

// enter puts the node, of which nothing is counted for now, into a set of the group. It reports whether it was in another one, and whether
// a set has come or gone by that.
func (t *constraintTable) enter(group int, n NodeID, set int32) (moved, flipped bool) {
	g := &t.group[group]
	from := g.setOf(n)
	if from == set {
		return false, false
	}
	before := [2]int32{g.size(from), g.size(set)}
	g.move(n, set)
	for c := range t.row {
		for i := range t.row[c].bound {
			if b := &t.row[c].bound[i]; b.group == int32(group) {
				b.resize(from, before[0], g.size(from))
				b.resize(set, before[1], g.size(set))
			}
		}
	}
	return true, from != outside && g.size(from) == 0 || set != outside && before[1] == 0
}

// stand notes the stance by which the task is counted, and reports whether it was
// another one before.
func (s *State) stand(t TaskID, now stance) bool {
	table := s.constraints
	if int(t) >= len(table.stances) {
		if !now.counted {
			return false
		}
		table.stances = grown(table.stances, int(t))
	}
	before := table.stances[t]
	if before == now {
		return false
	}
	table.stances[t] = now
	s.countStance(before, -1)
	s.countStance(now, 1)
	return true
}

// countStance adds a stance to the counts, or takes it out.
func (s *State) countStance(st stance, sign int32) {
	if !st.counted {
		return
	}
	for _, r := range s.shape[st.shape].roles {
		s.constraints.add(st.node, r, present, sign)
		if !st.leaving {
			s.constraints.add(st.node, r, settled, sign)
		}
		if st.next == NoNode {
			continue
		}
		s.constraints.add(st.next, r, settled, sign)
		if !s.constraints.sameSet(r, st.node, st.next) {
			s.constraints.add(st.next, r, present, sign)
		}
	}
}

// sameSet reports whether two nodes are in the same set of a bound's group.
func (t *constraintTable) sameSet(r role, a, b NodeID) bool {
	g := &t.group[t.row[r.constraint].bound[r.bound].group]
	return g.setOf(a) == g.setOf(b)
}

// recount brings the counts up to date with where the task takes room.
func (s *State) recount(t TaskID) {
	s.guards.recount(t, &s.task[t])
	if s.constraints == nil {
		return
	}
	var before stance
	if int(t) < len(s.constraints.stances) {
		before = s.constraints.stances[t]
	}
	now := s.stanceOf(t)
	if !s.stand(t, now) || s.undo.on {
		return
	}
	shape := s.task[t].Shape
	if before.counted && before.shape != shape { // it was reshaped, and counts for others by now, or for nobody
		s.noteCounts(before.shape)
	}
	s.noteCounts(shape)
}

// stanceOf is as what the task is to be counted.
func (v *View) stanceOf(t TaskID) stance {
	task := &v.task[t]
	if !task.Placed() || len(v.shape[task.Shape].roles) == 0 {
		return stance{}
	}
	return stance{true, task.Phase == Leaving, task.Shape, task.Node, task.Next}
}

// regroup brings the sets up to date with the groups of a node, on which no task is
// counted. One that is gone is in no set. It returns for each group whether the node is in another set than before.
func (s *State) regroup(n NodeID, live bool) (moved []bool) {
	if s.constraints == nil {
		return nil
	}
	moved = make([]bool, len(s.constraints.group))
	sets := false
	for i := range s.constraints.group {
		set := outside
		if live {
			set = s.constraints.group[i].set(n, s.node[n].spec.Groups)
		}
		var flipped bool
		moved[i], flipped = s.constraints.enter(i, n, set)
		sets = sets || flipped
	}
	if sets {
		s.noteSets()
	}
	return moved
}
