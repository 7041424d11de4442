package request

import (
	"math/big"

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
