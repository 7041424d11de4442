package request

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/board"
	"fairlead.dev/fairlead/constraint/exact"
)

// This file says why an application is not placed. Where some container finds no node at all,
// numbers say so. Else it is what several demand together: a deletion filter (Chinneck and
// Dravnieks 1991) leaves out one demand after the other, hard constraints and room
// among them, and keeps those without which the application could be placed beside all
// that is placed. What is left conflicts, and nothing of it could be left out; other sets may
// conflict as well, and smaller ones. It is as good as who is asked: who overlooks a place
// names too much. An integer program finds the fewest hard constraints that conflict; the filter
// then says only which other demands it takes.

// Asking is who is asked to find reasons.
type Asking struct {
	// Place places what is not placed.
	Place func(*constraint.Problem) constraint.Assignment
	// Conflict says why the application cannot be placed while all others stay where they are;
	// nil where nobody can tell.
	Conflict func(p *constraint.Problem, application int) exact.Conflicting
}

// reasons finds reasons beside an assignment.
type reasons struct {
	*Request
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
	for _, class := range r.classesOf(application) {
		if u.Reason, u.Conflict = r.alone(class); u.Reason != "" {
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

// alone says why a container of the class finds no node, whatever constraints say; empty if
// one is found.
func (r *reasons) alone(class int) (string, []string) {
	c := &r.Problem.Classes[class]
	nodes := r.eligibleNodes(class)
	if len(nodes) == 0 {
		return fmt.Sprintf("none of %d nodes meets what %s requires: %s", len(r.Problem.Nodes), r.Parts[class], describe(r.Where[class])), []string{r.where(class)}
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
	conflict := []string{room}
	if c.Eligible != nil {
		conflict = append(conflict, r.where(class))
	}
	asks := fmt.Sprintf("a container of %s asks for %s", r.Parts[class], r.demand(c.Demand))
	switch {
	case large == 0:
		return fmt.Sprintf("%s, more than any of the %d nodes that it may use has at all", asks, len(nodes)), conflict
	case roomy == 0:
		var counts []string
		for k, q := range c.Demand {
			if q > 0 {
				counts = append(counts, fmt.Sprintf("%d have enough %s", enough[k], r.Problem.Kinds[k].Name))
			}
		}
		return fmt.Sprintf("%s, which is left on no node: of %d that it may use %s", asks, len(nodes), strings.Join(counts, ", ")), conflict
	}
	return "", nil
}

// classesOf are the classes of which an application has containers.
func (r *Request) classesOf(application int) []int {
	var classes []int
	for class := range r.Problem.Classes {
		if r.Problem.Classes[class].Application == int32(application) && r.count(class) > 0 {
			classes = append(classes, class)
		}
	}
	return classes
}

// left is what is left of each node.
func (r *reasons) left() []cluster.Vector {
	p := &r.Problem
	left := make([]cluster.Vector, len(p.Nodes))
	for n := range left {
		left[n] = slices.Clone(p.Nodes[n].Free)
	}
	for c := range p.Containers {
		for k, q := range p.Classes[p.Containers[c].Class].Demand {
			if at := p.Containers[c].At; at != constraint.Nowhere {
				left[at][k] += q
			}
			if r.a[c] != constraint.Nowhere {
				left[r.a[c]][k] -= q
			}
		}
	}
	return left
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

func (r *reasons) where(class int) string { return "where of " + r.Parts[class] }

// describe writes requirements.
func describe(where []Requirement) string {
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

// demanded is something that a placement of an application has to heed, and may be left
// out.
type demanded struct {
	what       string
	constraint int                       // -1 if it is none
	relax      func(*constraint.Problem) // does without it, unless it is a constraint
}

// together finds what conflicts where every container alone finds a node.
func (r *reasons) together(application int) (string, []string) {
	all, known := r.fewest(application, r.demandedOf(application))
	if !known && r.placeable(application, all) || known && all == nil {
		return "each container finds its place, but the plan without the application scores better, or the search had not come to it: allow it more time, or weigh unplaced higher", []string{}
	}
	for i := range slices.Backward(all) {
		if known && all[i].constraint >= 0 {
			continue
		}
		if without := slices.Delete(slices.Clone(all), i, i+1); !r.placeable(application, without) {
			all = without
		}
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].what
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
func (r *reasons) fewest(application int, all []demanded) (few []demanded, known bool) {
	if r.ask.Conflict == nil || r.Problem.Applications[application].Deployed {
		return all, false
	}
	c := r.ask.Conflict(r.beside(application), application)
	switch c.Cause {
	case exact.Unclear:
		return all, false
	case exact.Placeable:
		return nil, true
	}
	for _, d := range all {
		if d.constraint < 0 || slices.Contains(c.Constraints, int32(d.constraint)) {
			few = append(few, d)
		}
	}
	return few, true
}

// facts says of the constraints among the demands how many sets their groups have, and whom
// they want that is not placed.
func (r *reasons) facts(demands []demanded) string {
	var facts []string
	for _, d := range demands {
		if d.constraint < 0 {
			continue
		}
		for _, bounds := range r.Problem.Constraints[d.constraint].Any {
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
		_, target := b.Affects(r.Problem.Classes[r.Problem.Containers[c].Class].Tags)
		there = there || target && node != constraint.Nowhere
	}
	if self, _ := b.Affects(b.Target); b.Min > 0 && !there && !self {
		facts = append(facts, fmt.Sprintf("no container with %s is placed", strings.Join(b.Target, " & ")))
	}
	return facts
}

// demandedOf is all that a placement of the application has to heed. Those that are left out
// first, if they can be, come last.
func (r *reasons) demandedOf(application int) []demanded {
	own := r.classesOf(application)
	all := []demanded{{room, -1, func(p *constraint.Problem) {
		for _, class := range own {
			p.Classes[class].Demand, p.Classes[class].Need = make(cluster.Vector, len(p.Kinds)), cluster.DeviceNeed{}
		}
	}}}
	for _, class := range own {
		if r.Problem.Classes[class].Eligible != nil {
			all = append(all, demanded{r.where(class), -1, func(p *constraint.Problem) { p.Classes[class].Eligible = nil }})
		}
	}
	if slices.ContainsFunc(own, func(class int) bool { return r.Problem.Classes[class].PerNode > 0 }) {
		all = append(all, demanded{"per_node", -1, func(p *constraint.Problem) {
			for _, class := range own {
				p.Classes[class].PerNode = 0
			}
		}})
	}
	for i := range r.Problem.Constraints {
		if r.Problem.Constraints[i].Hard && r.concerns(i, application) {
			all = append(all, demanded{constraint.Title(&r.Problem.Constraints[i]), i, func(*constraint.Problem) {}})
		}
	}
	return all
}

// concerns reports whether the constraint says anything of the application's containers.
func (r *reasons) concerns(row, application int) bool {
	for _, bounds := range r.Problem.Constraints[row].Any {
		for i := range bounds {
			for _, class := range r.classesOf(application) {
				if subject, target := bounds[i].Affects(r.Problem.Classes[class].Tags); subject || target {
					return true
				}
			}
		}
	}
	return false
}

// placeable reports whether the solver finds a place for the application beside all that is
// placed, which stays, where no more is heeded than the demands.
func (r *reasons) placeable(application int, demands []demanded) bool {
	p := r.beside(application)
	p.Constraints = nil
	heeded := map[string]bool{}
	for _, d := range demands {
		heeded[d.what] = true
		if d.constraint >= 0 {
			p.Constraints = append(p.Constraints, r.Problem.Constraints[d.constraint])
		}
	}
	for _, d := range r.demandedOf(application) {
		if !heeded[d.what] {
			d.relax(p)
		}
	}
	app := &p.Applications[application]
	return !slices.Contains(r.ask.Place(p)[app.First:app.End], constraint.Nowhere)
}

// beside is the problem of placing one application while everything else stays as it was
// assigned.
func (r *reasons) beside(application int) *constraint.Problem {
	p := r.Problem
	b := board.New(&r.Problem, constraint.FindRoles(&r.Problem))
	b.Set(r.a)
	p.Nodes, p.Classes = slices.Clone(p.Nodes), slices.Clone(p.Classes)
	p.Containers, p.Applications = slices.Clone(p.Containers), slices.Clone(p.Applications)
	left := r.left()
	for n := range p.Nodes {
		p.Nodes[n].Free = left[n]
		p.Nodes[n].Devices = slices.Clone(p.Nodes[n].Devices)
	}
	nowhere := make([]bool, len(p.Nodes))
	for c := range p.Containers {
		container := &p.Containers[c]
		class := &p.Classes[container.Class]
		if class.Application == int32(application) {
			continue
		}
		hold(&p, container.At, container.Devices, class.Need.Share)
		container.At, container.Devices, container.Fixed = r.a[c], b.Devices(int32(c)), true
		if container.At == constraint.Nowhere {
			container.Fixed, container.Devices, class.Eligible = false, 0, nowhere
			continue
		}
		hold(&p, container.At, container.Devices, -class.Need.Share)
		p.Applications[class.Application].Deployed = true
	}
	p.Objective = constraint.Objective{Unplaced: math.MaxInt32}
	return &p
}

// hold gives so much of the devices of a node back.
func hold(p *constraint.Problem, node int32, devices cluster.DeviceSet, share int64) {
	if node == constraint.Nowhere {
		return
	}
	for d := range p.Nodes[node].Devices {
		if devices.Has(d) {
			p.Nodes[node].Devices[d] += share
		}
	}
}

// roomLeft says how many containers of each part there would be room for.
func (r *reasons) roomLeft(application int) string {
	left := r.left()
	var all []string
	for _, class := range r.classesOf(application) {
		c := &r.Problem.Classes[class]
		nodes := 0
		for _, node := range r.eligibleNodes(class) {
			if hasRoom(left[node], c.Demand) {
				nodes++
			}
		}
		all = append(all, fmt.Sprintf("%d of %s ask for %s each, and %d nodes have room for one", r.count(class), r.Parts[class], r.demand(c.Demand), nodes))
	}
	return strings.Join(all, "; ")
}
