package worth

import (
	"math/bits"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// Price is what a task costs on a node. One is what so much room is worth in the mean of the empty
// cluster.
type Price = int64

const (
	// One is the price of room that is worth what it is in the mean.
	One Price = 1 << 20
	// Most bounds prices. The last whole device of a node that many want costs some hundreds: at a bound of
	// 16 such nodes cost the same, and a hundredth of all GPUs of a full cluster stayed idle for that.
	Most = 512 * One
)

// allWeights is the sum of all weights, but for what rounding takes and the least of each adds.
const allWeights = 1 << 20

// Worth prices the nodes of a cluster. A policy shows it what it is shown itself (Learn), and asks
// for prices of the state as it is then, with whatever the policy itself has tried since.
type Worth struct {
	mix     mix
	table   table
	mean    mean
	most    cluster.Vector // the largest limit of any node, kind by kind
	changed int            // nodes since the weights were looked at
	size    uint64         // of all nodes then
	admits  []uint64       // by node row, the types that may use it; it has no meaning where the row holds none
	known   []known        // by node row

	now, then room           // scratch: before and after
	choice    choice         // scratch
	asked     cluster.Vector // scratch: of a node, what types ask for
}

// mean is what room is worth in the mean of the empty cluster.
type mean struct {
	worth [2]uint64 // of all nodes: a number of 128 bits
	size  uint64    // of all nodes
	nodes uint64    // how many they are
	units []uint64  // by shape, what is lost at a price of One; 0 is not known
}

// known is the worth of what a node had left when it was priced last.
type known struct {
	name  string  // of the node; empty where the row holds none
	used  []int64 // by kind; empty is not known
	worth uint64
}

// New knows of nothing yet.
func New() *Worth { return &Worth{} }

// Learn takes in what changed. It reports whether all prices may be others than before; otherwise those of
// nodes that changed are, and those of the nodes that it notes.
func (w *Worth) Learn(s *cluster.View, c *sched.Changed, note func(cluster.NodeID)) (anew bool) {
	if c.All {
		*w = Worth{most: make(cluster.Vector, len(s.Kinds()))}
	}
	w.mix.forgetShapes(c.Shapes)
	for _, id := range c.Shapes {
		if int(id) < len(w.mean.units) {
			w.mean.units[id] = 0
		}
	}
	for _, t := range c.Tasks {
		w.mix.count(s, t)
	}
	grown := w.learnNodes(s, c)
	if w.mix.total >= w.mix.next && w.mix.total > 0 || grown && len(w.table.types) > 0 {
		w.chooseTypes(s)
		return true
	}
	for _, m := range c.Members {
		if w.admit(s, m.Node) {
			note(m.Node)
		}
	}
	if w.changed < max(300, s.NodeRows()/8) {
		return false
	}
	return w.weigh(s, false)
}

// learnNodes takes in changed nodes, and reports whether one has more of some kind than any had.
func (w *Worth) learnNodes(s *cluster.View, c *sched.Changed) (grown bool) {
	for len(w.known) < s.NodeRows() {
		w.known, w.admits = append(w.known, known{}), append(w.admits, 0)
	}
	for _, n := range c.Nodes {
		k := &w.known[n]
		k.used = k.used[:0]
		if !s.NodeLive(n) {
			k.name = ""
			continue
		}
		if name := s.NodeSpec(n).Name; k.name != name { // of others the sets say when they change
			k.name = name
			w.admit(s, n)
		}
		for k, q := range s.Limit(n) {
			if q > w.most[k] {
				w.most[k], grown = q, true
			}
		}
	}
	w.changed += len(c.Nodes)
	return grown
}

// admit notes which types may use the node, and reports whether those are others than before.
func (w *Worth) admit(s *cluster.View, n cluster.NodeID) bool {
	admits := uint64(0)
	for i := range w.table.types {
		if s.Eligible(w.table.types[i].set, n) {
			admits |= 1 << i
		}
	}
	if admits == w.admits[n] {
		return false
	}
	w.known[n].used = w.known[n].used[:0]
	w.admits[n] = admits
	return true
}

// sizeOfNode is how large a node is, in what types ask for: what nobody asks for is worth nothing, and a cluster may list
// any number of such kinds.
func (w *Worth) sizeOfNode(limit cluster.Vector) uint64 {
	w.asked = w.asked[:0]
	for k, q := range limit {
		if !w.table.asks(k) {
			q = 0
		}
		w.asked = append(w.asked, q)
	}
	return uint64(w.sizeOf(w.asked))
}

// sizeOf is how large a demand is: the sum, over all kinds, of its shares of the largest node. It is 0
// where nothing is asked for.
func (w *Worth) sizeOf(demand cluster.Vector) int64 {
	const least = 1 << (cluster.FractionBits - 20)
	size, some := int64(0), false
	for k, q := range demand {
		size += min(cluster.Fraction(q, w.most[k]), 1<<(cluster.FractionBits+10))
		some = some || q > 0
	}
	if !some {
		return 0
	}
	return max(size, least)
}

// chooseTypes chooses the types anew, and weighs them.
func (w *Worth) chooseTypes(s *cluster.View) {
	w.table = newTable(s.Kinds(), w.mix.choose(w.sizeOf))
	w.mix.halve()
	for n := range cluster.NodeID(s.NodeRows()) {
		if s.NodeLive(n) {
			w.admit(s, n)
		}
	}
	w.weigh(s, true)
}

// weigh looks at the weights: how many want room for a type over how much there is. They are renewed if
// one has moved by more than a quarter, or always.
func (w *Worth) weigh(s *cluster.View, always bool) (renewed bool) {
	w.changed, w.size = 0, 0
	for i := range w.table.types {
		w.table.types[i].slots = 0
	}
	var fits fits
	for n := range cluster.NodeID(s.NodeRows()) {
		if !s.NodeLive(n) {
			continue
		}
		w.size += w.sizeOfNode(s.Limit(n))
		w.look(s, n, nil, &w.now)
		w.table.fit(&w.now, &fits)
		for i := range w.table.types {
			if w.admits[n]>>i&1 != 0 {
				w.table.types[i].slots += int64(fits[i] >> fitBits)
			}
		}
	}
	wanted, sum := make([]uint64, len(w.table.types)), uint64(0)
	for i := range w.table.types {
		t := &w.table.types[i]
		// Fewer than 2³² tasks, counted 2⁸ times, times 2²⁰ and over the slots.
		high, low := bits.Mul64(uint64(min(t.tasks, 1<<43-1)), 1<<20)
		wanted[i], _ = bits.Div64(high, low, uint64(t.slots+1))
		wanted[i] = min(wanted[i], 1<<57)
		sum += wanted[i]
	}
	moved := always
	for i := range w.table.types {
		high, low := bits.Mul64(wanted[i], allWeights)
		weight, _ := bits.Div64(high, low, max(sum, 1))
		wanted[i] = max(weight, 1)
		now := w.table.types[i].weight
		moved = moved || 4*max(int64(wanted[i])-now, now-int64(wanted[i])) > now
	}
	if !moved {
		return false
	}
	for i := range w.table.types {
		w.table.types[i].weight, w.table.weights[i] = int64(wanted[i]), wanted[i]
	}
	w.measure(s)
	return true
}

// measure finds what room is worth in the mean of the empty cluster.
func (w *Worth) measure(s *cluster.View) {
	w.mean.worth, w.mean.size, w.mean.nodes = [2]uint64{}, 0, 0
	clear(w.mean.units)
	for n := range cluster.NodeID(s.NodeRows()) {
		w.known[n].used = w.known[n].used[:0]
		if !s.NodeLive(n) {
			continue
		}
		w.empty(s, n, &w.now)
		all := &w.mean.worth
		low, carry := bits.Add64(all[1], w.worth(n, &w.now), 0)
		*all = [2]uint64{all[0] + carry, low}
		w.mean.size += w.sizeOfNode(s.Limit(n))
		w.mean.nodes++
	}
}

// look fills in what is left on a node once so much more is taken, which may be nil.
func (w *Worth) look(s *cluster.View, n cluster.NodeID, less cluster.Vector, r *room) {
	limit, used := s.Limit(n), s.Used(n)
	r.left = r.left[:0]
	for k, q := range limit {
		q -= used[k]
		if less != nil {
			q -= less[k]
		}
		r.left = append(r.left, max(q, 0))
	}
	r.free = r.free[:0]
	for _, d := range s.Devices(n) {
		r.free = append(r.free, max(d.Left(), 0))
	}
}

// worth is what so much room on the node is worth.
func (w *Worth) worth(n cluster.NodeID, r *room) uint64 {
	return w.table.worth(w.admits[n], r)
}

// worthNow is what the node is worth as it is.
func (w *Worth) worthNow(s *cluster.View, n cluster.NodeID) uint64 {
	k := &w.known[n]
	devices := len(s.Devices(n)) > 0 // shares move without the sums
	if used := s.Used(n); devices || !slices.Equal(k.used, used) {
		k.used = append(k.used[:0], used...)
		w.look(s, n, nil, &w.now)
		k.worth = w.worth(n, &w.now)
	}
	return k.worth
}

// Price is what a task of the shape costs on the node, where it has room; the least of all choices of
// devices, and which those are. The set is empty where the choice is left to commit.
func (w *Worth) Price(s *cluster.View, id cluster.ShapeID, n cluster.NodeID) (Price, cluster.DeviceSet) {
	before := w.worthNow(s, n)
	demand := s.Shape(id).Demand
	w.look(s, n, demand, &w.then)
	if needs := s.DeviceNeeds(id); len(needs) > 0 {
		w.choice = choice{node: n, needs: needs}
		w.try(s, 0, 0)
		return w.priceOf(s, id, before-min(before, w.choice.worth)), w.choice.set
	}
	return w.priceOf(s, id, before-min(before, w.worth(n, &w.then))), 0
}

// choice is the devices that leave most worth: of several equal ones the first.
type choice struct {
	node  cluster.NodeID
	needs cluster.DeviceNeeds
	found bool
	worth uint64
	set   cluster.DeviceSet
}

// try tries devices for the needs from i on, beside those of the set: each choice for one kind with each
// for another. Of whole devices it takes those that commit would.
func (w *Worth) try(s *cluster.View, i int, set cluster.DeviceSet) {
	c := &w.choice
	if i == len(c.needs) {
		if worth := w.worth(c.node, &w.then); !c.found || worth > c.worth {
			c.found, c.worth, c.set = true, worth, set
		}
		return
	}
	need, free := &c.needs[i], w.then.free
	if need.Count != 1 {
		devices, _ := s.PickDevices(c.node, c.needs[i:i+1])
		w.then.take(devices, need.Share)
		w.try(s, i+1, set)
		w.then.take(devices, -need.Share)
		return
	}
	for d, left := range free {
		if left < need.Share || !need.Places.Has(d) || seen(free[:d], need.Places, left) {
			continue // too little, or the same as a device before it
		}
		free[d] -= need.Share
		w.try(s, i+1, set|1<<d)
		free[d] = left
	}
}

// seen reports whether one of the devices at the places has as much left.
func seen(free []int64, places cluster.DeviceSet, left int64) bool {
	for d, q := range free {
		if q == left && places.Has(d) {
			return true
		}
	}
	return false
}

// take takes a share of each device of the set.
func (r *room) take(devices cluster.DeviceSet, share int64) {
	for d := range r.free {
		if devices.Has(d) {
			r.free[d] -= share
		}
	}
}

// priceOf is the price of what a task of the shape takes away.
func (w *Worth) priceOf(s *cluster.View, id cluster.ShapeID, lost uint64) Price {
	unit := w.unit(s, id)
	high, low := bits.Mul64(lost, uint64(One))
	if high >= unit {
		return Most
	}
	price, _ := bits.Div64(high, low, unit)
	return Price(min(price, uint64(Most)))
}

// unit is what is lost at a price of One, at least 1: what so much room is worth in the mean.
func (w *Worth) unit(s *cluster.View, id cluster.ShapeID) uint64 {
	m := &w.mean
	for int(id) >= len(m.units) {
		m.units = append(m.units, 0)
	}
	if m.units[id] == 0 {
		m.units[id] = max(scaled(m.worth, uint64(w.SizeOf(s, id)), max(m.size, 1)), 1)
	}
	return m.units[id]
}

// scaled is a number of 128 bits times by, over over, rounded down; as much as there is where it is more.
func scaled(number [2]uint64, by, over uint64) uint64 {
	high, middle := bits.Mul64(number[0], by)
	carry, low := bits.Mul64(number[1], by)
	middle, more := bits.Add64(middle, carry, 0)
	high += more
	if high > 0 || middle >= over {
		return 1<<64 - 1
	}
	quotient, _ := bits.Div64(middle, low, over)
	return quotient
}

// SizeOf is how large what a shape asks for is: the sum, over all kinds, of its shares of the largest node, as
// a cluster.Fraction.
func (w *Worth) SizeOf(s *cluster.View, id cluster.ShapeID) int64 {
	return w.sizeOf(s.Shape(id).Demand)
}

// Smallest is the size of the smallest type; 0 if there is none.
func (w *Worth) Smallest() int64 { return w.table.smallest }

// SizeOfAll is the size of all nodes, when weights were looked at last.
func (w *Worth) SizeOfAll() uint64 { return w.size }
