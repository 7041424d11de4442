package board_test

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/board"
	"fairlead.dev/fairlead/constraint/planted"
)

// BenchmarkEstimate asks on every node in turn what a container would add there, a container after
// another, on a board that holds the placement that is known.
func BenchmarkEstimate(b *testing.B) {
	for _, nodes := range []int{500, 5000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			i, err := planted.Draw(planted.Options{Nodes: nodes, Applications: 20, Utilisation: 500, InterApp: 10, Seed: 1})
			if err != nil {
				b.Fatal(err)
			}
			p := &i.Problem
			on := board.New(p, constraint.FindRoles(p))
			on.Set(i.Witness)
			var n, c int32
			fits := 0
			on.Take(c)
			for b.Loop() {
				if on.Fits(c, n) {
					on.Estimate(c, n)
					fits++
				}
				if n++; int(n) == len(p.Nodes) {
					on.Put(c, i.Witness[c])
					n, c = 0, (c+1)%int32(len(p.Containers))
					on.Take(c)
				}
			}
			b.ReportMetric(float64(fits)/float64(b.N), "fits/op")
		})
	}
}

// BenchmarkPut takes a container off and puts it back.
func BenchmarkPut(b *testing.B) {
	i, err := planted.Draw(planted.Options{Nodes: 500, Applications: 20, Utilisation: 500, InterApp: 10, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	p := &i.Problem
	on := board.New(p, constraint.FindRoles(p))
	on.Set(i.Witness)
	c := int32(0)
	for b.Loop() {
		on.Take(c)
		on.Put(c, i.Witness[c])
		c = (c + 1) % int32(len(p.Containers))
	}
}

// BenchmarkFloor asks what 40 applications cost at the least beside 100 that run on 5,000 nodes.
func BenchmarkFloor(b *testing.B) {
	i, err := planted.Draw(planted.Options{Nodes: 5000, Applications: 40, Utilisation: 600, InterApp: 10, Running: 100, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	on := board.New(&i.Problem, constraint.FindRoles(&i.Problem))
	for b.Loop() {
		on.Floor()
	}
}
