package dimacs

import (
	"bytes"
	"fmt"
	"io"

	"fairlead.dev/fairlead/mcmf"
)

// Kind is the letter that a line of changes begins with.
type Kind byte

// The kinds of change; see the package comment.
const (
	SetNode    Kind = 'n'
	RemoveNode Kind = 'r'
	AddArc     Kind = 'a'
	ChangeArc  Kind = 'x'
)

// Change is a line of a file of changes.
type Change struct {
	Kind         Kind
	Node, Supply int64 // of SetNode; RemoveNode has the Node alone
	From, To     int64 // ids of nodes, as all else of AddArc and ChangeArc
	Lower        int64
	Capacity     int64
	Cost         int64
}

// Append appends the change's line.
func (c Change) Append(lines []byte) []byte {
	lines = append(lines, byte(c.Kind))
	switch c.Kind {
	case SetNode:
		return appendNumbers(lines, c.Node, c.Supply)
	case RemoveNode:
		return appendNumbers(lines, c.Node)
	case AddArc, ChangeArc:
		return appendNumbers(lines, c.From, c.To, c.Lower, c.Capacity, c.Cost)
	default:
		panic(fmt.Sprintf("dimacs: there is no change of kind %q", c.Kind))
	}
}

// EndOfBatch is the line that ends a batch of changes.
const EndOfBatch = "c EOI\n"

// refusal says why a change cannot be made: which field of its line is wrong.
type refusal struct {
	field      int
	what, want string
}

func (r *refusal) Error() string { return r.what + "; expected " + r.want }

// Apply makes a change, or says why that is impossible.
func (p *Problem) Apply(c Change) error {
	// An interface that holds a nil pointer would not be nil.
	if r := p.apply(c); r != nil {
		return r
	}
	return nil
}

func (p *Problem) apply(c Change) *refusal {
	switch c.Kind {
	case SetNode:
		return p.setNode(c.Node, c.Supply)
	case RemoveNode:
		v := p.Node(c.Node)
		if v == mcmf.None {
			return noNode(c.Node, 0)
		}
		p.Graph.RemoveNode(v)
		p.forget(c.Node, v)
		return nil
	case AddArc, ChangeArc:
	default:
		return &refusal{0, fmt.Sprintf("there is no change of kind %q", c.Kind), "n, r, a or x"}
	}
	from, to := p.Node(c.From), p.Node(c.To)
	switch {
	case from == mcmf.None:
		return noNode(c.From, 0)
	case to == mcmf.None:
		return noNode(c.To, 1)
	case c.Kind == AddArc:
		p.Graph.AddArc(from, to, c.Lower, c.Capacity, c.Cost)
		return nil
	}
	a := p.firstArc(from, to)
	switch {
	case a == mcmf.None:
		return &refusal{0, fmt.Sprintf("there is no arc from %d to %d", c.From, c.To), "an arc that is there"}
	case c.Capacity != 0:
		p.Graph.SetArc(a, c.Lower, c.Capacity, c.Cost)
	case c.Lower != 0:
		return &refusal{2, fmt.Sprintf("the lower bound %d of an arc to be removed", c.Lower), "0 where the capacity is 0"}
	default:
		p.Graph.RemoveArc(a)
	}
	return nil
}

func (p *Problem) setNode(id, supply int64) *refusal {
	if id < 1 {
		return &refusal{0, fmt.Sprintf("a node with the id %d", id), "an id from 1"}
	}
	if v := p.Node(id); v != mcmf.None {
		p.Graph.SetSupply(v, supply)
		return nil
	}
	p.name(id, p.Graph.AddNode(supply))
	return nil
}

func noNode(id int64, field int) *refusal {
	return &refusal{field, fmt.Sprintf("there is no node %d", id), "a node that is there"}
}

// firstArc is the arc between two nodes that was added first, or None. Lists of
// arcs begin with the latest. One node may have very many arcs, such as a sink,
// while the other has few, so both lists are looked through by turns, each time
// twice as far.
func (p *Problem) firstArc(from, to mcmf.Node) mcmf.Arc {
	for most := 8; ; most *= 2 {
		for _, list := range [2]func(func(mcmf.Arc) bool){p.Graph.Leaving(from), p.Graph.Entering(to)} {
			first, seen := mcmf.Arc(mcmf.None), 0
			for a := range list {
				if seen++; seen > most {
					break
				}
				if e := p.Graph.Arc(a); e.From == from && e.To == to {
					first = a
				}
			}
			if seen <= most {
				return first
			}
		}
	}
}

// Changes reads a file of changes, one batch after the other.
type Changes struct {
	scanner *scanner
	problem *Problem
}

// NewChanges reads changes to a problem from a file, which errors call file and
// which may be compressed with gzip.
func NewChanges(r io.Reader, file string, p *Problem) *Changes {
	return &Changes{newScanner(r, file), p}
}

// Next makes the changes of the next batch, and says how many they are. After
// the last batch the error is io.EOF. After any other error some changes of the
// batch are made and others not; the problem is of no more use then.
func (c *Changes) Next() (changes int, err error) {
	s := c.scanner
	for s.next() {
		kind := s.kind()
		if kind == 'c' && endsBatch(s.line[s.at:]) {
			return changes, nil
		}
		if kind == 'c' || kind == 0 {
			continue
		}
		change := s.change(Kind(kind))
		if s.fail != nil {
			break
		}
		if r := c.problem.apply(change); r != nil {
			s.refuseField(r.field, r.what, r.want)
			break
		}
		changes++
	}
	switch {
	case s.fail != nil:
		return changes, s.fail
	case changes == 0:
		return 0, io.EOF
	}
	return changes, nil
}

func endsBatch(comment []byte) bool { return string(bytes.TrimSpace(comment)) == "EOI" }

// change reads the numbers of a change.
func (s *scanner) change(kind Kind) Change {
	var c Change
	switch kind {
	case SetNode:
		c.Node = s.whole("the id of a node")
		c.Supply = s.whole("its supply")
		s.end()
	case RemoveNode:
		c.Node = s.whole("the id of a node")
		s.end()
	case AddArc, ChangeArc:
		c = s.arcFields()
	default:
		s.refuse(0, "an unknown kind of line", "c, n, r, a or x, then a blank")
	}
	c.Kind = kind
	return c
}
