package mcmftest

import (
	"math/rand/v2"

	"fairlead.dev/fairlead/mcmf"
)

// NETGEN describes networks such as those of Klingman, Napier and Stutz (NETGEN,
// Management Science 20, 1974), on which solvers have been compared ever since:
// chains lead from each source over all pure nodes to some sinks, wide enough for
// all supply, and arcs by chance are added. It is written anew after the paper,
// and draws other numbers: its networks are like NETGEN's, not the same.
type NETGEN struct {
	Nodes, Sources, Sinks, Arcs int
	Supply                      int64
	// Of the sources and sinks, those through which other flow may pass.
	ThroughSources, ThroughSinks int
	LeastCost, MostCost          int64
	// HighCost is the share of arcs of the chains that cost the most, in percent,
	// so that chains are not the solution.
	HighCost int
	// Capacitated is the share of arcs with a capacity, in percent; on others all
	// supply may flow.
	Capacitated                 int
	LeastCapacity, MostCapacity int64
}

// NETGEN8 is the family NETGEN-8 of Király and Kovács (Efficient implementations
// of minimum-cost flow algorithms, 2012): eight arcs a node, the square root of
// the nodes are sources, and as many sinks, of 1,000 units each.
func NETGEN8(nodes int) NETGEN { return netgenFamily(nodes, 8*nodes) }

// NETGENSR is their family NETGEN-SR: the square root of the nodes as many arcs
// a node.
func NETGENSR(nodes int) NETGEN { return netgenFamily(nodes, nodes*root(nodes)) }

func netgenFamily(nodes, arcs int) NETGEN {
	ends := root(nodes)
	return NETGEN{
		Nodes: nodes, Sources: ends, Sinks: ends, Arcs: arcs, Supply: 1000 * int64(ends),
		LeastCost: 1, MostCost: 10_000, HighCost: 30, Capacitated: 100, LeastCapacity: 1, MostCapacity: 1000,
	}
}

// root is the square root, rounded down.
func root(n int) int {
	r := 0
	for (r+1)*(r+1) <= n {
		r++
	}
	return r
}

// New makes a network: sources, pure nodes, sinks. It has a solution.
func (n NETGEN) New(seed uint64) *mcmf.Graph {
	b := netgen{NETGEN: n, r: seeded(seed), g: mcmf.NewGraph(n.Nodes, n.Arcs)}
	for range n.Nodes {
		b.g.AddNode(0)
	}
	supplies := shares(b.r, n.Supply, n.Sources)
	demands := shares(b.r, n.Supply, n.Sinks)
	for i, s := range supplies {
		b.g.SetSupply(mcmf.Node(i), s)
	}
	for i, d := range demands {
		b.g.SetSupply(b.sink(i), -d)
	}
	chains := b.chains()
	at := 0 // the sink that is filled now; all before are full
	for i, left := range supplies {
		chain := chains[i]
		for k := 1; k < len(chain); k++ {
			b.skeleton(chain[k-1], chain[k], supplies[i])
		}
		// The chain's units go to the sinks that have demand left, from any of its
		// nodes: there is room for all of them as far as its end.
		for left > 0 {
			units := min(left, demands[at])
			b.skeleton(chain[b.r.IntN(len(chain))], b.sink(at), units)
			left -= units
			if demands[at] -= units; demands[at] == 0 && at < len(demands)-1 {
				at++
			}
		}
	}
	b.fill()
	return b.g
}

// netgen is a network that is being made.
type netgen struct {
	NETGEN

	r    *rand.Rand
	g    *mcmf.Graph
	arcs int
}

func (b *netgen) sink(i int) mcmf.Node { return mcmf.Node(b.Nodes - b.Sinks + i) }

// chains deals the pure nodes out to the sources, by chance.
func (b *netgen) chains() [][]mcmf.Node {
	chains := make([][]mcmf.Node, b.Sources)
	for i := range chains {
		chains[i] = []mcmf.Node{mcmf.Node(i)}
	}
	pure := b.r.Perm(b.Nodes - b.Sources - b.Sinks)
	for k, v := range pure {
		i := k % b.Sources
		// As in the paper, six of ten are dealt evenly.
		if k*10 >= len(pure)*6 {
			i = b.r.IntN(b.Sources)
		}
		chains[i] = append(chains[i], mcmf.Node(b.Sources+v))
	}
	return chains
}

// skeleton adds an arc of a chain, on which so many units find room.
func (b *netgen) skeleton(from, to mcmf.Node, units int64) {
	cost := b.MostCost
	if b.r.IntN(100) >= b.HighCost {
		cost = between(b.r, b.LeastCost, b.MostCost)
	}
	capacity := b.Supply
	if b.r.IntN(100) < b.Capacitated {
		capacity = max(units, b.LeastCapacity)
	}
	b.arcs++
	b.g.AddArc(from, to, 0, capacity, cost)
}

// fill adds arcs by chance, until there are enough. None leaves a sink or enters
// a source but those through which flow may pass, the last sinks and sources.
func (b *netgen) fill() {
	tails := b.Nodes - b.Sinks
	heads := b.Nodes - b.Sources
	for ; b.arcs < b.Arcs; b.arcs++ {
		from := mcmf.Node(b.r.IntN(tails + b.ThroughSinks))
		if int(from) >= tails {
			from = mcmf.Node(b.Nodes - 1 - (int(from) - tails))
		}
		to := from
		for to == from {
			to = mcmf.Node(b.Nodes - 1 - b.r.IntN(heads+b.ThroughSources))
		}
		capacity := b.Supply
		if b.r.IntN(100) < b.Capacitated {
			capacity = between(b.r, b.LeastCapacity, b.MostCapacity)
		}
		b.g.AddArc(from, to, 0, capacity, between(b.r, b.LeastCost, b.MostCost))
	}
}

// shares cuts a total into so many parts of at least one each, if it suffices.
func shares(r *rand.Rand, total int64, parts int) []int64 {
	s := make([]int64, parts)
	for i := range s {
		if total >= int64(parts) {
			s[i] = 1
		}
	}
	rest := total
	for _, x := range s {
		rest -= x
	}
	even := rest / int64(parts) / 2
	for i := range s {
		s[i] += even
		rest -= even
	}
	for step := max(1, rest/int64(4*parts)); rest > 0; {
		units := min(rest, step)
		s[r.IntN(parts)] += units
		rest -= units
	}
	return s
}

// between is a number from least to most.
func between(r *rand.Rand, least, most int64) int64 { return least + r.Int64N(most-least+1) }
