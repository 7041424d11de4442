package sim

import (
	"fmt"
	"math/bits"

	"fairlead.dev/fairlead/cluster"
)

// This file is the world's own book of which run has which devices of its node,
// kept and checked apart from the core's.

// room is what one run takes on a node.
type room struct {
	demand  cluster.Vector
	devices cluster.DeviceSet
}

// share splits a demand into so much of each of so many devices.
func (b *nodes) share(demand cluster.Vector) (each int64, count int) {
	if b.devices < 0 || demand[b.devices] == 0 {
		return 0, 0
	}
	q, per := demand[b.devices], b.kinds[b.devices].PerUnit
	if q <= per {
		return q, 1
	}
	return per, int(q / per)
}

// has is how many devices the node has, and up to where each is filled.
func (b *nodes) has(n *node) (count int, limit int64) {
	if b.devices < 0 || n.capacity[b.devices] == 0 {
		return 0, 0
	}
	count = int(n.capacity[b.devices] / b.kinds[b.devices].PerUnit)
	return count, n.limit[b.devices] / int64(count)
}

// hold adds sign times the run's share to each of its devices.
func (b *nodes) hold(n *node, r room, sign int64) {
	each, _ := b.share(r.demand)
	for set := r.devices; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(uint64(set))
		for len(n.device) <= i {
			n.device = append(n.device, 0)
		}
		n.device[i] += sign * each
	}
}

// held is how much of the device is taken.
func (n *node) held(device int) int64 {
	if device >= len(n.device) {
		return 0
	}
	return n.device[device]
}

// devicesOver says which device of the node the run would take over its limit,
// or that its devices are not what it asks for.
func (b *nodes) devicesOver(n *node, r room) error {
	each, want := b.share(r.demand)
	count, limit := b.has(n)
	if r.devices.Count() != want || r.devices>>count != 0 {
		return fmt.Errorf("node %s has %d devices, it was given %b, and asks for %d", n.name, count, r.devices, want)
	}
	for i := range count {
		if r.devices.Has(i) && n.held(i)+each > limit {
			kind := b.kinds[b.devices]
			return fmt.Errorf("device %d of node %s would hold %s of %s, over its limit of %s",
				i, n.name, kind.Format(n.held(i)+each), kind.Name, kind.Format(limit))
		}
	}
	return nil
}

// pick chooses devices for a run that the trace found on the node: the fullest
// that have room, and else the emptiest, as nobody knows which it had.
func (b *nodes) pick(row cluster.NodeID, demand cluster.Vector) cluster.DeviceSet {
	n := &b.list[row]
	each, want := b.share(demand)
	count, limit := b.has(n)
	for len(n.device) < count {
		n.device = append(n.device, 0)
	}
	// The more a device holds the better, as long as the run fits; and then the
	// less.
	worth := func(used int64) int64 {
		if used+each <= limit {
			return used
		}
		return -used - 1
	}
	var set cluster.DeviceSet
	for range min(want, count) {
		best := -1
		for i, used := range n.device[:count] {
			if !set.Has(i) && (best < 0 || worth(used) > worth(n.device[best])) {
				best = i
			}
		}
		set |= 1 << best
	}
	return set
}
