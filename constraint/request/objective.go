package request

import (
	"fmt"
	"math/big"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/internal/document"
)

// This file reads what a placement is judged by: weights in violations of a constraint of
// weight 1, down to thousandths.

// mostWeight is the largest weight, in violations.
const mostWeight = 1_000_000_000

// weight is a weight of an objective by its name.
type weight struct {
	name string
	is   *int64
}

// weights are all weights of an objective.
func weights(o *constraint.Objective) []weight {
	return []weight{
		{"unplaced", &o.Unplaced},
		{"loose", &o.Loose},
		{"violation", &o.Violation},
		{"extent", &o.Extent},
		{"moved", &o.Moved},
		{"fragmented", &o.Fragmented},
		{"used", &o.Used},
		{"peak", &o.Peak},
	}
}

func (r *reading) readObjective(v document.Value) {
	o := &r.Problem.Objective
	var fields []document.Field
	for _, w := range weights(o) {
		fields = append(fields, document.Field{Name: w.name, Read: func(v document.Value) { *w.is = r.thousandths(v) }})
	}
	fields = append(fields, document.Field{Name: "least", Read: func(v document.Value) { o.Least = r.vector(v, true) }})
	r.Fields(v, fields)
}

// thousandths reads a number of at most three digits behind the point.
func (r *reading) thousandths(v document.Value) int64 {
	number, ok := r.Decimal(v, mostWeight)
	if !ok {
		return 0
	}
	number.Mul(number, big.NewRat(1000, 1))
	if !number.IsInt() {
		r.Complain(v, "is finer than a thousandth; round it to three digits behind the point")
		return 0
	}
	return number.Num().Int64()
}

// mostScore is what a plan may cost at most: whoever adds costs up stays far from what an int64
// holds.
const mostScore = 1 << 60

// checkScore says why the costs of plans could not be counted: with the largest weights all at
// once, sums are more than an int64 holds.
func (r *Request) checkScore() error {
	p, o := &r.Problem, &r.Problem.Objective
	sum := new(big.Int)
	for _, part := range [][2]int64{
		{o.Unplaced, int64(len(p.Applications))},
		{o.Loose + o.Moved, int64(len(p.Containers))},
		{o.Fragmented + o.Used, int64(len(p.Nodes))},
		{o.Peak, r.mostPeak()},
	} {
		sum.Add(sum, product(part[0], part[1]))
	}
	prices := r.mostPrices()
	for c := range p.Constraints {
		if p.Constraints[c].Hard {
			continue // costs nothing
		}
		if !prices[c].IsInt64() || prices[c].Int64() > mostScore {
			return tooCostly("violations of "+constraint.Title(&p.Constraints[c]), new(big.Int).Quo(prices[c], big.NewInt(1_000_000)))
		}
		cost := new(big.Int).Mul(prices[c], big.NewInt(p.Constraints[c].Weight))
		sum.Add(sum, cost.Quo(cost, big.NewInt(1_000_000)))
	}
	if !sum.IsInt64() || sum.Int64() > mostScore {
		return tooCostly("a plan", new(big.Int).Quo(sum, big.NewInt(1000)))
	}
	return nil
}

func tooCostly(what string, cost *big.Int) error {
	return fmt.Errorf("%s may cost %v, and no more than %d can be counted: lower the weights of the objective, or of constraints", what, cost, int64(mostScore/1000))
}

func product(a, b int64) *big.Int { return new(big.Int).Mul(big.NewInt(a), big.NewInt(b)) }

// mostPeak is the largest share, rounded up, that can ever be taken of a node.
func (r *Request) mostPeak() int64 {
	p := &r.Problem
	demand := make(cluster.Vector, len(p.Kinds))
	for c := range p.Containers {
		for k, q := range p.Shapes[p.Containers[c].Shape].Demand {
			demand[k] = min(demand[k]+q, cluster.MaxQuantity)
		}
	}
	most := int64(1)
	for n := range p.Nodes {
		for k, capacity := range p.Nodes[n].Capacity {
			if capacity > 0 {
				most = max(most, (capacity-p.Nodes[n].Free[k]+demand[k])/capacity+1)
			}
		}
	}
	return most
}

// mostPrices is what violations of each constraint may cost at weight 1, in millionths of a
// violation: of all alternatives together, everybody violates every bound as much as can be.
func (r *Request) mostPrices() []*big.Int {
	p, o := &r.Problem, &r.Problem.Objective
	roles := constraint.FindRoles(p)
	subjects, targets := make([]int64, len(roles.Bounds)), make([]int32, len(roles.Bounds))
	for c := range p.Containers {
		for _, role := range roles.Of[p.Containers[c].Shape] {
			if role.Subject {
				subjects[role.Bound]++
			}
			if role.Target {
				targets[role.Bound]++
			}
		}
	}
	prices := make([]*big.Int, len(p.Constraints))
	for c := range prices {
		prices[c] = new(big.Int)
	}
	for row := range roles.Bounds {
		b := &roles.Bounds[row]
		if b.Whole && b.Group != constraint.Nowhere {
			subjects[row] = int64(len(p.Groups[b.Group].Sets))
		}
		misses := max(b.Misses(0), b.Misses(targets[row]))
		each := new(big.Int).Add(product(1000, o.Violation), product(o.Extent, misses))
		prices[b.Constraint].Add(prices[b.Constraint], each.Mul(each, big.NewInt(subjects[row])))
	}
	return prices
}
