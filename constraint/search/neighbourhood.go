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
	choices  [][]int32   // by class: constraints of several alternatives
	wantedBy []int32     // by class: how many bounds with a Min count it
	grounds  [][]int32   // by class: groups other than cluster.EachNode in which its bounds count
}

func newNeighbourhood(p *constraint.Problem, roles *constraint.Roles) neighbourhood {
	h := neighbourhood{
		problem: p, roles: roles, subject: make([][]int32, len(roles.Bounds)), target: make([][]int32, len(roles.Bounds)),
		fixed: make([][]int32, len(roles.Bounds)), members: make([][][]int32, len(p.Groups)), grounds: make([][]int32, len(p.Classes)), wantedBy: make([]int32, len(p.Classes)), choices: make([][]int32, len(p.Classes)),
	}
	for i := range p.Containers {
		c := &p.Containers[i]
		if !c.Fixed {
			h.movable = append(h.movable, int32(i))
		}
		for _, r := range roles.Of[c.Class] {
			switch {
			case c.Fixed && r.Target:
				h.fixed[r.Bound] = append(h.fixed[r.Bound], int32(i))
			case !c.Fixed:
				if r.Subject {
					h.subject[r.Bound] = append(h.subject[r.Bound], int32(i))
				}
				if r.Target {
					h.target[r.Bound] = append(h.target[r.Bound], int32(i))
				}
			}
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
	for class := range p.Classes {
		for _, r := range roles.Of[class] {
			if in := roles.Bounds[r.Bound].Constraint; len(p.Constraints[in].Any) > 1 && !slices.Contains(h.choices[class], in) {
				h.choices[class] = append(h.choices[class], in)
			}
			if r.Target && !r.Subject && roles.Bounds[r.Bound].Min > 0 {
				h.wantedBy[class]++
			}
			if g := roles.Bounds[r.Bound].Group; g != constraint.Nowhere && p.Groups[g].Name != cluster.EachNode {
				h.grounds[class] = append(h.grounds[class], g)
			}
		}
	}
	return h
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
