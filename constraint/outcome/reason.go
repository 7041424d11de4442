package outcome

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/conflict"
	"fairlead.dev/fairlead/constraint/exact"
	"fairlead.dev/fairlead/constraint/request"
)

// This file says why an application is not placed. Where some container finds no node at all,
// numbers say so. Else it is what several demand together, which package conflict finds. An
// integer program finds the fewest hard constraints that conflict; the filter then says only
// which other demands it takes.

// Asking is who is asked to find reasons.
type Asking struct {
	// Place places what is not placed.
	Place func(*constraint.Problem) constraint.Assignment
	// Conflict says why the application cannot be placed while all others stay where they are;
	// nil where nothing finds out.
	Conflict func(p *constraint.Problem, application int) exact.Conflicting
}

// reasons finds reasons beside an assignment.
type reasons struct {
	placing
	a     constraint.Assignment
	ask   Asking
	asked int
}

// mostConflicts is for how many applications conflicts are looked for: each takes several
// solutions.
const mostConflicts = 10

// of is the reason for one application.
func (r *reasons) of(application int) Unplaced {
	u := Unplaced{Application: r.Problem.Applications[application].Name, Conflict: []string{}}
	for _, shape := range r.shapesOf(application) {
		if u.Reason, u.Conflict = r.alone(shape); u.Reason != "" {
			return u
		}
	}
	if r.asked++; r.asked > mostConflicts {
		u.Reason = fmt.Sprintf("each container alone finds a node, all together do not; conflicts are named for the first %d applications only", mostConflicts)
		return u
	}
	u.Reason, u.Conflict = r.together(application)
	return u
}

// alone says why a container of the shape finds no node, whatever constraints say; empty if
// one is found.
func (r *reasons) alone(shape int) (string, []string) {
	c := &r.Problem.Shapes[shape]
	nodes := r.eligibleNodes(shape)
	if len(nodes) == 0 {
		return fmt.Sprintf("none of %d nodes meets what %s requires: %s", len(r.Problem.Nodes), r.Parts[shape], describe(r.Where[shape])), []string{r.where(shape)}
	}
	left := r.left()
	large, roomy := 0, 0
	enough := make([]int, len(c.Demand))
	for _, node := range nodes {
		if c.Demand.Fits(r.Problem.Nodes[node].Capacity) {
			large++
		}
		if hasRoom(left[node], c.Demand) {
			roomy++
		}
		for k, q := range c.Demand {
			if q <= left[node][k] {
				enough[k]++
			}
		}
	}
	against := []string{room}
	if c.Eligible != nil {
		against = append(against, r.where(shape))
	}
	asks := fmt.Sprintf("a container of %s asks for %s", r.Parts[shape], r.demand(c.Demand))
	switch {
	case large == 0:
		return fmt.Sprintf("%s, more than any of the %d nodes that it may use has at all", asks, len(nodes)), against
	case roomy == 0:
		var counts []string
		for k, q := range c.Demand {
			if q > 0 {
				counts = append(counts, fmt.Sprintf("%d have enough %s", enough[k], r.Problem.Kinds[k].Name))
			}
		}
		return fmt.Sprintf("%s, which is left on no node: of %d that it may use %s", asks, len(nodes), strings.Join(counts, ", ")), against
	}
	return "", nil
}

// shapesOf are the shapes of which an application has containers.
func (r placing) shapesOf(application int) []int {
	var shapes []int
	for shape := range r.Problem.Shapes {
		if r.Problem.Shapes[shape].Application == int32(application) && r.Count(shape) > 0 {
			shapes = append(shapes, shape)
		}
	}
	return shapes
}

// left is what is left of each node.
func (r *reasons) left() []cluster.Vector { return r.question(0).Left() }

// question asks for a place for the application beside the assignment.
func (r *reasons) question(application int) *conflict.Question {
	return &conflict.Question{Problem: &r.Problem, Base: r.a, Application: application, Solve: r.ask.Place}
}

// hasRoom reports whether what is left suffices. Of a kind that the demand asks nothing of, less
// than nothing may be left.
func hasRoom(left, demand cluster.Vector) bool {
	for k, q := range demand {
		if q > 0 && q > left[k] {
			return false
		}
	}
	return true
}

const room = "room"

func (r *reasons) where(shape int) string { return "where of " + r.Parts[shape] }

// describe writes requirements.
func describe(where []request.Requirement) string {
	if len(where) == 0 {
		return "its node selector, node affinity, tolerations or topology keys"
	}
	var all []string
	for _, q := range where {
		all = append(all, q.Key+"="+strings.Join(q.Values, " or "))
	}
	return strings.Join(all, ", ")
}

// demand writes quantities with their units.
func (r *reasons) demand(v cluster.Vector) string {
	var all []string
	for k, q := range v {
		if q > 0 {
			all = append(all, strings.TrimSpace(r.Problem.Kinds[k].Name+" "+r.Problem.Kinds[k].Format(q)+" "+r.Problem.Kinds[k].Unit))
		}
	}
	if len(all) == 0 {
		return "nothing"
	}
	return strings.Join(all, ", ")
}

// name is what a demand is called.
func (r *reasons) name(d conflict.Demand) string {
	switch d.Kind {
	case conflict.Room:
		return room
	case conflict.Where:
		return r.where(d.Row)
	case conflict.PerNode:
		return "per_node"
	case conflict.Constraint:
	}
	return constraint.Title(&r.Problem.Constraints[d.Row])
}

// together finds what conflicts where every container alone finds a node.
func (r *reasons) together(application int) (string, []string) {
	q := r.question(application)
	all, known := r.fewest(q, q.Demands())
	if !known && q.Placeable(all) || known && all == nil {
		weight := "unplaced"
		if r.Problem.Applications[application].Deployed {
			weight = "loose"
		}
		return fmt.Sprintf("each container finds its place, but the plan without the application scores better, or the search had not come to it: allow it more time, or weigh %s higher", weight), []string{}
	}
	all = q.Filter(all, func(d conflict.Demand) bool { return known && d.Kind == conflict.Constraint })
	names := make([]string, len(all))
	for i := range all {
		names[i] = r.name(all[i])
	}
	app := &r.Problem.Applications[application]
	reason := fmt.Sprintf("no place was found for its %d containers under all of: %s", app.End-app.First, strings.Join(names, "; ")) + r.facts(all)
	if slices.Contains(names, room) {
		reason += "; " + r.roomLeft(application)
	}
	return reason, names
}

// fewest leaves out hard constraints without which the application finds no place either, so
// that as few are left as can be; nothing is left if it finds one. Known says that this is so.
func (r *reasons) fewest(q *conflict.Question, all []conflict.Demand) (few []conflict.Demand, known bool) {
	if r.ask.Conflict == nil || r.Problem.Applications[q.Application].Deployed {
		return all, false
	}
	c := r.ask.Conflict(q.Beside(), q.Application)
	switch c.Cause {
	case exact.Unclear:
		return all, false
	case exact.Placeable:
		return nil, true
	case exact.NoRoom, exact.Constraints:
		few = slices.DeleteFunc(slices.Clone(all), func(d conflict.Demand) bool {
			return d.Kind == conflict.Constraint && !slices.Contains(c.Constraints, int32(d.Row))
		})
	}
	return few, true
}

// facts says of the constraints among the demands how many sets their groups have, and whom
// they want that is not placed.
func (r *reasons) facts(demands []conflict.Demand) string {
	var facts []string
	for _, d := range demands {
		if d.Kind != conflict.Constraint {
			continue
		}
		for _, bounds := range r.Problem.Constraints[d.Row].Any {
			for i := range bounds {
				facts = append(facts, r.factsOf(&bounds[i])...)
			}
		}
	}
	var text strings.Builder
	for i, fact := range facts {
		if !slices.Contains(facts[:i], fact) {
			text.WriteString("; " + fact)
		}
	}
	return text.String()
}

func (r *reasons) factsOf(b *cluster.Bound) []string {
	var facts []string
	sets := 0
	for i := range r.Problem.Groups {
		if r.Problem.Groups[i].Name == b.Group {
			sets = len(r.Problem.Groups[i].Sets)
		}
	}
	if b.Group != cluster.EachNode {
		facts = append(facts, fmt.Sprintf("sets of %s: %d", b.Group, sets))
	}
	there := false
	for c, node := range r.a {
		_, target := b.Affects(r.Problem.Shapes[r.Problem.Containers[c].Shape].Tags)
		there = there || target && node != constraint.Nowhere
	}
	if self, _ := b.Affects(b.Target); b.Min > 0 && !there && !self {
		facts = append(facts, fmt.Sprintf("no container with %s is placed", strings.Join(b.Target, " & ")))
	}
	return facts
}

// roomLeft says how many containers of each part there would be room for.
func (r *reasons) roomLeft(application int) string {
	left := r.left()
	var all []string
	for _, shape := range r.shapesOf(application) {
		c := &r.Problem.Shapes[shape]
		nodes := 0
		for _, node := range r.eligibleNodes(shape) {
			if hasRoom(left[node], c.Demand) {
				nodes++
			}
		}
		all = append(all, fmt.Sprintf("%d of %s ask for %s each, and %d nodes have room for one", r.Count(shape), r.Parts[shape], r.demand(c.Demand), nodes))
	}
	return strings.Join(all, "; ")
}
