package experiment

import (
	"fmt"
	"math"
	"slices"
	"time"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/greedy"
	"fairlead.dev/fairlead/constraint/planted"
	"fairlead.dev/fairlead/constraint/search"
	"fairlead.dev/fairlead/report"
)

// This file is one problem of placing long-running applications, solved by a policy, and
// what the judge says of the plan. Nothing is simulated: a problem is posed and solved once.

// withSearch is the policy of the family constraint that searches; the others are heuristics.
const withSearch = "medea"

// contender is who solves a problem.
type contender struct {
	line   string // what figures call it
	policy string
	weigh  func(*constraint.Objective) // changes the objective; may be nil
}

// contenders are the policies as they are.
func contenders(names []string) []contender {
	var list []contender
	for _, name := range names {
		list = append(list, contender{line: name, policy: name})
	}
	return list
}

// placed is a plan and what it is worth.
type placed struct {
	line   string
	at     report.Number // the place on the axis of its figure
	nodes  int
	plan   constraint.Assignment
	judged constraint.Report
	// violating are the pairs of a bound and who violates it.
	violating
	applications, whole int     // that were to be placed, and that were
	variation           float64 // of the loads of nodes
	ticks               int64
	took                cluster.Time
}

// violating are the pairs of a bound and who violates it: those that violated when the
// problem was posed, of these the ones that still do, and those that did not before. A set that
// lacks what does not run yet did not violate.
type violating struct{ before, inherited, added int }

// solve has the contender solve the problem, and the judge look at the plan.
func (c *contender) solve(problem *constraint.Problem, seed uint64, ticks int64) (placed, error) {
	p := *problem
	if c.weigh != nil {
		c.weigh(&p.Objective)
	}
	start := time.Now()
	a, spent, err := assign(c.policy, &p, seed, ticks)
	if err != nil {
		return placed{}, err
	}
	out := placed{line: c.line, nodes: len(p.Nodes), ticks: spent, took: cluster.Time(time.Since(start).Microseconds())}
	if err := constraint.Check(&p, a); err != nil {
		return placed{}, fmt.Errorf("%s: its plan cannot be carried out: %w", c.policy, err)
	}
	out.judge(&p, a)
	return out, nil
}

// assign is the policy's plan, and its effort.
func assign(policy string, p *constraint.Problem, seed uint64, ticks int64) (constraint.Assignment, int64, error) {
	if policy == withSearch {
		r := search.Solve(p, search.Options{Seed: seed, Ticks: ticks})
		return r.Assignment, r.Ticks, nil
	}
	h, known := greedy.Named(policy)
	if !known {
		return nil, 0, fmt.Errorf("%s does not solve problems of placement", policy)
	}
	a, spent := h.Solve(p)
	return a, spent, nil
}

// judge fills in what the plan is worth.
func (out *placed) judge(p *constraint.Problem, a constraint.Assignment) {
	out.plan, out.judged = a, constraint.Evaluate(p, a)
	out.violating = compareViolations(inherited(p), out.judged.Violations)
	for i := range p.Applications {
		if !p.Applications[i].Deployed {
			out.applications++
		}
	}
	out.whole = out.applications - int(out.judged.Parts.Unplaced)
	out.variation = variation(loads(p, a))
}

// inherited are the violations of what runs when the problem is posed.
func inherited(p *constraint.Problem) []constraint.Violation {
	bounds := constraint.FindRoles(p).Bounds
	runs := func(b *constraint.Bound) bool {
		return slices.ContainsFunc(p.Containers, func(c constraint.Container) bool {
			_, target := b.Affects(p.Shapes[c.Shape].Tags)
			return target && c.At != constraint.Nowhere
		})
	}
	return slices.DeleteFunc(constraint.Evaluate(p, p.Start()).Violations, func(v constraint.Violation) bool {
		return v.Container == constraint.Nowhere && !runs(&bounds[v.Bound])
	})
}

// compareViolations counts inherited violations and new ones apart.
func compareViolations(before, after []constraint.Violation) violating {
	type pair struct{ bound, container, set int32 }
	of := func(v constraint.Violation) pair {
		if v.Container != constraint.Nowhere {
			return pair{v.Bound, v.Container, 0} // wherever it stands
		}
		return pair{v.Bound, v.Container, v.Set}
	}
	had := map[pair]bool{}
	for _, v := range before {
		had[of(v)] = true
	}
	out := violating{before: len(had)}
	for _, v := range after {
		if had[of(v)] {
			out.inherited++
		} else {
			out.added++
		}
	}
	return out
}

// loads are what part of each node is taken, of the kind of which the largest is.
func loads(p *constraint.Problem, a constraint.Assignment) []float64 {
	left := make([]cluster.Vector, len(p.Nodes))
	for n := range p.Nodes {
		left[n] = slices.Clone(p.Nodes[n].Free)
	}
	for i, node := range a {
		c := &p.Containers[i]
		for k, q := range p.Shapes[c.Shape].Demand {
			if c.At != constraint.Nowhere {
				left[c.At][k] += q
			}
			if node != constraint.Nowhere {
				left[node][k] -= q
			}
		}
	}
	all := make([]float64, len(left))
	for n := range left {
		for k, capacity := range p.Nodes[n].Capacity {
			if capacity > 0 {
				all[n] = max(all[n], float64(capacity-left[n][k])/float64(capacity))
			}
		}
	}
	return all
}

// variation is the coefficient of variation: the standard deviation over the mean.
func variation(values []float64) float64 {
	mean, square := 0.0, 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		square += float64((v-mean)*(v-mean)) / float64(len(values))
	}
	if mean == 0 {
		return 0
	}
	return math.Sqrt(square) / mean
}

// violations is the share of the containers under constraints that violate one.
func (out *placed) violations() report.Number {
	return report.Ratio(float64(out.judged.Violated), float64(out.judged.Constrained))
}

// drawPlanted draws the instance of a seed. Where the first draw finds no room for a planting, it
// is drawn again by another.
func drawPlanted(o planted.Options) (*planted.Instance, error) {
	const tries, apart = 20, 1 << 32
	i, err := planted.Draw(o)
	for try := 1; err != nil && try < tries; try++ {
		o.Seed += apart
		i, err = planted.Draw(o)
	}
	return i, err
}
