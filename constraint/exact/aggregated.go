package exact

import (
	"fairlead.dev/fairlead/ilp"
)

// This file is a bound in rows, by counts. All subjects of a block count the same, so either
// the bound holds for all of them or for none: a column says whether it does (holds), and one
// how many violate it (bad),
//
//	subjects − bad ≤ most · holds
//	targets ≥ least · holds                      or for a maximum
//	targets ≤ highest + (most − highest)·(1 − holds).
//
// That counts violating subjects exactly, and is linear. What they miss is a sum over steps:
// who counts 5 where the maximum is 2 has passed 3, 4 and 5. Each step is a bound like the first,
// with a price of its own, so that the extent is exact as well, for as many steps as there
// are columns for. Rows that cannot bind are left out; fixed subjects are part of the sums,
// so that what a placement cures, or brings upon those who run, counts.

// addCounted adds the steps of both sides of the bound.
func (b *binder) addCounted(a *account, blk *block) {
	bound := &b.roles.Bounds[blk.bound]
	lowest, highest := max(blk.fixedTargets-blk.self, 0), blk.mostTargets-blk.self
	price := func(first bool, from, to int32) int64 {
		cost := a.missing * (bound.Misses(to) - bound.Misses(from))
		if first {
			cost += a.violation
		}
		return cost
	}
	steps := int32(0)
	for least := bound.Min; int64(least) > lowest && least > 0; least-- { // who counts less pays
		if cost := price(steps == 0, least, least-1); cost > 0 {
			if b.enough(steps) {
				break
			}
			b.addStep(a, blk, step{min: true, count: int64(least), cost: cost})
		}
		steps++
	}
	steps = 0
	for most := int64(bound.Max); most < highest; most++ { // who counts more pays
		if cost := price(steps == 0, int32(most), int32(most)+1); cost > 0 {
			if b.enough(steps) {
				break
			}
			b.addStep(a, blk, step{count: most, cost: cost})
		}
		steps++
	}
}

// enough reports whether no more steps are wanted.
func (b *binder) enough(steps int32) bool {
	if b.scope.Levels == 0 || steps < b.scope.Levels {
		return false
	}
	b.Cut = true
	return true
}

// step is a count which subjects must reach, or not exceed, or pay for it.
type step struct {
	min         bool
	count, cost int64
}

func (b *binder) addStep(a *account, blk *block, s step) {
	limit := s.count + blk.self // of the targets
	if s.min && blk.mostTargets < limit || !s.min && blk.fixedTargets > limit {
		b.addBad(a, blk, s, absent, 0) // it never holds
		return
	}
	if a.never && (blk.fixedSubjects > 0 || !s.min && sameSlots(blk.subjects, blk.targets)) {
		b.addTargets(blk)
		if s.min {
			b.atLeast(limit-blk.fixedTargets, absent)
		} else {
			b.atMost(limit-blk.fixedTargets, absent)
		}
		return
	}
	holds := b.addColumn(1, 0, ilp.Integer, largest)
	b.addTargets(blk)
	most := blk.mostSubjects
	if s.min {
		b.add(holds, blk.fixedTargets-limit)
		b.atLeast(0, holds)
	} else {
		b.add(holds, blk.mostTargets-limit)
		b.atMost(blk.mostTargets-blk.fixedTargets, holds)
		if blk.within { // they are targets themselves
			most = min(most, limit)
		}
	}
	b.addBad(a, blk, s, holds, most)
}

// addBad counts those who pay for the step: all, unless it holds or the alternative is not chosen.
func (b *binder) addBad(a *account, blk *block, s step, holds int32, most int64) {
	bad := absent
	limit := -blk.fixedSubjects
	switch {
	case a.never:
	case holds == absent && a.gate == absent:
		a.constant += s.cost * blk.fixedSubjects
		for _, subject := range blk.subjects {
			a.charge(subject.column, s.cost)
		}
		return
	default:
		bad = b.addColumn(float64(blk.mostSubjects), 0, ilp.Continuous, smallest)
		a.charge(bad, s.cost)
	}
	for _, subject := range blk.subjects {
		b.add(subject.column, 1)
	}
	b.add(bad, -1)
	b.add(holds, -most)
	if a.gate != absent {
		b.add(a.gate, blk.mostSubjects)
		limit += blk.mostSubjects
	}
	b.atMost(limit, bad)
}

func (b *binder) addTargets(blk *block) {
	for _, target := range blk.targets {
		b.add(target.column, 1)
	}
}

// sameSlots reports whether both are the same columns.
func sameSlots(x, y []slot) bool {
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i] != y[i] {
			return false
		}
	}
	return true
}
