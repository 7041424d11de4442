package dimacs

import (
	"fmt"
	"io"

	"fairlead.dev/fairlead/mcmf"
)

// A file that promises more is refused, before there is room made for it.
const (
	mostNodes = 1 << 26
	mostArcs  = 1 << 28
	// idle is how many nodes without an arc a file may promise. Since no line has
	// to mention them, a few bytes could ask for any amount of memory.
	idle = 1 << 20
	// roomy is how many nodes and arcs get room when promised, not only when read.
	roomy = 1 << 21
)

// Read reads a .min file, which errors call file and which may be compressed
// with gzip. The node of id 1 is the graph's first, and so on.
func Read(r io.Reader, file string) (*Problem, error) {
	f := minFile{scanner: newScanner(r, file)}
	for f.next() {
		switch kind := f.kind(); {
		case kind == 'c' || kind == 0:
		case kind == 'p':
			f.header()
		case f.problem == nil:
			f.refuse(0, "no line \"p min NODES ARCS\" so far", "it before all others")
		case kind == 'a':
			f.arc()
		case kind == 'n':
			f.supply()
		default:
			f.refuse(0, "an unknown kind of line", "c, p, n or a, then a blank")
		}
	}
	return f.finish()
}

// minFile is a .min file that is being read.
type minFile struct {
	*scanner
	problem     *Problem
	nodes, arcs int64 // promised
	added       int64 // arcs read
	header1     int   // the line of the promise
	supplied    []bool
}

func (f *minFile) header() {
	word, at := f.word()
	if string(word) != "min" {
		f.refuse(at, "the problem is "+quote(word), "min")
	}
	f.nodes = f.whole("the number of nodes")
	f.arcs = f.whole("the number of arcs")
	f.end()
	switch {
	case f.problem != nil:
		f.refuse(0, "a second line p", fmt.Sprintf("only that of line %d", f.header1))
	case f.nodes < 0 || f.nodes > mostNodes:
		f.refuseField(0, fmt.Sprintf("%d nodes", f.nodes), fmt.Sprintf("0 to %d", mostNodes))
	case f.arcs < 0 || f.arcs > mostArcs:
		f.refuseField(1, fmt.Sprintf("%d arcs", f.arcs), fmt.Sprintf("0 to %d", mostArcs))
	case f.nodes > idle+2*f.arcs:
		f.refuseField(0, fmt.Sprintf("%d nodes but only %d arcs", f.nodes, f.arcs), fmt.Sprintf("at most %d nodes without an arc", idle))
	}
	if f.fail != nil {
		return
	}
	f.header1 = f.number
	f.problem = newProblem(mcmf.NewGraph(int(min(f.nodes, roomy)), int(min(f.arcs, roomy))), int(min(f.nodes, roomy)))
}

// node is the node of an id, which the field of that index holds.
func (f *minFile) node(id int64, field int) mcmf.Node {
	if id < 1 || id > f.nodes {
		f.refuseField(field, fmt.Sprintf("there is no node %d", id), fmt.Sprintf("an id from 1 to %d", f.nodes))
		return mcmf.None
	}
	if id > int64(f.problem.Graph.NodeBound()) {
		f.create(id)
	}
	return mcmf.Node(id - 1)
}

// create adds all nodes up to that of the id.
func (f *minFile) create(id int64) {
	for next := int64(f.problem.Graph.NodeBound()) + 1; next <= id; next++ {
		f.problem.name(next, f.problem.Graph.AddNode(0))
	}
}

func (f *minFile) supply() {
	id := f.whole("the id of a node")
	supply := f.whole("its supply")
	f.end()
	if f.fail != nil {
		return
	}
	v := f.node(id, 0)
	if v == mcmf.None {
		return
	}
	for int(v) >= len(f.supplied) {
		f.supplied = append(f.supplied, make([]bool, max(int(v)+1-len(f.supplied), len(f.supplied)))...)
	}
	if f.supplied[v] {
		f.refuseField(0, fmt.Sprintf("a second line n of node %d", id), "one at most")
		return
	}
	f.supplied[v] = true
	f.problem.Graph.SetSupply(v, supply)
}

func (f *minFile) arc() {
	c := f.arcFields()
	if f.fail != nil {
		return
	}
	from, to := f.node(c.From, 0), f.node(c.To, 1)
	if f.added == f.arcs {
		f.refuse(0, "one arc more", fmt.Sprintf("the %d that line %d promises", f.arcs, f.header1))
	}
	if f.fail != nil {
		return
	}
	f.added++
	f.problem.Graph.AddArc(from, to, c.Lower, c.Capacity, c.Cost)
}

// arcFields reads the numbers of an arc.
func (s *scanner) arcFields() Change {
	c := Change{From: s.whole("the id of the node where the arc begins")}
	c.To = s.whole("the id of the node where the arc ends")
	c.Lower = s.whole("the arc's lower bound")
	c.Capacity = s.whole("the arc's capacity")
	c.Cost = s.whole("the arc's cost of a unit")
	s.end()
	return c
}

func (f *minFile) finish() (*Problem, error) {
	if f.fail == nil && (f.problem == nil || f.added < f.arcs) {
		f.number++
		if f.problem == nil {
			f.refuse(0, "the file ends", `a line "p min NODES ARCS"`)
		} else {
			f.refuse(0, fmt.Sprintf("the file ends after %d arcs", f.added), fmt.Sprintf("the %d that line %d promises", f.arcs, f.header1))
		}
	}
	if f.fail != nil {
		return nil, f.fail
	}
	f.create(f.nodes)
	return f.problem, nil
}
