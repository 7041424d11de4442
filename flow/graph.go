package flow

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/sched/book"
)

// graph is what is solved, with one sink for all that is given.
type graph struct {
	*mcmf.Graph

	sink  mcmf.Node
	given int64   // the sum of all supplies
	owner []int32 // task group by its node, -1 for other nodes
}

// unlimited is a capacity as good as none: more units than there can be tasks.
const unlimited = 1 << 32

func newGraph() graph {
	g := graph{Graph: mcmf.NewGraph(0, 0)}
	g.sink = g.AddNode(0)
	return g
}

// node makes a node that nobody owns.
func (g *graph) node() mcmf.Node {
	v := g.AddNode(0)
	g.owner = book.Grown(g.owner, v, -1)
	g.owner[v] = -1
	return v
}

// give lets a node give so many units.
func (g *graph) give(v mcmf.Node, units int64) {
	g.given += units - g.Supply(v)
	g.SetSupply(v, units)
}

// settle lets the sink take what is given.
func (g *graph) settle() { g.SetSupply(g.sink, -g.given) }

// setSteps lets an arc cost what the steps say, of which there is one at least.
func (g *graph) setSteps(a mcmf.Arc, steps []Step) {
	if len(steps) == 1 {
		g.SetArc(a, 0, steps[0].Capacity, steps[0].Cost)
	} else {
		g.SetCurve(a, 0, steps)
	}
}

// take is a free row of a table, which grows where there is none.
func take[T any](free *cluster.Rows, list *[]T) int32 {
	var none T
	row := int32(free.Take())
	*list = book.Grown(*list, row, none)
	return row
}
