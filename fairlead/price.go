package fairlead

import (
	"math/bits"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/locality"
	"fairlead.dev/fairlead/sched/worth"
)

// This file is what a place costs: the worth of the room that it takes, and what is added to that. What depends on
// the shape, the tier and the node alone is in the indexes; what depends on the task, or on which others are where, is
// looked at node by node, from the one on that costs least without it (place.go).

// What is added, in the unit of worth.
const (
	// tierPrice is for each tier that a node is above what the class was promised: better nodes are left to those who
	// were promised them.
	tierPrice = 2 * worth.One
	// softPrice is for each subject that would violate a soft constraint of the default weight, and extentPrice for all
	// that it would miss.
	softPrice   = 4 * worth.One
	extentPrice = softPrice / 10
	// overPrice is for as much use over a node's limit as the node has.
	overPrice = worth.One
	// rackPrice and corePrice are for each GiB of input that has to come from the node's rack, and from elsewhere.
	rackPrice = worth.One / 2
	corePrice = worth.One
	mostFetch = 16 * worth.One
	// beyond is more than any place costs.
	beyond = 4 * worth.Most
)

// surcharges are what is added to the worth of room.
type surcharges struct {
	input    locality.Locality
	siblings siblings
	tiered   bool // some node has a tier
	// onPrice is what a node with tasks costs, in hundredths of what all its room is worth.
	onPrice int64
	grants  *grants

	outliving outliving
}

// learn takes in what changed.
func (u *surcharges) learn(s *cluster.View, c *sched.Changed) {
	u.input.Learn(s, c.All, c.Nodes)
	u.siblings.learn(s, c)
	u.outliving.learn(s, c)
	u.tiered = u.tiered && !c.All
	for _, n := range c.Nodes {
		u.tiered = u.tiered || s.NodeLive(n) && s.NodeSpec(n).Tier > 0
	}
}

// ofPlace is what every task of the shape and tier pays on the node: the worth of its room, and what is added to that.
func (u *surcharges) ofPlace(s *cluster.View, w *worth.Worth, id cluster.ShapeID, tier int32, n cluster.NodeID) worth.Price {
	price, _ := w.Price(s, id, n)
	return tempered(s, id, price) + u.ofNode(s, id, tier, n) + u.ofEmpty(s, w, id, n) + u.grants.missing(s, id, n)
}

// opens reports whether a task would be the first on the node, where that costs something.
func (u *surcharges) opens(s *cluster.View, n cluster.NodeID) bool {
	return u.onPrice > 0 && len(s.TasksOn(n)) == 0
}

// tierOf is the tier that prices of the class go by; 0 where no node has one.
func (u *surcharges) tierOf(class *cluster.Class) int32 {
	if !u.tiered {
		return 0
	}
	return int32(class.Tier)
}

// ofNode is what every task of the shape and tier pays on the node, whoever else is there.
func (u *surcharges) ofNode(s *cluster.View, id cluster.ShapeID, tier int32, n cluster.NodeID) worth.Price {
	return u.ofTier(s, tier, n) + ofUse(s, n) + ofPreference(s, id, n)
}

// ofPreference is what preferences for nodes cost that the node does not meet: one of the largest weight as much as a soft
// constraint of the default weight.
func ofPreference(s *cluster.View, id cluster.ShapeID, n cluster.NodeID) worth.Price {
	return min(softPrice/cluster.MostPreference*cluster.Unmet(s, id, n), worth.Most)
}

// on is what it is worth that the node has no task.
func (u *surcharges) on(s *cluster.View, w *worth.Worth, n cluster.NodeID) worth.Value {
	const most = 1 << 60
	high, low := bits.Mul64(uint64(w.OfEmpty(s, n)), uint64(u.onPrice))
	if high > 0 || low > most {
		return most
	}
	return worth.Value(low / 100)
}

// ofEmpty is what a task of the shape pays for being the first on the node; 0 if it is not.
func (u *surcharges) ofEmpty(s *cluster.View, w *worth.Worth, id cluster.ShapeID, n cluster.NodeID) worth.Price {
	if !u.opens(s, n) {
		return 0
	}
	return w.PriceOf(s, id, u.on(s, w, n))
}

// ofTier is what a node costs for being better than was promised.
func (u *surcharges) ofTier(s *cluster.View, tier int32, n cluster.NodeID) worth.Price {
	if !u.tiered {
		return 0
	}
	return tierPrice * worth.Price(max(s.NodeSpec(n).Tier-tier, 0))
}

// ofUse is what a node costs of which more is in use than it has, by the kind of which that is most.
func ofUse(s *cluster.View, n cluster.NodeID) (price worth.Price) {
	limit := s.Limit(n)
	for k, q := range s.Usage(n) {
		over := min(cluster.Fraction(q-limit[k], limit[k]), 1<<cluster.FractionBits)
		price = max(price, overPrice>>10*over>>(cluster.FractionBits-10))
	}
	return price
}

// locate prepares for what the task pays beyond that, and returns the least that it pays on any node that has
// none of its input; false if it pays nothing anywhere but for its siblings.
func (u *surcharges) locate(s *cluster.View, t cluster.TaskID) (least worth.Price, some bool) {
	u.siblings.locate(s, t)
	bytes, outlives := u.input.Locate(s, t), u.outliving.locate(s, t)
	shape := s.Task(t).Shape
	if !cluster.Soft(s, shape) {
		return fetching(bytes, 0), bytes > 0 || outlives
	}
	soft, known := cluster.SoftFloor(s, shape, softPrice, extentPrice)
	if !known {
		return -worth.Most, true
	}
	return fetching(bytes, 0) + min(soft, worth.Most), true
}

// ofTask is what the task that was located last pays on the node beyond what others do.
func (u *surcharges) ofTask(s *cluster.View, t cluster.TaskID, n cluster.NodeID) worth.Price {
	return fetching(u.input.From(n)) + ofSoft(s, t, n) + u.siblings.price(n) + u.outliving.price(n)
}

// fetching is what it costs to fetch so much.
func fetching(rack, elsewhere int64) worth.Price {
	const gigabyte, most = 30, 1 << 36
	return min(min(rack, most)*(rackPrice>>10)>>(gigabyte-10)+min(elsewhere, most)*(corePrice>>10)>>(gigabyte-10), mostFetch)
}

// ofSoft is what violations of soft constraints cost that the task would bring about, less those that it would end.
func ofSoft(s *cluster.View, t cluster.TaskID, n cluster.NodeID) worth.Price {
	id := s.Task(t).Shape
	if !cluster.Soft(s, id) {
		return 0
	}
	return max(min(cluster.SoftCost(s, id, n, softPrice, extentPrice), worth.Most), -worth.Most)
}
