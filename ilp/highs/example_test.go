//go:build !nohighs && (amd64 || arm64)

package highs_test

import (
	"fmt"
	"math"

	"fairlead.dev/fairlead/ilp"
	"fairlead.dev/fairlead/ilp/highs"
)

// A workshop has 40 hours of carpentry and 50 of finishing. Chairs and tables take
// some of both, and bring what is here a negative cost.
func Example() {
	engine := highs.Start(highs.Options{})
	m := &ilp.Model{}
	chairs := m.AddColumn(0, math.Inf(1), -30, ilp.Integer)
	tables := m.AddColumn(0, math.Inf(1), -50, ilp.Integer)
	m.AddRow(math.Inf(-1), 40, ilp.Term{Column: chairs, Value: 1}, ilp.Term{Column: tables, Value: 2})
	m.AddRow(math.Inf(-1), 50, ilp.Term{Column: chairs, Value: 2}, ilp.Term{Column: tables, Value: 1})
	s, err := engine.Solve(m, nil, ilp.Limits{})
	fmt.Println(s.Status, s.Objective, s.Values, err)
	// Output: optimal -1100 [20 10] <nil>
}
