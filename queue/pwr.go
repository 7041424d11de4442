package queue

import (
	"math"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/power"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// This file is PWR, and PWR with FGD (Lettich et al., CCGrid 2025): a task goes where nodes draw the fewest watts more for it, and where what is free of devices becomes
// least useless, by a weight. As in the authors' simulator the watts of all nodes that take the task are stretched to whole points from 0, for the most,
// to 100, and each point of theirs is added to those of fgd by the weight. So what a node scores depends on all others, which no index can
// keep: the indexes keep both numbers of each node, and a task costs a look at the leaves of all nodes.
//
// Of PWR alone a share comes from the first GPU in use that has it, else from the first; with FGD from that which fgd chooses.

// MostPowerWeight is the weight of watts alone, in thousandths.
const MostPowerWeight = 1000

// wattBits are those of a leaf that hold the watts.
const (
	wattBits  = 20
	mostWatts = 1<<wattBits - 1
)

// powered is the policy.
type powered struct {
	*gradient
	meter  power.Meter
	weight int64 // of watts, in thousandths; points of fgd have the rest
}

// newPowered is PWR with the weight, or what the options say if that is below 0.
func newPowered(weight int64) func(Options) sched.Policy {
	return func(o Options) sched.Policy {
		known := &powered{gradient: &gradient{typical: o.Typical, logits: logits()}, weight: weight}
		if weight < 0 {
			known.weight = min(max(o.PowerWeight, 0), MostPowerWeight)
		}
		g := Rules{Score: known.score, Devices: known.device}.greedy(o, known)
		g.among = known.among
		return g
	}
}

// alone says that points of fgd do not count.
func (p *powered) alone() bool { return p.weight == MostPowerWeight }

// learn is that of fgd, where that counts.
func (p *powered) learn(s *cluster.View, c *sched.Changed, note func(cluster.NodeID)) bool {
	if c.All {
		p.meter = power.NewMeter(s.Kinds(), power.Openb())
	}
	if p.alone() {
		return p.gpus.learn(s, c, note)
	}
	return p.gradient.learn(s, c, note)
}

// score is both numbers of a node: the points of fgd, and how many watts more it does not draw.
func (p *powered) score(s *cluster.View, shape *cluster.Shape, n cluster.NodeID) int64 {
	points := int64(0)
	if !p.alone() {
		points = p.gradient.score(s, shape, n)
	}
	return points<<wattBits + mostWatts - min(p.meter.More(s, shape, n), mostWatts)
}

// among is the place of the best leaf: the first of those with most points in all.
func (p *powered) among(leaves []int64) (best int, ok bool) {
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	for _, leaf := range leaves {
		if leaf != book.None {
			low, high = min(low, leaf&mostWatts), max(high, leaf&mostWatts)
		}
	}
	most := int64(-1)
	for i, leaf := range leaves {
		if leaf == book.None {
			continue
		}
		stretched := int64(100)
		if low < high {
			stretched = (leaf&mostWatts - low) * 100 / (high - low)
		}
		if points := p.weight*stretched + (MostPowerWeight-p.weight)*(leaf>>wattBits); points > most {
			best, most = i, points
		}
	}
	return best, most >= 0
}

// device is, of each kind, the device that a share comes from.
func (p *powered) device(s *cluster.View, shape *cluster.Shape, n cluster.NodeID) (set cluster.DeviceSet) {
	if !p.alone() {
		return p.gradient.device(s, shape, n)
	}
	for i := range p.kinds {
		of := &p.kinds[i]
		need := of.Need(shape.Demand[of.Kind])
		if need.Count != 1 || need.Share == of.Size {
			continue
		}
		whole, first, chosen := wholeDevice(s, n, of), -1, -1
		for d, free := range p.left(s, n, of) {
			switch {
			case free < need.Share:
			case free < whole && chosen < 0:
				chosen = d
			case first < 0:
				first = d
			}
		}
		if chosen < 0 {
			chosen = first
		}
		set |= 1 << (of.First + chosen)
	}
	return set
}
