package exact

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/constraint"
)

// This file chooses the nodes that a repair looks at. Most of a large cluster cannot matter to a
// few applications, and a model over all of it is too large to solve.

// Of each unit of width, a repair looks at so many nodes that hold whom the freed ones are bound
// to, at so many sets, and at so many nodes of each.
const (
	relatedNodes = 20
	nearSets     = 4
	nodesOfSet   = 10
)

// pruner chooses candidates.
type pruner struct {
	p     *constraint.Problem
	roles *constraint.Roles
	base  constraint.Assignment
	free  []bool
	group int32 // whose sets are looked at one by one
	// related counts, by node, the containers to whom the freed ones are bound, or who are to
	// them; fits are how many of the freed shapes a node has room for, taken what share
	// of it is, in thousandths.
	related     []int32
	fits, taken []int64
}

// candidates are nodes for the free containers in the order in which they matter, and how many
// of them cannot be left out: those on which the free ones are.
func candidates(p *constraint.Problem, roles *constraint.Roles, base constraint.Assignment, free []bool, width int) (nodes []int32, needed int) {
	f := &pruner{p: p, roles: roles, base: base, free: free}
	f.relate()
	f.measure()
	chosen := make([]bool, len(p.Nodes))
	choose := func(n int32) {
		if n != constraint.Nowhere && !chosen[n] {
			chosen[n] = true
			nodes = append(nodes, n)
		}
	}
	for i := range base {
		if free[i] {
			choose(base[i])
			choose(p.Containers[i].At)
		}
	}
	needed = len(nodes)
	for _, n := range f.mostRelated(relatedNodes * width) {
		choose(n)
	}
	for _, set := range f.sets(nearSets * width) {
		for _, n := range f.nodesOf(set, nodesOfSet*width) {
			choose(n)
		}
	}
	return nodes, needed
}

// relate counts who is bound to whom, and chooses the group of which most is asked.
func (f *pruner) relate() {
	subject, target := make([]bool, len(f.roles.Bounds)), make([]bool, len(f.roles.Bounds))
	asked := make([]int, len(f.p.Groups))
	for i := range f.base {
		if !f.free[i] {
			continue
		}
		for _, r := range f.roles.Of[f.p.Containers[i].Shape] {
			subject[r.Bound] = subject[r.Bound] || r.Subject
			target[r.Bound] = target[r.Bound] || r.Target
		}
	}
	for b := range f.roles.Bounds {
		if g := f.roles.Bounds[b].Group; g > 0 && (subject[b] || target[b]) {
			asked[g]++
		}
	}
	f.group = constraint.Nowhere
	for g := 1; g < len(asked); g++ {
		if f.group == constraint.Nowhere || asked[g] > asked[f.group] {
			f.group = int32(g)
		}
	}
	f.related = make([]int32, len(f.p.Nodes))
	for i, n := range f.base {
		if n == constraint.Nowhere || f.free[i] {
			continue
		}
		if slices.ContainsFunc(f.roles.Of[f.p.Containers[i].Shape], func(r constraint.Role) bool {
			return r.Target && subject[r.Bound] || r.Subject && target[r.Bound]
		}) {
			f.related[n]++
		}
	}
}

// measure finds what of the freed ones each node has room for, were they all taken off.
func (f *pruner) measure() {
	kinds := len(f.p.Kinds)
	left := make([]int64, len(f.p.Nodes)*kinds)
	for n := range f.p.Nodes {
		copy(left[n*kinds:], f.p.Nodes[n].Free)
	}
	var shapes []int32
	for i := range f.base {
		c := &f.p.Containers[i]
		for k, q := range f.p.Shapes[c.Shape].Demand {
			if c.At != constraint.Nowhere {
				left[int(c.At)*kinds+k] += q
			}
			if f.base[i] != constraint.Nowhere && !f.free[i] {
				left[int(f.base[i])*kinds+k] -= q
			}
		}
		if f.free[i] && !slices.Contains(shapes, c.Shape) {
			shapes = append(shapes, c.Shape)
		}
	}
	f.fits, f.taken = make([]int64, len(f.p.Nodes)), make([]int64, len(f.p.Nodes))
	for n := range f.p.Nodes {
		room := left[n*kinds : (n+1)*kinds]
		for k, capacity := range f.p.Nodes[n].Capacity {
			f.taken[n] += share(1000, capacity-room[k], max(capacity, 1))
		}
		for _, shape := range shapes {
			if f.fit(&f.p.Shapes[shape], n, room) {
				f.fits[n]++
			}
		}
	}
}

func (f *pruner) fit(shape *constraint.Shape, n int, room []int64) bool {
	if shape.Eligible != nil && !shape.Eligible[n] || !f.p.Nodes[n].HasDevices(shape.Needs) {
		return false
	}
	for k, q := range shape.Demand {
		if q > 0 && q > room[k] {
			return false
		}
	}
	return true
}

// mostRelated are the nodes with the most related containers that have room for a freed one.
func (f *pruner) mostRelated(most int) []int32 {
	var nodes []int32
	for n, related := range f.related {
		if related > 0 && f.fits[n] > 0 {
			nodes = append(nodes, int32(n))
		}
	}
	slices.SortFunc(nodes, func(x, y int32) int {
		return cmp.Or(cmp.Compare(f.related[y], f.related[x]), cmp.Compare(f.fits[y], f.fits[x]), cmp.Compare(x, y))
	})
	return nodes[:min(most, len(nodes))]
}

// sets are those with the most related containers, and then those that have the most room.
func (f *pruner) sets(most int) []int32 {
	if f.group == constraint.Nowhere {
		return []int32{constraint.Nowhere}
	}
	group := &f.p.Groups[f.group]
	related, room := make([]int64, len(group.Sets)), make([]int64, len(group.Sets))
	for n, set := range group.SetOf {
		if set != constraint.Nowhere {
			related[set] += int64(f.related[n])
			if f.fits[n] > 0 {
				room[set] += 1000*int64(len(f.p.Kinds)) - f.taken[n]
			}
		}
	}
	byRelated, byRoom := make([]int32, len(group.Sets)), make([]int32, len(group.Sets))
	for set := range group.Sets {
		byRelated[set], byRoom[set] = int32(set), int32(set)
	}
	slices.SortFunc(byRoom, func(x, y int32) int { return cmp.Or(cmp.Compare(room[y], room[x]), cmp.Compare(x, y)) })
	slices.SortStableFunc(byRelated, func(x, y int32) int {
		return cmp.Or(cmp.Compare(related[y], related[x]), cmp.Compare(room[y], room[x]), cmp.Compare(x, y))
	})
	// Half of them are near, the other half is where there is room.
	var sets []int32
	for i := range byRelated {
		for _, set := range []int32{byRelated[i], byRoom[i]} {
			if len(sets) < most && !slices.Contains(sets, set) {
				sets = append(sets, set)
			}
		}
	}
	return sets
}

// nodesOf are the nodes of the set with room for the most of the freed shapes, by turns the
// fullest of them, which is what a best fit takes, and the emptiest, where several fit.
func (f *pruner) nodesOf(set int32, most int) []int32 {
	var nodes []int32
	for n := range f.p.Nodes {
		if f.fits[n] > 0 && (f.group == constraint.Nowhere || f.p.Groups[f.group].SetOf[n] == set) {
			nodes = append(nodes, int32(n))
		}
	}
	slices.SortFunc(nodes, func(x, y int32) int {
		return cmp.Or(cmp.Compare(f.fits[y], f.fits[x]), cmp.Compare(f.taken[y], f.taken[x]), cmp.Compare(x, y))
	})
	// Those that have room for as much as the first are at the front.
	like := 0
	for like < len(nodes) && f.fits[nodes[like]] == f.fits[nodes[0]] {
		like++
	}
	like = max(like, min(most, len(nodes)))
	var turns []int32
	for low, high := 0, like-1; low <= high && len(turns) < most; low, high = low+1, high-1 {
		turns = append(turns, nodes[low])
		if high > low {
			turns = append(turns, nodes[high])
		}
	}
	return turns[:min(most, len(turns))]
}
