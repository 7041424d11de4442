package flow

import (
	"encoding/binary"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow/pack"
	"fairlead.dev/fairlead/sched/book"
)

// contention is who competes for what in a round that is planned by packing.
type contention struct {
	net      *network
	state    *cluster.View // of the current round, as it was when the search for a packing began
	in       pack.Input
	requests []int32 // that take part: task groups of the packer
	nodes    []cluster.NodeID
	listed   []bool // by node row: it is one of these
	pools    map[string]int32
	key      []byte
}

// withPlaces appends those requests to a list that have a place on some node.
func (k *ranking) withPlaces(requests, list []int32) []int32 {
	for _, q := range requests {
		if slices.ContainsFunc(k.requests[q].groups, func(g int32) bool { return len(k.groups[g].chosen)+len(k.groups[g].rest) > 0 }) {
			list = append(list, q)
		}
	}
	return list
}

// gather lists who competes for what.
func (k *contention) gather() {
	s, w := k.state, k.net
	k.requests = w.ranking.withPlaces(w.turn.asking, k.requests[:0])
	for _, n := range k.nodes {
		k.listed[n] = false
	}
	k.nodes = k.nodes[:0]
	k.listed = book.Grown(k.listed, int32(s.NodeRows()-1), false)
	kinds := len(s.Kinds())
	in := &k.in
	*in = pack.Input{Kinds: kinds, Room: in.Room[:0], Demand: in.Demand[:0], Count: in.Count[:0], Price: in.Price[:0], Pool: in.Pool[:0]}
	for _, row := range k.requests {
		q := w.request(row)
		in.Demand = append(in.Demand, s.Shape(q.id.shape).Demand...)
		in.Count = append(in.Count, int32(q.wanted))
		in.Price = append(in.Price, k.dearest(row))
		for _, g := range q.groups {
			for _, list := range [2][]cluster.NodeID{w.ranking.groups[g].chosen, w.ranking.groups[g].rest} {
				for _, n := range list {
					if !k.listed[n] {
						k.listed[n] = true
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
	for _, n := range k.nodes {
		limit, used := s.Limit(n), s.Used(n)
		for kind := range kinds {
			in.Room = append(in.Room, limit[kind]-used[kind])
		}
		in.Pool = append(in.Pool, k.pool(n))
	}
	in.Most = func(group, node int) int {
		return int(min(k.most(group, k.nodes[node]), 1<<20))
	}
}

// most is how many tasks of a task group the node may take, room aside.
func (k *contention) most(group int, n cluster.NodeID) int64 {
	s, q := k.state, k.net.request(k.requests[group])
	id, needs := q.id, s.DeviceNeeds(q.id.shape)
	switch {
	case int(n) >= len(q.offers) || q.offers[n].group < 0:
		return 0 // it is not eligible, or full, or the model does not want it
	case len(needs) > 0 && !s.RoomNow(id.shape, n):
		return 0
	}
	most := deviceSlots(s, n, needs)
	if id.job != noJob {
		most = min(most, max(0, beside(s, id, n)))
	}
	return most
}

// unmet is what the preferences of the task group cost that the node does not meet.
func (k *contention) unmet(group int, n cluster.NodeID) Cost {
	return k.net.answers.unmet(k.state, k.net.request(k.requests[group]).id.shape, n)
}

// pool numbers the nodes that admit the same requests, and meet as much of what these prefer.
func (k *contention) pool(n cluster.NodeID) int32 {
	k.key = k.key[:0]
	for i, row := range k.requests {
		k.key = binary.AppendVarint(k.key, min(k.most(i, n), 1<<20))
		if len(k.state.Shape(k.net.request(row).id.shape).Prefers) > 0 {
			k.key = binary.AppendVarint(k.key, k.unmet(i, n))
		}
	}
	pool, ok := k.pools[string(k.key)]
	if !ok {
		pool = int32(len(k.pools))
		k.pools[string(k.key)] = pool
	}
	return pool
}

// dearest is the highest price that a task of the request pays for waiting.
func (k *contention) dearest(row int32) (most Cost) {
	k.net.supply.waits(row, func(_ *taskGroup, l Step) { most = max(most, l.Cost) })
	return min(most, pack.MaxPrice)
}

// largest is the shape of the largest request that fits in an envelope on a node: by
// its price slots are priced.
func (k *contention) largest(envelope []int64, node int) cluster.ShapeID {
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
			best, most = k.net.request(row).id.shape, size
		}
	}
	return best
}
