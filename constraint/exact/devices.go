package exact

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/ilp"
)

// This file is which devices of a node those have who come to it: a column for each unit, node
// and device. Who comes is known by the node alone, as units that hold devices are told apart
// by where they run.

// deviceColumn says how many of a unit, or whether a container that is not free, have a share
// of a device.
type deviceColumn struct {
	column, candidate, device int32
	unit, container           int32 // one of them is absent
	need                      cluster.DeviceNeed
}

// addDevices gives those who come to a candidate their devices.
func (b *builder) addDevices() {
	if !slices.ContainsFunc(b.units, func(u unit) bool { return len(b.p.Shapes[u.shape].Needs) > 0 }) {
		return
	}
	for i := range b.nodes {
		if len(b.p.Nodes[b.nodes[i]].Devices) > 0 {
			b.addDevicesOf(int32(i))
		}
	}
}

func (b *builder) addDevicesOf(candidate int32) {
	node, from := b.nodes[candidate], len(b.devices)
	free := b.devicesLeft(candidate, b.stands, func(u, _ int32) int64 { return b.stays(u, candidate) })
	for u := range b.units {
		needs, column := b.p.Shapes[b.units[u].shape].Needs, b.at(int32(u), candidate)
		if len(needs) == 0 || b.most(column) <= b.stays(int32(u), candidate) {
			continue
		}
		for _, need := range needs {
			b.addNeed(deviceColumn{candidate: candidate, unit: int32(u), container: absent, need: need}, free, b.most(column))
			b.add(column, -int64(need.Count))
			b.endRow(0, 0, absent)
		}
	}
	if len(b.devices) == from {
		return
	}
	for c := range b.p.Containers {
		if b.stands(c) != node || b.p.Containers[c].At == node {
			continue
		}
		for _, need := range b.p.Shapes[b.p.Containers[c].Shape].Needs {
			b.addNeed(deviceColumn{candidate: candidate, unit: absent, container: int32(c), need: need}, free, 1)
			b.endRow(float64(need.Count), float64(need.Count), absent)
		}
	}
	for d, most := range free {
		if most > constraint.NoDevice/2 {
			b.fillDevice(candidate, d, b.devices[from:])
			b.atMost(most, absent)
		}
	}
}

// fillDevice begins the row of a device of the candidate: what those take of it who come, and
// those who stay.
func (b *builder) fillDevice(candidate int32, d int, columns []deviceColumn) {
	for _, column := range columns {
		if int(column.device) == d {
			b.add(column.column, column.need.Share)
		}
	}
	for u := range b.units {
		if b.stays(int32(u), candidate) == 0 {
			continue
		}
		for _, share := range b.p.Shapes[b.units[u].shape].Needs.On(b.holds(int32(u)) & (1 << d)) {
			b.add(b.at(int32(u), candidate), share)
		}
	}
}

// holds are the devices that each of the unit has where it runs.
func (m *Model) holds(u int32) cluster.DeviceSet {
	return m.problem.Containers[m.units[u].members[0]].Devices
}

// devicesLeft is what is left of the candidate's devices when so many of each unit have gone from
// it, and others stand where they do.
func (m *Model) devicesLeft(candidate int32, stands func(int) int32, gone func(u, column int32) int64) []int64 {
	node := m.nodes[candidate]
	left := slices.Clone(m.problem.Nodes[node].Devices)
	for c := range m.problem.Containers {
		if held := &m.problem.Containers[c]; held.At == node && m.unitOf[c] == absent && stands(c) != node {
			m.problem.Shapes[held.Shape].Needs.Give(left, held.Devices, 1)
		}
	}
	for u := range m.units {
		if m.stays(int32(u), candidate) > 0 {
			m.problem.Shapes[m.units[u].shape].Needs.Give(left, m.holds(int32(u)), gone(int32(u), m.at(int32(u), candidate)))
		}
	}
	return left
}

// addNeed adds a column for each device that could serve the need of that many, and begins their
// row.
func (b *builder) addNeed(d deviceColumn, free []int64, many int64) {
	for device, left := range free {
		if most := min(left/d.need.Share, many); most > 0 && d.need.Places.Has(device) {
			d.device, d.column = int32(device), b.addColumn(float64(most), 0, ilp.Integer, given)
			b.devices = append(b.devices, d)
			b.add(d.column, 1)
		}
	}
}

// demand is what one who comes to a node asks of its devices.
type demand struct {
	need            cluster.DeviceNeed
	unit, container int32
}

// giveDevices chooses devices for all who come, the largest share first; false if there is no way,
// or none was found.
func (m *Model) giveDevices(a constraint.Assignment, values []float64) bool {
	for from := 0; from < len(m.devices); {
		end := from
		for end < len(m.devices) && m.devices[end].candidate == m.devices[from].candidate {
			end++
		}
		if !m.giveDevicesOf(m.devices[from:end], a, values) {
			return false
		}
		from = end
	}
	return true
}

func (m *Model) giveDevicesOf(columns []deviceColumn, a constraint.Assignment, values []float64) bool {
	candidate, node := columns[0].candidate, m.nodes[columns[0].candidate]
	var demands []demand
	for c := range m.problem.Containers {
		if a[c] != node || m.problem.Containers[c].At == node {
			continue
		}
		for _, need := range m.problem.Shapes[m.problem.Containers[c].Shape].Needs {
			d := demand{need, m.unitOf[c], absent}
			if d.unit == absent {
				d.container = int32(c)
			}
			demands = append(demands, d)
		}
	}
	slices.SortStableFunc(demands, func(x, y demand) int {
		return cmp.Or(cmp.Compare(y.need.Share, x.need.Share), cmp.Compare(y.need.Count, x.need.Count))
	})
	left := m.devicesLeft(candidate, func(c int) int32 { return a[c] }, func(u, column int32) int64 {
		return m.stays(u, candidate) - int64(values[column])
	})
	g := giver{columns: columns, values: values, left: left, tries: mostTries}
	return g.give(demands, 0, 0)
}

// mostTries is after how many choices of devices it is given up.
const mostTries = 100_000

// giver tries devices until all demands have theirs.
type giver struct {
	columns []deviceColumn
	values  []float64
	left    []int64
	tries   int
}

// give gives the first demand, which has so many, more devices from one on, and then the others theirs.
func (g *giver) give(demands []demand, has int, from int32) bool {
	if len(demands) == 0 {
		return true
	}
	d := demands[0]
	if has == d.need.Count {
		return g.give(demands[1:], 0, 0)
	}
	for _, c := range g.columns {
		if c.unit != d.unit || c.container != d.container || c.need.Kind != d.need.Kind || c.device < from || g.left[c.device] < d.need.Share {
			continue
		}
		if g.tries--; g.tries < 0 {
			return false
		}
		g.left[c.device] -= d.need.Share
		g.values[c.column]++
		if g.give(demands, has+1, c.device+1) {
			return true
		}
		g.left[c.device] += d.need.Share
		g.values[c.column]--
	}
	return false
}
