package mcmf

// Successive shortest paths: the slow and obvious rival that the others are
// compared with, and a decent solver where few units have far to go.
//
// It keeps prices with which no link with room has a negative reduced cost, so
// that the flow is the cheapest of all that meet the supplies as far as it does
// (Ahuja, Magnanti, Orlin, Network Flows, section 9.7). While a node has excess,
// it sends units from there to the nearest deficit, by reduced cost, and raises
// the prices of the nodes nearer than that by what they are nearer: then links
// on the shortest path have a reduced cost of zero, and none is below.
//
// To begin with, links of negative cost are filled, which makes excess and
// deficits of their ends; that needs no Bellman-Ford and bears negative cycles.
//
// Different from the book: a search starts from one node, ends at the first
// deficit it settles, and changes prices of settled nodes only; so its cost is
// what it looked at, not the size of the network. Each search is O(m log n);
// there are as many as units in the worst case.

// pathSearch is Dijkstra's algorithm from one node after another.
type pathSearch struct {
	r       *residual
	price   []int64
	dist    []int64
	seen    []int32 // number of the search that has set dist and by
	by      []int32 // link that leads to the node on the shortest path so far
	settled []int32
	queue   distanceQueue
	round   int32
}

// successivePaths solves from scratch.
func successivePaths(g *Graph, volume int64, m *meter) solution {
	r := newResidual(g, volume)
	n := r.nodes()
	p := pathSearch{
		r: r, price: make([]int64, n), dist: make([]int64, n),
		seen: make([]int32, n), by: make([]int32, n),
	}
	r.saturate(p.price)
	if !m.spend(int64(len(r.links))) {
		return r.solution(g, m.ended, p.price)
	}
	for s := range int32(n) {
		for r.excess[s] > 0 {
			ticks, target := p.search(s)
			if target == None {
				return r.infeasible(s)
			}
			p.augment(s, target)
			if !m.spend(ticks) {
				return r.solution(g, m.ended, p.price)
			}
		}
	}
	return r.solution(g, Optimal, p.price)
}

// saturate fills every link that has a negative reduced cost.
func (r *residual) saturate(price []int64) {
	for v := range int32(r.nodes()) {
		for i := r.first[v]; i < r.first[v+1]; i++ {
			if l := &r.links[i]; l.room > 0 && l.cost-price[v]+price[l.head] < 0 {
				r.send(v, i, l.room)
			}
		}
	}
}

// search finds the deficit that is nearest to a node, and raises prices so that
// a path there costs nothing.
func (p *pathSearch) search(s int32) (ticks int64, target int32) {
	r := p.r
	p.round++
	p.settled = p.settled[:0]
	p.queue = append(p.queue[:0], distance{node: s})
	p.dist[s], p.seen[s], p.by[s] = 0, p.round, None
	target = None
	for len(p.queue) > 0 {
		next := p.queue.pop()
		v := next.node
		if next.dist > p.dist[v] {
			continue // Since then a shorter way was found, and settled.
		}
		if r.excess[v] < 0 {
			target = v
			break
		}
		p.settled = append(p.settled, v)
		ticks += int64(r.first[v+1] - r.first[v])
		for i := r.first[v]; i < r.first[v+1]; i++ {
			l := &r.links[i]
			if l.room == 0 {
				continue
			}
			w := l.head
			d := next.dist + l.cost - p.price[v] + p.price[w]
			if p.seen[w] == p.round && d >= p.dist[w] {
				continue
			}
			p.dist[w], p.seen[w], p.by[w] = d, p.round, i
			p.queue.push(distance{dist: d, node: w})
		}
	}
	if target != None {
		for _, v := range p.settled {
			p.price[v] += p.dist[target] - p.dist[v]
		}
	}
	return ticks, target
}

// augment sends as much as it can over the path that search has found.
func (p *pathSearch) augment(s, t int32) {
	r := p.r
	units := min(r.excess[s], -r.excess[t])
	for v := t; v != s; v = p.tail(v) {
		units = min(units, r.links[p.by[v]].room)
	}
	for v := t; v != s; {
		u := p.tail(v)
		r.send(u, p.by[v], units)
		v = u
	}
}

func (p *pathSearch) tail(v int32) int32 {
	r := p.r
	return r.links[r.links[p.by[v]].mate].head
}

// distance is a node in a queue, by distance and then by number.
type distance struct {
	dist int64
	node int32
}

func (d distance) before(o distance) bool {
	return d.dist < o.dist || d.dist == o.dist && d.node < o.node
}

// distanceQueue is a binary heap. A node whose distance falls is pushed again.
type distanceQueue []distance

func (q *distanceQueue) push(d distance) {
	h := append(*q, d)
	i := len(h) - 1
	for i > 0 && d.before(h[(i-1)/2]) {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = d
	*q = h
}

func (q *distanceQueue) pop() distance {
	h := *q
	top, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	i := 0
	for 2*i+1 < len(h) {
		child := 2*i + 1
		if child+1 < len(h) && h[child+1].before(h[child]) {
			child++
		}
		if !h[child].before(last) {
			break
		}
		h[i] = h[child]
		i = child
	}
	if len(h) > 0 {
		h[i] = last
	}
	*q = h
	return top
}
