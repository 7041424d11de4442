package constraint

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// This file is the judge: what an assignment violates and what it costs, from the problem
// alone. No solver is asked, and none uses it to count along.

// Report is what an assignment is worth. Less of everything is better.
type Report struct {
	// Score is the sum of the parts, each weighed by the objective.
	Score int64
	Parts Parts
	// Verdicts are the constraints, in the order of the problem.
	Verdicts []Verdict
	// Violations are those of the chosen alternatives, in the order of bounds and
	// then of containers or sets.
	Violations []Violation
	// Constrained counts the containers that are subject to any bound and on a node,
	// Violated those of them for which a bound of a chosen alternative does not hold.
	Constrained, Violated int
}

// Parts are what an objective weighs, unweighed.
type Parts struct {
	Unplaced   int64 // applications
	Loose      int64 // containers
	Violations int64 // pairs of a bound of a chosen alternative and who violates it
	Moved      int64 // containers
	Fragmented int64 // nodes
	Used       int64 // nodes
	Peak       int64 // the largest share that is taken of a node's kind, in thousandths, rounded down
}

// Verdict is what became of one constraint.
type Verdict struct {
	Alternative int32 // the chosen one
	// Subjects counts who is bound by its bounds, once for each bound, Violations for how many of
	// them it does not hold, Misses what those miss: the sum of Bound.Misses.
	Subjects, Violations int
	Misses               int64
	Cost                 int64 // in the score
}

// Violation is a bound that does not hold.
type Violation struct {
	Bound     int32 // of Roles.Bounds
	Container int32 // the subject; Nowhere where the whole set is
	Set       int32 // of the bound's group; Nowhere where the subject's node is in none
	Count     int32
}

// Evaluate judges the assignment. It does not ask whether it is feasible; Check does.
func Evaluate(p *Problem, a Assignment) Report {
	roles := FindRoles(p)
	judge := judge{p: p, a: a, roles: roles, violated: make([]bool, len(p.Containers))}
	judge.constraints()
	judge.constrained()
	judge.nodes()
	judge.applications()
	r, o := &judge.report, &p.Objective
	r.Score += o.Unplaced*r.Parts.Unplaced + o.Loose*r.Parts.Loose + o.Moved*r.Parts.Moved
	r.Score += o.Fragmented*r.Parts.Fragmented + o.Used*r.Parts.Used
	return *r
}

// judge is an evaluation under way.
type judge struct {
	p        *Problem
	a        Assignment
	roles    *Roles
	violated []bool // by container
	report   Report
}

// constraints chooses an alternative of each constraint.
func (j *judge) constraints() {
	at := 0
	for c := range j.p.Constraints {
		var best Verdict
		var found []Violation
		var price int64
		for alternative, bounds := range j.p.Constraints[c].Any {
			v := Verdict{Alternative: int32(alternative)}
			var violations []Violation
			for range bounds {
				violations = j.bound(int32(at), &v, violations)
				at++
			}
			v.Violations = len(violations)
			asks := j.p.Price(c, &v)
			if alternative == 0 || asks < price {
				best, found, price = v, violations, asks
			}
		}
		best.Cost = j.p.Cost(c, &best)
		j.report.Verdicts = append(j.report.Verdicts, best)
		j.report.Violations = append(j.report.Violations, found...)
		j.report.Parts.Violations += int64(best.Violations)
		j.report.Score += best.Cost
		for _, v := range found {
			if v.Container != Nowhere {
				j.violated[v.Container] = true
			}
		}
	}
}

// Price is what the alternative of the verdict on constraint c costs by the objective at
// weight 1, in millionths of a violation: by it an alternative is chosen. Of a hard
// constraint, and where the objective asks nothing of violations, their number is the price.
func (p *Problem) Price(c int, v *Verdict) int64 {
	o := &p.Objective
	if p.Constraints[c].Hard || o.Violation == 0 && o.Extent == 0 {
		return int64(v.Violations)
	}
	return 1000*o.Violation*int64(v.Violations) + o.Extent*v.Misses
}

// Cost is what the verdict on constraint c adds to the score, rounded down. A hard constraint
// costs nothing: it is no matter of price.
func (p *Problem) Cost(c int, v *Verdict) int64 {
	o := &p.Objective
	return perPart(1000*o.Violation*int64(v.Violations)+o.Extent*v.Misses, p.Constraints[c].Weight, 1_000_000)
}

// perPart is a·b/c, rounded down, of numbers that are at least 0; math.MaxInt64 where that is
// too large.
func perPart(a, b, c int64) int64 {
	high, low := bits.Mul64(uint64(a), uint64(b))
	if high >= uint64(c) {
		return math.MaxInt64
	}
	quotient, _ := bits.Div64(high, low, uint64(c))
	return int64(min(quotient, math.MaxInt64))
}

// bound counts the bound's targets in each set and appends its violations.
func (j *judge) bound(row int32, v *Verdict, violations []Violation) []Violation {
	b := &j.roles.Bounds[row]
	var group Group
	if b.Group != Nowhere {
		group = j.p.Groups[b.Group]
	}
	setOf := func(node int32) int32 {
		if b.Group == Nowhere {
			return Nowhere
		}
		return group.SetOf[node]
	}
	targets := make([]int32, len(group.Sets))
	for i, node := range j.a {
		if node == Nowhere || !j.role(i, row).Target {
			continue
		}
		if set := setOf(node); set != Nowhere {
			targets[set]++
		}
	}
	if b.Whole {
		return j.whole(row, targets, v, violations)
	}
	for i, node := range j.a {
		role := j.role(i, row)
		if node == Nowhere || !role.Subject {
			continue
		}
		v.Subjects++
		set, count := setOf(node), int32(0)
		if set != Nowhere {
			count = targets[set]
			if role.Target && !b.SelfCounted {
				count--
			}
		}
		if misses := b.Misses(count); misses > 0 {
			v.Misses += misses
			violations = append(violations, Violation{row, int32(i), set, count})
		}
	}
	return violations
}

// whole is bound for a bound of whole sets: of those that have a node.
func (j *judge) whole(row int32, targets []int32, v *Verdict, violations []Violation) []Violation {
	b := &j.roles.Bounds[row]
	if b.Group == Nowhere {
		return violations
	}
	there := make([]bool, len(targets))
	for _, set := range j.p.Groups[b.Group].SetOf {
		if set != Nowhere {
			there[set] = true
		}
	}
	for set, count := range targets {
		if !there[set] {
			continue
		}
		v.Subjects++
		if misses := b.Misses(count); misses > 0 {
			v.Misses += misses
			violations = append(violations, Violation{row, Nowhere, int32(set), count})
		}
	}
	return violations
}

// role is what the container is in the bound.
func (j *judge) role(container int, bound int32) Role {
	roles := j.roles.Of[j.p.Containers[container].Shape]
	at, has := slices.BinarySearchFunc(roles, bound, func(r Role, bound int32) int { return cmp.Compare(r.Bound, bound) })
	if has {
		return roles[at]
	}
	return Role{Bound: bound}
}

// constrained counts whom any bound concerns.
func (j *judge) constrained() {
	for i, node := range j.a {
		subject := slices.ContainsFunc(j.roles.Of[j.p.Containers[i].Shape], func(r Role) bool { return r.Subject })
		if node != Nowhere && subject {
			j.report.Constrained++
		}
		if j.violated[i] {
			j.report.Violated++
		}
	}
}

// applications counts which are not there, which containers the others lack, and which have
// moved.
func (j *judge) applications() {
	for i := range j.p.Applications {
		app, lacks := &j.p.Applications[i], int64(0)
		for _, node := range j.a[app.First:app.End] {
			if node == Nowhere {
				lacks++
			}
		}
		switch {
		case app.Deployed:
			j.report.Parts.Loose += lacks
		case lacks > 0:
			j.report.Parts.Unplaced++
		}
	}
	for i, node := range j.a {
		if at := j.p.Containers[i].At; at != Nowhere && node != at {
			j.report.Parts.Moved++
		}
	}
}

// nodes looks at what is left of each node.
func (j *judge) nodes() {
	p, o, r := j.p, &j.p.Objective, &j.report
	holds := make([]bool, len(p.Nodes))
	for _, node := range j.a {
		if node != Nowhere {
			holds[node] = true
		}
	}
	peak := int64(0)
	for n, left := range j.p.left(j.a) {
		if holds[n] {
			r.Parts.Used++
		}
		for k, least := range o.Least {
			if left[k] < least {
				r.Parts.Fragmented++
				break
			}
		}
		for k, capacity := range p.Nodes[n].Capacity {
			if capacity > 0 {
				taken := max(capacity-left[k], 0)
				r.Parts.Peak = max(r.Parts.Peak, perPart(1000, taken, capacity))
				peak = max(peak, perPart(o.Peak, taken, capacity))
			}
		}
	}
	r.Score += peak
}

// left is what is left of each node under the assignment.
func (p *Problem) left(a Assignment) [][]int64 {
	left := make([][]int64, len(p.Nodes))
	for n := range left {
		left[n] = slices.Clone(p.Nodes[n].Free)
	}
	for i, node := range a {
		c := &p.Containers[i]
		for k, q := range p.Shapes[c.Shape].Demand {
			if c.At != Nowhere {
				left[c.At][k] += q
			}
			if node != Nowhere {
				left[node][k] -= q
			}
		}
	}
	return left
}
