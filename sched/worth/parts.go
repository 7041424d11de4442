package worth

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// Part is what a price owes to one type.
type Part struct {
	Demand cluster.Vector // what a task of the type asks for
	Price  Price
}

// Parts is the price that Price gives, in parts, the largest first; of equal ones as types are. Each is rounded
// down, so that the sum may be less by as many as there are parts.
func (w *Worth) Parts(s *cluster.View, id cluster.ShapeID, n cluster.NodeID) []Part {
	_, devices := w.Price(s, id, n)
	before, after := w.partsOf(s, n, nil, 0, 0), w.partsOf(s, n, s.Shape(id).Demand, devices, id)
	var list []Part
	for i := range before {
		if price := w.priceOf(s, id, before[i]-min(before[i], after[i])); price > 0 {
			list = append(list, Part{w.table.types[i].demand, price})
		}
	}
	slices.SortStableFunc(list, func(a, b Part) int { return cmp.Compare(b.Price, a.Price) })
	return list
}

// partsOf is by type what the room is worth that a node has left once so much more is taken.
func (w *Worth) partsOf(s *cluster.View, n cluster.NodeID, less cluster.Vector, devices cluster.DeviceSet, id cluster.ShapeID) []uint64 {
	var r room
	w.look(s, n, less, &r)
	if less != nil {
		needs := s.DeviceNeeds(id)
		for i := range needs {
			taken := devices & needs[i].Places
			if needs[i].Count != 1 {
				taken, _ = s.PickDevices(n, needs[i:i+1]) // as Price does
			}
			r.take(taken, needs[i].Share)
		}
	}
	var fits fits
	w.table.fit(&r, &fits)
	list := make([]uint64, len(w.table.types))
	for i := range list {
		list[i] = w.table.worthOf(i, w.admits[n], fits[i])
	}
	return list
}
