package exact

import (
	"math"
	"math/bits"

	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/ilp"
)

// This file says what no placement can cost less than.

// Options limit what is asked of the solver.
type Options struct {
	// Columns is how many columns a model has at most, Relaxed how many one of which no column
	// need be whole.
	Columns, Relaxed int
	// Nodes is how many candidates a repair has at most. It begins with half of them, and with
	// half of the columns.
	Nodes int
	// Each limits the solving of one model, Ticks all of it; 0 is no limit.
	Each  ilp.Limits
	Ticks int64
}

// Proof says what a bound was found by.
type Proof uint8

const (
	// Trivial is what cannot move, and who has no node.
	Trivial Proof = iota
	// Relaxation is the whole problem as a model of which no column need be whole.
	Relaxation
	// Whole is the whole problem as a model.
	Whole
)

func (p Proof) String() string {
	return [...]string{"trivial", "relaxation", "whole model"}[p]
}

// Bounded is what was proven.
type Bounded struct {
	// Score is what no assignment costs less than that may be carried out.
	Score int64
	Proof Proof
	Ticks int64
	// Limit is what the solver stopped for.
	Limit ilp.Limit
}

// allLevels is how many steps of extent models have of each side of a bound: beyond that a miss costs
// nothing more, so that what they say is a bound still. Where that is too large they have one.
const allLevels = 8

// Bound is a lower bound on the score of every assignment that may be carried out: from the whole
// problem as a model where it is small enough, from that model without whole numbers where that is,
// and at least from what fixed containers cost wherever the others go. The solver may be
// nil.
func Bound(p *constraint.Problem, solver ilp.Solver, o Options) (Bounded, error) {
	bounded := Bounded{Score: trivial(p)}
	if solver == nil || !countable(p) {
		return bounded, nil
	}
	m, proof := everything(p, p.Start(), &o)
	if m == nil {
		return bounded, nil
	}
	solution, err := solver.Solve(&m.Model, nil, o.limits(0))
	if err != nil {
		return bounded, err
	}
	if score := m.proven(&solution); score > bounded.Score {
		bounded.Score, bounded.Proof = score, proof
	}
	bounded.Ticks, bounded.Limit = solution.Ticks, solution.Limit
	return bounded, nil
}

// everything is the model of the whole problem, and what it proves: with as many steps as leave
// it no more columns than a model may have, or with one, or with one and no whole numbers; nil
// if it is too large for that.
func everything(p *constraint.Problem, base constraint.Assignment, o *Options) (*Model, Proof) {
	if placements(p) > max(o.Columns, o.Relaxed) {
		return nil, Trivial
	}
	m := Aggregated(p, Scope{Base: base, Levels: allLevels})
	if m.Columns() > o.Columns {
		m = Aggregated(p, Scope{Base: base, Levels: 1})
	}
	switch {
	case m.Columns() <= o.Columns:
		return m, Whole
	case m.Columns() > o.Relaxed:
		return nil, Trivial
	}
	for c := range m.Kind {
		m.Kind[c] = ilp.Continuous
	}
	return m, Relaxation
}

// limits are those of the next model when so much has been spent.
func (o *Options) limits(spent int64) ilp.Limits {
	l := o.Each
	if o.Ticks > 0 {
		left := max(o.Ticks-spent, 1)
		if l.Ticks == 0 || left < l.Ticks {
			l.Ticks = left
		}
	}
	return l
}

// proven is the solver's bound as a score. All costs are whole numbers, and so is what a placement
// costs; but the solver calculates with others, and what it is unsure of is given away.
func (m *Model) proven(s *ilp.Solution) int64 {
	if math.IsInf(s.Bound, 0) || math.IsNaN(s.Bound) {
		return math.MinInt64
	}
	unsure := ilp.Tolerance + float64(math.Abs(s.Bound)*1e-8)
	return m.Constant + int64(math.Ceil(s.Bound-unsure))
}

// placements is how many columns the placement alone has at most.
func placements(p *constraint.Problem) int {
	units, last := 0, absent
	for i := range p.Containers {
		if c := &p.Containers[i]; !c.Fixed && (c.Class != last || p.Classes[c.Class].Need.Count > 0) {
			units, last = units+1, c.Class
		}
	}
	return units * len(p.Nodes)
}

// trivial is what a placement costs at least because of what cannot move, and of who has no node.
func trivial(p *constraint.Problem) int64 {
	b := newBuilder(p, Scope{Base: p.Start()}, false)
	score, row := b.trivialNodes()+b.trivialApplications(), int32(0)
	for c := range p.Constraints {
		least := int64(math.MaxInt64)
		for _, bounds := range p.Constraints[c].Any {
			var v constraint.Verdict
			for range bounds {
				b.trivialBound(row, &v)
				row++
			}
			least = min(least, p.Cost(c, &v))
		}
		score += least
	}
	return score
}

// trivialBound adds what fixed subjects violate of the bound wherever the others go.
func (b *builder) trivialBound(row int32, v *constraint.Verdict) {
	bound := &b.roles.Bounds[row]
	add := func(subjects, least, most int64) {
		count := least
		if most < int64(bound.Min) {
			count = most
		}
		if misses := bound.Misses(int32(max(count, 0))); subjects > 0 && misses > 0 && (most < int64(bound.Min) || least > int64(bound.Max)) {
			v.Violations += int(subjects)
			v.Misses += subjects * misses
		}
	}
	free := int64(0)
	for _, c := range b.classes[row] {
		if c.part == onlySubject {
			continue
		}
		for _, u := range b.unitsOf[c.class] {
			free += int64(len(b.units[u].members))
		}
	}
	if bound.Group == constraint.Nowhere {
		if !bound.Whole {
			parts := b.gather(row, constraint.Nowhere, nil)
			add(parts.only.fixed+parts.both.fixed, 0, 0)
		}
		return
	}
	for set, fixed := range b.countFixed(row) {
		only, both, targets := fixed[0], fixed[1], fixed[1]+fixed[2]
		switch {
		case set == 0 && bound.Whole:
		case set == 0:
			add(only+both, 0, 0)
		case bound.Whole && b.peopled[bound.Group][set-1]:
			add(1, targets, targets+free)
		case bound.SelfCounted:
			add(only+both, targets, targets+free)
		default:
			add(only, targets, targets+free)
			add(both, targets-1, targets-1+free)
		}
	}
}

// trivialNodes is what nodes cost with only those on them that cannot move.
func (b *builder) trivialNodes() int64 {
	o, kinds, score, peak := &b.p.Objective, len(b.p.Kinds), int64(0), int64(0)
	for n := range b.p.Nodes {
		room := b.room[n*kinds : (n+1)*kinds]
		for k, least := range o.Least {
			if room[k] < least {
				score += o.Fragmented
				break
			}
		}
		if b.standing[n] > 0 {
			score += o.Used
		}
		for k, capacity := range b.p.Nodes[n].Capacity {
			if capacity > 0 {
				peak = max(peak, share(o.Peak, capacity-room[k], capacity))
			}
		}
	}
	return score + peak
}

// share is what a part of a whole costs, rounded down.
func share(price, part, whole int64) int64 {
	high, low := bits.Mul64(uint64(price), uint64(max(part, 0)))
	quotient, _ := bits.Div64(high, low, uint64(whole))
	return int64(quotient)
}

// trivialApplications is what applications cost of which a class has no node, and those who are
// loose for whom the nodes do not suffice.
func (b *builder) trivialApplications() int64 {
	score, state := int64(0), b.settled()
	counted := make([]bool, len(b.p.Applications))
	for u := range b.units {
		app, lacks := b.p.Classes[b.units[u].class].Application, int64(len(b.units[u].members))
		for i := 0; i < len(b.nodes) && lacks > 0; i++ {
			lacks -= b.mostOf(int32(u), int32(i))
		}
		switch {
		case lacks <= 0:
		case state[app] == partly:
			score += lacks * b.p.Objective.Loose
		case state[app] == undecided && !counted[app]:
			counted[app] = true
			score += b.p.Objective.Unplaced
		}
	}
	return score
}

// countable reports whether models can be made of the problem: what all containers together may cost by a
// constraint has to be counted in millionths of the score, and what the fullest node costs in parts
// of its room. The largest weights of an objective and of constraints, multiplied, are too large
// for that.
func countable(p *constraint.Problem) bool {
	const most = 1 << 62
	o, containers := &p.Objective, len(p.Containers)
	for c := range p.Constraints {
		price := 0.0 // what one container may cost at weight 1, by all bounds together
		for _, bounds := range p.Constraints[c].Any {
			for i := range bounds {
				misses := max(bounds[i].Misses(0), bounds[i].Misses(int32(containers)))
				price += 1000*float64(o.Violation) + float64(o.Extent)*float64(misses)
			}
		}
		if price*float64(p.Constraints[c].Weight)*float64(containers) > most {
			return false
		}
	}
	for n := range p.Nodes {
		for _, capacity := range p.Nodes[n].Capacity {
			if float64(o.Peak)*float64(capacity) > most {
				return false
			}
		}
	}
	return true
}
