package constraint

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file finds, once for a problem, which bound concerns which shape, so that whoever
// counts looks at no tags.

// Bound is a bound of the problem with what solvers ask of it all the time.
type Bound struct {
	*cluster.Bound
	Constraint, Alternative int32
	Group                   int32 // of Problem.Groups; Nowhere if the cluster has no such group
	Whole                   bool  // without a subject: every set of the group is bound
}

// Role is what containers of a shape are in a bound.
type Role struct {
	Bound           int32
	Subject, Target bool
}

// Roles are the bounds of a problem, in the order of constraints, alternatives and
// bounds, and what each shape is in which of them.
type Roles struct {
	Bounds []Bound
	Of     [][]Role // by shape, in the order of bounds
}

// FindRoles is the index of p.
func FindRoles(p *Problem) *Roles {
	r := &Roles{Of: make([][]Role, len(p.Shapes))}
	for c := range p.Constraints {
		for alternative, bounds := range p.Constraints[c].Any {
			for i := range bounds {
				b := &bounds[i]
				r.Bounds = append(r.Bounds, Bound{
					Bound: b, Constraint: int32(c), Alternative: int32(alternative),
					Group: p.group(b.Group), Whole: len(b.Subject) == 0,
				})
			}
		}
	}
	named := r.named()
	seen := make([]int, len(r.Bounds))
	for shape := range p.Shapes {
		tags := p.Shapes[shape].Tags
		var rows []int32
		for _, tag := range tags {
			for _, b := range named[tag] {
				if seen[b] != shape+1 {
					seen[b] = shape + 1
					rows = append(rows, b)
				}
			}
		}
		slices.Sort(rows)
		for _, b := range rows {
			if subject, target := r.Bounds[b].Affects(tags); subject || target {
				r.Of[shape] = append(r.Of[shape], Role{b, subject, target})
			}
		}
	}
	return r
}

// named is the bounds by a tag that whoever they concern has: the first of their subject, or of
// their target.
func (r *Roles) named() map[string][]int32 {
	named := map[string][]int32{}
	for row := range r.Bounds {
		b := &r.Bounds[row]
		if !b.Whole {
			named[b.Subject[0]] = append(named[b.Subject[0]], int32(row))
		}
		named[b.Target[0]] = append(named[b.Target[0]], int32(row))
	}
	return named
}

// group is the row of the group of that name; Nowhere if there is none.
func (p *Problem) group(name string) int32 {
	for i := range p.Groups {
		if p.Groups[i].Name == name {
			return int32(i)
		}
	}
	return Nowhere
}
