package cluster

import (
	"iter"
	"math/bits"
	"slices"
)

// Devices are what a kind with Kind.Devices comes in: a node with a quantity of
// 8 × PerUnit has eight devices. The vectors of nodes and shapes hold the sums,
// which every score, total and report goes by; this file holds what the sums do
// not say, namely which devices of a node a task has. A demand of 0.4 fits on a
// node with two devices of which 0.3 is free each by its sum alone.
//
// A demand of at most a device is a share of one; a larger one is whole devices.
// Over-commit stretches each device.
//
// Several kinds may come in devices, such as GPUs and network cards. All devices of
// a node have a place each in one row of MaxDevices. The kinds have equal parts of
// it, one after the other, so that the places of one kind do not move when a node
// gets more devices of another.

// DeviceSet names devices of one node, a bit for each place.
type DeviceSet uint64

// MaxDevices is how many devices a node may have, of all kinds together.
const MaxDevices = 64

// Count is how many devices the set names.
func (d DeviceSet) Count() int { return bits.OnesCount64(uint64(d)) }

// Has reports whether the set names the device.
func (d DeviceSet) Has(device int) bool { return d>>device&1 != 0 }

// DeviceKind is a kind that comes in devices, and which places are theirs.
type DeviceKind struct {
	Kind  int   // of the cluster's kinds
	Size  int64 // of a device
	First int   // place
	Most  int   // how many a node may have
}

// DeviceKinds are those of the kinds that come in devices, in their order.
func DeviceKinds(kinds []Kind) []DeviceKind {
	var list []DeviceKind
	for k := range kinds {
		if kinds[k].Devices {
			list = append(list, DeviceKind{Kind: k, Size: kinds[k].PerUnit})
		}
	}
	for i := range list {
		list[i].First = MaxDevices * i / len(list)
		list[i].Most = MaxDevices*(i+1)/len(list) - list[i].First
	}
	return list
}

// Places are those of the kind's devices.
func (k DeviceKind) Places() DeviceSet { return (1<<k.Most - 1) << k.First }

// Count is how many devices a capacity is.
func (k DeviceKind) Count(capacity Vector) int { return int(capacity[k.Kind] / k.Size) }

// Need is a quantity of the kind in devices; its Count is 0 if it is nothing.
func (k DeviceKind) Need(q int64) DeviceNeed {
	need := DeviceNeed{Kind: k.Kind, Places: k.Places(), Count: int(min(q, 1)), Share: q}
	if q > k.Size {
		need.Count, need.Share = int(q/k.Size), k.Size
	}
	return need
}

// DeviceNeed is what a demand asks for: Share of each of Count devices, which are of a
// kind and have some of its Places.
type DeviceNeed struct {
	Kind   int
	Places DeviceSet
	Count  int
	Share  int64
}

// Pick chooses devices of which so much is left each, by place: the fullest that
// suffice, and of equal ones the first. It returns false if there are not enough.
func (d DeviceNeed) Pick(left []int64) (DeviceSet, bool) {
	var set DeviceSet
	for range d.Count {
		best := -1
		for i, q := range left {
			if q >= d.Share && d.Places.Has(i) && !set.Has(i) && (best < 0 || q < left[best]) {
				best = i
			}
		}
		if best < 0 {
			return 0, false
		}
		set |= 1 << best
	}
	return set, true
}

// DeviceNeeds are what a demand asks of devices: one need for each kind that it asks for.
type DeviceNeeds []DeviceNeed

// NeedsOf is what a demand asks of these kinds; nil if nothing.
func NeedsOf(kinds []DeviceKind, demand Vector) DeviceNeeds {
	var needs DeviceNeeds
	for _, k := range kinds {
		if need := k.Need(demand[k.Kind]); need.Count > 0 {
			needs = append(needs, need)
		}
	}
	return needs
}

// Pick is DeviceNeed.Pick for each kind.
func (d DeviceNeeds) Pick(left []int64) (DeviceSet, bool) {
	var set DeviceSet
	for i := range d {
		some, enough := d[i].Pick(left)
		if !enough {
			return 0, false
		}
		set |= some
	}
	return set, true
}

// Refuse says of which kind too few devices have their share left, of so much each, by
// place.
func (d DeviceNeeds) Refuse(left []int64) Refusal {
	for i := range d {
		have := 0
		for place, q := range left {
			if q >= d[i].Share && d[i].Places.Has(place) {
				have++
			}
		}
		if have < d[i].Count {
			return Refusal{Code: NoDevice, Kind: d[i].Kind, Need: int64(d[i].Count), Have: int64(have)}
		}
	}
	return Refusal{}
}

// On goes through the devices of the set with the share of each.
func (d DeviceNeeds) On(set DeviceSet) iter.Seq2[int, int64] {
	return func(yield func(int, int64) bool) {
		for i := range d {
			for rest := set & d[i].Places; rest != 0; rest &= rest - 1 {
				if !yield(bits.TrailingZeros64(uint64(rest)), d[i].Share) {
					return
				}
			}
		}
	}
}

// Give adds sign times the share to what is left of each device of the set, of those that
// are listed: a task may hold devices that its node has lost.
func (d DeviceNeeds) Give(left []int64, set DeviceSet, sign int64) {
	for i, share := range d.On(set) {
		if i < len(left) {
			left[i] += sign * share
		}
	}
}

// Device is how much of a device is taken. A place may have none: the node has fewer, or
// has lost it while tasks hold it. Nothing fits there.
type Device struct {
	Limit   int64 // up to where it is filled; 0 where there is none
	Used    int64 // by everything that takes room on it
	Leaving int64 // the part of Used that was told to leave
}

// Left is what is left of the device beside all that takes room on it; below 0 where it
// holds more than its limit.
func (d Device) Left() int64 { return d.Limit - d.Used }

// WhenEmpty is what would be left of the device if nobody held any of it.
func (d Device) WhenEmpty() int64 { return d.Limit }

// LeftLater is Left once what is leaving has left.
func (d Device) LeftLater() int64 { return d.Limit - d.Used + d.Leaving }

// DeviceKinds are the kinds that come in devices.
func (v *View) DeviceKinds() []DeviceKind { return v.devices }

// DeviceNeeds are what the shape asks of devices; nil if nothing.
func (v *View) DeviceNeeds(id ShapeID) DeviceNeeds { return v.shape[id].needs }

// Devices are the devices of the node, by place. They are valid until the next change.
func (v *View) Devices(n NodeID) []Device { return v.node[n].device }

// FreeDevices appends what is left of each device of the kind that the node has. Of one
// that holds more than its limit nothing is left.
func (v *View) FreeDevices(n NodeID, kind DeviceKind, list []int64) []int64 {
	count := kind.Count(v.Capacity(n))
	if count == 0 {
		return list // places behind those of the node's last device are not kept
	}
	for _, d := range v.Devices(n)[kind.First:][:count] {
		list = append(list, max(d.Left(), 0))
	}
	return list
}

// PickDevices chooses devices for the needs: of each kind the fullest that suffice, and
// of equal ones the first. It counts on what is leaving only where there are not
// enough without. It returns false if there are not enough even so.
func (v *View) PickDevices(n NodeID, needs DeviceNeeds) (DeviceSet, bool) {
	if len(needs) == 0 {
		return 0, true
	}
	var set DeviceSet
	var now, later [MaxDevices]int64
	count := v.measureDevices(n, Device.Left, &now)
	v.measureDevices(n, Device.LeftLater, &later)
	for _, need := range needs {
		some, enough := need.Pick(now[:count])
		if !enough {
			some, enough = need.Pick(later[:count])
		}
		if !enough {
			return 0, false
		}
		set |= some
	}
	return set, true
}

// measureDevices fills in something of each of the node's devices, and returns how many
// places they take.
func (v *View) measureDevices(n NodeID, what func(Device) int64, left *[MaxDevices]int64) int {
	for i, d := range v.Devices(n) {
		left[i] = what(d)
	}
	return len(v.Devices(n))
}

// RefuseDevices says of which kind the node has too few devices for the shape, by what
// counts as left of each: Left, LeftLater or WhenEmpty.
func (v *View) RefuseDevices(id ShapeID, n NodeID, what func(Device) int64) Refusal {
	if len(v.shape[id].needs) == 0 {
		return Refusal{}
	}
	return refuseDevices(v, id, n, what)
}

// refuseDevices is RefuseDevices for a shape that asks for devices; apart, so that asking for
// one that does not, as most, costs no call.
func refuseDevices(v *View, id ShapeID, n NodeID, what func(Device) int64) Refusal {
	var left [MaxDevices]int64
	count := v.measureDevices(n, what, &left)
	return v.shape[id].needs.Refuse(left[:count])
}

// anyDevices chooses devices for a run that is there, whether it fits or not.
func (s *State) anyDevices(n NodeID, kind DeviceKind, need DeviceNeed) DeviceSet {
	if set, ok := s.PickDevices(n, DeviceNeeds{need}); ok {
		return set
	}
	var set DeviceSet
	count := kind.Count(s.Capacity(n))
	devices := s.Devices(n)
	for range min(need.Count, count) {
		best := -1
		for i := kind.First; i < kind.First+count; i++ {
			if !set.Has(i) && (best < 0 || devices[i].Used < devices[best].Used) {
				best = i
			}
		}
		set |= 1 << best
	}
	return set
}

// foundDevices are the devices of a run that is there: of each kind those that the world
// names, even if the node has lost them since, or any where it names none.
func (s *State) foundDevices(id ShapeID, n NodeID, named DeviceSet) DeviceSet {
	var found DeviceSet
	for _, k := range s.devices {
		need, set := k.Need(s.shape[id].Demand[k.Kind]), named&k.Places()
		if set.Count() != need.Count {
			set = s.anyDevices(n, k, need)
		}
		found |= set
	}
	s.node[n].device = grown(s.node[n].device, bits.Len64(uint64(found))-1)
	return found
}

// chooseDevices are the devices that a run of the shape is to have: of each kind those
// that the set names, or those of PickDevices where it names none. It says why the run
// cannot have them; it may count on what is leaving.
func (s *State) chooseDevices(id ShapeID, n NodeID, named DeviceSet) (DeviceSet, Refusal) {
	if named == 0 {
		set, _ := s.PickDevices(n, s.shape[id].needs) // there are enough, as Admits says
		return set, Refusal{}
	}
	var chosen DeviceSet
	for _, k := range s.devices {
		need, set := k.Need(s.shape[id].Demand[k.Kind]), named&k.Places()
		if set == 0 {
			set, _ = s.PickDevices(n, DeviceNeeds{need})
		}
		refusal := Refusal{Code: NoDevice, Kind: k.Kind, Need: int64(need.Count)}
		if set.Count() != need.Count {
			return 0, refusal
		}
		for i, d := range s.Devices(n) {
			if set.Has(i) && d.LeftLater() >= need.Share {
				refusal.Have++
			}
		}
		if refusal.Have < refusal.Need {
			return 0, refusal
		}
		chosen |= set
	}
	if chosen&named != named {
		return 0, Refusal{Code: NoDevice} // no kind comes in devices
	}
	return chosen, Refusal{}
}

// fillDevices says up to where each device of the node is filled, and lets the limits of
// the vector be as much for each. Tasks may still hold devices that the node has lost.
func (s *State) fillDevices(n NodeID) {
	for i := range s.node[n].device {
		s.node[n].device[i].Limit = 0
	}
	for _, k := range s.devices {
		count := k.Count(s.Capacity(n))
		if count == 0 {
			continue
		}
		limit := s.Limit(n)
		limit[k.Kind] -= limit[k.Kind] % int64(count)
		s.node[n].device = grown(s.node[n].device, k.First+count-1)
		for i := range count {
			s.node[n].device[k.First+i].Limit = limit[k.Kind] / int64(count)
		}
	}
}

// holdDevices adds sign times the share to each device of the room.
func (s *State) holdDevices(n NodeID, r room, sign int64) {
	for i, share := range s.held(r) {
		s.node[n].device[i].Used += sign * share
	}
}

// leaveDevices adds sign times the share to what is leaving each device.
func (s *State) leaveDevices(n NodeID, r room, sign int64) {
	for i, share := range s.held(r) {
		s.node[n].device[i].Leaving += sign * share
	}
}

// held goes through the devices of the room with what it takes of each.
func (v *View) held(r room) iter.Seq2[int, int64] {
	return func(yield func(int, int64) bool) {
		for rest := r.devices; rest != 0; rest &= rest - 1 {
			i := bits.TrailingZeros64(uint64(rest))
			at := slices.IndexFunc(v.devices, func(k DeviceKind) bool { return k.Places().Has(i) })
			if !yield(i, v.devices[at].Need(r.demand[v.devices[at].Kind]).Share) {
				return
			}
		}
	}
}

// devicesNow reports whether each device of the set has the share left beside
// all that takes room.
func (s *State) devicesNow(id ShapeID, n NodeID, set DeviceSet) bool {
	for i, share := range s.shape[id].needs.On(set) {
		if s.node[n].device[i].Left() < share {
			return false
		}
	}
	return true
}

// DeviceOver finds the first device of the node that holds more than its limit, or
// that is held although the node has lost it. It returns false if there is none.
func (v *View) DeviceOver(n NodeID) (place int, over bool) {
	for i, d := range v.node[n].device {
		if d.Used > d.Limit {
			return i, true
		}
	}
	return 0, false
}

// devicesFeasible reports whether what a reserved task holds of its devices, and
// others have yet to leave, will be its own.
func (s *State) devicesFeasible(n NodeID, set DeviceSet) bool {
	for i, d := range s.node[n].device {
		if set.Has(i) && d.LeftLater() < 0 {
			return false
		}
	}
	return true
}

// devicesStand reports whether the task's devices have its share left beside
// what is physically there, which is all but what is reserved.
func (s *State) devicesStand(t TaskID, n NodeID) bool {
	task := &s.task[t]
	for i, share := range s.shape[task.Shape].needs.On(task.Devices) {
		standing := s.node[n].device[i].Used
		for _, other := range s.node[n].tasks {
			o := &s.task[other]
			if o.Node == n && o.Phase != Reserved {
				continue
			}
			for _, q := range s.shape[o.Shape].needs.On(o.heldOn(n) & (1 << i)) {
				standing -= q
			}
		}
		if standing+share > s.node[n].device[i].Limit {
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
