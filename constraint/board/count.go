package board

import (
	"math"
	"math/bits"
	"slices"

	"fairlead.dev/fairlead/constraint"
)

// This file counts, for each bound and each node set, who is bound and who is counted
// there. Whether a bound holds for a subject depends on the set's targets alone, less
// itself where it is one of them; so three numbers say how many subjects violate a bound in
// a set, and what they miss. A bound of whole sets is kept as one subject that
// stands in each set for ever.
//
// What a violation is priced at is looked up by the count, in a ladder that all bounds of
// the same least and most share.

// slot is a bound in one of its group's sets, or on the nodes outside them all, where
// targets are not counted.
type slot struct {
	targets int32
	both    int32 // those of the targets that are subjects
	only    int32 // subjects that are no targets
	listed  int32 // where it is among the violated; Nowhere if it is not
}

// role is what the containers of a shape are in a bound, beside what is needed to count
// them there.
type role struct {
	bound   int32
	group   int32 // of the node's sets
	base    int32 // the first of the bound's slots
	outside int32 // the set that stands for the nodes outside
	ladder  int32
	self    int32 // 1 where a subject that is a target counts itself
	most    int32
	// alternative is that of the bound, among those of the problem.
	alternative     int32
	subject, target bool
}

// stake is a constraint that concerns a shape, by the roles that the shape has in it.
type stake struct {
	constraint, first, end int32
}

// standing is what has become of a constraint.
type standing struct {
	first, end int32 // its alternatives
	weight     int64
	hard       bool
	price      int64 // of the chosen alternative, as ladders price
	cost       int64 // in the score
	dearer     int64 // by how many quarters of it
	surcharge  int64 // what that comes to
	had        int64 // how many violated it when the problem was posed
}

// Violated is a bound that does not hold in a set of its group.
type Violated struct {
	Bound, Set int32 // behind the group's last set is one for the nodes in none
}

// A violation of a hard constraint is priced so that fewer of them come before all else, and
// among equally many less of what they miss, of which up to the whole of a bound tells: sums of
// a million misses stay below a violation.
const (
	violation = 1 << 42
	miss      = 1 << 12
	mostMiss  = 1000
)

type counts struct {
	roles        []role
	stakes       []stake
	soft, hard   []int32 // by shape: where its stakes in soft and in hard constraints begin; one more
	groups       int32
	sets         []int32 // by node and group
	slots        []slot
	ladders      []int64
	steps        map[int32]int32 // of each ladder, by where it begins
	alternatives []int64         // what each would be priced at
	constraints  []standing
	ofBound      []role // each bound's own, of neither subject nor target
	violated     []Violated
	totals
}

// totals are what all constraints come to.
type totals struct {
	cost       int64
	surcharges int64
	strain     int64 // the price of all hard ones
	excess     int64 // how many violate hard ones beyond those who did
}

func newCounts(p *constraint.Problem, roles *constraint.Roles) counts {
	c := counts{groups: int32(len(p.Groups)) + 1, steps: map[int32]int32{}}
	c.sets = make([]int32, len(p.Nodes)*int(c.groups))
	for n := range p.Nodes {
		for g := range p.Groups {
			set := p.Groups[g].SetOf[n]
			if set == constraint.Nowhere {
				set = int32(len(p.Groups[g].Sets))
			}
			c.sets[n*int(c.groups)+g] = set
		}
	}
	c.standings(p)
	c.bounds(p, roles)
	for shape := range p.Shapes {
		c.join(roles.Of[shape], roles, false)
	}
	c.soft = append(c.soft, int32(len(c.stakes)))
	for shape := range p.Shapes {
		c.join(roles.Of[shape], roles, true)
	}
	c.hard = append(c.hard, int32(len(c.stakes)))
	c.populate(p, roles)
	return c
}

// standings makes the constraints.
func (c *counts) standings(p *constraint.Problem) {
	for i := range p.Constraints {
		first := int32(len(c.alternatives))
		c.alternatives = append(c.alternatives, make([]int64, len(p.Constraints[i].Any))...)
		s := standing{first: first, end: int32(len(c.alternatives)), weight: p.Constraints[i].Weight, hard: p.Constraints[i].Hard}
		if p.Objective.Violation == 0 && p.Objective.Extent == 0 {
			s.weight = 0
		}
		c.constraints = append(c.constraints, s)
	}
}

// bounds makes the slots and ladders.
func (c *counts) bounds(p *constraint.Problem, roles *constraint.Roles) {
	most := targetsOf(p, roles)
	ladders := map[[3]int32]int32{}
	slots := 0
	for i := range roles.Bounds {
		if slots++; roles.Bounds[i].Group != constraint.Nowhere {
			slots += len(p.Groups[roles.Bounds[i].Group].Sets)
		}
	}
	c.slots = make([]slot, 0, slots)
	for i := range roles.Bounds {
		b := &roles.Bounds[i]
		r := role{bound: int32(i), group: b.Group, base: int32(len(c.slots)), most: b.Max, alternative: c.constraints[b.Constraint].first + b.Alternative}
		if b.Group == constraint.Nowhere {
			r.group = c.groups - 1
		} else {
			r.outside = int32(len(p.Groups[b.Group].Sets))
		}
		if b.SelfCounted {
			r.self = 1
		}
		key := [3]int32{b.Min, b.Max}
		if c.constraints[b.Constraint].hard {
			key[2] = 1
		}
		ladder, known := ladders[key]
		if !known {
			longest := int32(0)
			for j := range roles.Bounds {
				if roles.Bounds[j].Min == b.Min && roles.Bounds[j].Max == b.Max {
					longest = max(longest, most[j])
				}
			}
			ladder = c.climb(p, b, longest+2)
			ladders[key] = ladder
		}
		r.ladder = ladder
		c.ofBound = append(c.ofBound, r)
		for range r.outside + 1 {
			c.slots = append(c.slots, slot{listed: constraint.Nowhere})
		}
	}
}

// targetsOf is how many containers each bound could count at the most.
func targetsOf(p *constraint.Problem, roles *constraint.Roles) []int32 {
	size := make([]int32, len(p.Shapes))
	for i := range p.Containers {
		size[p.Containers[i].Shape]++
	}
	most := make([]int32, len(roles.Bounds))
	for shape := range roles.Of {
		for _, r := range roles.Of[shape] {
			if r.Target {
				most[r.Bound] += size[shape]
			}
		}
	}
	return most
}

// climb adds what a subject that counts 0, 1, … costs by the bound, and returns where that
// begins.
func (c *counts) climb(p *constraint.Problem, b *constraint.Bound, steps int32) int32 {
	first := int32(len(c.ladders))
	c.steps[first] = steps
	for count := range steps {
		price, misses := int64(0), b.Misses(count)
		switch {
		case misses == 0:
		case p.Constraints[b.Constraint].Hard:
			price = violation + miss*min(misses, mostMiss)
		case p.Objective.Violation == 0 && p.Objective.Extent == 0:
			price = 1
		default:
			price = 1000*p.Objective.Violation + p.Objective.Extent*misses
		}
		c.ladders = append(c.ladders, price)
	}
	return first
}

// join adds the stakes of a shape in the soft or in the hard constraints.
func (c *counts) join(of []constraint.Role, roles *constraint.Roles, hard bool) {
	if hard {
		c.hard = append(c.hard, int32(len(c.stakes)))
	} else {
		c.soft = append(c.soft, int32(len(c.stakes)))
	}
	last := constraint.Nowhere
	for _, r := range of {
		in := roles.Bounds[r.Bound].Constraint
		if c.constraints[in].hard != hard {
			continue
		}
		if in != last {
			c.stakes = append(c.stakes, stake{in, int32(len(c.roles)), int32(len(c.roles))})
			last = in
		}
		own := c.ofBound[r.Bound]
		own.subject, own.target = r.Subject, r.Target
		c.roles = append(c.roles, own)
		c.stakes[len(c.stakes)-1].end++
	}
}

// populate lets bounds of whole sets stand in each set that has a node.
func (c *counts) populate(p *constraint.Problem, roles *constraint.Roles) {
	for i := range roles.Bounds {
		if b := &roles.Bounds[i]; b.Whole && b.Group != constraint.Nowhere {
			r := &c.ofBound[i]
			for _, set := range p.Groups[b.Group].SetOf {
				if set == constraint.Nowhere || c.slots[r.base+set].only > 0 {
					continue
				}
				c.slots[r.base+set].only = 1
				c.alternatives[r.alternative] += c.ladders[r.ladder]
				c.list(r, set)
			}
		}
	}
	for i := range c.constraints {
		c.choose(&c.constraints[i])
	}
}

// settle makes what violates hard constraints now what may violate them.
func (c *counts) settle() {
	for i := range c.constraints {
		c.constraints[i].had = c.constraints[i].price / violation
	}
	c.excess = 0
}

// setsOf are the sets that the node is in, by group.
func (c *counts) setsOf(node int32) []int32 {
	at := node * c.groups
	return c.sets[at : at+c.groups]
}

// rise is what one more container in the role adds to the price of its alternative.
func (c *counts) rise(r *role, set int32) int64 {
	return rise(&c.slots[r.base+set], r, c.ladders[r.ladder:], set)
}

// rise is what one more container in the role adds in the slot, as the ladder prices it.
func rise(s *slot, r *role, ladder []int64, set int32) int64 {
	if !r.target || set == r.outside {
		if r.subject {
			return ladder[s.targets]
		}
		return 0
	}
	sum := int64(0)
	if s.only > 0 {
		sum = int64(s.only) * (ladder[s.targets+1] - ladder[s.targets])
	}
	others := s.targets + r.self
	if s.both > 0 {
		sum += int64(s.both) * (ladder[others] - ladder[others-1])
	}
	if r.subject {
		sum += ladder[others]
	}
	return sum
}

// step adds sign containers in the role to its slot.
func (c *counts) step(r *role, set, sign int32) {
	s := &c.slots[r.base+set]
	switch {
	case !r.target || set == r.outside:
		if r.subject {
			s.only += sign
		}
	case r.subject:
		s.targets += sign
		s.both += sign
	default:
		s.targets += sign
	}
}

// list notes whether the bound is violated in the set.
func (c *counts) list(r *role, set int32) {
	s := &c.slots[r.base+set]
	ladder := c.ladders[r.ladder:]
	broken := s.only > 0 && ladder[s.targets] > 0 || s.both > 0 && ladder[s.targets-1+r.self] > 0
	switch {
	case broken == (s.listed != constraint.Nowhere):
	case broken:
		s.listed = int32(len(c.violated))
		c.violated = append(c.violated, Violated{r.bound, set})
	default:
		last := c.violated[len(c.violated)-1]
		c.slots[c.ofBound[last.Bound].base+last.Set].listed = s.listed
		c.violated[s.listed] = last
		c.violated = c.violated[:len(c.violated)-1]
		s.listed = constraint.Nowhere
	}
}

// choose prices the constraint by the least of its alternatives.
func (c *counts) choose(s *standing) {
	price := slices.Min(c.alternatives[s.first:s.end])
	if price == s.price {
		return
	}
	if s.hard {
		before := max(s.price/violation-s.had, 0)
		c.excess += max(price/violation-s.had, 0) - before
		c.strain += price - s.price
	} else {
		cost := costOf(price, s.weight)
		c.cost += cost - s.cost
		s.cost = cost
		c.levy(s)
	}
	s.price = price
}

// costOf is what a price in millionths of a violation at weight 1 costs at this weight.
func costOf(price, weight int64) int64 {
	if high, low := bits.Mul64(uint64(price), uint64(weight)); high == 0 {
		return int64(low / 1_000_000)
	}
	return shareOf(weight, price, 1_000_000)
}

// change counts sign containers of the shape on the node.
func (c *counts) change(shape, node, sign int32, m *memory) {
	sets := c.setsOf(node)
	for _, ends := range [2][2]int32{{c.soft[shape], c.soft[shape+1]}, {c.hard[shape], c.hard[shape+1]}} {
		for i := ends[0]; i < ends[1]; i++ {
			s := &c.stakes[i]
			for j := s.first; j < s.end; j++ {
				r := &c.roles[j]
				set := sets[r.group]
				if sign > 0 {
					c.alternatives[r.alternative] += c.rise(r, set)
					c.step(r, set, 1)
				} else {
					c.step(r, set, -1)
					c.alternatives[r.alternative] -= c.rise(r, set)
				}
				c.list(r, set)
				m.forget(r.bound, set)
			}
			c.choose(&c.constraints[s.constraint])
		}
	}
}

// delta is what one more container of the shape on the node would add to the cost of soft
// constraints and to the strain of hard ones.
func (c *counts) delta(shape, node int32) (cost, strain int64) {
	sets := c.setsOf(node)
	for i := c.soft[shape]; i < c.soft[shape+1]; i++ {
		s := &c.stakes[i]
		of := &c.constraints[s.constraint]
		if price := c.wouldBe(s, of, sets); price != of.price {
			cost += costOf(price, of.weight) - of.cost
		}
	}
	for i := c.hard[shape]; i < c.hard[shape+1]; i++ {
		s := &c.stakes[i]
		of := &c.constraints[s.constraint]
		strain += c.wouldBe(s, of, sets) - of.price
	}
	return cost, strain
}

// clean reports whether one more container of the shape on the node makes no constraint dearer.
func (c *counts) clean(shape, node int32) bool {
	sets := c.setsOf(node)
	for _, ends := range [2][2]int32{{c.soft[shape], c.soft[shape+1]}, {c.hard[shape], c.hard[shape+1]}} {
		for i := ends[0]; i < ends[1]; i++ {
			of := &c.constraints[c.stakes[i].constraint]
			if c.wouldBe(&c.stakes[i], of, sets) > of.price {
				return false
			}
		}
	}
	return true
}

// wouldBe is what the constraint would be priced at with one more container on a node of the
// sets.
func (c *counts) wouldBe(s *stake, of *standing, sets []int32) int64 {
	if of.first+1 == of.end {
		price := of.price
		for j := s.first; j < s.end; j++ {
			r := &c.roles[j]
			price += c.rise(r, sets[r.group])
		}
		return price
	}
	least, j := int64(math.MaxInt64), s.first
	for alternative := of.first; alternative < of.end; alternative++ {
		price := c.alternatives[alternative]
		for ; j < s.end && c.roles[j].alternative == alternative; j++ {
			r := &c.roles[j]
			price += c.rise(r, sets[r.group])
		}
		least = min(least, price)
	}
	return least
}

// bearable reports whether a container of the shape on the node makes nobody a violator of
// a hard maximum, of a constraint with one alternative. Others are judged by the excess.
func (c *counts) bearable(shape, node int32) bool {
	if c.hard[shape] == c.hard[shape+1] {
		return true
	}
	sets := c.setsOf(node)
	for i := c.hard[shape]; i < c.hard[shape+1]; i++ {
		s := &c.stakes[i]
		if of := &c.constraints[s.constraint]; of.first+1 < of.end {
			continue
		}
		for j := s.first; j < s.end; j++ {
			if r := &c.roles[j]; c.overflows(r, sets[r.group]) {
				return false
			}
		}
	}
	return true
}

// overflows reports whether one more container in the role makes somebody a violator of the
// bound for whom it held, or is one itself and more containers cannot mend that.
func (c *counts) overflows(r *role, set int32) bool {
	s := &c.slots[r.base+set]
	ladder := c.ladders[r.ladder:]
	if !r.target || set == r.outside {
		return r.subject && ladder[s.targets] > 0 && (set == r.outside || s.targets > r.most)
	}
	others := s.targets + r.self
	return s.only > 0 && ladder[s.targets] == 0 && ladder[s.targets+1] > 0 ||
		s.both > 0 && ladder[others-1] == 0 && ladder[others] > 0 ||
		r.subject && ladder[others] > 0 && others > r.most
}

// Excess is by how many hard constraints are violated more than when the problem was posed.
// A plan is only one where it is 0.
func (t *totals) Excess() int64 { return t.excess }

// Violated are the bounds that do not hold, each with a set in which they do not, in no
// order that means anything; valid until the next change.
func (c *counts) Violated() []Violated { return c.violated }

// Targets is how many containers the bound counts in the set of the node.
func (c *counts) Targets(bound, node int32) int32 {
	r := &c.ofBound[bound]
	return c.slots[r.base+c.setsOf(node)[r.group]].targets
}

// Clean reports whether the container, which is on no node, would on the node add to no
// constraint's violations.
func (b *Board) Clean(container, node int32) bool { return b.clean(b.shapeOf[container], node) }

// Chosen reports whether the bound's alternative is of those of least price of its constraint.
func (b *Board) Chosen(bound int32) bool {
	alternative := b.ofBound[bound].alternative
	return b.alternatives[alternative] == b.constraints[b.index.Bounds[bound].Constraint].price
}

// Cost is the part of the score that is constraints.
func (t *totals) Cost() int64 { return t.cost }
