package evict

import "fairlead.dev/fairlead/cluster"

// deficit is what a shape lacks on a node once those have left who are leaving already, and
// those whom a search has let go since. Kinds add up. Devices do not: each has to
// have enough by itself, so what is free is counted device by device.
type deficit struct {
	s     *cluster.View
	lacks []int64 // by kind; of a kind that is not asked for there is always enough
	some  bool    // one of these is above 0
	needs cluster.DeviceNeeds
	free  [cluster.MaxDevices]int64 // of each device
	count int                       // of devices
}

// begin counts what is lacking for so many of the shape while nobody is let go.
func (d *deficit) begin(s *cluster.View, id cluster.ShapeID, n cluster.NodeID, copies int64) {
	demand := s.Shape(id).Demand
	if d.s = s; len(d.lacks) != len(demand) {
		d.lacks = make([]int64, len(demand))
	}
	lacks, limit, used, leaving := d.lacks, s.Limit(n), s.Used(n), s.LeavingDemand(n)
	some := false
	for k, q := range demand {
		lack := q * copies
		if q > 0 {
			lack -= limit[k] - used[k] + leaving[k]
			some = some || lack > 0
		}
		lacks[k] = lack
	}
	d.some = some
	if d.needs = s.DeviceNeeds(id); len(d.needs) > 0 {
		devices := s.Devices(n)
		d.count = len(devices)
		for i, device := range devices {
			d.free[i] = device.LeftLater()
		}
	}
}

// Lacks is what is lacking, kind by kind, where it is above 0. It is valid until the next search.
func (d *deficit) Lacks() []int64 { return d.lacks }

// Met reports whether nothing is lacking.
func (d *deficit) Met() bool { return !d.some && (len(d.needs) == 0 || d.devicesMet()) }

func (d *deficit) devicesMet() bool { return !d.needs.Refuse(d.free[:d.count]).Refused() }

// helps is how much of what is lacking the candidate leaves, in thousandths of each kind.
func (d *deficit) helps(c *Candidate) (parts int64) {
	for k, lack := range d.lacks {
		if lack > 0 && k < len(c.demand) {
			parts += min(c.demand[k], lack) * 1000 / lack
		}
	}
	return parts
}

// take lets candidates go, from the first on until nothing is lacking, and returns how
// many those are. It is false where all are too few.
func (d *deficit) take(list []Candidate) (taken int, ok bool) {
	if len(d.needs) > 0 {
		for ; !d.Met(); taken++ {
			if taken == len(list) {
				return taken, false
			}
			d.leave(&list[taken], 1)
		}
		return taken, true
	}
	lacks, most := d.lacks, int64(0)
	for i := range list {
		demand := list[i].demand[:len(lacks)]
		most = 0
		for k, lack := range lacks {
			lack -= demand[k]
			lacks[k], most = lack, max(most, lack)
		}
		if most <= 0 {
			d.some = false
			return i + 1, true
		}
	}
	d.some = true
	return len(list), false
}

// leave lets a candidate go, or with the sign -1 stay after all.
func (d *deficit) leave(c *Candidate, sign int64) {
	demand, most := c.demand, int64(0)
	lacks := d.lacks[:len(demand)]
	for k, q := range demand {
		lack := lacks[k] - sign*q
		lacks[k], most = lack, max(most, lack)
	}
	d.some = most > 0
	if len(d.needs) > 0 {
		task := d.s.Task(c.Task)
		d.s.DeviceNeeds(task.Shape).Give(d.free[:d.count], task.Devices, sign)
	}
}

// Cover is how much of what is lacking the candidate has, in all kinds together; 0 where it
// has nothing of that.
func (d *deficit) Cover(c *Candidate) int64 {
	const scale = 12 // so that a price times a cover is an int64
	cover := int64(0)
	for k, lack := range d.lacks {
		if lack > 0 {
			cover += min(cluster.Fraction(c.demand[k], lack), 1<<cluster.FractionBits)
		}
	}
	for _, need := range d.needs {
		has := (d.s.Task(c.Task).Devices & need.Places).Count()
		cover += cluster.Fraction(int64(has), int64(max(has, need.Count)))
	}
	if cover > 0 {
		cover = max(1, cover>>scale)
	}
	return cover
}
