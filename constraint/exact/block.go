package exact

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/ilp"
)

// This file is constraints: which alternative is chosen, who is bound in which set and who is
// counted there, and what is paid for it. How a bound is written in rows is aggregated.go's and
// literal.go's.

// binder builds the constraints of a model.
type binder struct {
	*builder
	roles   *constraint.Roles
	before  []int64     // by hard constraint: how many violate it as the problem is posed
	shapes  [][]concern // by bound: those of which it speaks
	inSet   [][][]int32 // by group and set + 1: the candidates; 0 is in no set
	peopled [][]bool    // by group and set: whether the set has a node
}

// newBinder finds what bounds speak of, and asks the judge how many violate each hard constraint to begin with.
func newBinder(of *builder) *binder {
	b := &binder{builder: of, roles: constraint.FindRoles(of.p)}
	if slices.ContainsFunc(b.p.Constraints, func(c cluster.Constraint) bool { return c.Hard }) {
		for _, v := range constraint.Evaluate(b.p, b.p.Start()).Verdicts {
			b.before = append(b.before, int64(v.Violations))
		}
	}
	b.shapes = make([][]concern, len(b.roles.Bounds))
	for shape := range b.roles.Of {
		for _, r := range b.roles.Of[shape] {
			b.shapes[r.Bound] = append(b.shapes[r.Bound], concern{int32(shape), partOf(r)})
		}
	}
	b.findSets()
	return b
}

// findSets sorts the candidates by the sets that they are in.
func (b *binder) findSets() {
	b.inSet, b.peopled = make([][][]int32, len(b.p.Groups)), make([][]bool, len(b.p.Groups))
	for g := range b.p.Groups {
		group := &b.p.Groups[g]
		b.inSet[g], b.peopled[g] = make([][]int32, len(group.Sets)+1), make([]bool, len(group.Sets))
		for n, set := range group.SetOf {
			if set != constraint.Nowhere {
				b.peopled[g][set] = true
			}
			if i := b.where[n]; i != absent {
				b.inSet[g][set+1] = append(b.inSet[g][set+1], i)
			}
		}
	}
}

// account is what a constraint costs, as far as it is known, in millionths of the score; of a
// hard one, how many violate it.
type account struct {
	constraint         int
	hard               bool
	violation, missing int64 // what a subject that violates it costs, and each thousandth that it misses
	costs              []ilp.Term
	constant           int64
	// gate is the column of the alternative that is being built; absent where there is but one.
	gate int32
	// never says that no subject may violate it: no column is needed that counts them.
	never bool
}

// charge adds the cost of a column.
func (a *account) charge(column int32, cost int64) {
	a.costs = append(a.costs, ilp.Term{Column: column, Value: float64(cost)})
}

// block is one kind of subject of a bound in one set: all of them count the same.
type block struct {
	bound int32
	// subjects and targets are columns of free containers; fixedSubjects and fixedTargets are
	// how many others there are.
	subjects, targets           []slot
	fixedSubjects, fixedTargets int64
	// mostSubjects and mostTargets are how many there can be.
	mostSubjects, mostTargets int64
	// self is 1 where a subject is a target and does not count itself.
	self int64
	// within says that every subject is a target.
	within bool
}

// slot is a column of the placement.
type slot struct{ column, unit int32 }

// addConstraints adds what the constraints cost, and the hard ones as rows.
func (b *binder) addConstraints() {
	b.Broken = filled(len(b.p.Constraints))
	row := int32(0)
	for c := range b.p.Constraints {
		first := row
		for _, bounds := range b.p.Constraints[c].Any {
			row += int32(len(bounds))
		}
		b.addConstraint(c, first)
	}
}

func (b *binder) addConstraint(c int, row int32) {
	spec, o := &b.p.Constraints[c], &b.p.Objective
	relaxed := b.scope.Relaxed != nil && b.scope.Relaxed[c]
	a := &account{constraint: c, hard: spec.Hard || relaxed, gate: absent}
	if a.hard {
		a.violation = 1
		a.never = !relaxed && len(spec.Any) == 1 && b.before[c] == 0
	} else {
		a.violation, a.missing = 1000*o.Violation*spec.Weight, o.Extent*spec.Weight
		if a.violation == 0 && a.missing == 0 {
			return
		}
	}
	var gates []int32
	if len(spec.Any) > 1 {
		for q := range spec.Any {
			gate := b.addColumn(1, 0, ilp.Integer, given)
			b.chosen = append(b.chosen, choice{gate, int32(c), int32(q)})
			gates = append(gates, gate)
		}
		for _, gate := range gates {
			b.add(gate, 1)
		}
		b.endRow(1, 1, absent)
	}
	for q, bounds := range spec.Any {
		if gates != nil {
			a.gate = gates[q]
		}
		for range bounds {
			b.addBound(a, row)
			row++
		}
	}
	b.settle(a, relaxed)
}

// settle ends an account: in the objective, or as a row.
func (b *binder) settle(a *account, relaxed bool) {
	if a.hard {
		b.settleHard(a, relaxed)
		return
	}
	// Evaluate divides by a million once and rounds down. Where that could cut something off a
	// column says so: the least whole number that is more than the quotient less 1.
	const million = 1_000_000
	unit := divisor(million, a.constant)
	for _, t := range a.costs {
		unit = divisor(unit, int64(t.Value))
	}
	if len(a.costs) == 0 || unit == million {
		b.Constant += a.constant / million
		for _, t := range a.costs {
			b.Cost[t.Column] += t.Value / million
		}
		return
	}
	most := a.constant
	for _, t := range a.costs {
		most += max(int64(t.Value)*int64(b.Upper[t.Column]), 0)
	}
	cost := b.addColumn(float64(most/million), 1, ilp.Integer, smallest)
	for _, t := range a.costs {
		b.add(t.Column, int64(t.Value)/unit)
	}
	b.add(cost, -million/unit)
	b.atMost(million/unit-1-a.constant/unit, cost)
}

// settleHard says that no more subjects violate the constraint than did before.
func (b *binder) settleHard(a *account, relaxed bool) {
	had, most := b.before[a.constraint], a.constant
	for _, t := range a.costs {
		most += max(int64(t.Value)*int64(b.Upper[t.Column]), 0)
	}
	if most <= had {
		return
	}
	broken := absent
	if relaxed {
		broken = b.addColumn(1, 1, ilp.Integer, smallest)
		b.Broken[a.constraint] = broken
	}
	for _, t := range a.costs {
		b.add(t.Column, int64(t.Value))
	}
	b.add(broken, had-most)
	b.atMost(had-a.constant, broken)
}

// addBound adds the bound in every set.
func (b *binder) addBound(a *account, row int32) {
	bound := &b.roles.Bounds[row]
	if bound.Group == constraint.Nowhere {
		if !bound.Whole {
			all := make([]int32, len(b.nodes))
			for i := range all {
				all[i] = int32(i)
			}
			b.addSet(a, b.gather(row, constraint.Nowhere, all))
		}
		return
	}
	sets := b.inSet[bound.Group]
	fixed := b.countFixed(row)
	for set := range sets {
		if len(sets[set]) == 0 && fixed[set] == [3]int64{} && !bound.Whole {
			continue
		}
		parts := b.gather(row, int32(set)-1, sets[set])
		parts.add(fixed[set])
		if bound.Whole {
			if set == 0 || !b.peopled[bound.Group][set-1] {
				continue
			}
			parts.only.fixed++
		}
		b.addSet(a, parts)
	}
}

// parts are who is a subject, a target and both in a set.
type parts struct {
	bound, set         int32
	only, both, target part
}

// part is columns and how many of it are fixed.
type part struct {
	slots []slot
	fixed int64
	most  int64 // of the columns
}

// concern is a shape of which a bound speaks, and which of its parts that is.
type concern struct {
	shape int32
	part  int
}

// The parts of a set, as parts.of numbers them.
const (
	onlySubject = iota
	subjectAndTarget
	onlyTarget
)

func partOf(r constraint.Role) int {
	switch {
	case r.Subject && r.Target:
		return subjectAndTarget
	case r.Subject:
		return onlySubject
	}
	return onlyTarget
}

func (p *parts) add(fixed [3]int64) {
	p.only.fixed, p.both.fixed, p.target.fixed = fixed[0], fixed[1], fixed[2]
}

// countFixed counts, by set + 1, the containers that are not free: subjects only, both, and
// targets only.
func (b *binder) countFixed(row int32) [][3]int64 {
	setOf := b.p.Groups[b.roles.Bounds[row].Group].SetOf
	count := make([][3]int64, len(b.inSet[b.roles.Bounds[row].Group]))
	for _, c := range b.shapes[row] {
		for _, node := range b.fixed[c.shape] {
			count[setOf[node]+1][c.part]++
		}
	}
	return count
}

// gather finds the columns of a set.
func (b *binder) gather(row, set int32, candidates []int32) *parts {
	p := &parts{bound: row, set: set}
	if b.roles.Bounds[row].Group == constraint.Nowhere {
		for _, c := range b.shapes[row] {
			p.of(c.part).fixed += int64(len(b.fixed[c.shape]))
		}
	}
	if len(candidates) == 0 {
		return p
	}
	for _, c := range b.shapes[row] {
		for _, u := range b.unitsOf[c.shape] {
			part, most := p.of(c.part), int64(0)
			for _, i := range candidates {
				if column := b.at(u, i); column != absent {
					part.slots = append(part.slots, slot{column, u})
					most += b.most(column)
				}
			}
			part.most += min(most, int64(len(b.units[u].members)))
		}
	}
	return p
}

func (p *parts) of(index int) *part { return []*part{&p.only, &p.both, &p.target}[index] }

// addSet adds the bound in one set: once for the subjects that are targets, and once for the
// others, as they do not count the same.
func (b *binder) addSet(a *account, p *parts) {
	bound := &b.roles.Bounds[p.bound]
	add := func(subjects []*part, self int64, within bool) {
		blk := block{bound: p.bound, self: self, within: within}
		for _, s := range subjects {
			blk.subjects = append(blk.subjects, s.slots...)
			blk.fixedSubjects += s.fixed
			blk.mostSubjects += s.fixed + s.most
		}
		if p.set != constraint.Nowhere {
			for _, t := range []*part{&p.both, &p.target} {
				blk.targets = append(blk.targets, t.slots...)
				blk.fixedTargets += t.fixed
				blk.mostTargets += t.fixed + t.most
			}
		}
		switch {
		case blk.mostSubjects == 0:
		case b.literal:
			b.addEach(a, &blk)
		default:
			b.addCounted(a, &blk)
		}
	}
	switch {
	case p.set == constraint.Nowhere: // where nobody counts
		add([]*part{&p.only, &p.both}, 0, false)
	case bound.SelfCounted:
		add([]*part{&p.only, &p.both}, 0, p.only.fixed == 0 && len(p.only.slots) == 0)
	default:
		add([]*part{&p.both}, 1, true)
		add([]*part{&p.only}, 0, false)
	}
}
