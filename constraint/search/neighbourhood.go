package search

import (
	"math/rand/v2"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
)

// This file knows who is near whom: which containers a bound concerns, and which nodes a
// set has.

type neighbourhood struct {
	problem  *constraint.Problem
	roles    *constraint.Roles
	movable  []int32     // containers
	subject  [][]int32   // by bound: movable containers that are subjects
	target   [][]int32   // by bound: movable containers that are targets
	fixed    [][]int32   // by bound: targets that stay
	members  [][][]int32 // by group and set: the nodes
	choices  [][]int32   // by shape: constraints of several alternatives
	wantedBy []int32     // by shape: how many bounds with a Min count it
	grounds  [][]int32   // by shape: groups other than cluster.EachNode in which its bounds count
}

func newNeighbourhood(p *constraint.Problem, roles *constraint.Roles) neighbourhood {
	bounds, shapes := len(roles.Bounds), len(p.Shapes)
	h := neighbourhood{
		problem: p, roles: roles,
		subject: make([][]int32, bounds), target: make([][]int32, bounds), fixed: make([][]int32, bounds),
		members: make([][][]int32, len(p.Groups)),
		choices: make([][]int32, shapes), wantedBy: make([]int32, shapes), grounds: make([][]int32, shapes),
	}
	for c := range p.Containers {
		h.concern(int32(c))
	}
	for shape := range p.Shapes {
		for _, r := range roles.Of[shape] {
			h.regard(shape, r)
		}
	}
	for g := range p.Groups {
		h.members[g] = make([][]int32, len(p.Groups[g].Sets))
		for n, set := range p.Groups[g].SetOf {
			if set != constraint.Nowhere {
				h.members[g][set] = append(h.members[g][set], int32(n))
			}
		}
	}
	return h
}

// concern notes which bounds concern the container.
func (h *neighbourhood) concern(container int32) {
	c := &h.problem.Containers[container]
	if !c.Fixed {
		h.movable = append(h.movable, container)
	}
	for _, r := range h.roles.Of[c.Shape] {
		switch {
		case c.Fixed && r.Target:
			h.fixed[r.Bound] = append(h.fixed[r.Bound], container)
		case c.Fixed:
		default:
			if r.Subject {
				h.subject[r.Bound] = append(h.subject[r.Bound], container)
			}
			if r.Target {
				h.target[r.Bound] = append(h.target[r.Bound], container)
			}
		}
	}
}

// regard notes what a role means to the shape.
func (h *neighbourhood) regard(shape int, r constraint.Role) {
	b := &h.roles.Bounds[r.Bound]
	if len(h.problem.Constraints[b.Constraint].Any) > 1 && !slices.Contains(h.choices[shape], b.Constraint) {
		h.choices[shape] = append(h.choices[shape], b.Constraint)
	}
	if r.Target && !r.Subject && b.Min > 0 {
		h.wantedBy[shape]++
	}
	if b.Group != constraint.Nowhere && h.problem.Groups[b.Group].Name != cluster.EachNode {
		h.grounds[shape] = append(h.grounds[shape], b.Group)
	}
}

// setOf is the node's set of the group; Nowhere if it is in none.
func (h *neighbourhood) setOf(group, node int32) int32 {
	if group == constraint.Nowhere || node == constraint.Nowhere {
		return constraint.Nowhere
	}
	return h.problem.Groups[group].SetOf[node]
}

// pick is one of the list by chance.
func pick(chance *rand.Rand, list []int32) int32 { return list[chance.IntN(len(list))] }
