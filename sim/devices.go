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

// need is what a demand asks of one kind that comes in devices: so much of each of so many.
type need struct {
	cluster.DeviceKind
	count int
	each  int64
}

// needs splits a demand, kind by kind.
func (b *nodes) needs(demand cluster.Vector) []need {
	list := make([]need, 0, len(b.devices))
	for _, k := range b.devices {
		q, n := demand[k.Kind], need{DeviceKind: k}
		switch {
		case q > k.Size:
			n.count, n.each = int(q/k.Size), k.Size
		case q > 0:
			n.count, n.each = 1, q
		}
		list = append(list, n)
	}
	return list
}

// has is how many devices of the kind the node has, and up to where each is filled, if there is one.
func (n *node) has(kind cluster.DeviceKind) (count int, limit int64) {
	count = int(n.capacity[kind.Kind] / kind.Size)
	return count, n.limit[kind.Kind] / max(int64(count), 1)
}

// hold adds sign times the run's share to each of its devices.
func (b *nodes) hold(n *node, r room, sign int64) {
	for len(n.device) < bits.Len64(uint64(r.devices)) {
		n.device = append(n.device, 0)
	}
	for _, need := range b.needs(r.demand) {
		for i := need.First; i < need.First+need.Most; i++ {
			if r.devices.Has(i) {
				n.device[i] += sign * need.each
			}
		}
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
	given := r.devices
	for _, need := range b.needs(r.demand) {
		kind := b.kinds[need.Kind]
		count, limit := n.has(need.DeviceKind)
		got := 0
		for i := range count {
			place := need.First + i
			if !r.devices.Has(place) {
				continue
			}
			got++
			given &^= 1 << place
			if held := n.held(place) + need.each; held > limit {
				return fmt.Errorf("device %d of node %s would hold %s of %s, over its limit of %s",
					i, n.name, kind.Format(held), kind.Name, kind.Format(limit))
			}
		}
		if got != need.count {
			return fmt.Errorf("node %s has %d devices of %s, it was given %b, and asks for %d", n.name, count, kind.Name, r.devices, need.count)
		}
	}
	if given != 0 {
		return fmt.Errorf("node %s has no devices %b", n.name, given)
	}
	return nil
}

// pick chooses devices for a run that the trace found on the node: of each kind the
// fullest that have room, and else the emptiest, as nobody knows which it had.
func (b *nodes) pick(row cluster.NodeID, demand cluster.Vector) cluster.DeviceSet {
	n := &b.list[row]
	var set cluster.DeviceSet
	for _, need := range b.needs(demand) {
		count, limit := n.has(need.DeviceKind)
		// The more a device holds the better, as long as the run fits; and then the
		// less.
		worth := func(place int) int64 {
			used := n.held(place)
			if used+need.each <= limit {
				return used
			}
			return -used - 1
		}
		for range min(need.count, count) {
			best := -1
			for i := need.First; i < need.First+count; i++ {
				if !set.Has(i) && (best < 0 || worth(i) > worth(best)) {
					best = i
				}
			}
			set |= 1 << best
		}
	}
	return set
}
