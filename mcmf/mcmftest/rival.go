package mcmftest

import "fairlead.dev/fairlead/mcmf"

// The rival is the slowest and plainest way to a least cost that is still of use:
// successive shortest paths by Bellman-Ford on a list of edges. It shares no line
// with package mcmf, and is for small networks of small numbers.
type rival struct {
	edges  []edge // edge i and i^1 are each other's reverse
	excess []int64
	cost   int64
}

type edge struct {
	from, to   mcmf.Node
	room, cost int64
}

// LeastCost is the status and the least cost of a small network.
func LeastCost(g *mcmf.Graph) (mcmf.Status, int64) {
	r := rival{excess: make([]int64, g.NodeBound())}
	sum := int64(0)
	for v := range g.NodeBound() {
		if g.HasNode(v) {
			r.excess[v] = g.Supply(v)
			sum += g.Supply(v)
		}
	}
	for a := range g.ArcBound() {
		if !g.HasArc(a) {
			continue
		}
		if e := g.Arc(a); e.Lower > e.Capacity {
			return mcmf.Infeasible, 0
		}
		r.addArc(g, a)
	}
	if sum != 0 {
		return mcmf.Unbalanced, 0
	}
	for {
		routed, more := r.augment()
		switch {
		case !more:
			return mcmf.Optimal, r.cost
		case !routed:
			return mcmf.Infeasible, 0
		}
	}
}

// addArc makes edges of an arc, one for each step of its curve. What flows by its
// lower bound flows at once; of a negative one, as much as it says.
func (r *rival) addArc(g *mcmf.Graph, a mcmf.Arc) {
	e := g.Arc(a)
	steps := g.Curve(a)
	if steps == nil {
		steps = []mcmf.Step{{Capacity: e.Capacity, Cost: e.Cost}}
	}
	lower := e.Lower
	for i, step := range steps {
		low := min(lower, step.Capacity)
		if i > 0 {
			low = max(low, 0)
		}
		lower -= low
		r.send(e.From, e.To, low, step.Cost)
		room := step.Capacity - low
		// A cost below zero is earned at once, and may be given back.
		if step.Cost < 0 {
			r.send(e.From, e.To, room, step.Cost)
			r.edges = append(r.edges, edge{e.From, e.To, 0, step.Cost}, edge{e.To, e.From, room, -step.Cost})
			continue
		}
		r.edges = append(r.edges, edge{e.From, e.To, room, step.Cost}, edge{e.To, e.From, 0, -step.Cost})
	}
}

func (r *rival) send(from, to mcmf.Node, units, cost int64) {
	r.excess[from] -= units
	r.excess[to] += units
	r.cost += units * cost
}

// augment sends units from any node with excess to the nearest deficit. There is
// more to do while a node has excess, which is hopeless if it finds no way.
func (r *rival) augment() (routed, more bool) {
	const far = 1 << 60
	dist, by := make([]int64, len(r.excess)), make([]int, len(r.excess))
	for v, x := range r.excess {
		dist[v], by[v] = far, -1
		if x > 0 {
			dist[v], more = 0, true
		}
	}
	for changed := true; changed; {
		changed = false
		for i, e := range r.edges {
			if e.room > 0 && dist[e.from] < far && dist[e.from]+e.cost < dist[e.to] {
				dist[e.to], by[e.to], changed = dist[e.from]+e.cost, i, true
			}
		}
	}
	target := -1
	for v, x := range r.excess {
		if x < 0 && dist[v] < far && (target < 0 || dist[v] < dist[target]) {
			target = v
		}
	}
	if target < 0 {
		return false, more
	}
	units, source := -r.excess[target], target
	for by[source] >= 0 {
		units = min(units, r.edges[by[source]].room)
		source = int(r.edges[by[source]].from)
	}
	units = min(units, r.excess[source])
	for v := target; by[v] >= 0; {
		i := by[v]
		r.edges[i].room -= units
		r.edges[i^1].room += units
		r.cost += units * r.edges[i].cost
		v = int(r.edges[i].from)
	}
	r.excess[source] -= units
	r.excess[target] += units
	return true, true
}
