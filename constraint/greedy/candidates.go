package greedy

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
)

// This file is node candidates: of the containers of all applications that one next which
// has the fewest nodes on which it fits and adds no violation; of equal ones the first to arrive.
// Each goes where Serial would put it. Containers of a class are candidates for the same
// nodes, so it is classes that are counted; and what a placement touches is counted again,
// nothing else: its node, and the sets of its node in bounds that others share with it.

func candidates(r *run) {
	c := newCounting(r)
	for {
		class := c.scarcest()
		if class == constraint.Nowhere {
			r.whole()
			return
		}
		container := c.waiting[class][0]
		node := r.best(container)
		if node == constraint.Nowhere {
			c.giveUp(class)
			continue
		}
		c.waiting[class] = c.waiting[class][1:]
		r.board.Put(container, node)
		c.touched(class, node)
	}
}

// counting knows how many candidates each class has.
type counting struct {
	*run
	waiting   [][]int32 // by class, in the order of arrival
	candidate [][]bool  // by class and node
	count     []int     // by class
	members   [][][]int32
	sharing   [][]sharing // by class
}

// sharing is a class whose candidates change with a placement of another.
type sharing struct {
	class, group int32 // group is Nowhere where any node may be touched
}

func newCounting(r *run) *counting {
	classes := len(r.problem.Classes)
	c := &counting{
		run: r, waiting: make([][]int32, classes), candidate: make([][]bool, classes), count: make([]int, classes),
		members: make([][][]int32, len(r.problem.Groups)), sharing: make([][]sharing, classes),
	}
	for _, container := range r.pending() {
		class := r.problem.Containers[container].Class
		c.waiting[class] = append(c.waiting[class], container)
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
	for class := range c.waiting {
		c.candidate[class] = make([]bool, len(r.problem.Nodes))
		c.everywhere(int32(class))
	}
	return c
}

// share finds who shares a bound with whom, or a constraint of several alternatives: of such
// another may be chosen for all.
func (c *counting) share() {
	inBound := make([][]int32, len(c.roles.Bounds)) // the classes that wait
	inConstraint := make([][]int32, len(c.problem.Constraints))
	for class := range c.waiting {
		for _, role := range c.roles.Of[class] {
			if in := c.roles.Bounds[role.Bound].Constraint; len(c.waiting[class]) > 0 {
				inBound[role.Bound] = append(inBound[role.Bound], int32(class))
				inConstraint[in] = append(inConstraint[in], int32(class))
			}
		}
	}
	for class := range c.waiting {
		for _, role := range c.roles.Of[class] {
			b := &c.roles.Bounds[role.Bound]
			group, others := b.Group, inBound[role.Bound]
			if len(c.problem.Constraints[b.Constraint].Any) > 1 {
				group, others = constraint.Nowhere, inConstraint[b.Constraint]
			} else if group == constraint.Nowhere {
				continue
			}
			for _, other := range others {
				c.sharing[class] = append(c.sharing[class], sharing{other, group})
			}
		}
		slices.SortFunc(c.sharing[class], func(a, b sharing) int {
			return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.group, b.group))
		})
		c.sharing[class] = slices.Compact(c.sharing[class])
	}
}

// scarcest is the class of the next container; Nowhere if none waits.
func (c *counting) scarcest() int32 {
	best := constraint.Nowhere
	for class := range int32(len(c.waiting)) {
		if len(c.waiting[class]) == 0 {
			continue
		}
		if best == constraint.Nowhere || c.count[class] < c.count[best] ||
			c.count[class] == c.count[best] && c.waiting[class][0] < c.waiting[best][0] {
			best = class
		}
	}
	return best
}

// giveUp lets no container of the application wait any longer, and takes it back; of one that
// is deployed the class alone.
func (c *counting) giveUp(class int32) {
	app := c.problem.Classes[class].Application
	if c.problem.Applications[app].Deployed {
		c.waiting[class] = nil
		return
	}
	for other := range c.waiting {
		if c.problem.Classes[other].Application == app {
			c.waiting[other] = nil
		}
	}
	c.takeBack(app)
	for other := range c.waiting {
		c.everywhere(int32(other))
	}
}

// touched counts again what a placement of the class on the node may have changed.
func (c *counting) touched(class, node int32) {
	for other := range c.waiting {
		c.look(int32(other), node)
	}
	for _, s := range c.sharing[class] {
		if s.group == constraint.Nowhere {
			c.everywhere(s.class)
			continue
		}
		if c.problem.Groups[s.group].Name == cluster.EachNode {
			continue
		}
		if set := c.problem.Groups[s.group].SetOf[node]; set != constraint.Nowhere {
			for _, n := range c.members[s.group][set] {
				c.look(s.class, n)
			}
		}
	}
}

// everywhere looks at all nodes for the class.
func (c *counting) everywhere(class int32) {
	for n := range int32(len(c.problem.Nodes)) {
		c.look(class, n)
	}
}

// look asks whether the node is a candidate for the class.
func (c *counting) look(class, node int32) {
	if len(c.waiting[class]) == 0 {
		return
	}
	c.ticks++
	is := c.board.Fits(c.waiting[class][0], node) && c.board.Clean(c.waiting[class][0], node)
	if is != c.candidate[class][node] {
		c.candidate[class][node] = is
		if is {
			c.count[class]++
		} else {
			c.count[class]--
		}
	}
}
