package dimacs

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"fairlead.dev/fairlead/mcmf"
)

// Problem is a graph whose nodes have ids in files. Nodes are added and removed
// through Apply, so that they have one; all else may be changed in the Graph.
type Problem struct {
	Graph *mcmf.Graph

	dense  []mcmf.Node         // by id, or None
	sparse map[int64]mcmf.Node // ids too big for dense
	ids    []int64             // by node, or 0
}

// New is a problem of a graph that was not read from a file: the id of its first
// node is 1, and so on.
func New(g *mcmf.Graph) *Problem {
	p := newProblem(g, int(g.NodeBound()))
	for v := range g.NodeBound() {
		if g.HasNode(v) {
			p.name(int64(v)+1, v)
		}
	}
	return p
}

func newProblem(g *mcmf.Graph, nodes int) *Problem {
	p := &Problem{Graph: g, dense: make([]mcmf.Node, 1, nodes+1), sparse: map[int64]mcmf.Node{}, ids: make([]int64, 0, nodes)}
	p.dense[0] = mcmf.None
	return p
}

// Node is the node that has the id in files, or None.
func (p *Problem) Node(id int64) mcmf.Node {
	if id >= 0 && id < int64(len(p.dense)) && p.dense[id] != mcmf.None {
		return p.dense[id]
	}
	if v, ok := p.sparse[id]; ok {
		return v
	}
	return mcmf.None
}

// ID is the id that a node has in files, or 0 if it was not added through Apply.
func (p *Problem) ID(v mcmf.Node) int64 {
	if v < 0 || int(v) >= len(p.ids) {
		return 0
	}
	return p.ids[v]
}

// name gives a node an id, which no other has.
func (p *Problem) name(id int64, v mcmf.Node) {
	for int(v) >= len(p.ids) {
		p.ids = append(p.ids, 0)
	}
	p.ids[v] = id
	// Ids that are given out in turn stay in dense; others cannot make it long.
	const slack = 64
	if id >= 2*int64(len(p.dense))+slack {
		p.sparse[id] = v
		return
	}
	for id >= int64(len(p.dense)) {
		p.dense = append(p.dense, mcmf.None)
	}
	p.dense[id] = v
}

// forget takes a node's id away.
func (p *Problem) forget(id int64, v mcmf.Node) {
	p.ids[v] = 0
	delete(p.sparse, id)
	if id < int64(len(p.dense)) {
		p.dense[id] = mcmf.None
	}
}

// Write writes the problem as a .min file. Ids that no node has, below the
// greatest, become nodes without arcs. Parallel arcs are written in the order of
// their numbers. The format knows no curves: each step becomes an arc.
func (p *Problem) Write(w io.Writer) error {
	nodes, arcs := int64(0), 0
	for v := range p.Graph.NodeBound() {
		if p.Graph.HasNode(v) {
			nodes = max(nodes, p.ID(v))
		}
	}
	for a := range p.Graph.ArcBound() {
		if p.Graph.HasArc(a) {
			arcs += max(1, len(p.Graph.Curve(a)))
		}
	}
	if nodes > mostNodes {
		return fmt.Errorf("cannot write a node with the id %d; the greatest that a .min file may have is %d", nodes, mostNodes)
	}
	out := bufio.NewWriterSize(w, 1<<16)
	line := appendNumbers(append([]byte(nil), "p min"...), nodes, int64(arcs))
	for v := range p.Graph.NodeBound() {
		if p.Graph.HasNode(v) && p.Graph.Supply(v) != 0 {
			line = appendNumbers(append(line, 'n'), p.ID(v), p.Graph.Supply(v))
		}
		line = flush(out, line)
	}
	for a := range p.Graph.ArcBound() {
		if p.Graph.HasArc(a) {
			line = p.appendArc(line, a)
		}
		line = flush(out, line)
	}
	_, _ = out.Write(line) // Flush returns the first error
	return out.Flush()
}

// WriteFlow writes a solution: its cost, and the flow on each arc that has some.
func (p *Problem) WriteFlow(w io.Writer, cost int64, flow func(mcmf.Arc) int64) error {
	out := bufio.NewWriterSize(w, 1<<16)
	line := appendNumbers([]byte{'s'}, cost)
	for a := range p.Graph.ArcBound() {
		if !p.Graph.HasArc(a) {
			continue
		}
		if units := flow(a); units != 0 {
			e := p.Graph.Arc(a)
			line = appendNumbers(append(line, 'f'), p.ID(e.From), p.ID(e.To), units)
		}
		line = flush(out, line)
	}
	_, _ = out.Write(line) // Flush returns the first error
	return out.Flush()
}

// appendArc appends an arc, or the arcs that a curve is. Of the lower bound each
// step takes what it can, the first one first: it is the cheapest.
func (p *Problem) appendArc(line []byte, a mcmf.Arc) []byte {
	e := p.Graph.Arc(a)
	from, to := p.ID(e.From), p.ID(e.To)
	steps := p.Graph.Curve(a)
	if steps == nil {
		return appendNumbers(append(line, 'a'), from, to, e.Lower, e.Capacity, e.Cost)
	}
	lower := e.Lower
	for i, step := range steps {
		low := min(lower, step.Capacity)
		if i == len(steps)-1 {
			low = lower // more than all can carry is not for us to hide
		}
		lower -= low
		line = appendNumbers(append(line, 'a'), from, to, low, step.Capacity, step.Cost)
	}
	return line
}

// appendNumbers ends a line with numbers.
func appendNumbers(line []byte, numbers ...int64) []byte {
	for _, n := range numbers {
		line = strconv.AppendInt(append(line, ' '), n, 10)
	}
	return append(line, '\n')
}

// flush writes the lines and returns the room they took. Errors come back when
// the whole is flushed.
func flush(out *bufio.Writer, lines []byte) []byte {
	_, _ = out.Write(lines)
	return lines[:0]
}
