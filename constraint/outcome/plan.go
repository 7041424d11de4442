// Package outcome says what is printed of a placement that was asked for: placements,
// violations, the bound, the parts of the objective, and for whoever is not placed the reason.
package outcome

import (
	"slices"
	"strconv"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/exact"
	"fairlead.dev/fairlead/constraint/request"
)

// Plan is an assignment as it is printed, with what it is worth. Weights, costs and extents
// are decimal numbers, in violations of a constraint of weight 1.
type Plan struct {
	Policy string `json:"policy" yaml:"policy"`
	Ticks  int64  `json:"ticks" yaml:"ticks"`
	// Placements are of containers that are to be placed or moved; all others stay.
	Placements []Placement `json:"placements" yaml:"placements"`
	Violations []Violation `json:"violations" yaml:"violations"`
	// Unplaced are the applications that are not placed, or lack a container.
	Unplaced []Unplaced `json:"unplaced" yaml:"unplaced"`
	// Constrained counts the containers on nodes that a constraint binds, Violated those for
	// which one does not hold.
	Constrained int `json:"constrained" yaml:"constrained"`
	Violated    int `json:"violated" yaml:"violated"`
	// Score is what the plan costs, the sum of Objective. No plan costs less than Bound, of
	// which Proof says what it was proven by; where both are equal the plan is Optimal.
	Score     request.Number `json:"score" yaml:"score"`
	Bound     request.Number `json:"bound" yaml:"bound"`
	Proof     string         `json:"proof" yaml:"proof"`
	Optimal   bool           `json:"optimal" yaml:"optimal"`
	Objective []Part         `json:"objective" yaml:"objective"`
	// Solver is who mended the plan and proved the bound; nil if nobody was asked.
	Solver *Solver `json:"solver,omitempty" yaml:"solver,omitempty"`
}

// Solver is what a solver of integer programs did: how many models it solved, how many of
// them made the plan better, and with what effort.
type Solver struct {
	Name   string `json:"name" yaml:"name"`
	Models int    `json:"models" yaml:"models"`
	Better int    `json:"better" yaml:"better"`
	Ticks  int64  `json:"ticks" yaml:"ticks"`
}

// Placement is a container that is to run on a node.
type Placement struct {
	Application string `json:"application" yaml:"application"`
	Container   string `json:"container" yaml:"container"`
	Node        string `json:"node" yaml:"node"`
	From        string `json:"from,omitempty" yaml:"from,omitempty"` // where it runs now
}

// Violation is a bound that does not hold, for a container or for a whole set.
type Violation struct {
	Constraint  string `json:"constraint" yaml:"constraint"`
	Owner       string `json:"owner,omitempty" yaml:"owner,omitempty"`
	Bound       string `json:"bound" yaml:"bound"`
	Application string `json:"application,omitempty" yaml:"application,omitempty"`
	Container   string `json:"container,omitempty" yaml:"container,omitempty"`
	// Group and Set are where it was counted; Set is empty where the container's node is
	// in none.
	Group   string `json:"group" yaml:"group"`
	Set     string `json:"set" yaml:"set"`
	Counted int32  `json:"counted" yaml:"counted"`
	Min     int32  `json:"min" yaml:"min"`
	Max     *int32 `json:"max" yaml:"max"` // nil where there is none
	// Extent is what part of the bound is missing or too much.
	Extent request.Number `json:"extent" yaml:"extent"`
	// Inherited says that the container, or the set, violates the bound already as things are.
	Inherited bool `json:"inherited" yaml:"inherited"`
}

// Unplaced is an application that is not placed, or lacks a container.
type Unplaced struct {
	Application string `json:"application" yaml:"application"`
	Reason      string `json:"reason" yaml:"reason"`
	// Conflict is a smallest set of what cannot hold together with the application: without
	// any one of them it could be placed.
	Conflict []string `json:"conflict" yaml:"conflict"`
}

// Part is a part of the objective.
type Part struct {
	Name   string         `json:"name" yaml:"name"`
	Amount request.Number `json:"amount" yaml:"amount"`
	Weight request.Number `json:"weight" yaml:"weight"`
	Cost   request.Number `json:"cost" yaml:"cost"`
}

// Of judges the assignment, of which the bound is known. Reasons for what is not placed are
// found by asking.
func Of(asked *request.Request, a constraint.Assignment, bound exact.Bounded, ask Asking) *Plan {
	r, p := placing{asked}, &asked.Problem
	report := constraint.Evaluate(p, a)
	plan := &Plan{
		Placements: r.placements(a), Violations: r.violations(&report), Unplaced: []Unplaced{},
		Constrained: report.Constrained, Violated: report.Violated,
		Score: request.Thousandths(report.Score), Bound: request.Thousandths(bound.Score), Proof: bound.Proof.String(),
		Optimal: report.Score == bound.Score, Objective: r.parts(&report),
	}
	reasons := reasons{placing: r, a: a, ask: ask}
	for i := range p.Applications {
		if slices.Contains(a[p.Applications[i].First:p.Applications[i].End], constraint.Nowhere) {
			plan.Unplaced = append(plan.Unplaced, reasons.of(i))
		}
	}
	return plan
}

// placing is a request that is answered.
type placing struct{ *request.Request }

func (r placing) placements(a constraint.Assignment) []Placement {
	p := &r.Problem
	list := []Placement{}
	for c, node := range a {
		at := p.Containers[c].At
		if node == at || node == constraint.Nowhere {
			continue
		}
		placement := Placement{r.application(int32(c)), r.Container(int32(c)), p.Nodes[node].Name, ""}
		if at != constraint.Nowhere {
			placement.From = p.Nodes[at].Name
		}
		list = append(list, placement)
	}
	return list
}

// application is the name of the container's application.
func (r placing) application(container int32) string {
	return r.Problem.Applications[r.Problem.Shapes[r.Problem.Containers[container].Shape].Application].Name
}

func (r placing) violations(report *constraint.Report) []Violation {
	p := &r.Problem
	roles := constraint.FindRoles(p)
	type subject struct{ bound, container, set int32 }
	before := map[subject]bool{}
	for _, v := range constraint.Evaluate(p, p.Start()).Violations {
		set := constraint.Nowhere
		if v.Container == constraint.Nowhere {
			set = v.Set
		}
		before[subject{v.Bound, v.Container, set}] = true
	}
	list := []Violation{}
	for _, v := range report.Violations {
		b := &roles.Bounds[v.Bound]
		c := &p.Constraints[b.Constraint]
		violation := Violation{
			Constraint: c.Name, Owner: c.Owner, Bound: constraint.FormatBound(b.Bound), Group: b.Bound.Group,
			Counted: v.Count, Min: b.Min, Extent: request.Thousandths(b.Misses(v.Count)),
		}
		if b.Max != cluster.Unbounded {
			violation.Max = &b.Max
		}
		if v.Set != constraint.Nowhere {
			violation.Set = p.Groups[b.Group].Sets[v.Set]
		}
		set := v.Set
		if v.Container != constraint.Nowhere {
			violation.Application, violation.Container = r.application(v.Container), r.Container(v.Container)
			set = constraint.Nowhere
		}
		violation.Inherited = before[subject{v.Bound, v.Container, set}]
		list = append(list, violation)
	}
	return list
}

// parts are the parts of the objective, all of them, weighed or not.
func (r placing) parts(report *constraint.Report) []Part {
	o, parts := &r.Problem.Objective, &report.Parts
	var violations, extents, misses int64
	for i := range report.Verdicts {
		v := &report.Verdicts[i]
		without := *v
		without.Misses = 0
		violations += r.Problem.Cost(i, &without)
		extents += v.Cost - r.Problem.Cost(i, &without)
		misses += v.Misses
	}
	peak := report.Score - violations - extents
	list := []Part{}
	add := func(name string, amount request.Number, weight, cost int64) {
		list = append(list, Part{name, amount, request.Thousandths(weight), request.Thousandths(cost)})
	}
	for _, part := range []struct {
		name           string
		amount, weight int64
	}{
		{"unplaced", parts.Unplaced, o.Unplaced},
		{"loose", parts.Loose, o.Loose},
		{"moved", parts.Moved, o.Moved},
		{"fragmented", parts.Fragmented, o.Fragmented},
		{"used", parts.Used, o.Used},
	} {
		add(part.name, whole(part.amount), part.weight, part.amount*part.weight)
		peak -= part.amount * part.weight
	}
	add("violation", whole(parts.Violations), o.Violation, violations)
	add("extent", request.Thousandths(misses), o.Extent, extents)
	add("peak", request.Thousandths(parts.Peak), o.Peak, peak)
	return list
}

// eligibleNodes are the nodes that the shape may use.
func (r placing) eligibleNodes(shape int) []int32 {
	var nodes []int32
	eligible := r.Problem.Shapes[shape].Eligible
	for n := range r.Problem.Nodes {
		if eligible == nil || eligible[n] {
			nodes = append(nodes, int32(n))
		}
	}
	return nodes
}

func whole(n int64) request.Number { return request.Number(strconv.FormatInt(n, 10)) }
