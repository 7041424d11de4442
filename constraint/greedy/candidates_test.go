package greedy

import (
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/board"
	"fairlead.dev/fairlead/constraint/constrainttest"
)

// TestCountedAgain places containers where they fit, and wants the candidates that are kept to be
// those that are found from scratch.
func TestCountedAgain(t *testing.T) {
	changed := 0
	for seed := range uint64(300) {
		chance := rand.New(rand.NewPCG(seed, 4))
		p := constrainttest.Draw(chance, constrainttest.Size{Nodes: 6, Applications: 5, Containers: 4, Constraints: 5})
		b := board.New(p, constraint.FindRoles(p))
		c := newCounting(newRun(b))
		for {
			shape := c.scarcest()
			if shape == constraint.Nowhere {
				break
			}
			container, node := c.waiting[shape][0], int32(chance.IntN(len(p.Nodes)))
			if !b.Fits(container, node) {
				c.giveUp(shape)
				continue
			}
			c.waiting[shape] = c.waiting[shape][1:]
			b.Put(container, node)
			before := append([]int(nil), c.count...)
			c.touched(shape, node)
			for other := range c.waiting {
				if len(c.waiting[other]) == 0 {
					continue
				}
				if before[other] != c.count[other] {
					changed++
				}
				for n := range p.Nodes {
					first := c.waiting[other][0]
					if want := b.Fits(first, int32(n)) && b.Clean(first, int32(n)); want != c.candidate[other][n] {
						t.Fatalf("seed %d: node %d is a candidate for shape %d: %v, want %v", seed, n, other, !want, want)
					}
				}
			}
		}
	}
	if changed < 100 {
		t.Errorf("only %d counts changed", changed)
	}
}
