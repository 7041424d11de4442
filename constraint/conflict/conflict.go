// Package conflict finds why an application cannot be placed as a whole: a smallest set of what
// its placement has to honour, room and hard constraints among it, that leaves it no place beside
// all that is placed.
//
// A deletion filter (Chinneck and Dravnieks 1991) leaves out one demand after the other, and
// keeps those without which the application could be placed. What is left is a smallest set in
// the sense that each of it is needed; there may be others. It is as good as its solver: one
// that overlooks a place names too much.
package conflict

import (
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/board"
)

// Solver places what is not placed.
type Solver func(*constraint.Problem) constraint.Assignment

// Kind is what is demanded.
type Kind uint8

const (
	// Room is that nodes have what the containers ask for left.
	Room Kind = iota
	// Where is which nodes a shape may use.
	Where
	// PerNode is how many containers of the application a node may hold.
	PerNode
	// Constraint is a hard constraint.
	Constraint
)

// Demand is something that a placement has to honour.
type Demand struct {
	Kind Kind
	Row  int // of Where the shape, of Constraint the constraint; else 0
}

// Question asks for the place of an application of the problem beside an assignment, in which all
// others stay where they are.
type Question struct {
	Problem     *constraint.Problem
	Base        constraint.Assignment
	Application int
	// With are others that lack containers and may be placed together with it, as it may have to
	// stand beside them. What they demand counts as well.
	With  []int
	Solve Solver
}

// Smallest is a smallest set of demands under which the solver finds no place; empty if it finds
// one under all of them.
func (q *Question) Smallest() []Demand {
	all := q.Demands()
	if q.Placeable(all) {
		return nil
	}
	return q.Filter(all, func(Demand) bool { return false })
}

// Filter leaves out of demands that leave no place those that are not needed for that, and not to be
// kept.
func (q *Question) Filter(demands []Demand, keep func(Demand) bool) []Demand {
	for i := range slices.Backward(demands) {
		if keep(demands[i]) {
			continue
		}
		if without := slices.Delete(slices.Clone(demands), i, i+1); !q.Placeable(without) {
			demands = without
		}
	}
	return demands
}

// Demands are all that a placement of the application, and of those with it, has to honour. Those that are left out
// first, if they can be, come last.
func (q *Question) Demands() []Demand {
	own := q.shapes()
	all := []Demand{{Kind: Room}}
	for _, shape := range own {
		if q.Problem.Shapes[shape].Eligible != nil {
			all = append(all, Demand{Where, shape})
		}
	}
	if slices.ContainsFunc(own, func(shape int) bool { return q.Problem.Shapes[shape].PerNode > 0 }) {
		all = append(all, Demand{Kind: PerNode})
	}
	for i := range q.Problem.Constraints {
		if q.Problem.Constraints[i].Hard && q.concerns(i, own) {
			all = append(all, Demand{Constraint, i})
		}
	}
	return all
}

// shapes are those of which the application has containers, or one with it.
func (q *Question) shapes() []int {
	var shapes []int
	for _, row := range append([]int{q.Application}, q.With...) {
		app := &q.Problem.Applications[row]
		for c := app.First; c < app.End; c++ {
			shapes = append(shapes, int(q.Problem.Containers[c].Shape))
		}
	}
	slices.Sort(shapes)
	return slices.Compact(shapes)
}

// concerns reports whether the constraint says anything of containers of the shapes.
func (q *Question) concerns(row int, shapes []int) bool {
	for _, bounds := range q.Problem.Constraints[row].Any {
		for i := range bounds {
			for _, shape := range shapes {
				if subject, target := bounds[i].Affects(q.Problem.Shapes[shape].Tags); subject || target {
					return true
				}
			}
		}
	}
	return false
}

// Placeable reports whether the solver finds a place for the application where nothing
// but the demands is honoured.
func (q *Question) Placeable(demands []Demand) bool {
	p := q.Beside()
	p.Constraints = nil
	for _, d := range q.Demands() {
		switch honoured := slices.Contains(demands, d); {
		case honoured && d.Kind == Constraint:
			p.Constraints = append(p.Constraints, q.Problem.Constraints[d.Row])
		case !honoured:
			q.relax(p, d)
		}
	}
	app := &p.Applications[q.Application]
	return !slices.Contains(q.Solve(p)[app.First:app.End], constraint.Nowhere)
}

// relax does without the demand.
func (q *Question) relax(p *constraint.Problem, d Demand) {
	for _, shape := range q.shapes() {
		c := &p.Shapes[shape]
		switch {
		case d.Kind == Room:
			c.Demand, c.Needs = make(cluster.Vector, len(p.Kinds)), nil
		case d.Kind == Where && d.Row == shape:
			c.Eligible = nil
		case d.Kind == PerNode:
			c.PerNode = 0
		}
	}
}

// Alone counts the containers of the application that the solver places, all demands honoured, where
// those that find no node are left out.
func (q *Question) Alone() int {
	p := q.Beside()
	app := &p.Applications[q.Application]
	app.Deployed = true
	found := 0
	for _, node := range q.Solve(p)[app.First:app.End] {
		if node != constraint.Nowhere {
			found++
		}
	}
	return found
}

// Beside is the problem of placing the application alone, or with those with it.
func (q *Question) Beside() *constraint.Problem {
	p := *q.Problem
	b := board.New(q.Problem, constraint.FindRoles(q.Problem))
	b.Set(q.Base)
	p.Nodes, p.Shapes = slices.Clone(p.Nodes), slices.Clone(p.Shapes)
	p.Containers, p.Applications = slices.Clone(p.Containers), slices.Clone(p.Applications)
	left := q.Left()
	for n := range p.Nodes {
		p.Nodes[n].Free = left[n]
		p.Nodes[n].Devices = slices.Clone(p.Nodes[n].Devices)
	}
	nowhere := make([]bool, len(p.Nodes))
	for c := range p.Containers {
		container := &p.Containers[c]
		shape := &p.Shapes[container.Shape]
		if container.At != constraint.Nowhere {
			shape.Needs.Give(p.Nodes[container.At].Devices, container.Devices, 1)
		}
		container.At, container.Devices = q.Base[c], b.Devices(int32(c))
		if container.At != constraint.Nowhere {
			shape.Needs.Give(p.Nodes[container.At].Devices, container.Devices, -1)
		}
		switch {
		case shape.Application == int32(q.Application), slices.Contains(q.With, int(shape.Application)):
		case container.At == constraint.Nowhere:
			container.Fixed, shape.Eligible = false, nowhere
		default:
			container.Fixed = true
			p.Applications[shape.Application].Deployed = true
		}
	}
	p.Objective = constraint.Objective{Unplaced: math.MaxInt32, Loose: math.MaxInt32}
	return &p
}

// Left is what the base leaves of each node.
func (q *Question) Left() []cluster.Vector {
	p := q.Problem
	left := make([]cluster.Vector, len(p.Nodes))
	for n := range left {
		left[n] = slices.Clone(p.Nodes[n].Free)
	}
	for c := range p.Containers {
		for k, amount := range p.Shapes[p.Containers[c].Shape].Demand {
			if at := p.Containers[c].At; at != constraint.Nowhere {
				left[at][k] += amount
			}
			if q.Base[c] != constraint.Nowhere {
				left[q.Base[c]][k] -= amount
			}
		}
	}
	return left
}
