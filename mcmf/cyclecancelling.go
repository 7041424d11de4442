package mcmf

// Cycle cancelling (Klein 1967; Ahuja, Magnanti, Orlin, Network Flows, section
// 9.6): the slowest and plainest rival, for tests alone. A feasible flow is the
// cheapest when its residual network has no negative cycle. So find any feasible
// flow, by shortest augmenting paths, and then send units around negative cycles
// until there are none. Bellman-Ford finds them, and when there are none leaves
// distances, which are prices with the sign turned. O(n m^2 C U) in all.

// cycleCancelling solves from scratch.
func cycleCancelling(g *Graph, volume int64, m *meter) solution {
	r := newResidual(g, volume)
	n := r.nodes()
	by := make([]int32, n)
	for s := range int32(n) {
		for r.excess[s] > 0 {
			t := r.reach(s, by)
			if t == None {
				return r.infeasible(s)
			}
			r.augmentBy(by, s, t, min(r.excess[s], -r.excess[t]))
			if !m.spend(int64(len(r.links))) {
				return r.solution(g, m.ended, nil)
			}
		}
	}
	dist := make([]int64, n)
	for {
		v := r.relax(dist, by, m)
		if v != None && m.ended != Optimal {
			return r.solution(g, m.ended, nil)
		}
		if v == None {
			break
		}
		// A node that still changed after n rounds hangs on a cycle: n links back
		// is surely on it.
		for range n {
			v = r.tailOf(by[v])
		}
		r.augmentBy(by, v, v, 1<<63-1)
	}
	for v := range dist {
		dist[v] = -dist[v]
	}
	return r.solution(g, Optimal, dist)
}

func (r *residual) tailOf(i int32) int32 { return r.links[r.links[i].mate].head }

// reach finds a deficit from a node, breadth first. by are the links on the way.
func (r *residual) reach(s int32, by []int32) int32 {
	for v := range by {
		by[v] = None
	}
	queue := []int32{s}
	for k := 0; k < len(queue); k++ {
		v := queue[k]
		if r.excess[v] < 0 {
			return v
		}
		for i := r.first[v]; i < r.first[v+1]; i++ {
			if w := r.links[i].head; r.links[i].room > 0 && w != s && by[w] == None {
				by[w] = i
				queue = append(queue, w)
			}
		}
	}
	return None
}

// augmentBy sends at most so many units on the way from s to t, or around the
// cycle where they are the same.
func (r *residual) augmentBy(by []int32, s, t int32, units int64) {
	for v := t; ; {
		units = min(units, r.links[by[v]].room)
		if v = r.tailOf(by[v]); v == s {
			break
		}
	}
	for v := t; ; {
		i := by[v]
		v = r.tailOf(i)
		r.send(v, i, units)
		if v == s {
			break
		}
	}
}

// relax is Bellman-Ford from all nodes at once. It returns a node that hangs on
// a negative cycle, or None. With all distances zero at first, a shortest path has
// fewer links than there are nodes, so there is a cycle if the last round still
// finds a shorter one.
func (r *residual) relax(dist []int64, by []int32, m *meter) int32 {
	for v := range dist {
		dist[v], by[v] = 0, None
	}
	hangs := int32(None)
	for range dist {
		hangs = None
		for v := range int32(len(dist)) {
			for i := r.first[v]; i < r.first[v+1]; i++ {
				l := &r.links[i]
				if l.room > 0 && dist[v]+l.cost < dist[l.head] {
					dist[l.head], by[l.head], hangs = dist[v]+l.cost, i, l.head
				}
			}
		}
		if hangs == None || !m.spend(int64(len(r.links))) {
			break
		}
	}
	return hangs
}
