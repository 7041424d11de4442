package exact

import (
	"math"
	"math/bits"

	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/board"
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
	// Trivial is what board.Floor sees: what each shape must pay by itself.
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
// and at least what board.Floor says. The solver may be nil.
func Bound(p *constraint.Problem, solver ilp.Solver, o Options) (Bounded, error) {
	bounded := Bounded{Score: board.New(p, constraint.FindRoles(p)).Floor()}
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
		if c := &p.Containers[i]; !c.Fixed && (c.Shape != last || len(p.Shapes[c.Shape].Needs) > 0) {
			units, last = units+1, c.Shape
		}
	}
	return units * len(p.Nodes)
}

// share is what a part of a whole costs, rounded down.
func share(price, part, whole int64) int64 {
	high, low := bits.Mul64(uint64(price), uint64(max(part, 0)))
	quotient, _ := bits.Div64(high, low, uint64(whole))
	return int64(quotient)
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
