package greedy_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/board"
	"fairlead.dev/fairlead/constraint/constrainttest"
	"fairlead.dev/fairlead/constraint/greedy"
	"fairlead.dev/fairlead/constraint/planted"
)

// TestPlansAreFeasible has every heuristic solve problems of everything that a problem can
// hold, twice, and the judge look.
func TestPlansAreFeasible(t *testing.T) {
	rounds := uint64(300)
	if os.Getenv("FAIRLEAD_LONG") != "" {
		rounds = 10_000
	}
	placed, left := 0, 0
	for seed := range rounds {
		p := constrainttest.Draw(rand.New(rand.NewPCG(seed, 3)), constrainttest.Size{Nodes: 5, Applications: 5, Containers: 4, Constraints: 5})
		if seed%3 == 0 {
			constrainttest.AddCards(rand.New(rand.NewPCG(seed, 12)), p)
		}
		for _, h := range greedy.All() {
			a, ticks := h.Solve(p)
			if err := constraint.Check(p, a); err != nil {
				t.Fatalf("seed %d, %s: %v", seed, h.Name, err)
			}
			again, same := h.Solve(p)
			if !slices.Equal(a, again) || ticks != same {
				t.Fatalf("seed %d, %s: places %v in %d ticks and then %v in %d", seed, h.Name, a, ticks, again, same)
			}
			for i, n := range a {
				if at := p.Containers[i].At; at != constraint.Nowhere && n != at {
					t.Fatalf("seed %d, %s: moves container %d", seed, h.Name, i)
				}
			}
			for i := range p.Applications {
				if p.Applications[i].Deployed {
					continue
				}
				if a[p.Applications[i].First] == constraint.Nowhere {
					left++
				} else {
					placed++
				}
			}
		}
	}
	if placed < 1000 || left < 100 {
		t.Errorf("%d applications placed and %d left; want more of both", placed, left)
	}
}

// TestNobodyIsLeftForTheLost has those heuristics that place all applications at once leave room for
// none that waits: what others took that found no place as a whole is tried again.
func TestNobodyIsLeftForTheLost(t *testing.T) {
	for seed := range uint64(2000) {
		p := constrainttest.Draw(rand.New(rand.NewPCG(seed, 21)), constrainttest.Size{Nodes: 4, Applications: 6, Containers: 5, Constraints: 2})
		for _, name := range []string{"tag-popularity", "node-candidates"} {
			h, _ := greedy.Named(name)
			a, _ := h.Solve(p)
			b := board.New(p, constraint.FindRoles(p))
			for i, n := range a {
				if n != b.At(int32(i)) {
					b.Put(int32(i), n)
				}
			}
			greedy.Serial().Place(b)
			if more := b.Assignment(); !slices.Equal(a, more) {
				t.Fatalf("seed %d: %s places %v, although %v has room for more", seed, name, a, more)
			}
		}
	}
}

// TestOrder holds heuristics to what Medea found, on problems that can be satisfied: those that
// look at all constraints violate the fewest, one that looks at its own affinity more, and
// one that looks at none the most.
func TestOrder(t *testing.T) {
	violated := map[string]int{}
	for seed := range uint64(4) {
		i, err := planted.Draw(planted.Options{Nodes: 100, Applications: 8, Utilisation: 500, InterApp: 4, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range greedy.All() {
			a, _ := h.Solve(&i.Problem)
			r := constraint.Evaluate(&i.Problem, a)
			violated[h.Name] += 1000 * r.Violated / max(r.Constrained, 1)
			if r.Parts.Unplaced > 0 && h.Name != "yarn" {
				t.Logf("seed %d: %s leaves %d", seed, h.Name, r.Parts.Unplaced)
			}
		}
	}
	t.Log(violated)
	for _, pair := range [][2]string{{"serial", "j-kube++"}, {"j-kube++", "j-kube"}, {"j-kube", "yarn"}, {"node-candidates", "yarn"}, {"tag-popularity", "yarn"}} {
		if violated[pair[0]] >= violated[pair[1]] {
			t.Errorf("%s violates no less than %s: %v", pair[0], pair[1], violated)
		}
	}
}
