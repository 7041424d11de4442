package flow

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow/pack"
	"fairlead.dev/fairlead/mcmf"
)

// market is the network of requests and slots.
type market struct {
	graph   *mcmf.Graph
	solver  solver
	ways    []way // from a request to a type of slots
	slots   []way // from a type to a node
	request []int32
}

// way is an arc with what it leads from and to.
type way struct {
	arc      mcmf.Arc
	from, to int32
	node     cluster.NodeID
}

// open lets those who compete have the slots of a packing, as the solver will say.
func (m *market) open(k *contention, packing *pack.Packing) {
	s, w := k.state, k.net
	m.graph = mcmf.NewGraph(0, 0)
	m.ways, m.slots, m.request = m.ways[:0], m.slots[:0], k.requests
	sink := m.graph.AddNode(0)
	types := make([]mcmf.Node, packing.Types())
	pools := make([]int32, packing.Types())
	price := make([]cluster.ShapeID, packing.Types())
	for i := range types {
		types[i], pools[i] = mcmf.None, -1
	}
	for i, n := range k.nodes {
		port := mcmf.Node(mcmf.None)
		units := int64(0)
		for _, lot := range packing.Slots(i) {
			if types[lot.ID] == mcmf.None {
				types[lot.ID], pools[lot.ID] = m.graph.AddNode(0), int32(i)
				price[lot.ID] = k.largest(packing.Envelope(int(lot.ID)), i)
			}
			if port == mcmf.None {
				port = m.graph.AddNode(0)
			}
			units += int64(lot.Count)
			_, curve := w.answers.model.Into(s, price[lot.ID], n)
			m.slots = append(m.slots, way{m.graph.AddArc(types[lot.ID], port, 0, int64(lot.Count), curve.first()), lot.ID, int32(i), n})
		}
		if port == mcmf.None {
			continue
		}
		if w.answers.loaded != nil {
			load, _ := w.answers.load(s, n) // there is no offer of a node whose load is wrong
			m.graph.AddCurve(port, sink, 0, load.upTo(units, nil))
		} else {
			m.graph.AddArc(port, sink, 0, units, 0)
		}
	}
	total := int64(0)
	for i, row := range k.requests {
		q := w.request(row)
		source := m.graph.AddNode(q.wanted)
		total += q.wanted
		w.supply.waits(row, func(_ *taskGroup, l Step) { m.graph.AddArc(source, sink, 0, l.Capacity, l.Cost) })
		demand := k.in.Demand[i*k.in.Kinds : (i+1)*k.in.Kinds]
		for j, v := range types {
			if v == mcmf.None || k.in.Most(i, int(pools[j])) == 0 || !cluster.Vector(demand).Fits(packing.Envelope(j)) {
				continue
			}
			m.ways = append(m.ways, way{m.graph.AddArc(source, v, 0, q.wanted, k.unmet(i, k.nodes[pools[j]])), int32(i), int32(j), cluster.NoNode})
		}
	}
	m.graph.SetSupply(sink, -total)
	m.solver = newSolver(m.graph)
}

// going lists who goes where by the last solution.
func (m *market) going(list *[]goes) {
	*list = (*list)[:0]
	bySlot := map[int32][]int{}
	for i := range m.slots {
		bySlot[m.slots[i].from] = append(bySlot[m.slots[i].from], i)
	}
	taken := make([]int64, len(m.slots))
	for _, way := range m.ways {
		units := m.solver.Flow(way.arc)
		for _, i := range bySlot[way.to] {
			if units == 0 {
				break
			}
			take := min(units, m.solver.Flow(m.slots[i].arc)-taken[i])
			if take > 0 {
				taken[i] += take
				units -= take
				*list = append(*list, goes{m.request[way.from], m.slots[i].node, take})
			}
		}
	}
}
