package board

import (
	"cmp"
	"math"
	"slices"

	"fairlead.dev/fairlead/constraint"
)

// This file ranks nodes for a container, which is what solvers spend their time on. What a
// container of a shape would add to the bounds of a group depends on the set alone, so it
// is worked out once for each shape and set and remembered until a count that it
// rests on changes. A node then costs a look for each group, however many bounds there are.
// Constraints with several alternatives do not add up like that and are asked each time.

// fine is how many units of an estimate make one of the score. Estimates are not rounded as
// costs are.
const fine = 1000

// forgotten stands for what has to be worked out again.
const forgotten = math.MinInt64

// share is what a shape has in the bounds of one group.
type share struct {
	group, base int32 // base is where the group begins in a row of the memory
	first, end  int32 // of the roles
	stale       bool  // nothing of it is remembered any more, whatever the memory says
}

// memory is what shapes would add, by shape, group and set. Only shapes of which a container
// may come to a node have a row.
type memory struct {
	row       []int32 // by shape; Nowhere for others
	stride    int32
	added     []int64
	roles     []role // as in counts, with their own ladders
	ladders   []int64
	shares    []share
	sharesOf  []int32   // by shape, where its shares begin; one more
	sharesIn  [][]int32 // by constraint: those with a role in it
	followers [][]int32 // by bound: where a row's memory of its group begins
	mixed     [][]stake // by shape, those in constraints with several alternatives
	leaning   []int32   // by constraint: the alternative that estimates go by; Nowhere for the least
	plain     bool      // the objective asks nothing of nodes
}

func newMemory(p *constraint.Problem, roles *constraint.Roles, c *counts) memory {
	m := memory{
		row: make([]int32, len(p.Shapes)), followers: make([][]int32, len(roles.Bounds)), mixed: make([][]stake, len(p.Shapes)),
		plain: p.Objective.Used == 0 && p.Objective.Peak == 0 && (p.Objective.Least == nil || p.Objective.Fragmented == 0),
	}
	for range p.Constraints {
		m.leaning = append(m.leaning, constraint.Nowhere)
	}
	m.sharesIn = make([][]int32, len(p.Constraints))
	var bases []int32 // by group
	for g := range p.Groups {
		bases = append(bases, m.stride)
		m.stride += int32(len(p.Groups[g].Sets)) + 1
	}
	bases = append(bases, m.stride)
	m.stride++
	for shape := range m.row {
		m.row[shape] = constraint.Nowhere
	}
	rows := int32(0)
	for i := range p.Containers {
		if shape := p.Containers[i].Shape; !p.Containers[i].Fixed && m.row[shape] == constraint.Nowhere {
			m.row[shape] = rows
			rows++
		}
	}
	m.added = make([]int64, rows*m.stride)
	for i := range m.added {
		m.added[i] = forgotten
	}
	weighed := m.weigh(roles, c)
	for shape := range p.Shapes {
		m.sharesOf = append(m.sharesOf, int32(len(m.shares)))
		if m.row[shape] != constraint.Nowhere {
			m.divide(shape, bases, weighed, c)
			m.enlist(roles, m.sharesOf[shape])
		}
	}
	m.sharesOf = append(m.sharesOf, int32(len(m.shares)))
	return m
}

// weigh makes ladders of weighed prices, and returns where each bound's begins.
func (m *memory) weigh(roles *constraint.Roles, c *counts) []int32 {
	weighed := make([]int32, len(roles.Bounds))
	type key struct {
		ladder int32
		weight int64
	}
	known := map[key]int32{}
	for i := range roles.Bounds {
		of := &c.constraints[roles.Bounds[i].Constraint]
		k := key{c.ofBound[i].ladder, of.weight}
		at, there := known[k]
		if !there {
			at = int32(len(m.ladders))
			known[k] = at
			for count := range c.steps[c.ofBound[i].ladder] {
				price := c.ladders[c.ofBound[i].ladder+count]
				if !of.hard {
					price = shareOf(of.weight, price, 1_000_000/fine)
				}
				m.ladders = append(m.ladders, price)
			}
		}
		weighed[i] = at
	}
	return weighed
}

// divide makes the shares of a shape.
func (m *memory) divide(shape int, bases, weighed []int32, c *counts) {
	first := int32(len(m.roles))
	for _, ends := range [2][2]int32{{c.soft[shape], c.soft[shape+1]}, {c.hard[shape], c.hard[shape+1]}} {
		for _, s := range c.stakes[ends[0]:ends[1]] {
			if of := &c.constraints[s.constraint]; of.first+1 < of.end {
				m.mixed[shape] = append(m.mixed[shape], s)
				continue
			}
			for _, r := range c.roles[s.first:s.end] {
				r.ladder = weighed[r.bound]
				m.roles = append(m.roles, r)
				m.followers[r.bound] = append(m.followers[r.bound], m.row[shape]*m.stride+bases[r.group])
			}
		}
	}
	own := m.roles[first:]
	slices.SortStableFunc(own, func(a, b role) int { return cmp.Compare(a.group, b.group) })
	for i := range own {
		at := first + int32(i)
		if i == 0 || own[i-1].group != own[i].group {
			m.shares = append(m.shares, share{group: own[i].group, base: m.row[shape]*m.stride + bases[own[i].group], first: at, end: at})
		}
		m.shares[len(m.shares)-1].end++
	}
}

// enlist lists the shares from the first on with the constraints of their roles.
func (m *memory) enlist(roles *constraint.Roles, first int32) {
	for i := first; i < int32(len(m.shares)); i++ {
		for _, r := range m.roles[m.shares[i].first:m.shares[i].end] {
			in := &m.sharesIn[roles.Bounds[r.bound].Constraint]
			if last := len(*in) - 1; last < 0 || (*in)[last] != i {
				*in = append(*in, i)
			}
		}
	}
}

// forget forgets what rests on the bound's counts in the set.
func (m *memory) forget(bound, set int32) {
	for _, at := range m.followers[bound] {
		m.added[at+set] = forgotten
	}
}

// refresh forgets all of a share that is stale.
func (b *Board) refresh(s *share) {
	sets := int32(1)
	if int(s.group) < len(b.problem.Groups) {
		sets += int32(len(b.problem.Groups[s.group].Sets))
	}
	for i := range sets {
		b.added[s.base+i] = forgotten
	}
	s.stale = false
}

// learn works out what the share would add in the set.
func (b *Board) learn(s *share, set int32) int64 {
	sum := int64(0)
	for i := s.first; i < s.end; i++ {
		r := &b.memory.roles[i]
		added := rise(&b.slots[r.base+set], r, b.memory.ladders[r.ladder:], set)
		sum += charged(added, b.constraints[b.index.Bounds[r.bound].Constraint].dearer)
	}
	b.added[s.base+set] = sum
	return sum
}

// Estimate is what putting the container, which is on no node and not fixed, on the node would
// add to the score and to the surcharges, in thousandths, before rounding, and without what its
// application lacks then no more. A violation of a hard constraint is dearer than anything else.
// Where the fullest node is weighed the emptier of two nodes is the better by less than 1 of the score: else
// nothing would tell one of them until it is the fullest.
func (b *Board) Estimate(container, node int32) int64 {
	shape := b.shapeOf[container]
	sum := b.remembered(b.shares[b.sharesOf[shape]:b.sharesOf[shape+1]], node)
	if b.room.start[container] == node {
		sum -= charged(fine*b.weights.Moved, b.dearer)
	}
	if !b.plain {
		cost, full := b.ofNode(&b.room, shape, node)
		sum += fine*cost + full
	}
	if len(b.mixed[shape]) > 0 {
		sum += b.alternatively(shape, b.setsOf(node))
	}
	return sum
}

// remembered is the part of the estimate that is constraints with one alternative.
func (b *Board) remembered(shares []share, node int32) int64 {
	sets, sum := b.setsOf(node), int64(0)
	for i := range shares {
		s := &shares[i]
		if s.stale {
			b.refresh(s)
		}
		added := b.added[s.base+sets[s.group]]
		if added == forgotten {
			added = b.learn(s, sets[s.group])
		}
		sum += added
	}
	return sum
}

// Lean lets estimates go by one alternative of the constraint of that row, whatever it is priced at, so that
// containers may be placed for its sake before it is the least; Nowhere undoes that.
func (m *memory) Lean(row, alternative int32) { m.leaning[row] = alternative }

// alternatively is the part of the estimate that is constraints with several alternatives.
func (b *Board) alternatively(shape int32, sets []int32) int64 {
	sum := int64(0)
	for i := range b.mixed[shape] {
		s := &b.mixed[shape][i]
		of := &b.constraints[s.constraint]
		price := int64(0)
		if lean := b.leaning[s.constraint]; lean != constraint.Nowhere {
			price = b.only(s, of.first+lean, sets)
		} else {
			price = b.wouldBe(s, of, sets) - of.price
		}
		switch {
		case of.hard:
			sum += price
		case price < 0:
			sum -= charged(shareOf(of.weight, -price, 1_000_000/fine), of.dearer)
		default:
			sum += charged(shareOf(of.weight, price, 1_000_000/fine), of.dearer)
		}
	}
	return sum
}

// only is what one alternative of the stake would be dearer by.
func (c *counts) only(s *stake, alternative int32, sets []int32) int64 {
	sum := int64(0)
	for i := s.first; i < s.end; i++ {
		if r := &c.roles[i]; r.alternative == alternative {
			sum += c.rise(r, sets[r.group])
		}
	}
	return sum
}

// Best is the first of the nodes on which the container fits and has the least estimate;
// Nowhere if it fits on none.
func (b *Board) Best(container int32, nodes []int32) (node int32, least int64) {
	node, least = constraint.Nowhere, math.MaxInt64
	shape := b.shapeOf[container]
	needs, shares := b.needsOfShape(shape), b.shares[b.sharesOf[shape]:b.sharesOf[shape+1]]
	// Most shapes are bound by room and by what is remembered alone.
	simple := b.plain && b.room.start[container] == constraint.Nowhere && len(b.mixed[shape]) == 0 &&
		b.hard[shape] == b.hard[shape+1] && b.boundByRoom(shape)
	for _, n := range nodes {
		if !holds(b.free[n*b.kinds:], needs) {
			continue
		}
		estimate := int64(0)
		if simple {
			estimate = b.remembered(shares, n)
		} else if b.Fits(container, n) {
			estimate = b.Estimate(container, n)
		} else {
			continue
		}
		if estimate < least {
			node, least = n, estimate
		}
	}
	return node, least
}
