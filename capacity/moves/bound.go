package moves

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file proves how many nodes must stay on, whatever is moved: the number of nodes whose limits add up to what
// tasks take, as a linear program. For any prices of the kinds, at least 0, it is
//
//	Σ price × demand − Σ over nodes max(0, price × limit − 1)
//
// or more (weak duality): a node that is on costs 1 and can hold no more than what its limit is worth. Prices of one kind
// alone count the largest nodes of that kind; ascent by subgradients finds prices of several. Nodes with a task that stays
// count as on whatever comes. The same is asked of each eligibility set by itself, of the tasks that may be there alone; sets
// that have no node in common add up.

// mostSets is of how many eligibility sets the bound is asked.
const mostSets = 256

// fewest is how many nodes must stay on.
func fewest(m *mover) int {
	all := fleet{kinds: len(m.view.Kinds())}
	groups := m.eligible(&all)
	limits := make([]cluster.Vector, m.view.NodeRows())
	on := make([]bool, m.view.NodeRows())
	each(m.view, func(n cluster.NodeID) {
		limits[n], on[n] = m.holdable(n)
		all.offer(limits[n], on[n])
	})
	for _, g := range groups {
		within := fleet{kinds: all.kinds}
		for _, o := range groups {
			if o.isIn(g) {
				within.need(o.demand)
			}
		}
		each(m.view, func(n cluster.NodeID) {
			if g.has(n) {
				within.offer(limits[n], on[n])
			}
		})
		g.most = within.fewest()
	}
	slices.SortStableFunc(groups, func(a, b *eligible) int { return cmp.Compare(b.most, a.most) })
	sum, counted := 0, &eligible{nodes: make([]uint64, (len(on)+63)/64)}
	for _, g := range groups {
		if !counted.meets(g) {
			sum += g.most
			counted.add(g)
		}
	}
	for n := range on { // whoever stays on beside these sets
		if on[n] && !counted.has(cluster.NodeID(n)) {
			sum++
		}
	}
	return max(all.fewest(), sum, m.apart())
}

// eligible is a set of nodes, and what tasks demand that may be on no others.
type eligible struct {
	nodes  []uint64 // a bit for each
	tasks  int
	demand cluster.Vector
	most   int // how many of the nodes must stay on for the tasks of it and of the sets in it
}

func (e *eligible) has(n cluster.NodeID) bool { return e.nodes[n/64]>>(n%64)&1 != 0 }

func (e *eligible) isIn(o *eligible) bool {
	for i, bits := range e.nodes {
		if bits&^o.nodes[i] != 0 {
			return false
		}
	}
	return true
}

func (e *eligible) meets(o *eligible) bool {
	for i, bits := range e.nodes {
		if bits&o.nodes[i] != 0 {
			return true
		}
	}
	return false
}

func (e *eligible) add(o *eligible) {
	for i := range e.nodes {
		e.nodes[i] |= o.nodes[i]
	}
}

// eligible are the sets of nodes to which tasks are bound, those with the same nodes as one, and those first that have the most
// tasks. It adds what all tasks demand to the fleet.
func (m *mover) eligible(all *fleet) []*eligible {
	bySet, byNodes := map[cluster.SetID]*eligible{}, map[string]*eligible{}
	var groups []*eligible
	of := func(id cluster.SetID) *eligible {
		if g := bySet[id]; g != nil {
			return g
		}
		g := &eligible{nodes: make([]uint64, (m.view.NodeRows()+63)/64), demand: make(cluster.Vector, all.kinds)}
		each(m.view, func(n cluster.NodeID) {
			if m.view.Eligible(id, n) {
				g.nodes[n/64] |= 1 << (n % 64)
			}
		})
		key := fmt.Sprint(g.nodes)
		if byNodes[key] == nil {
			byNodes[key] = g
			groups = append(groups, g)
		}
		bySet[id] = byNodes[key]
		return bySet[id]
	}
	each(m.view, func(n cluster.NodeID) {
		for _, t := range m.view.TasksOn(n) {
			if m.may[t] == Go {
				continue
			}
			demand := m.view.Demand(t)
			all.need(demand)
			id := m.view.Shape(m.view.Task(t).Shape).Eligible
			if id == cluster.AllNodes || !m.view.Eligible(id, n) { // who is where he may not be is bound to nothing
				continue
			}
			g := of(id)
			g.tasks++
			for k, q := range demand {
				g.demand[k] += q
			}
		}
	})
	slices.SortStableFunc(groups, func(a, b *eligible) int { return cmp.Compare(b.tasks, a.tasks) })
	return groups[:min(len(groups), mostSets)]
}

// holdable is what the node can hold of tasks that count, as it stands or after moves, and whether it stays on.
func (m *mover) holdable(n cluster.NodeID) (cluster.Vector, bool) {
	limit, own, on := slices.Clone(m.view.Limit(n)), make(cluster.Vector, len(m.view.Kinds())), false
	for _, t := range m.view.TasksOn(n) {
		if m.may[t] == Go {
			for k, q := range m.view.Demand(t) {
				own[k] += q
			}
		}
		on = on || m.may[t] == Stay
	}
	for k := range limit {
		limit[k] = max(limit[k], m.view.Used(n)[k]) - own[k]
	}
	return limit, on
}

// apart is how many nodes the job needs that needs the most because of its limit per node.
func (m *mover) apart() int {
	jobs := m.view.JobRows()
	count, here, limit := make([]int, jobs), make([]int, jobs), make([]int, jobs)
	each(m.view, func(n cluster.NodeID) {
		for _, t := range m.view.TasksOn(n) {
			task := m.view.Task(t)
			if per := int(m.view.Shape(task.Shape).PerNode); per > 0 && m.may[t] != Go {
				count[task.Job]++
				here[task.Job]++
				limit[task.Job] = max(limit[task.Job], per, here[task.Job]) // a node may hold more already
			}
		}
		for _, t := range m.view.TasksOn(n) {
			here[m.view.Task(t).Job] = 0
		}
	})
	most := 0
	for j, tasks := range count {
		if tasks > 0 {
			most = max(most, (tasks+limit[j]-1)/limit[j])
		}
	}
	return most
}

// fleet is what is asked, and the nodes that offer it, those with the same limits together.
type fleet struct {
	kinds  int
	demand []float64
	count  []float64 // of each sort of node
	limit  []float64 // kinds of each sort
	rows   map[string]int
	on     int // of the nodes, those that stay on whatever comes
	key    []byte
}

func (f *fleet) need(demand cluster.Vector) {
	if f.demand == nil {
		f.demand = make([]float64, f.kinds)
	}
	for k, q := range demand {
		f.demand[k] += float64(q)
	}
}

// offer adds a node. One that stays on takes its part of the demand.
func (f *fleet) offer(limit cluster.Vector, on bool) {
	if on {
		f.on++
		for k, q := range limit {
			f.demand[k] -= float64(q)
		}
		return
	}
	f.key = f.key[:0]
	for _, q := range limit {
		for shift := 0; shift < 64; shift += 8 {
			f.key = append(f.key, byte(q>>shift))
		}
	}
	if f.rows == nil {
		f.rows = map[string]int{}
	}
	row, known := f.rows[string(f.key)]
	if !known {
		row = len(f.count)
		f.rows[string(f.key)] = row
		f.count = append(f.count, 0)
		for _, q := range limit {
			f.limit = append(f.limit, float64(q))
		}
	}
	f.count[row]++
}

// ascents is how often prices are made better.
const ascents = 300

// fewest is the bound.
func (f *fleet) fewest() int {
	bound, _ := f.ascend()
	return bound
}

// ascend is the bound, and the prices of kinds that prove it.
func (f *fleet) ascend() (bound int, prices []float64) {
	if f.demand == nil {
		return f.on, make([]float64, f.kinds)
	}
	scale := make([]float64, f.kinds) // of each kind, the largest limit
	for i, q := range f.limit {
		scale[i%f.kinds] = max(scale[i%f.kinds], q)
	}
	best, price := 0.0, make([]float64, f.kinds)
	from := make([]float64, f.kinds)
	for k := range price {
		if f.demand[k] <= 0 || scale[k] <= 0 {
			continue
		}
		if worth, at := f.alone(k); worth > best {
			best = worth
			clear(from)
			from[k] = at
		}
	}
	copy(price, from)
	slope := make([]float64, f.kinds)
	for step := 1; step <= ascents; step++ {
		if worth := f.worth(price, slope); worth > best {
			best = worth
			copy(from, price)
		}
		length := 0.0
		for k := range slope {
			slope[k] *= scale[k] // as if kinds were measured in their largest limits
			length += float64(slope[k] * slope[k])
		}
		if length == 0 {
			break
		}
		by := 0.3 / (math.Sqrt(float64(step)) * math.Sqrt(length))
		for k := range price {
			if scale[k] > 0 {
				price[k] = max(0, price[k]+float64(by*slope[k])/scale[k])
			}
		}
	}
	return f.on + int(math.Ceil(best-1e-6)), from
}

// alone is the bound by the kind alone, and the price at which it is reached: that of the smallest of the largest nodes that
// suffice.
func (f *fleet) alone(k int) (worth, price float64) {
	price1 := make([]float64, f.kinds)
	for row := range f.count {
		q := f.limit[row*f.kinds+k]
		if q <= 0 {
			continue
		}
		price1[k] = 1 / q
		if w := f.worth(price1, nil); w > worth {
			worth, price = w, price1[k]
		}
	}
	return worth, price
}

// worth is the bound at these prices. The slope, if one is asked for, is how much it gains by each of them.
func (f *fleet) worth(price, slope []float64) float64 {
	sum := 0.0
	for k, p := range price {
		sum += float64(p * f.demand[k])
	}
	if slope != nil {
		copy(slope, f.demand)
	}
	for row, count := range f.count {
		limit, value := f.limit[row*f.kinds:(row+1)*f.kinds], -1.0
		for k, p := range price {
			value += float64(p * limit[k])
		}
		if value <= 0 {
			continue
		}
		sum -= float64(count * value)
		if slope != nil {
			for k := range limit {
				slope[k] -= float64(count * limit[k])
			}
		}
	}
	return sum
}
