package mcmftest

import (
	"math"

	"fairlead.dev/fairlead/mcmf"
)

// GOTO describes networks such as those of Goldberg's generator GOTO (grid on
// torus; Goldberg and Kharitonov, On implementing scaling push-relabel algorithms
// for the minimum-cost flow problem, 1993): few long rows of a grid on a torus,
// cut open. Arcs along a row are dear, and the narrower the farther they lead;
// arcs between rows cost next to nothing. As much is to pass as the arcs that the
// cut goes through can carry, so that all that is near the source and the sink is
// full, and what finds no other way takes a path that visits every node. It is
// among the hardest families for most algorithms. The generator is written anew
// after its structure, and draws other numbers: its networks are like GOTO's, not
// the same.
type GOTO struct {
	// Nodes are rounded down to a whole grid.
	Nodes int
	// Degree is how many arcs leave a node, six or more.
	Degree                 int
	MostCost, MostCapacity int64
}

// GOTO8 is the family GOTO-8 of Király and Kovács (Efficient implementations of
// minimum-cost flow algorithms, 2012): eight arcs a node.
func GOTO8(nodes int) GOTO {
	return GOTO{Nodes: nodes, Degree: 8, MostCost: 10_000, MostCapacity: 1000}
}

// GOTOSR is their family GOTO-SR: the square root of the nodes as many arcs a node.
func GOTOSR(nodes int) GOTO {
	n := GOTO8(nodes)
	n.Degree = max(6, root(nodes))
	return n
}

// New makes a network. It has a solution.
func (n GOTO) New(seed uint64) *mcmf.Graph {
	rows := max(2, int(math.Cbrt(float64(n.Nodes))+1e-9))
	columns := n.Nodes / rows
	// One arc is the path's; of the others the square root leads to other rows.
	down := max(1, root(n.Degree-1))
	for down+down*down > n.Degree-1 {
		down--
	}
	along := min(n.Degree-1-down, columns-1)
	down = min(down, rows-1)

	r, g := seeded(seed), mcmf.NewGraph(rows*columns, rows*columns*n.Degree)
	at := func(row, column int) mcmf.Node { return mcmf.Node(row*columns + column) }
	for range rows * columns {
		g.AddNode(0)
	}
	source, sink := at(0, 0), at(rows-1, columns-1)
	narrower := math.Pow(float64(n.MostCapacity), 1/float64(max(along, down)+2))
	const cheap = 8
	flow := int64(math.Sqrt(float64(n.MostCapacity)))
	for row := range rows {
		for column := range columns {
			from := at(row, column)
			for k := 1; k <= along; k++ {
				capacity := int64(math.Ceil(float64(between(r, 1, n.MostCapacity)) / math.Pow(narrower, float64(k-1))))
				cost := between(r, 0, n.MostCost)
				if column+k < columns {
					g.AddArc(from, at(row, column+k), 0, capacity, cost)
					continue
				}
				flow += capacity
				if from != sink {
					g.AddArc(from, sink, 0, capacity, cost)
				}
				if to := at(row, column+k-columns); to != source {
					g.AddArc(source, to, 0, capacity, cost)
				}
			}
			for k := 1; k <= down; k++ {
				g.AddArc(from, at((row+k)%rows, column), 0, between(r, 1, n.MostCapacity), between(r, 0, cheap))
			}
		}
	}
	g.SetSupply(source, flow)
	g.SetSupply(sink, -flow)
	// The path, column by column.
	before := source
	for i := 1; i < rows*columns; i++ {
		v := at(i%rows, i/rows)
		g.AddArc(before, v, 0, flow, max(1, n.MostCost/int64(rows)))
		before = v
	}
	return g
}
