package cluster

import "slices"

// This file is constraints that bind who comes, in the way of Kubernetes' filters: they hold for a task where and when it is
// placed, and ask nothing of who stands there already, nor of what happens later. So evictions and moves of others break none,
// and a placement is held to it by itself, whatever else is in its bundle. Who would not be let in any more where it stands
// is said to violate it, and nothing is decided by that; it is found when somebody asks.
//
// Who comes stands beside nobody whom it must not, though he leaves, and counts on nobody who leaves. Alone a
// bound over the fewest goes by those who stay. A place may be kept for a task beside those who leave its node
// (obstacle.go).
//
// A soft one keeps nobody away: who comes pays for what it would not be let in for (soft.go).

// arrivals are what a bound that binds who comes keeps beside its counts, of the sets that have nodes.
type arrivals struct {
	targets [tenses]int64 // in all
	// Of a bound over the fewest, by those who stay:
	levels []int32 // how many sets count so many
	sets   int32
	fewest int32 // no set counts less
}

// count notes that a set counts another number of targets.
func (a *arrivals) count(t tense, before, now int32) {
	a.targets[t] += int64(now - before)
	if t == settled && a.sets > 0 && before != now {
		a.level(before, -1)
		a.level(now, 1)
		a.settle()
	}
}

// enter notes that a set, which counts so many, has its first node, or has lost its last.
func (a *arrivals) enter(targets int32, is bool) {
	sign := int32(1)
	if !is {
		sign = -1
	}
	a.sets += sign
	a.level(targets, sign)
	a.settle()
}

// level adds to the number of sets that count so many.
func (a *arrivals) level(targets, sign int32) {
	a.levels = grown(a.levels, int(targets))
	a.levels[targets] += sign
	a.fewest = min(a.fewest, targets)
}

// settle finds the fewest that a set counts.
func (a *arrivals) settle() {
	if a.sets == 0 {
		a.fewest = 0
		return
	}
	for a.levels[a.fewest] == 0 {
		a.fewest++
	}
}

// limit is how many a set may count at most once a subject has come.
func (b *boundRow) limit() int64 {
	if !b.OverFewest {
		return int64(b.Max)
	}
	if b.arrivals.sets < b.LeastSets {
		return int64(b.Max)
	}
	return int64(b.arrivals.fewest) + int64(b.Max)
}

// arrives says which of the constraints that bind who comes keeps the task off, unless it waits for who leaves the node where it may do so.
func (c *coming) arrives(v *View, id ShapeID) Refusal {
	for roles := v.shape[id].roles; len(roles) > 0; roles = roles[1:] {
		if spec := v.constraints.row[roles[0].constraint].spec; !spec.Hard || !spec.Arriving {
			continue
		}
		if r := c.arrival(roles[:1]); r.Refused() {
			return r
		}
	}
	return Refusal{}
}

// arrival says which bound of a constraint that binds who comes the task would not meet.
func (c *coming) arrival(roles []role) Refusal {
	if c.goes {
		return Refusal{}
	}
	for _, r := range roles {
		if !r.subject {
			continue
		}
		for t := range tenses {
			if refusal := c.meets(r, t); refusal.Refused() {
				return refusal
			}
		}
	}
	for _, r := range roles {
		if refusal := c.disturbs(r); refusal.Refused() {
			return refusal
		}
	}
	return Refusal{}
}

// met is whom a task would meet that comes to a set, as a bound counts them.
type met struct {
	set        int32
	others     int32 // there, and the task if it counts itself
	everywhere int64 // in all sets, without the task
}

// meeting is whom the task would meet that comes.
func (c *coming) meeting(r role, t tense) met {
	b := &c.table.row[r.constraint].bound[r.bound]
	g := &c.table.group[b.group]
	m := b.meeting(r, g.setOf(c.n), t)
	if r.target && c.from != NoNode && t == present && g.setOf(c.from) != outside { // the run that it leaves is no other
		m.everywhere--
		if g.setOf(c.from) == m.set {
			m.others--
		}
	}
	return m
}

// meeting is whom a task with the role would meet in the set.
func (b *boundRow) meeting(r role, set int32, t tense) met {
	m := met{set: set, everywhere: b.arrivals.targets[t]}
	if set != outside {
		m.others = b.counted(set, t).Targets
	}
	if b.SelfCounted && r.target {
		m.others++
	}
	return m
}

// first reports whether who meets nobody anywhere may come to the set all the same.
func (b *boundRow) first(r role, m met) bool {
	return b.OrFirst && r.target && m.everywhere == 0 && m.set != outside
}

// meets says why the bound does not hold for the task that comes.
func (c *coming) meets(r role, t tense) Refusal {
	b, m := &c.table.row[r.constraint].bound[r.bound], c.meeting(r, t)
	refusal := Refusal{Code: Violates, Kind: int(r.bound), Have: int64(m.others), Constraint: r.constraint}
	switch {
	case b.OverFewest && t == present: // Kubernetes leaves out who is being deleted
		c.waits = c.waits || c.mayWait && c.waitsFor(r, c.meeting(r, settled).others)
	case b.OverFewest && m.set == outside:
		refusal.Have = InNoSet
		return refusal
	case int64(m.others) > b.limit() && c.mayWait && t == present && int64(m.others)-leaving(c.table.here(c.n, r)) <= b.limit():
		c.waits = true
	case int64(m.others) > b.limit():
		refusal.Need = b.limit()
		return refusal
	case m.others >= b.Min || b.first(r, m):
	default:
		refusal.Need = int64(b.Min)
		return refusal
	}
	return Refusal{}
}

// stands is how many subjects would not be let in where they are, and what they miss.
func (b *boundRow) stands() (violating, misses int64) {
	when := present
	if b.OverFewest {
		when = settled
	}
	b.sets.each(func(set int32, count [tenses]Count) {
		c := count[when]
		for _, of := range [2]struct {
			subjects int32
			target   bool
		}{{c.Subjects - c.Both, false}, {c.Both, true}} {
			if of.subjects == 0 {
				continue
			}
			if m := b.missesThere(set, c.Targets, of.target, when); m > 0 {
				violating, misses = violating+int64(of.subjects), misses+int64(of.subjects)*m
			}
		}
	})
	return violating, misses
}

// standsBadly reports whether a subject that is in the set, and perhaps leaves, would not be let in there.
func (b *boundRow) standsBadly(set int32, target, leaves bool) bool {
	when := present
	if b.OverFewest {
		when = settled
	}
	return (when == present || !leaves) && b.missesThere(set, b.counted(set, when).Targets, target, when) > 0
}

// missesThere is what a subject misses in a set with so many targets, of which it is one or is not.
func (b *boundRow) missesThere(set, targets int32, target bool, when tense) int64 {
	switch {
	case set == outside && b.OverFewest:
		return 1000 // it has to be in a set
	case set == outside:
		targets = 0
	case target && !b.SelfCounted:
		targets--
	}
	if b.OrFirst && target && set != outside && b.arrivals.targets[when] == 1 && targets <= b.Max {
		return 0 // it is the only one
	}
	held := *b.Bound
	held.Max = int32(min(b.limit(), int64(Unbounded)))
	return held.Misses(targets)
}

// equals reports whether both know the same. How long tables are means nothing.
func (a *arrivals) equals(b *arrivals) bool {
	trim := func(levels []int32) []int32 {
		for len(levels) > 0 && levels[len(levels)-1] == 0 {
			levels = levels[:len(levels)-1]
		}
		return levels
	}
	return a.targets == b.targets && a.sets == b.sets && a.fewest == b.fewest && slices.Equal(trim(a.levels), trim(b.levels))
}
