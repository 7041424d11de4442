package board

import (
	"math"
	"slices"

	"fairlead.dev/fairlead/constraint"
)

// This file says without a solver what no assignment costs less than. What is fixed stays. Of the
// others each shape is asked by itself which nodes have room for it, and by each bound alone what
// it must violate on the best of them, whoever else may come there.

// floor is what no assignment costs less than, being added up on a board with nothing on it but what
// is fixed.
type floor struct {
	*Board
	shapes  []shapeFloor
	free    []int32 // by bound: how many are not fixed whom it counts
	least   []int64 // by role, as counts have them: what a subject is priced at
	prices  []int64 // by alternative: what is violated of it
	missing int64   // what those cost who cannot be placed
}

// shapeFloor is what is so of the containers of a shape that are not fixed.
type shapeFloor struct {
	one                int32 // of them, on no node if any is on none; Nowhere if there is none
	homes, comers      int64 // that are on nodes, and on none
	room               int64 // for how many there is room; counted no further than for all
	firstSoft, endSoft int32 // its roles in soft constraints
	firstHard, endHard int32
}

// Floor is a score that no assignment is less than that may be carried out. While it is added up
// the board holds what is fixed only; then everybody is back, but may hold other devices where it was not at the
// start.
func (b *Board) Floor() int64 {
	start, fixed := slices.Clone(b.at), slices.Clone(b.at)
	for c := range fixed {
		if !b.problem.Containers[c].Fixed {
			fixed[c] = constraint.Nowhere
		}
	}
	b.Set(fixed)
	f := newFloor(b)
	f.stay()
	f.remain()
	for shape := range f.shapes {
		f.findRoom(int32(shape))
	}
	f.come()
	score := f.missing + b.weights.Fragmented*b.fragmented + b.weights.Used*b.used + b.peak()
	for i := range b.constraints {
		if s := &b.constraints[i]; !s.hard {
			score += costOf(slices.Min(f.prices[s.first:s.end]), s.weight)
		}
	}
	b.Set(start)
	return score
}

func newFloor(b *Board) *floor {
	f := &floor{
		Board: b, shapes: make([]shapeFloor, len(b.problem.Shapes)), free: make([]int32, len(b.ofBound)),
		least: make([]int64, len(b.counts.roles)), prices: make([]int64, len(b.alternatives)),
	}
	rolesFrom := func(stake int32) int32 {
		if int(stake) == len(b.stakes) {
			return int32(len(b.counts.roles))
		}
		return b.stakes[stake].first
	}
	for shape := range f.shapes {
		f.shapes[shape] = shapeFloor{
			one:       constraint.Nowhere,
			firstSoft: rolesFrom(b.soft[shape]), endSoft: rolesFrom(b.soft[shape+1]),
			firstHard: rolesFrom(b.hard[shape]), endHard: rolesFrom(b.hard[shape+1]),
		}
	}
	for j := range f.least {
		if b.counts.roles[j].subject {
			f.least[j] = math.MaxInt64
		}
	}
	for i := range b.problem.Containers {
		c := &b.problem.Containers[i]
		if c.Fixed {
			continue
		}
		k := &f.shapes[c.Shape]
		if c.At == constraint.Nowhere {
			k.comers++
		} else {
			k.homes++
		}
		if k.one == constraint.Nowhere || c.At == constraint.Nowhere {
			k.one = int32(i) // who is on a node asks there for the devices that it has
		}
		for _, r := range b.index.Of[c.Shape] {
			if r.Target {
				f.free[r.Bound]++
			}
		}
	}
	return f
}

// stay adds what those violate who stay where they are, and whole sets: of what does not hold now,
// as nobody else can do any harm or good to what does.
func (f *floor) stay() {
	for _, v := range f.violated {
		r := &f.ofBound[v.Bound]
		s, free := &f.slots[r.base+v.Set], f.free[v.Bound]
		if v.Set == r.outside {
			free = 0
		}
		f.prices[r.alternative] += int64(s.only) * f.cheapest(r, s.targets, free)
		if s.both > 0 {
			f.prices[r.alternative] += int64(s.both) * f.cheapest(r, s.targets-1+r.self, free)
		}
	}
}

// cheapest is the price of a subject that counts so many, and of those who are free as many as are best.
func (f *floor) cheapest(r *role, count, free int32) int64 {
	if count <= r.most {
		count = min(count+free, r.most)
	}
	return f.counts.ladders[r.ladder+count]
}

// remain looks at where those are who may be moved: there they may remain, room or not.
func (f *floor) remain() {
	for i := range f.problem.Containers {
		if c := &f.problem.Containers[i]; !c.Fixed && c.At != constraint.Nowhere {
			f.look(&f.shapes[c.Shape], c.At)
		}
	}
}

// findRoom asks the nodes for how many of the shape they have room, and looks at those that have, until
// there is room enough and nothing that must be violated.
func (f *floor) findRoom(shape int32) {
	k := &f.shapes[shape]
	if k.one == constraint.Nowhere {
		return
	}
	for n := range int32(len(f.problem.Nodes)) {
		if f.HasRoom(k.one, n) {
			k.room += f.most(shape, n)
			if least := f.look(k, n); least == 0 && k.room >= k.comers {
				break
			}
		}
	}
	for j := k.firstHard; j < k.endHard; j++ {
		r := &f.counts.roles[j]
		if of := f.constraintOf(r); f.mutual(r) && of.had == 0 && of.first+1 == of.end {
			_, berths := f.berths(shape, r, k.homes+k.comers)
			k.room = min(k.room, max(berths-k.homes, 0))
		}
	}
}

// constraintOf is the constraint that the role is in.
func (f *floor) constraintOf(r *role) *standing {
	return &f.constraints[f.index.Bounds[r.bound].Constraint]
}

// look lowers what the shape is priced at in each role to what it is on the node, and returns the
// dearest of these.
func (f *floor) look(k *shapeFloor, node int32) int64 {
	sets, dearest := f.setsOf(node), int64(0)
	for _, ends := range [2][2]int32{{k.firstSoft, k.endSoft}, {k.firstHard, k.endHard}} {
		for j := ends[0]; j < ends[1]; j++ {
			if r := &f.counts.roles[j]; r.subject && f.least[j] > 0 {
				f.least[j] = min(f.least[j], f.onSet(r, sets[r.group]))
				dearest = max(dearest, f.least[j])
			}
		}
	}
	return dearest
}

// onSet is what a subject in the role is priced at in the set.
func (f *floor) onSet(r *role, set int32) int64 {
	switch targets, free := f.slots[r.base+set].targets, f.free[r.bound]; {
	case set == r.outside:
		return f.counts.ladders[r.ladder]
	case r.target:
		return f.cheapest(r, targets+r.self, free-1)
	default:
		return f.cheapest(r, targets, free)
	}
}

// come adds what those violate who are not fixed, and what those cost who cannot be placed. Who may
// be left out for less than that adds nothing.
func (f *floor) come() {
	p, o := f.problem, &f.weights
	lost, dear := make([]bool, len(p.Applications)), make([]int64, len(p.Applications))
	for shape := range f.shapes {
		k, app := &f.shapes[shape], p.Shapes[shape].Application
		lacks := max(k.comers-k.room, 0)
		if f.barred(k) {
			lacks = k.comers
		}
		if p.Applications[app].Deployed {
			f.missing += o.Loose * lacks
			k.comers -= lacks
			continue
		}
		lost[app] = lost[app] || lacks > 0
		dear[app] = sumOf(dear[app], f.dear(int32(shape), k.homes+k.comers))
	}
	for app := range lost {
		if lost[app] {
			f.missing += o.Unplaced
		}
	}
	for shape := range f.shapes {
		k, app := &f.shapes[shape], p.Shapes[shape].Application
		sure, all := k.homes, k.homes+k.comers
		if deployed := p.Applications[app].Deployed; deployed && f.dear(int32(shape), all) <= o.Loose ||
			!deployed && !lost[app] && dear[app] <= o.Unplaced {
			sure = all
		}
		for j := k.firstSoft; j < k.endSoft && sure > 0; j++ {
			f.prices[f.counts.roles[j].alternative] += f.priced(int32(shape), j, sure)
		}
	}
}

// priced is what so many of the shape, at least one, violate of the role's bound at the least;
// math.MaxInt64 where there is no place at all.
func (f *floor) priced(shape, j int32, many int64) int64 {
	price, r := int64(math.MaxInt64), &f.counts.roles[j]
	if f.least[j] <= price/many {
		price = many * f.least[j]
	}
	if f.mutual(r) {
		price = max(price, f.crowd(shape, r, many))
	}
	return price
}

// dear is more than so many of the shape add to the score by what they must violate.
func (f *floor) dear(shape int32, many int64) int64 {
	sum := int64(0)
	for j := f.shapes[shape].firstSoft; j < f.shapes[shape].endSoft && many > 0; j++ {
		cost := costOf(f.priced(shape, j, many), f.constraintOf(&f.counts.roles[j]).weight)
		sum = sumOf(sum, sumOf(cost, 1)) // it is rounded down
	}
	return sum
}

// sumOf is a+b of numbers that are at least 0; math.MaxInt64 where that is too large.
func sumOf(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// barred reports whether a container of the shape violates a hard constraint wherever it goes that nobody
// violated.
func (f *floor) barred(k *shapeFloor) bool {
	for j := k.firstHard; j < k.endHard; {
		of := f.constraintOf(&f.counts.roles[j])
		avoidable := of.had > 0
		for alternative := of.first; alternative < of.end; alternative++ {
			dearest := int64(0)
			for ; j < k.endHard && f.counts.roles[j].alternative == alternative; j++ {
				dearest = max(dearest, f.least[j])
			}
			avoidable = avoidable || dearest == 0
		}
		if !avoidable {
			return true
		}
	}
	return false
}

// most is for how many more of the shape the node has room, or more than that.
func (r *room) most(shape, node int32) int64 {
	most := int64(math.MaxInt32)
	for _, n := range r.needsOfShape(shape) {
		most = min(most, r.free[node*r.kinds+n.kind]/n.quantity)
	}
	for _, need := range r.device[shape] {
		shares := int64(0)
		for i, left := range r.devices[r.devicesOf[node]:r.devicesOf[node+1]] {
			if need.Places.Has(i) {
				shares += max(left, 0) / need.Share
			}
		}
		most = min(most, shares/int64(need.Count))
	}
	if r.together[shape] != nil {
		for _, q := range r.quotas[r.quotasOf[shape][0]:r.quotasOf[shape][1]] {
			if q.shape == shape {
				most = min(most, int64(q.most-r.together[shape][node]))
			}
		}
	}
	return max(most, 0)
}
