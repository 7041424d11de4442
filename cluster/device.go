package cluster

import "math/bits"

// Devices are what a kind with Kind.Devices comes in: a node with a quantity of
// 8 × PerUnit has eight devices. The vectors of nodes and shapes hold the sums,
// which every score, total and report goes by; this file holds what the sums do
// not say, namely which devices of a node a task has. A demand of 0.4 fits on a
// node with two devices of which 0.3 is free each by its sum alone.
//
// A demand of at most a device is a share of one; a larger one is whole devices.
// Over-commit stretches each device.

// DeviceSet names devices of one node, a bit each.
type DeviceSet uint64

// MaxDevices is how many devices a node may have.
const MaxDevices = 64

// Count is how many devices the set names.
func (d DeviceSet) Count() int { return bits.OnesCount64(uint64(d)) }

// Has reports whether the set names the device.
func (d DeviceSet) Has(device int) bool { return d>>device&1 != 0 }

// DeviceNeed is what a demand asks for: Share of each of Count devices.
type DeviceNeed struct {
	Count int
	Share int64
}

// Need is the quantity of the kind in devices.
func (k Kind) Need(q int64) DeviceNeed {
	if q <= k.PerUnit {
		return DeviceNeed{int(min(q, 1)), q}
	}
	return DeviceNeed{int(q / k.PerUnit), k.PerUnit}
}

// Device is how much of a device is taken. A node that shrank may have tasks on
// devices that it has lost.
type Device struct {
	Used    int64 // by everything that takes room on it
	Leaving int64 // the part of Used that was told to leave
}

// DeviceKind is the kind that comes in devices; -1 if there is none.
func (v *View) DeviceKind() int { return v.devices }

// DeviceNeed is what the shape asks of devices; the zero value if nothing.
func (v *View) DeviceNeed(id ShapeID) DeviceNeed { return v.shape[id].need }

// Devices are the devices that the node has, in order. They are valid until the
// next change.
func (v *View) Devices(n NodeID) []Device { return v.node[n].device[:v.deviceCount(n)] }

// FreeDevices appends what is left of each device of the node to the list. Of one
// that holds more than its limit nothing is left.
func (v *View) FreeDevices(n NodeID, list []int64) []int64 {
	limit := v.DeviceLimit(n)
	for _, d := range v.Devices(n) {
		list = append(list, max(limit-d.Used, 0))
	}
	return list
}

// DeviceLimit is up to where each device of the node is filled.
func (v *View) DeviceLimit(n NodeID) int64 {
	count := v.deviceCount(n)
	if count == 0 {
		return 0
	}
	return v.Limit(n)[v.devices] / int64(count)
}

func (v *View) deviceCount(n NodeID) int {
	if v.devices < 0 {
		return 0
	}
	return int(v.Capacity(n)[v.devices] / v.kinds[v.devices].PerUnit)
}

// PickDevices chooses devices for the need: the fullest that suffice, and of
// equal ones the first. It counts on what is leaving only where there are not
// enough without. It returns false if there are not enough even so.
func (v *View) PickDevices(n NodeID, need DeviceNeed) (DeviceSet, bool) {
	if need.Count == 0 {
		return 0, true
	}
	set, enough := v.pick(n, need, false)
	if !enough {
		set, enough = v.pick(n, need, true)
	}
	return set, enough
}

// pick chooses as PickDevices does, with or without what is leaving.
func (v *View) pick(n NodeID, need DeviceNeed, leaving bool) (DeviceSet, bool) {
	devices, limit := v.Devices(n), v.DeviceLimit(n)
	var set DeviceSet
	for range need.Count {
		best, least := -1, int64(0)
		for i, d := range devices {
			free := limit - d.Used
			if leaving {
				free += d.Leaving
			}
			if free >= need.Share && !set.Has(i) && (best < 0 || free < least) {
				best, least = i, free
			}
		}
		if best < 0 {
			return 0, false
		}
		set |= 1 << best
	}
	return set, true
}

// anyDevices chooses devices for a run that is there, whether it fits or not.
func (s *State) anyDevices(n NodeID, need DeviceNeed) DeviceSet {
	if set, ok := s.PickDevices(n, need); ok {
		return set
	}
	var set DeviceSet
	for range min(need.Count, s.deviceCount(n)) {
		best := -1
		for i, d := range s.Devices(n) {
			if !set.Has(i) && (best < 0 || d.Used < s.node[n].device[best].Used) {
				best = i
			}
		}
		set |= 1 << best
	}
	return set
}

// foundDevices are the devices of a run that is there: those that the world
// names, even if the node has lost them since, or any where it names none.
func (s *State) foundDevices(id ShapeID, n NodeID, set DeviceSet) DeviceSet {
	if need := s.shape[id].need; set.Count() != need.Count {
		return s.anyDevices(n, need)
	}
	s.node[n].device = grown(s.node[n].device, bits.Len64(uint64(set))-1)
	return set
}

// DevicesSuffice counts the devices of the node that have the share of the need
// left, now or once what is leaving has left, up to the need's count, and
// reports whether they are enough.
func (v *View) DevicesSuffice(n NodeID, need DeviceNeed, leaving bool) (enough int, ok bool) {
	if need.Count == 0 {
		return 0, true
	}
	limit := v.DeviceLimit(n)
	for _, d := range v.Devices(n) {
		free := limit - d.Used
		if leaving {
			free += d.Leaving
		}
		if free >= need.Share {
			if enough++; enough == need.Count {
				return enough, true
			}
		}
	}
	return enough, false
}

// WholeDevices counts the devices of the node that suffice when empty.
func (v *View) WholeDevices(n NodeID, need DeviceNeed) int {
	if need.Count == 0 || need.Share > v.DeviceLimit(n) {
		return 0
	}
	return v.deviceCount(n)
}

// devicesRefuse says why a run of the need cannot have these devices; it may
// count on what is leaving.
func (s *State) devicesRefuse(n NodeID, need DeviceNeed, set DeviceSet) Refusal {
	refusal := Refusal{Code: NoDevice, Kind: s.devices, Need: int64(need.Count), Have: 0}
	if set.Count() != need.Count || set>>s.deviceCount(n) != 0 {
		return refusal
	}
	limit := s.DeviceLimit(n)
	for i, d := range s.Devices(n) {
		if set.Has(i) && limit-d.Used+d.Leaving >= need.Share {
			refusal.Have++
		}
	}
	if refusal.Have == refusal.Need {
		return Refusal{}
	}
	return refusal
}

// growDevices makes room for the devices of the node's capacity. Tasks may still
// hold devices that it has lost.
func (s *State) growDevices(n NodeID) {
	if count := s.deviceCount(n); count > 0 {
		s.node[n].device = grown(s.node[n].device, count-1)
	}
}

// holdDevices adds sign times the share to each device of the room.
func (s *State) holdDevices(n NodeID, r room, sign int64) {
	if r.devices == 0 {
		return
	}
	share := s.shareOf(r) * sign
	for set := r.devices; set != 0; set &= set - 1 {
		s.node[n].device[bits.TrailingZeros64(uint64(set))].Used += share
	}
}

// leaveDevices adds sign times the share to what is leaving each device.
func (s *State) leaveDevices(n NodeID, r room, sign int64) {
	if r.devices == 0 {
		return
	}
	share := s.shareOf(r) * sign
	for set := r.devices; set != 0; set &= set - 1 {
		s.node[n].device[bits.TrailingZeros64(uint64(set))].Leaving += share
	}
}

func (v *View) shareOf(r room) int64 {
	return v.kinds[v.devices].Need(r.demand[v.devices]).Share
}

// devicesNow reports whether each device of the set has the share left beside
// all that takes room.
func (s *State) devicesNow(n NodeID, need DeviceNeed, set DeviceSet) bool {
	limit := s.DeviceLimit(n)
	for i, d := range s.Devices(n) {
		if set.Has(i) && limit-d.Used < need.Share {
			return false
		}
	}
	return true
}

// DeviceOver finds the first device of the node that holds more than its limit,
// and how much, or that is held although the node has lost it: one beyond
// Devices. It returns false if there is none.
func (v *View) DeviceOver(n NodeID) (device int, used int64, over bool) {
	limit, count := v.DeviceLimit(n), v.deviceCount(n)
	for i, d := range v.node[n].device {
		if d.Used > 0 && (i >= count || d.Used > limit) {
			return i, d.Used, true
		}
	}
	return 0, 0, false
}

// devicesFeasible reports whether what a reserved task holds of its devices, and
// others have yet to leave, will be its own.
func (s *State) devicesFeasible(n NodeID, set DeviceSet) bool {
	limit, count := s.DeviceLimit(n), s.deviceCount(n)
	for i, d := range s.node[n].device {
		if set.Has(i) && (i >= count || d.Used-d.Leaving > limit) {
			return false
		}
	}
	return true
}

// devicesStand reports whether the task's devices have its share left beside
// what is physically there, which is all but what is reserved.
func (s *State) devicesStand(t TaskID, n NodeID) bool {
	task := &s.task[t]
	if task.Devices == 0 {
		return true
	}
	share, limit := s.shape[task.Shape].need.Share, s.DeviceLimit(n)
	for i, d := range s.node[n].device {
		if !task.Devices.Has(i) {
			continue
		}
		standing := d.Used
		for _, other := range s.node[n].tasks {
			o := &s.task[other]
			if held := o.heldOn(n); (o.Node != n || o.Phase == Reserved) && held.Has(i) {
				standing -= s.shape[o.Shape].need.Share
			}
		}
		if standing+share > limit {
			return false
		}
	}
	return true
}

// heldOn is the set of devices that the task holds on one of its nodes.
func (t *Task) heldOn(n NodeID) DeviceSet {
	if t.Node == n {
		return t.Devices
	}
	return t.NextDevices
}
