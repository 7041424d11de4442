package cluster

import (
	"math"
	"slices"
)

// This file says what constraints make of the state as it is, and what of it if one more
// task were placed. A hard constraint is held to its alternative that the fewest
// subjects violate: what is done may not make these more.

// Constraint returns the constraint in the row, nil if it holds none. It must not be
// changed.
func (v *View) Constraint(c ConstraintID) *Constraint {
	if int(c) >= v.ConstraintRows() {
		return nil
	}
	return v.constraints.row[c].spec
}

// ConstraintRows is one more than the largest constraint row in use so far.
func (v *View) ConstraintRows() int {
	if v.constraints == nil {
		return 0
	}
	return len(v.constraints.row)
}

// Counts is what the bound of that number, of all alternatives one after the other,
// counts in the set that the node is in; in what is in no set, where the node is in none.
func (v *View) Counts(c ConstraintID, bound int, n NodeID) Count {
	b := &v.constraints.row[c].bound[bound]
	return b.counted(v.constraints.group[b.group].setOf(n), present)
}

// Standing is how a constraint stands.
type Standing struct {
	Alternative int   // the one that is chosen
	Subjects    int64 // of its bounds: tasks, or sets where these are bound
	Violating   int64 // subjects for which a bound does not hold, once for each bound
	Misses      int64 // of all of these, Bound.Misses
}

// Standing is how the constraint stands, where each subject that violates a bound costs
// violation, and what it misses extent for each thousand: the cheapest alternative is
// chosen, of equal ones the first.
func (v *View) Standing(c ConstraintID, violation, extent int64) Standing {
	var best Standing
	row, least := &v.constraints.row[c], int64(math.MaxInt64)
	for first := 0; first < len(row.bound); {
		one := Standing{Alternative: int(row.bound[first].alternative)}
		for ; first < len(row.bound) && int(row.bound[first].alternative) == one.Alternative; first++ {
			b := &row.bound[first]
			one.Subjects += b.subjects
			one.Violating += b.violating[present]
			one.Misses += b.misses
			if b.arriving {
				violating, misses := b.stands()
				one.Violating, one.Misses = one.Violating+violating, one.Misses+misses
			}
		}
		if cost := 1000*violation*one.Violating + extent*one.Misses; cost < least {
			best, least = one, cost
		}
	}
	return best
}

// Bound reports whether the task, which takes room on a node, is a subject of a bound of any
// constraint, and whether one in the alternatives chosen, by constraint row, does not hold
// for it.
func (v *View) Bound(t TaskID, chosen []int32) (bound, violated bool) {
	task := &v.task[t]
	for _, r := range v.shape[task.Shape].roles {
		if !r.subject {
			continue
		}
		bound = true
		b := v.constraints.bound(r.constraint, r.bound)
		if b.alternative != chosen[r.constraint] {
			continue
		}
		set := v.constraints.group[b.group].setOf(task.Node)
		if b.arriving {
			violated = violated || b.standsBadly(set, r.target, task.Phase == Leaving)
			continue
		}
		one := r.once(1)
		one.Targets = b.counted(set, present).Targets
		broken, _ := b.broken(set, one, 1)
		violated = violated || broken > 0
	}
	return bound, violated
}

// Constrained reports whether a hard constraint concerns tasks of the shape, so that
// which nodes admit them depends on which other tasks are where. Of those who are only counted, by a constraint
// that binds who comes, it depends on nothing but a place that is kept for another (coming.disturbs).
func (v *View) Constrained(id ShapeID) bool {
	for _, r := range v.shape[id].roles {
		if spec := v.constraints.row[r.constraint].spec; spec.Hard && (r.subject || !spec.Arriving) {
			return true
		}
	}
	return false
}

// Attracts reports whether a task of the shape that is placed may let nodes admit others
// that they did not admit before: these have to stand beside such a task.
func (v *View) Attracts(id ShapeID) bool {
	return slices.ContainsFunc(v.shape[id].roles, func(r role) bool {
		row := &v.constraints.row[r.constraint]
		return row.attracts && (r.target || !row.spec.Arriving)
	})
}

// ConstraintsOf are the constraints of which tasks of the shape are subjects or targets, ascending.
func (v *View) ConstraintsOf(id ShapeID) []ConstraintID {
	var of []ConstraintID
	for _, r := range v.shape[id].roles {
		if len(of) == 0 || of[len(of)-1] != r.constraint {
			of = append(of, r.constraint)
		}
	}
	return of
}

// Concerns reports whether tasks of the shape are subjects or targets of a bound of the
// constraint.
func (v *View) Concerns(c ConstraintID, id ShapeID) bool {
	for _, r := range v.shape[id].roles {
		if r.constraint == c {
			return true
		}
	}
	return false
}

// Violation is how many subjects violate a hard constraint.
type Violation struct {
	Constraint ConstraintID
	subjects   [tenses]int64
}

// Violations appends how many subjects violate each of the hard constraints that concern
// the task, as they are before something is done to it; see Worse. Leaves says that it makes room for others.
func (v *View) Violations(t TaskID, leaves bool, to []Violation) []Violation {
	if v.constraints == nil || int(t) >= len(v.task) || v.task[t].Phase == Absent {
		return to
	}
	last := ConstraintID(maxRow)
	for _, r := range v.shape[v.task[t].Shape].roles {
		if row := &v.constraints.row[r.constraint]; r.constraint != last && row.spec.Hard && !row.spec.Arriving && (!leaves || !row.spec.Lenient) {
			now, _, _ := row.least(nil, nil)
			to = append(to, Violation{r.constraint, now})
		}
		last = r.constraint
	}
	return to
}

// Worse returns a refusal for the first of the constraints that more subjects violate
// than then.
func (s *View) Worse(than []Violation) Refusal {
	for _, v := range than {
		now, _, _ := s.constraints.row[v.Constraint].least(nil, nil)
		for t := range tenses {
			if now[t] > v.subjects[t] {
				return Refusal{Code: Violates, Kind: Together, Need: v.subjects[t], Have: now[t], Constraint: v.Constraint}
			}
		}
	}
	return Refusal{}
}

// Excess is how many more subjects violate the constraints than then, in all and in either
// tense; 0 where Worse refuses nothing.
func (s *View) Excess(than []Violation) int64 {
	sum := int64(0)
	for _, v := range than {
		now, _, _ := s.constraints.row[v.Constraint].least(nil, nil)
		for t := range tenses {
			sum += max(now[t]-v.subjects[t], 0)
		}
	}
	return sum
}

// violates says which hard constraint more subjects would violate if a task of the
// shape, of the least priority, came to the node.
func (v *View) violates(id ShapeID, n NodeID) Refusal {
	c := coming{view: v, table: v.constraints, n: n, from: NoNode, priority: math.MinInt32}
	return c.first(v.shape[id].roles)
}

// Breaks says which hard constraint a task of the shape that came to the node would by itself
// violate, whether or not there is room for it.
func (v *View) Breaks(id ShapeID, n NodeID) Refusal { return v.violates(id, n) }

// Releases says which hard constraint more subjects would violate if the task were
// evicted by itself.
func (v *View) Releases(t TaskID) Refusal {
	if int(t) >= len(v.task) || !v.task[t].Placed() || v.task[t].Phase == Leaving {
		return Refusal{}
	}
	task := &v.task[t]
	c := coming{view: v, table: v.constraints, n: task.Node, from: NoNode, goes: true, reserved: task.Phase == Reserved}
	return c.first(v.shape[task.Shape].roles)
}

// coming is a task that would come to a node, or go from it, with its roles in one
// constraint.
type coming struct {
	view     *View
	priority int32 // of who comes
	table    *constraintTable
	roles    []role
	n, from  NodeID
	goes     bool
	reserved bool // what goes is not there yet, and so at once
	// mayWait says that who comes may wait until those have left the node who are leaving it, and waits that it has to, for the
	// sake of a constraint that binds who comes.
	mayWait, waits bool
}

// first is the refusal of the first hard constraint that would be violated more.
func (c *coming) first(roles []role) Refusal {
	for len(roles) > 0 {
		end := 1
		for end < len(roles) && roles[end].constraint == roles[0].constraint {
			end++
		}
		var r Refusal
		switch spec := c.table.row[roles[0].constraint].spec; {
		case !spec.Hard, c.goes && spec.Lenient:
		case spec.Arriving:
			r = c.arrival(roles[:end])
		default:
			c.roles = roles[:end]
			r = c.refusal()
		}
		if r.Refused() {
			return r
		}
		roles = roles[end:]
	}
	return Refusal{}
}

// refusal says whether more subjects would violate the constraint.
func (c *coming) refusal() Refusal {
	row := &c.table.row[c.roles[0].constraint]
	before, after, worst := row.least(c.roles, c.adds)
	for t := range tenses {
		if after[t] > before[t] {
			return c.explain(worst[t], t)
		}
	}
	return Refusal{}
}

// adds is how many more subjects would violate the bound.
func (c *coming) adds(r role, t tense) int64 {
	b := &c.table.row[r.constraint].bound[r.bound]
	g := &c.table.group[b.group]
	set := g.setOf(c.n)
	if t == present && (c.goes && !c.reserved || c.from != NoNode && g.setOf(c.from) == set) {
		return 0
	}
	has := b.counted(set, t)
	before, _ := b.broken(set, has, g.size(set))
	after, _ := b.broken(set, has.plus(r.once(c.sign())), g.size(set))
	return after - before
}

// sign is how many tasks there would be more.
func (c *coming) sign() int32 {
	if c.goes {
		return -1
	}
	return 1
}

// explain is the refusal for the sake of a bound.
func (c *coming) explain(r role, t tense) Refusal {
	b := &c.table.row[r.constraint].bound[r.bound]
	set := c.table.group[b.group].setOf(c.n)
	count := b.counted(set, t).plus(r.once(c.sign()))
	have := count.Targets
	switch {
	case set == outside:
		have = 0
	case b.whole() || b.SelfCounted || count.Subjects > count.Both && b.Misses(have) > 0:
	default:
		have-- // whoever counts is no other beside itself
	}
	need := b.Max
	if have < b.Min {
		need = b.Min
	}
	return Refusal{Code: Violates, Kind: int(r.bound), Need: int64(need), Have: int64(have), Constraint: r.constraint}
}

// least is how many subjects violate the alternative that is violated least, in either
// tense: before, and after the roles are taken up, of which adds says how many more
// violate their bound then. Worst is the first role of which more do, in the alternative
// that is violated least before: there is one where after is more.
func (row *constraintRow) least(roles []role, adds func(role, tense) int64) (before, after [tenses]int64, worst [tenses]role) {
	for t := range tenses {
		before[t], after[t] = math.MaxInt64, math.MaxInt64
	}
	for i := 0; i < len(row.bound); {
		alternative := row.bound[i].alternative
		var now, then [tenses]int64
		var first [tenses]role
		var found [tenses]bool
		for ; i < len(row.bound) && row.bound[i].alternative == alternative; i++ {
			for t := range tenses {
				now[t] += row.bound[i].violating[t]
				then[t] += row.bound[i].violating[t]
			}
			if len(roles) == 0 || int(roles[0].bound) != i {
				continue
			}
			r := roles[0]
			roles = roles[1:]
			for t := range tenses {
				more := adds(r, t)
				then[t] += more
				if more > 0 && !found[t] {
					first[t], found[t] = r, true
				}
			}
		}
		for t := range tenses {
			if now[t] < before[t] {
				before[t], worst[t] = now[t], first[t]
			}
			after[t] = min(after[t], then[t])
		}
	}
	return before, after, worst
}
