package mcmf_test

import (
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/mcmf/mcmftest"
)

// kind is a family of graphs with the algorithm that Automatic is to be for them,
// the fastest by the table in look.go or one that takes hardly longer.
type kind struct {
	name string
	want mcmf.Algorithm
	make func(seed uint64) *mcmf.Graph
}

// scheduling are networks of tasks that end at one sink.
func scheduling() []kind {
	hot := func(machines int, utilisation float64) func(uint64) *mcmf.Graph {
		return func(seed uint64) *mcmf.Graph { return mcmftest.Hot(machines, utilisation).New(seed).Graph }
	}
	even := func(machines int, utilisation float64) func(uint64) *mcmf.Graph {
		return func(seed uint64) *mcmf.Graph { return mcmftest.Uniform(machines, utilisation).New(seed).Graph }
	}
	few := func(machines, tasks int, utilisation float64) func(uint64) *mcmf.Graph {
		return func(seed uint64) *mcmf.Graph {
			return mcmftest.Quincy{Machines: machines, Tasks: tasks, Utilisation: utilisation, Skew: 2, Preferences: 10}.New(seed).Graph
		}
	}
	spread := func(machines, tasks int, parallel bool) func(uint64) *mcmf.Graph {
		return func(seed uint64) *mcmf.Graph {
			return mcmftest.LoadSpread{Machines: machines, Tasks: tasks, Slots: 10, Parallel: parallel}.New(seed).Graph
		}
	}
	dense := func(containers, machines int) func(uint64) *mcmf.Graph {
		return func(seed uint64) *mcmf.Graph {
			return mcmftest.ECSched{Machines: machines, Containers: containers}.New(seed).Graph
		}
	}
	return []kind{
		{"hot50", mcmf.Auction, hot(20, .5)},
		{"hot80", mcmf.Auction, hot(100, .8)},
		{"hot95", mcmf.Auction, hot(400, .95)},
		{"hot105", mcmf.Auction, hot(1250, 1.05)},
		{"hot95 of which a sample is looked at", mcmf.Auction, hot(4000, .95)},
		{"even80", mcmf.Auction, even(20, .8)},
		{"even95", mcmf.Auction, even(400, .95)},
		{"few tasks", mcmf.NetworkSimplex, few(400, 40, .8)},
		{"half a task a machine", mcmf.NetworkSimplex, few(400, 200, 1.05)},
		{"a task a machine", mcmf.NetworkSimplex, few(1000, 1000, 1.05)},
		{"spread", mcmf.Auction, spread(250, 250, false)},
		{"spread over parallel arcs", mcmf.Auction, spread(250, 1000, true)},
		{"nowhere to spread to", mcmf.Auction, func(seed uint64) *mcmf.Graph {
			return mcmftest.LoadSpread{Machines: 250, Tasks: 1000}.New(seed).Graph
		}},
		{"spread, too many tasks", mcmf.Auction, spread(1000, 12_000, false)},
		{"spread, five times too many", mcmf.Auction, spread(100, 5000, false)},
		{"spread, few tasks", mcmf.NetworkSimplex, spread(1000, 100, false)},
		{"ecsched 30 × 50", mcmf.NetworkSimplex, dense(30, 50)},
		{"ecsched 75 × 1,250", mcmf.NetworkSimplex, dense(75, 1250)},
		{"ecsched 100 × 100", mcmf.NetworkSimplex, dense(100, 100)},
		{"ecsched 300 × 500", mcmf.NetworkSimplex, dense(300, 500)},
		{"ecsched 1,000 × 500", mcmf.NetworkSimplex, dense(1000, 500)},
		{"window, one a machine", mcmf.NetworkSimplex, bipartite(100, 100, 100, 1)},
		{"window, two in three find no place", mcmf.NetworkSimplex, bipartite(1500, 500, 10, 1)},
		{"window, hardly room for all", mcmf.NetworkSimplex, bipartite(1000, 300, 30, 3)},
		{"window, plenty of room", mcmf.Auction, bipartite(300, 500, 30, 12)},
		{"window so large that a sample is looked at", mcmf.NetworkSimplex, bipartite(40_000, 8000, 5, 3)},
	}
}

// others are the remaining families.
func others() []kind {
	assignment := func(n, degree int, mostCost int64) func(uint64) *mcmf.Graph {
		return func(seed uint64) *mcmf.Graph { return mcmftest.Assignment(chance(seed), n, degree, mostCost) }
	}
	grid := func(rows, columns int, mostCapacity int64) func(uint64) *mcmf.Graph {
		return func(seed uint64) *mcmf.Graph {
			return mcmftest.Grid(chance(seed), rows, columns, 10_000, mostCapacity)
		}
	}
	goTo := func(n mcmftest.GOTO) func(uint64) *mcmf.Graph { return n.New }
	netgen := func(n mcmftest.NETGEN) func(uint64) *mcmf.Graph { return n.New }
	torus := func(nodes, degree int) func(uint64) *mcmf.Graph {
		return func(seed uint64) *mcmf.Graph {
			return mcmftest.Torus(chance(seed), nodes, degree, 10_000, 1000)
		}
	}
	large := func(nodes, arcs int) func(uint64) *mcmf.Graph {
		return func(seed uint64) *mcmf.Graph { return mcmftest.Large(chance(seed), nodes, arcs) }
	}
	return []kind{
		{"assignment, sparse", mcmf.NetworkSimplex, assignment(1000, 8, 1000)},
		{"assignment, dense", mcmf.NetworkSimplex, assignment(300, 300, 1_000_000)},
		{"transport, sparse", mcmf.NetworkSimplex, transport(300, 300, 4, 1000)},
		{"transport, dense", mcmf.NetworkSimplex, transport(100, 100, 100, 1000)},
		{"transport of one or two", mcmf.NetworkSimplex, transport(700, 300, 20, 2)},
		{"road, one pair", mcmf.NetworkSimplex, road(45, 1)},
		{"road, many pairs", mcmf.NetworkSimplex, road(30, 90)},
		{"NETGEN-8", mcmf.NetworkSimplex, netgen(mcmftest.NETGEN8(1024))},
		{"NETGEN-SR", mcmf.NetworkSimplex, netgen(mcmftest.NETGENSR(2048))},
		{"torus", mcmf.NetworkSimplex, torus(2048, 8)},
		{"large", mcmf.NetworkSimplex, large(1024, 4096)},
		{"grid", mcmf.NetworkSimplex, grid(32, 64, 1000)},
		{"grid, small, full", mcmf.NetworkSimplex, grid(16, 16, 1)},
		{"grid, full", mcmf.CostScaling, grid(16, 128, 1)},
		{"GOTO-8, small", mcmf.NetworkSimplex, goTo(mcmftest.GOTO8(256))},
		{"GOTO-8, 1,024", mcmf.CostScaling, goTo(mcmftest.GOTO8(1024))},
		{"GOTO-8, 4,096", mcmf.CostScaling, goTo(mcmftest.GOTO8(4096))},
		{"GOTO-SR", mcmf.CostScaling, goTo(mcmftest.GOTOSR(2048))},
		{"GOTO of narrow arcs", mcmf.CostScaling, goTo(mcmftest.GOTO{Nodes: 2048, Degree: 6, MostCost: 10_000, MostCapacity: 10})},
		{"chain", mcmf.CostScaling, func(uint64) *mcmf.Graph { return mcmftest.Chain(1024, 100) }},
		{"chain, short", mcmf.NetworkSimplex, func(uint64) *mcmf.Graph { return mcmftest.Chain(100, 100) }},
		{"price war", mcmf.NetworkSimplex, func(uint64) *mcmf.Graph { return mcmftest.PriceWar(100, 1<<20) }},
		{"costs too great for scaling", mcmf.NetworkSimplex, goTo(mcmftest.GOTO{Nodes: 1024, Degree: 8, MostCost: 1 << 45, MostCapacity: 1000})},
		{"empty", mcmf.NetworkSimplex, func(uint64) *mcmf.Graph { return mcmf.NewGraph(0, 0) }},
	}
}

// TestChoice pins what Automatic is, family by family.
func TestChoice(t *testing.T) {
	for _, k := range append(scheduling(), others()...) {
		t.Run(k.name, func(t *testing.T) {
			for seed := range uint64(3) {
				g := k.make(seed + 1)
				if got := mcmf.NewSolver(g).Choice(); got != k.want {
					t.Errorf("seed %d: %s, want %s", seed+1, got, k.want)
				}
			}
		})
	}
}

// bipartite is containers with arcs to so many machines each, of up to so many slots,
// and a dear one to stay unscheduled.
func bipartite(containers, machines, degree int, slots int64) func(seed uint64) *mcmf.Graph {
	return func(seed uint64) *mcmf.Graph {
		const mostCost = 10_000
		r, g := chance(seed), mcmf.NewGraph(containers+machines+2, containers*(degree+1)+machines+1)
		sink, waiting := g.AddNode(-int64(containers)), g.AddNode(0)
		g.AddArc(waiting, sink, 0, int64(containers), 0)
		for range machines {
			g.AddArc(g.AddNode(0), sink, 0, 1+r.Int64N(slots), 0)
		}
		for range containers {
			v := g.AddNode(1)
			g.AddArc(v, waiting, 0, 1, 3*mostCost)
			for k := range degree {
				machine := k
				if degree < machines {
					machine = r.IntN(machines)
				}
				g.AddArc(v, waiting+1+mcmf.Node(machine), 0, 1, r.Int64N(mostCost))
			}
		}
		return g
	}
}

// transport is sources that give up to so many units, each with arcs to so many sinks.
func transport(sources, sinks, degree int, most int64) func(seed uint64) *mcmf.Graph {
	return func(seed uint64) *mcmf.Graph {
		r, g := chance(seed), mcmf.NewGraph(sources+sinks, sources*degree)
		demand := make([]int64, sinks)
		for v := range sources {
			supply := 1 + r.Int64N(most)
			g.AddNode(supply)
			demand[v%sinks] += supply
		}
		for _, units := range demand {
			g.AddNode(-units)
		}
		for v := range sources {
			for k := range degree {
				sink := v % sinks // one that has room for it
				if k > 0 {
					sink = r.IntN(sinks)
				}
				g.AddArc(mcmf.Node(v), mcmf.Node(sources+sink), 0, 1<<30, 1+r.Int64N(1000))
			}
		}
		return g
	}
}

// road is a square of crossings, with streets both ways between neighbours, and
// pairs of which one sends some units to the other.
func road(side, pairs int) func(seed uint64) *mcmf.Graph {
	return func(seed uint64) *mcmf.Graph {
		r, g := chance(seed), mcmf.NewGraph(side*side, 4*side*side)
		for range side * side {
			g.AddNode(0)
		}
		street := func(u, v int) {
			cost := 10 + r.Int64N(10_000)
			g.AddArc(mcmf.Node(u), mcmf.Node(v), 0, 100, cost)
			g.AddArc(mcmf.Node(v), mcmf.Node(u), 0, 100, cost)
		}
		for v := range side * side {
			if (v+1)%side > 0 {
				street(v, v+1)
			}
			if v+side < side*side {
				street(v, v+side)
			}
		}
		for range pairs {
			move(g, r, 1+r.Int64N(10))
		}
		return g
	}
}

// move has a node by chance send units to another.
func move(g *mcmf.Graph, r *rand.Rand, units int64) {
	from, to := mcmf.Node(r.IntN(int(g.NodeBound()))), mcmf.Node(r.IntN(int(g.NodeBound())))
	g.SetSupply(from, g.Supply(from)+units)
	g.SetSupply(to, g.Supply(to)-units)
}
