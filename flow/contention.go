package flow

import (
	"cmp"
	"encoding/binary"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow/pack"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/sched"
)

// This file plans rounds in which requests of several shapes want more than there
// is. Uniform slots waste room there: the largest request sets their size. So the
// round is planned a second time, from where it began: package pack proposes which
// tasks could stand together on each node, cuts the nodes into slots of these sizes,
// and a flow decides who gets them, at which price. What is left over bids higher,
// a few times. The plan that leaves least waiting, by price, is the one that counts;
// what still fits beside it is placed by uniform slots again.
//
// Only nodes take part that had room for somebody when the round began. In a cluster
// that is full these are the nodes that tasks have left since the last one.

const (
	// mostBids is how often what is left over bids higher.
	mostBids = 6
	// mostPackTicks ends bidding early in very large rounds.
	mostPackTicks = 1 << 22
)

// contention is the memory of such rounds.
type contention struct {
	packer   pack.Packer
	packings [2]pack.Packing
	in       pack.Input
	requests []int32 // that take part: task groups of the packer
	nodes    []cluster.NodeID
	position []int32 // by node row: position in nodes, or -1
	pools    map[string]int32
	key      []byte
	market   market
	goes     []goes // of the best plan
}

// goes is so many tasks of a request on a node.
type goes struct {
	request int32
	node    cluster.NodeID
	units   int64
}

// done is a plan that was made, to come back to: what it did, and what it left
// waiting costs.
type done struct {
	actions []sched.Action
	ends    []int
	left    Cost
}

// couldCompete lists the requests that could have a place when the round begins.
// Contention is when several of them want one, and one does not get it.
func (p *Policy) couldCompete() []int32 {
	w, list := p.net, p.rivals[:0]
	for _, q := range w.asking {
		for _, g := range w.requests[q].groups {
			if len(w.groups[g].chosen)+len(w.groups[g].rest) > 0 {
				list = append(list, q)
				break
			}
		}
	}
	return list
}

// contended reports whether some task waits whose request could have had a place.
func (p *Policy) contended() bool {
	if len(p.rivals) < 2 || !p.net.pinned {
		return false
	}
	return slices.ContainsFunc(p.rivals, func(q int32) bool { return p.net.requests[q].live && p.net.requests[q].wanted > 0 })
}

// left is what all that wait pay for it.
func (w *network) left() (sum Cost) {
	for _, c := range w.active {
		for _, sh := range w.taskGroups[c].shares {
			for _, l := range w.shares[sh].levels {
				sum += min(l.Capacity*l.Cost, unreached-sum)
			}
		}
	}
	return sum
}

// unreached is more than any sum of prices counts as.
const unreached = 1 << 60

// compete plans again what was planned from a bundle on, and keeps the better plan.
func (p *Policy) compete(t *sched.Trial, mark, from int, out *sched.Plan) {
	w := p.net
	uniform := done{left: w.left()}
	for i := from; i < out.Bundles(); i++ {
		uniform.actions = append(uniform.actions, out.Bundle(i)...)
		uniform.ends = append(uniform.ends, len(uniform.actions))
	}
	p.undo(t, mark, from, out)
	if p.packed(t, out) {
		p.spread(t, 0, out)
		w.update(t.View())
		if w.left() < uniform.left {
			return
		}
	}
	p.undo(t, mark, from, out)
	p.redo(t, &uniform, out)
}

// undo takes back all that was planned from a bundle on.
func (p *Policy) undo(t *sched.Trial, mark, from int, out *sched.Plan) {
	var tasks []cluster.TaskID
	for i := from; i < out.Bundles(); i++ {
		for _, a := range out.Bundle(i) {
			tasks = append(tasks, a.Task)
			p.net.note(a.Node)
		}
	}
	t.Rollback(mark)
	out.Cut(from)
	for _, task := range tasks {
		p.net.updateTask(t.View(), task)
	}
	p.net.update(t.View())
}

// redo does again what was undone.
func (p *Policy) redo(t *sched.Trial, d *done, out *sched.Plan) {
	from := 0
	for _, to := range d.ends {
		for _, a := range d.actions[from:to] {
			if t.Try(a).Refused() {
				panic("flow: what was done once is refused the second time")
			}
			out.Add(a)
			p.net.note(a.Node)
			p.net.updateTask(t.View(), a.Task)
		}
		out.Close()
		from = to
	}
	p.net.update(t.View())
}

// packed plans by packing, and reports whether anything came of it.
func (p *Policy) packed(t *sched.Trial, out *sched.Plan) bool {
	s, w, k := t.View(), p.net, &p.contention
	if !k.gather(w, s, p.couldCompete()) {
		return false
	}
	k.packer.Pack(&k.in, &k.packings[0])
	ticks := k.packings[0].Ticks
	best := k.solve(p, s, &k.packings[0])
	k.market.going(&k.goes)
	for range mostBids - 1 {
		if ticks > mostPackTicks || w.stopped() || !k.packer.Repack(&k.packings[1]) {
			break
		}
		ticks += k.packings[1].Ticks
		if cost := k.solve(p, s, &k.packings[1]); cost < best {
			best = cost
			k.market.going(&k.goes)
		}
	}
	p.ticks += ticks
	if w.stopped() {
		return false
	}
	return p.assign(t, k.goes, out)
}

// gather lists who competes for what.
func (k *contention) gather(w *network, s *cluster.View, requests []int32) bool {
	k.requests = append(k.requests[:0], requests...)
	for _, n := range k.nodes {
		k.position[n] = -1
	}
	k.nodes = k.nodes[:0]
	for len(k.position) < s.NodeRows() {
		k.position = append(k.position, -1)
	}
	kinds := len(s.Kinds())
	in := &k.in
	*in = pack.Input{Kinds: kinds, Room: in.Room[:0], Demand: in.Demand[:0], Count: in.Count[:0], Price: in.Price[:0], Pool: in.Pool[:0]}
	for _, row := range k.requests {
		q := &w.requests[row]
		in.Demand = append(in.Demand, s.Shape(q.id.shape).Demand...)
		in.Count = append(in.Count, int32(q.wanted))
		in.Price = append(in.Price, w.dearest(row))
		for _, g := range q.groups {
			for _, list := range [2][]cluster.NodeID{w.groups[g].chosen, w.groups[g].rest} {
				for _, n := range list {
					if k.position[n] < 0 {
						k.position[n] = 0
						k.nodes = append(k.nodes, n)
					}
				}
			}
		}
	}
	slices.Sort(k.nodes)
	if k.pools == nil {
		k.pools = map[string]int32{}
	}
	clear(k.pools)
	for i, n := range k.nodes {
		k.position[n] = int32(i)
		limit, used := s.Limit(n), s.Used(n)
		for kind := range kinds {
			in.Room = append(in.Room, limit[kind]-used[kind])
		}
		in.Pool = append(in.Pool, k.pool(w, s, n))
	}
	in.Most = func(group, node int) int {
		return int(min(k.most(w, s, group, k.nodes[node]), 1<<20))
	}
	return len(k.nodes) > 0
}

// most is how many tasks of a task group the node may take, room aside.
func (k *contention) most(w *network, s *cluster.View, group int, n cluster.NodeID) int64 {
	q := &w.requests[k.requests[group]]
	id := q.id
	switch {
	case int(n) >= len(q.offers) || q.offers[n].group < 0:
		return 0 // it is not eligible, or full, or the model does not want it
	case s.DeviceKind() >= 0 && s.DeviceNeed(id.shape).Count > 0:
		if !s.RoomNow(id.shape, n) {
			return 0
		}
		return 1
	case id.job != noJob:
		return max(0, beside(s, id, n))
	}
	return unlimited
}

// pool numbers the nodes that admit the same requests.
func (k *contention) pool(w *network, s *cluster.View, n cluster.NodeID) int32 {
	k.key = k.key[:0]
	for i := range k.requests {
		k.key = binary.AppendVarint(k.key, min(k.most(w, s, i, n), 1<<20))
	}
	pool, ok := k.pools[string(k.key)]
	if !ok {
		pool = int32(len(k.pools))
		k.pools[string(k.key)] = pool
	}
	return pool
}

// dearest is the highest price that a task of the request pays for waiting.
func (w *network) dearest(row int32) (most Cost) {
	for _, c := range w.active {
		if w.taskGroups[c].request != row {
			continue
		}
		for _, sh := range w.taskGroups[c].shares {
			if l := w.shares[sh].levels; len(l) > 0 {
				most = max(most, l[len(l)-1].Cost)
			}
		}
	}
	return min(most, pack.MaxPrice)
}

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

// solve lets requests have the slots of a packing, and is what that costs.
func (k *contention) solve(p *Policy, s *cluster.View, packing *pack.Packing) Cost {
	w, m := p.net, &k.market
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
				price[lot.ID] = k.largest(w, packing.Envelope(int(lot.ID)), i)
			}
			if port == mcmf.None {
				port = m.graph.AddNode(0)
			}
			units += int64(lot.Count)
			_, curve := w.model.Into(s, price[lot.ID], n)
			m.slots = append(m.slots, way{m.graph.AddArc(types[lot.ID], port, 0, int64(lot.Count), curve.first()), lot.ID, int32(i), n})
		}
		if port == mcmf.None {
			continue
		}
		if w.loaded != nil {
			load, _ := w.load(s, n) // there is no offer of a node whose load is wrong
			m.graph.AddCurve(port, sink, 0, load.upTo(units, nil))
		} else {
			m.graph.AddArc(port, sink, 0, units, 0)
		}
	}
	total := int64(0)
	for i, row := range k.requests {
		q := &w.requests[row]
		source := m.graph.AddNode(q.wanted)
		total += q.wanted
		w.waits(row, func(units int64, cost Cost) { m.graph.AddArc(source, sink, 0, units, cost) })
		demand := k.in.Demand[i*k.in.Kinds : (i+1)*k.in.Kinds]
		for j, v := range types {
			if v == mcmf.None || k.in.Most(i, int(pools[j])) == 0 || !cluster.Vector(demand).Fits(packing.Envelope(j)) {
				continue
			}
			m.ways = append(m.ways, way{m.graph.AddArc(source, v, 0, q.wanted, 0), int32(i), int32(j), cluster.NoNode})
		}
	}
	m.graph.SetSupply(sink, -total)
	m.solver = newSolver(m.graph)
	r := m.solver.Solve(mcmf.Options{Stop: p.options.Stop})
	p.ticks += r.Ticks
	if r.Status != mcmf.Optimal {
		return unreached
	}
	return r.Cost
}

// largest is the shape of the largest request that fits in an envelope on a node: by
// its price slots are priced.
func (k *contention) largest(w *network, envelope []int64, node int) cluster.ShapeID {
	best, most := cluster.ShapeID(0), int64(-1)
	for i, row := range k.requests {
		demand := cluster.Vector(k.in.Demand[i*k.in.Kinds : (i+1)*k.in.Kinds])
		if !demand.Fits(envelope) || k.in.Most(i, node) == 0 {
			continue
		}
		size := int64(0)
		for kind, q := range demand {
			size += cluster.Fraction(q, max(1, envelope[kind]))
		}
		if size > most {
			best, most = w.requests[row].id.shape, size
		}
	}
	return best
}

// waits yields how many tasks of a request pay how much for waiting.
func (w *network) waits(row int32, yield func(units int64, cost Cost)) {
	for _, c := range w.active {
		if w.taskGroups[c].request != row {
			continue
		}
		for _, sh := range w.taskGroups[c].shares {
			for _, l := range w.shares[sh].levels {
				yield(l.Capacity, l.Cost)
			}
		}
	}
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

// assign gives each place to a task of its request, the dearest to leave waiting
// first, and reports whether any was placed.
func (p *Policy) assign(t *sched.Trial, list []goes, out *sched.Plan) bool {
	w, placed := p.net, false
	var line []entry
	last := int32(-1)
	for _, g := range list {
		if g.request != last {
			last, line = g.request, w.line(g.request)
		}
		for range g.units {
			if len(line) == 0 {
				break
			}
			e := line[0]
			line = line[1:]
			taskGroup := w.shares[w.members[e.task].share].taskGroup
			if p.do(t, []move{{task: e.task, taskGroup: taskGroup, from: cluster.NoNode, to: g.node}}, out) {
				placed = true
			}
		}
	}
	w.update(t.View())
	return placed
}

// line is the waiting tasks of a request, the dearest to leave waiting first.
func (w *network) line(row int32) []entry {
	var list []entry
	for _, c := range w.active {
		if w.taskGroups[c].request != row {
			continue
		}
		for _, sh := range w.taskGroups[c].shares {
			for _, e := range w.shares[sh].waiting {
				if w.members[e.task].ticket == e.ticket {
					list = append(list, e)
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b entry) int { return cmp.Or(cmp.Compare(b.wait, a.wait), cmp.Compare(a.seq, b.seq)) })
	return list
}
