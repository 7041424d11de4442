package mcmftest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"fairlead.dev/fairlead/mcmf"
)

// Sequence changes a network by chance, and can take all of it back.
type Sequence struct {
	o    oddity
	undo []func() // the first change first
}

// NewSequence changes a network, which has at least one node. Nobody else changes
// its nodes and arcs between the first change and Undo.
func NewSequence(g *mcmf.Graph, r *rand.Rand) *Sequence {
	return &Sequence{o: oddity{r: r, g: g, negative: r.IntN(2) == 0, lower: r.IntN(4) == 0, curved: r.IntN(4) == 0, most: 1 + int64(r.IntN(20))}}
}

// Batch makes so many changes of any kind.
func (s *Sequence) Batch(changes int) {
	for range changes {
		switch s.o.r.IntN(10) {
		case 0:
			s.addNode()
		case 1:
			s.removeNode()
		case 2, 3:
			s.addArc()
		case 4:
			s.removeArc()
		case 5, 6, 7:
			s.changeArc()
		default:
			s.moveSupply()
		}
	}
}

// Undo takes all changes back, the last one first. Then all is as it was, with
// the same numbers; only lists of arcs may be in another order.
func (s *Sequence) Undo() {
	for _, undo := range slices.Backward(s.undo) {
		undo()
	}
	s.undo = nil
}

func (s *Sequence) later(undo func()) { s.undo = append(s.undo, undo) }

func (s *Sequence) addNode() {
	v := s.o.g.AddNode(0)
	s.later(func() { s.o.g.RemoveNode(v) })
	for range s.o.r.IntN(5) {
		s.addArc()
	}
}

// removeNode removes a node unless it is the last one. Another one inherits its
// supply, so that they still sum to what they did.
func (s *Sequence) removeNode() {
	g, v, heir := s.o.g, s.o.someNode(), s.o.someNode()
	if v == heir {
		return
	}
	supply := g.Supply(v)
	s.setSupply(heir, g.Supply(heir)+supply)
	// RemoveNode removes them in this order; a loop only once.
	arcs := slices.Collect(g.Leaving(v))
	for a := range g.Entering(v) {
		if g.Arc(a).From != v {
			arcs = append(arcs, a)
		}
	}
	var restore []func()
	for _, a := range arcs {
		restore = append(restore, s.copyOf(a))
	}
	g.RemoveNode(v)
	s.later(func() {
		if got := g.AddNode(supply); got != v {
			panic(fmt.Sprintf("mcmftest: node %d came back as %d", v, got))
		}
		for _, add := range slices.Backward(restore) {
			add()
		}
	})
}

func (s *Sequence) addArc() {
	a := s.o.addArc()
	s.later(func() { s.o.g.RemoveArc(a) })
}

func (s *Sequence) removeArc() {
	a := s.o.someArc()
	if a == mcmf.None {
		return
	}
	add := s.copyOf(a)
	s.o.g.RemoveArc(a)
	s.later(add)
}

// copyOf adds an arc that was removed again; it gets its number back.
func (s *Sequence) copyOf(a mcmf.Arc) (add func()) {
	g, e, steps := s.o.g, s.o.g.Arc(a), slices.Clone(s.o.g.Curve(a))
	return func() {
		var got mcmf.Arc
		if steps != nil {
			got = g.AddCurve(e.From, e.To, e.Lower, steps)
		} else {
			got = g.AddArc(e.From, e.To, e.Lower, e.Capacity, e.Cost)
		}
		if got != a {
			panic(fmt.Sprintf("mcmftest: arc %d came back as %d", a, got))
		}
	}
}

// changeArc changes one number of an arc, or all, or its curve.
func (s *Sequence) changeArc() {
	a := s.o.someArc()
	if a == mcmf.None {
		return
	}
	g, was, steps := s.o.g, s.o.g.Arc(a), slices.Clone(s.o.g.Curve(a))
	s.later(func() {
		if steps != nil {
			g.SetCurve(a, was.Lower, steps)
		} else {
			g.SetArc(a, was.Lower, was.Capacity, was.Cost)
		}
	})
	lower, capacity, cost := s.o.numbers()
	switch s.o.r.IntN(5) {
	case 0:
		g.SetArc(a, min(was.Lower, was.Capacity), was.Capacity, cost)
	case 1:
		g.SetArc(a, min(lower, was.Lower), max(was.Lower, capacity), was.Cost)
	case 2:
		g.SetArc(a, min(0, lower), was.Capacity+capacity, was.Cost)
	case 3:
		if s.o.curved {
			g.SetCurve(a, lower, s.o.curve(capacity, cost))
			return
		}
		g.SetArc(a, 0, 0, was.Cost)
	default:
		g.SetArc(a, lower, capacity, cost)
	}
}

func (s *Sequence) moveSupply() {
	g, from, to := s.o.g, s.o.someNode(), s.o.someNode()
	units := 1 + s.o.r.Int64N(3)
	s.setSupply(from, g.Supply(from)+units)
	s.setSupply(to, g.Supply(to)-units)
}

func (s *Sequence) setSupply(v mcmf.Node, supply int64) {
	was := s.o.g.Supply(v)
	s.later(func() { s.o.g.SetSupply(v, was) })
	s.o.g.SetSupply(v, supply)
}
