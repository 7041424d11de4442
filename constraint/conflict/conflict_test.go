package conflict_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/conflict"
	"fairlead.dev/fairlead/constraint/constrainttest"
	"fairlead.dev/fairlead/constraint/greedy"
)

// TestNothingIsCountedTwice asks beside assignments in which containers have moved, some of the
// application's own among them: what another assignment leaves of each node is the same in the
// question as in the problem, and so are devices with what is held of them.
func TestNothingIsCountedTwice(t *testing.T) {
	moved := 0
	for seed := range uint64(200) {
		chance := rand.New(rand.NewPCG(seed, 1))
		p := constrainttest.Draw(chance, constrainttest.Size{Nodes: 4, Applications: 4, Containers: 3, Constraints: 2})
		base, _ := greedy.Serial().Solve(p)
		for c, n := range base {
			if at := p.Containers[c].At; at != constraint.Nowhere && !p.Containers[c].Fixed && len(p.Shapes[p.Containers[c].Shape].Needs) == 0 {
				if base[c] = int32(chance.IntN(len(p.Nodes))); base[c] != n {
					moved++
				}
			}
		}
		for app := range p.Applications {
			q := conflict.Question{Problem: p, Base: base, Application: app}
			beside := q.Beside()
			want := (&conflict.Question{Problem: p, Base: p.Start()}).Left()
			if got := (&conflict.Question{Problem: beside, Base: p.Start()}).Left(); !slices.EqualFunc(got, want, slices.Equal) {
				t.Fatalf("seed %d, application %d: %v is left in the question, %v in the problem", seed, app, got, want)
			}
			if got, want := devices(beside), devices(p); !slices.EqualFunc(got, want, slices.Equal) {
				t.Fatalf("seed %d, application %d: devices of %v in the question, of %v in the problem", seed, app, got, want)
			}
		}
	}
	if moved < 50 {
		t.Errorf("%d containers have moved: they show too little", moved)
	}
}

// devices is what is left of each node's devices with what is held of them.
func devices(p *constraint.Problem) [][]int64 {
	var all [][]int64
	for n := range p.Nodes {
		of := slices.Clone(p.Nodes[n].Devices)
		for c := range p.Containers {
			if p.Containers[c].At == int32(n) {
				p.Shapes[p.Containers[c].Shape].Needs.Give(of, p.Containers[c].Devices, 1)
			}
		}
		all = append(all, of)
	}
	return all
}
