package mcmftest

import (
	"math/rand/v2"

	"fairlead.dev/fairlead/mcmf"
)

// Oddity is a small network with all that is unusual: negative costs and cycles
// of them, arcs without capacity, parallel arcs, loops, nodes without arcs, lower
// bounds (some negative), curves, holes where something was removed, supplies
// that no flow meets, and rarely bounds that cross or supplies that do not sum to
// zero. About half have a solution.
func Oddity(r *rand.Rand) *mcmf.Graph {
	o := oddity{r: r, g: mcmf.NewGraph(0, 0), negative: r.IntN(2) == 0, lower: r.IntN(4) == 0, curved: r.IntN(4) == 0, most: 1 + int64(r.IntN(20))}
	nodes := 1 + r.IntN(10)
	for range nodes {
		o.g.AddNode(0)
	}
	for range r.IntN(1 + 4*nodes) {
		o.addArc()
	}
	for range r.IntN(1 + nodes) {
		o.moveSupply()
	}
	if r.IntN(4) == 0 {
		o.punch()
	}
	if r.IntN(50) == 0 {
		v := o.someNode()
		o.g.SetSupply(v, o.g.Supply(v)+1)
	}
	if r.IntN(50) == 0 {
		o.g.AddArc(o.someNode(), o.someNode(), 3, 2, 1)
	}
	return o.g
}

// Large is a network like Oddity, but with so many nodes, and with a dear arc
// from each source to each sink's side, over one node, so that it surely has a
// solution.
func Large(r *rand.Rand, nodes, arcs int) *mcmf.Graph {
	o := oddity{r: r, g: mcmf.NewGraph(nodes+1, arcs+nodes), negative: r.IntN(2) == 0, curved: r.IntN(4) == 0, most: 1 + int64(r.IntN(50))}
	for range nodes {
		o.g.AddNode(0)
	}
	for range arcs {
		o.addArc()
	}
	for range nodes {
		o.moveSupply()
	}
	o.bypass()
	return o.g
}

// oddity is a network that is being made, and changed.
type oddity struct {
	r                       *rand.Rand
	g                       *mcmf.Graph
	negative, lower, curved bool
	most                    int64 // of a cost, and of a capacity
}

func (o *oddity) someNode() mcmf.Node {
	for {
		if v := mcmf.Node(o.r.IntN(int(o.g.NodeBound()))); o.g.HasNode(v) {
			return v
		}
	}
}

// someArc is None where there are hardly any.
func (o *oddity) someArc() mcmf.Arc {
	if o.g.ArcBound() == 0 {
		return mcmf.None
	}
	for range 20 {
		if a := mcmf.Arc(o.r.IntN(int(o.g.ArcBound()))); o.g.HasArc(a) {
			return a
		}
	}
	return mcmf.None
}

func (o *oddity) cost() int64 {
	if o.negative && o.r.IntN(3) == 0 {
		return -o.r.Int64N(o.most + 1)
	}
	return o.r.Int64N(o.most + 1)
}

// numbers are those of an arc.
func (o *oddity) numbers() (lower, capacity, cost int64) {
	capacity = o.r.Int64N(o.most + 1)
	if o.lower && o.r.IntN(3) == 0 {
		lower = o.r.Int64N(capacity+1) - o.r.Int64N(3)
	}
	return lower, capacity, o.cost()
}

func (o *oddity) addArc() mcmf.Arc {
	from, to := o.someNode(), o.someNode()
	if from == to && o.r.IntN(3) > 0 {
		to = o.someNode()
	}
	lower, capacity, cost := o.numbers()
	if o.curved && o.r.IntN(3) == 0 {
		return o.g.AddCurve(from, to, lower, o.curve(capacity, cost))
	}
	return o.g.AddArc(from, to, lower, capacity, cost)
}

// curve has a capacity in all, and begins with a cost.
func (o *oddity) curve(capacity, cost int64) []mcmf.Step {
	var steps []mcmf.Step
	for capacity > 0 && len(steps) < 4 {
		units := o.r.Int64N(capacity + 1)
		steps = append(steps, mcmf.Step{Capacity: units, Cost: cost})
		capacity -= units
		cost += o.r.Int64N(o.most/4 + 2)
	}
	return append(steps, mcmf.Step{Capacity: capacity, Cost: cost})
}

// moveSupply makes one node give more, and another take it.
func (o *oddity) moveSupply() {
	from, to := o.someNode(), o.someNode()
	units := 1 + o.r.Int64N(o.most/2+1)
	o.g.SetSupply(from, o.g.Supply(from)+units)
	o.g.SetSupply(to, o.g.Supply(to)-units)
}

// punch removes some arcs and a node, but not the last one.
func (o *oddity) punch() {
	for range 3 {
		if a := o.someArc(); a != mcmf.None {
			o.g.RemoveArc(a)
		}
	}
	v, heir := o.someNode(), o.someNode()
	if v != heir {
		o.g.SetSupply(heir, o.g.Supply(heir)+o.g.Supply(v))
		o.g.RemoveNode(v)
	}
}

// bypass adds a node over which all supply can go, at a high cost.
func (o *oddity) bypass() {
	const plenty, dear = 1 << 30, 1 << 20
	nodes := o.g.NodeBound()
	hub := o.g.AddNode(0)
	for v := range nodes {
		switch supply := o.g.Supply(v); {
		case supply > 0:
			o.g.AddArc(v, hub, 0, plenty, dear)
		case supply < 0:
			o.g.AddArc(hub, v, 0, plenty, dear)
		}
	}
}

// Extreme is a small network of numbers up to the limits of int64, in which
// arithmetic that is not careful overflows.
func Extreme(r *rand.Rand) *mcmf.Graph {
	g := mcmf.NewGraph(0, 0)
	// Cheap ways beside dear ones, so that the least cost fits though sums on the
	// way to it do not.
	greatCosts, greatUnits, shift := r.IntN(3) > 0, r.IntN(3) > 0, 1+r.IntN(20)
	number := func(great bool) int64 {
		if !great || r.IntN(3) == 0 {
			return r.Int64N(10)
		}
		return int64(r.Uint64()>>1) >> r.IntN(shift)
	}
	nodes := 2 + r.IntN(6)
	for range nodes {
		g.AddNode(0)
	}
	node := func() mcmf.Node { return mcmf.Node(r.IntN(nodes)) }
	for range 1 + r.IntN(4*nodes) {
		capacity := number(greatUnits)
		if r.IntN(3) == 0 {
			capacity = 1<<63 - 1 // no limit, as some would write it
		}
		lower := int64(0)
		if r.IntN(6) == 0 {
			lower = -number(greatUnits)
		}
		cost := number(greatCosts)
		if r.IntN(4) == 0 {
			cost = -cost - int64(r.IntN(2))
		}
		g.AddArc(node(), node(), lower, capacity, cost)
	}
	for range r.IntN(nodes) {
		from, to, units := node(), node(), number(greatUnits)
		if from != to && g.Supply(from) == 0 && g.Supply(to) == 0 {
			g.SetSupply(from, units)
			g.SetSupply(to, -units)
		}
	}
	return g
}
