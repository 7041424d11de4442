package greedy

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
)

// This file is node candidates: of the containers of all applications that one next which
// has the fewest nodes on which it fits and adds no violation; of equal ones the first to arrive.
// Each goes where Serial would put it. Containers of a shape are candidates for the same
// nodes, so it is shapes that are counted; and what a placement touches is counted again,
// nothing else: its node, and the sets of its node in bounds that others share with it.

func candidates(r *run) {
	c := newCounting(r)
	for {
		shape := c.scarcest()
		if shape == constraint.Nowhere {
			r.whole()
			return
		}
		container := c.waiting[shape][0]
		node := r.best(container)
		if node == constraint.Nowhere {
			c.giveUp(shape)
			continue
		}
		c.waiting[shape] = c.waiting[shape][1:]
		r.board.Put(container, node)
		c.touched(shape, node)
	}
}

// counting knows how many candidates each shape has.
type counting struct {
	*run
	waiting   [][]int32 // by shape, in the order of arrival
	candidate [][]bool  // by shape and node
	count     []int     // by shape
	members   [][][]int32
	sharing   [][]sharing // by shape
}

// sharing is a shape whose candidates change with a placement of another.
type sharing struct {
	shape, group int32 // group is Nowhere where any node may be touched
}

func newCounting(r *run) *counting {
	shapes := len(r.problem.Shapes)
	c := &counting{
		run: r, waiting: make([][]int32, shapes), candidate: make([][]bool, shapes), count: make([]int, shapes),
		members: make([][][]int32, len(r.problem.Groups)), sharing: make([][]sharing, shapes),
	}
	for _, container := range r.pending() {
		shape := r.problem.Containers[container].Shape
		c.waiting[shape] = append(c.waiting[shape], container)
	}
	for g := range r.problem.Groups {
		group := &r.problem.Groups[g]
		c.members[g] = make([][]int32, len(group.Sets))
		for n, set := range group.SetOf {
			if set != constraint.Nowhere {
				c.members[g][set] = append(c.members[g][set], int32(n))
			}
		}
	}
	c.share()
	for shape := range c.waiting {
		c.candidate[shape] = make([]bool, len(r.problem.Nodes))
		c.everywhere(int32(shape))
	}
	return c
}

// share finds who shares a bound with whom, or a constraint of several alternatives: of such
// another may be chosen for all.
func (c *counting) share() {
	inBound := make([][]int32, len(c.roles.Bounds)) // the shapes that wait
	inConstraint := make([][]int32, len(c.problem.Constraints))
	for shape := range c.waiting {
		for _, role := range c.roles.Of[shape] {
			if in := c.roles.Bounds[role.Bound].Constraint; len(c.waiting[shape]) > 0 {
				inBound[role.Bound] = append(inBound[role.Bound], int32(shape))
				inConstraint[in] = append(inConstraint[in], int32(shape))
			}
		}
	}
	for shape := range c.waiting {
		for _, role := range c.roles.Of[shape] {
			b := &c.roles.Bounds[role.Bound]
			group, others := b.Group, inBound[role.Bound]
			if len(c.problem.Constraints[b.Constraint].Any) > 1 {
				group, others = constraint.Nowhere, inConstraint[b.Constraint]
			} else if group == constraint.Nowhere {
				continue
			}
			for _, other := range others {
				c.sharing[shape] = append(c.sharing[shape], sharing{other, group})
			}
		}
		slices.SortFunc(c.sharing[shape], func(a, b sharing) int {
			return cmp.Or(cmp.Compare(a.shape, b.shape), cmp.Compare(a.group, b.group))
		})
		c.sharing[shape] = slices.Compact(c.sharing[shape])
	}
}

// scarcest is the shape of the next container; Nowhere if none waits.
func (c *counting) scarcest() int32 {
	best := constraint.Nowhere
	for shape := range int32(len(c.waiting)) {
		if len(c.waiting[shape]) == 0 {
			continue
		}
		if best == constraint.Nowhere || c.count[shape] < c.count[best] ||
			c.count[shape] == c.count[best] && c.waiting[shape][0] < c.waiting[best][0] {
			best = shape
		}
	}
	return best
}

// giveUp lets no container of the application wait any longer, and takes it back; of one that
// is deployed the shape alone.
func (c *counting) giveUp(shape int32) {
	app := c.problem.Shapes[shape].Application
	if c.problem.Applications[app].Deployed {
		c.waiting[shape] = nil
		return
	}
	for other := range c.waiting {
		if c.problem.Shapes[other].Application == app {
			c.waiting[other] = nil
		}
	}
	c.takeBack(app)
	for other := range c.waiting {
		c.everywhere(int32(other))
	}
}

// touched counts again what a placement of the shape on the node may have changed.
func (c *counting) touched(shape, node int32) {
	for other := range c.waiting {
		c.look(int32(other), node)
	}
	for _, s := range c.sharing[shape] {
		if s.group == constraint.Nowhere {
			c.everywhere(s.shape)
			continue
		}
		if c.problem.Groups[s.group].Name == cluster.EachNode {
			continue
		}
		if set := c.problem.Groups[s.group].SetOf[node]; set != constraint.Nowhere {
			for _, n := range c.members[s.group][set] {
				c.look(s.shape, n)
			}
		}
	}
}

// everywhere looks at all nodes for the shape.
func (c *counting) everywhere(shape int32) {
	for n := range int32(len(c.problem.Nodes)) {
		c.look(shape, n)
	}
}

// look asks whether the node is a candidate for the shape.
func (c *counting) look(shape, node int32) {
	if len(c.waiting[shape]) == 0 {
		return
	}
	c.ticks++
	is := c.board.Fits(c.waiting[shape][0], node) && c.board.Clean(c.waiting[shape][0], node)
	if is != c.candidate[shape][node] {
		c.candidate[shape][node] = is
		if is {
			c.count[shape]++
		} else {
			c.count[shape]--
		}
	}
}
