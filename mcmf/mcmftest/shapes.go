package mcmftest

import (
	"math/rand/v2"

	"fairlead.dev/fairlead/mcmf"
)

// Grid is a network of rows and columns, such as GRIDGEN's: arcs go right, down
// and up with costs and capacities by chance, from a source left of all rows to a
// sink right of them. Ways are long and there are very many alike. Flow is what
// can surely pass.
func Grid(r *rand.Rand, rows, columns int, mostCost, mostCapacity int64) *mcmf.Graph {
	g := mcmf.NewGraph(rows*columns+2, 3*rows*columns+2*rows)
	least := max(1, mostCapacity/2)
	flow := least * int64(rows)
	source, sink := g.AddNode(flow), g.AddNode(-flow)
	first := g.NodeBound()
	at := func(row, column int) mcmf.Node { return first + mcmf.Node(row*columns+column) }
	for range rows * columns {
		g.AddNode(0)
	}
	for row := range rows {
		g.AddArc(source, at(row, 0), 0, flow, 0)
		g.AddArc(at(row, columns-1), sink, 0, flow, 0)
		for column := range columns {
			if column+1 < columns {
				g.AddArc(at(row, column), at(row, column+1), 0, between(r, least, max(least, mostCapacity)), between(r, 1, mostCost))
			}
			if row+1 < rows {
				g.AddArc(at(row, column), at(row+1, column), 0, between(r, 1, mostCapacity), between(r, 1, mostCost))
				g.AddArc(at(row+1, column), at(row, column), 0, between(r, 1, mostCapacity), between(r, 1, mostCost))
			}
		}
	}
	return g
}

// Torus is a grid without edges, such as GOTO's (grid on torus): nodes in a ring,
// arcs to the next ones and to some further on, cheap where they are narrow. It
// is said to be the hardest family for most algorithms.
func Torus(r *rand.Rand, nodes, degree int, mostCost, mostCapacity int64) *mcmf.Graph {
	g := mcmf.NewGraph(nodes, nodes*degree)
	for range nodes {
		g.AddNode(0)
	}
	flow := max(1, mostCapacity/2)
	g.SetSupply(0, flow)
	g.SetSupply(mcmf.Node(nodes-1), -flow)
	for v := range nodes {
		g.AddArc(mcmf.Node(v), mcmf.Node((v+1)%nodes), 0, mostCapacity, mostCost)
		for k := 1; k < degree; k++ {
			step := 1 + r.IntN(max(1, root(nodes)*k))
			share := r.Int64N(100) + 1
			g.AddArc(mcmf.Node(v), mcmf.Node((v+step)%nodes), 0, max(1, mostCapacity*share/400), max(1, mostCost*share/100))
		}
	}
	return g
}

// Assignment is a network of n persons and as many objects, with so many arcs a
// person, one of which surely suits.
func Assignment(r *rand.Rand, n, degree int, mostCost int64) *mcmf.Graph {
	g := mcmf.NewGraph(2*n, n*degree)
	for range n {
		g.AddNode(1)
	}
	for range n {
		g.AddNode(-1)
	}
	surely := r.Perm(n)
	for person := range n {
		g.AddArc(mcmf.Node(person), mcmf.Node(n+surely[person]), 0, 1, between(r, 0, mostCost))
		for range degree - 1 {
			g.AddArc(mcmf.Node(person), mcmf.Node(n+r.IntN(n)), 0, 1, between(r, 0, mostCost))
		}
	}
	return g
}

// PriceWar is n persons who all want the same n-1 objects, which are worth cost
// more than the last one, by far. An auction with small steps raises all prices
// bit by bit until one person gives in; relaxation goes zigzag.
func PriceWar(n int, cost int64) *mcmf.Graph {
	g := mcmf.NewGraph(2*n, n*n)
	for range n {
		g.AddNode(1)
	}
	for range n {
		g.AddNode(-1)
	}
	for person := range n {
		for object := range n {
			price := int64(0)
			if object == n-1 {
				price = cost
			}
			g.AddArc(mcmf.Node(person), mcmf.Node(n+object), 0, 1, price)
		}
	}
	return g
}

// PriceWars is a chain of price wars: the loser of one has to go on to the next,
// so that each ends only after all before it have.
func PriceWars(wars, persons int, cost int64) *mcmf.Graph {
	g := mcmf.NewGraph(wars*(2*persons-1)+1, wars*persons*persons)
	var losers mcmf.Node = mcmf.None
	for range wars {
		exit := g.AddNode(0)
		var objects []mcmf.Node
		for range persons - 1 {
			objects = append(objects, g.AddNode(-1))
		}
		for range persons {
			person := g.AddNode(1)
			for _, object := range objects {
				g.AddArc(person, object, 0, 1, 0)
			}
			g.AddArc(person, exit, 0, 1, cost)
		}
		if losers != mcmf.None {
			// They would displace those of this war, at the same price.
			for _, object := range objects {
				g.AddArc(losers, object, 0, int64(wars), 1)
			}
			g.AddArc(losers, exit, 0, int64(wars), 0)
		}
		losers = exit
	}
	g.AddArc(losers, g.AddNode(-int64(wars)), 0, int64(wars), 0)
	return g
}

// Chain is a path of n nodes from the only source to the only sink, with a dear
// short cut over each node: the longest way that flow can take. What is found
// near the source helps nothing.
func Chain(n int, flow int64) *mcmf.Graph {
	g := mcmf.NewGraph(n, 2*n)
	for range n {
		g.AddNode(0)
	}
	g.SetSupply(0, flow)
	g.SetSupply(mcmf.Node(n-1), g.Supply(mcmf.Node(n-1))-flow)
	for v := 1; v < n; v++ {
		g.AddArc(mcmf.Node(v-1), mcmf.Node(v), 0, flow, 1)
		if v > 1 {
			g.AddArc(mcmf.Node(v-2), mcmf.Node(v), 0, flow, 3)
		}
	}
	return g
}

// Exponential is a network on which successive shortest paths take 2^levels
// paths, after Zadeh (A bad network problem for the simplex method and other
// minimum cost flow algorithms, Mathematical Programming 5, 1973). Around a
// network in which each unit needs a path of its own, dearer than the last, comes
// a new source and a new sink: first all units pass through it as before, then
// the same number again, each over two dear arcs and backward through it.
func Exponential(levels int) *mcmf.Graph {
	g := mcmf.NewGraph(2*levels+2, 4*levels+1)
	source, sink := g.AddNode(0), g.AddNode(0)
	g.AddArc(source, sink, 0, 1, 0)
	flow, dearest := int64(1), int64(0)
	for range levels {
		s, t := g.AddNode(0), g.AddNode(0)
		cost := dearest + 1
		g.AddArc(s, source, 0, flow, 0)
		g.AddArc(sink, t, 0, flow, 0)
		g.AddArc(s, sink, 0, flow, cost)
		g.AddArc(source, t, 0, flow, cost)
		source, sink = s, t
		flow, dearest = 2*flow, 2*cost
	}
	g.SetSupply(source, flow)
	g.SetSupply(sink, -flow)
	return g
}
