package search_test

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/board"
	"fairlead.dev/fairlead/constraint/constrainttest"
	"fairlead.dev/fairlead/constraint/greedy"
	"fairlead.dev/fairlead/constraint/planted"
	"fairlead.dev/fairlead/constraint/search"
)

func cases(short, long int) uint64 {
	if os.Getenv("FAIRLEAD_LONG") != "" {
		return uint64(long)
	}
	return uint64(short)
}

// TestPlans holds what a search comes to, on problems of everything that a problem can hold, to
// the judge, to the heuristic it began with, to itself, and to itself with less effort.
func TestPlans(t *testing.T) {
	better, optimal := 0, 0
	for seed := range cases(150, 5000) {
		p := constrainttest.Draw(rand.New(rand.NewPCG(seed, 6)), constrainttest.Size{Nodes: 6, Applications: 5, Containers: 4, Constraints: 6})
		serial, _ := greedy.Serial().Solve(p)
		last := constraint.Evaluate(p, serial).Score
		for _, ticks := range []int64{0, 1000, 10_000} {
			r := search.Solve(p, search.Options{Seed: seed, Ticks: ticks})
			if err := constraint.Check(p, r.Assignment); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if judged := constraint.Evaluate(p, r.Assignment).Score; judged != r.Score {
				t.Fatalf("seed %d: the score is %d, the judge says %d", seed, r.Score, judged)
			}
			again := search.Solve(p, search.Options{Seed: seed, Ticks: ticks})
			if !slices.Equal(r.Assignment, again.Assignment) || r.Ticks != again.Ticks {
				t.Fatalf("seed %d: %v in %d ticks, and then %v in %d", seed, r.Assignment, r.Ticks, again.Assignment, again.Ticks)
			}
			if r.Score > last {
				t.Fatalf("seed %d: in %d ticks the score is %d, before that %d", seed, ticks, r.Score, last)
			}
			if r.Score < last {
				better++
			}
			if r.Optimal {
				optimal++
			}
			last = r.Score
		}
	}
	if better < 20 || optimal < 20 {
		t.Errorf("%d times better than before and %d times optimal; want more of both", better, optimal)
	}
}

// TestSlices runs a search in slices, as one that looks at a clock does.
func TestSlices(t *testing.T) {
	i, err := planted.Draw(planted.Options{Nodes: 60, Applications: 6, Utilisation: 600, InterApp: 3, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	whole := search.New(&i.Problem, 1)
	whole.Run(40_000)
	sliced := search.New(&i.Problem, 1)
	for end := sliced.Ticks() + 40_000; sliced.Ticks() < end; {
		if sliced.Run(1) {
			break
		}
	}
	if a, b := whole.Result(), sliced.Result(); !slices.Equal(a.Assignment, b.Assignment) || a.Ticks != b.Ticks {
		t.Errorf("in slices the score is %d after %d ticks, else %d after %d", b.Score, b.Ticks, a.Score, a.Ticks)
	}
}

// TestNothingIsLost looks at searches all the way through many legs: what they have found never
// becomes worse, although each leg begins anew.
func TestNothingIsLost(t *testing.T) {
	legs := 0
	for seed := range cases(40, 1000) {
		p := constrainttest.Draw(rand.New(rand.NewPCG(seed, 8)), constrainttest.Size{Nodes: 6, Applications: 5, Containers: 4, Constraints: 6})
		s := search.New(p, seed)
		last := s.Result()
		for !s.Run(200) && s.Ticks() < 400_000 {
			now := s.Result()
			if now.Score > last.Score {
				t.Fatalf("seed %d: after %d ticks the score is %d, before that %d", seed, now.Ticks, now.Score, last.Score)
			}
			last = now
		}
		legs += int(s.Ticks() / 100_000)
	}
	if legs < 40 {
		t.Errorf("about %d legs; want more", legs)
	}
}

// TestPlanted wants no violation where none is necessary, within ticks that take some tens of
// milliseconds.
func TestPlanted(t *testing.T) {
	for seed := range uint64(4) {
		i, err := planted.Draw(planted.Options{Nodes: 100, Applications: 10, Utilisation: 500, InterApp: 5, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		serial, _ := greedy.Serial().Solve(&i.Problem)
		r := search.Solve(&i.Problem, search.Options{Seed: 1, Ticks: 5_000_000})
		judged := constraint.Evaluate(&i.Problem, r.Assignment)
		if judged.Violated > 0 || judged.Parts.Unplaced > 0 || !r.Optimal {
			t.Errorf("seed %d: %d of %d containers are violated and %d applications not placed after %d ticks, optimal: %v",
				seed, judged.Violated, judged.Constrained, judged.Parts.Unplaced, r.Ticks, r.Optimal)
		}
		if constraint.Evaluate(&i.Problem, serial).Violated == 0 {
			t.Errorf("seed %d: serial violates nothing, so this shows nothing", seed)
		}
	}
}

// TestFullest weighs the fullest node, of clusters that are half empty: it is no fuller than where Kubernetes'
// scheduler spreads containers and violates half of what it is asked, and nothing is violated.
func TestFullest(t *testing.T) {
	kubernetes, _ := greedy.Named("j-kube")
	for seed := range uint64(2) {
		i, err := planted.Draw(planted.Options{Nodes: 200, Utilisation: 400, InterApp: 4, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		i.Problem.Objective.Peak = 20_000
		spread, _ := kubernetes.Solve(&i.Problem)
		r := search.Solve(&i.Problem, search.Options{Seed: 1, Ticks: 5_000_000})
		theirs, ours := constraint.Evaluate(&i.Problem, spread), constraint.Evaluate(&i.Problem, r.Assignment)
		if ours.Violated > 0 || ours.Parts.Unplaced > 0 || ours.Parts.Peak > theirs.Parts.Peak {
			t.Errorf("seed %d: the fullest node is taken to %d thousandths, and %d containers are violated; by j-kube %d, and %d",
				seed, ours.Parts.Peak, ours.Violated, theirs.Parts.Peak, theirs.Violated)
		}
	}
}

// TestTail searches problems, from beginnings of the random numbers, on which the search stood still before
// violations were surcharged: the first took 28 million ticks, and for the second 60 were not enough.
func TestTail(t *testing.T) {
	for _, seed := range []uint64{1, 10} {
		i, err := planted.Draw(planted.Options{Nodes: 500, Applications: 40, Utilisation: 700, InterApp: 10, Seed: 10})
		if err != nil {
			t.Fatal(err)
		}
		if r := search.Solve(&i.Problem, search.Options{Seed: seed, Ticks: 20_000_000}); r.Score > 0 || !r.Optimal {
			t.Errorf("seed %d: the score is %d after %d ticks", seed, r.Score, r.Ticks)
		}
	}
}

// TestOptimum holds the search to enumeration on small problems.
func TestOptimum(t *testing.T) {
	reached, of, claimed, loose, paid := 0, cases(120, 1000), 0, 0, 0
	for seed := range of {
		p := constrainttest.Draw(rand.New(rand.NewPCG(seed, 7)), constrainttest.Small())
		if seed%3 == 0 {
			constrainttest.AddCards(rand.New(rand.NewPCG(seed, 12)), p)
		}
		e := &enumeration{p: p, a: p.Start(), score: math.MaxInt64}
		e.place(0)
		floor := board.New(p, constraint.FindRoles(p)).Floor()
		if floor > e.score {
			t.Fatalf("seed %d: the floor is %d, and %d is reached: %v", seed, floor, e.score, e.best)
		}
		if floor > 0 && floor == e.score {
			paid++
		}
		r := search.Solve(p, search.Options{Seed: 1, Ticks: 100_000})
		switch {
		case r.Score < e.score:
			t.Fatalf("seed %d: the search finds %d, enumeration %d", seed, r.Score, e.score)
		case r.Score == e.score:
			reached++
		default:
			t.Logf("seed %d: the search finds %d, enumeration %d: %v", seed, r.Score, e.score, e.best)
		}
		if r.Optimal {
			if claimed++; r.Score != e.score {
				t.Errorf("seed %d: the search says that %d is optimal, and %d is", seed, r.Score, e.score)
			}
		}
		if constraint.Evaluate(p, p.Start()).Parts.Loose > 0 {
			loose++
		}
	}
	t.Logf("%d of %d optima reached, %d known to be, of which %d cost something; in %d somebody is loose", reached, of, claimed, paid, loose)
	if 100*uint64(reached) < 99*of {
		t.Errorf("%d of %d optima reached, want 99 %%", reached, of)
	}
	if uint64(paid) < of/10 {
		t.Errorf("%d of %d floors are reached and not 0: they show too little", paid, of)
	}
}

// TestLoose searches a place for two that an application lacks, where they should be apart and there is
// one node: whoever has room comes back, and where nobody has more than that the search knows that
// nothing is better. Of a new application so large that there is never room it knows so, too.
func TestLoose(t *testing.T) {
	for _, tc := range []struct {
		room, score int64
		optimal     bool
	}{{0, 3_000_000, true}, {1, 2_002_200, false}, {2, 1_003_600, false}} {
		p := &constraint.Problem{
			Kinds:        []cluster.Kind{{Name: "cpu", PerUnit: 1}},
			Nodes:        []constraint.Node{{Capacity: cluster.Vector{4}, Free: cluster.Vector{tc.room}}},
			Groups:       []constraint.Group{{Name: cluster.EachNode, Sets: []string{"n"}, SetOf: []int32{0}}},
			Applications: []constraint.Application{{Name: "old", End: 3, Deployed: true}, {Name: "new", First: 3, End: 5}},
			Shapes:       []constraint.Shape{{Demand: cluster.Vector{1}, Tags: []string{"a"}}, {Application: 1, Demand: cluster.Vector{5}}},
			Containers:   []constraint.Container{{At: 0, Fixed: true}, {At: constraint.Nowhere}, {At: constraint.Nowhere}, {Shape: 1, At: constraint.Nowhere}, {Shape: 1, At: constraint.Nowhere}},
			Constraints: []cluster.Constraint{{
				Name: "apart", Weight: 1000, Any: [][]cluster.Bound{{{Subject: []string{"a"}, Target: []string{"a"}, Group: cluster.EachNode}}},
			}},
			Objective: constraint.Standard(),
		}
		r := search.Solve(p, search.Options{Seed: 1, Ticks: 10_000})
		if r.Score != tc.score || r.Optimal != tc.optimal || constraint.Evaluate(p, r.Assignment).Score != tc.score {
			t.Errorf("with room for %d: %+v, want %d, optimal: %t", tc.room, r, tc.score, tc.optimal)
		}
	}
}

// enumeration tries all assignments that may be carried out.
type enumeration struct {
	p     *constraint.Problem
	a     constraint.Assignment
	best  constraint.Assignment
	score int64
}

// place places the container and all after it in all ways.
func (e *enumeration) place(c int) {
	if c == len(e.a) {
		e.judge()
		return
	}
	container := &e.p.Containers[c]
	shape := &e.p.Shapes[container.Shape]
	app := &e.p.Applications[shape.Application]
	if container.Fixed {
		e.place(c + 1)
		return
	}
	if first := int(app.First); container.At == constraint.Nowhere && (app.Deployed || c == first || e.a[first] == constraint.Nowhere) {
		e.a[c] = constraint.Nowhere
		e.place(c + 1)
		if !app.Deployed && c > first {
			return
		}
	}
	for n := range e.p.Nodes {
		if shape.Eligible == nil || shape.Eligible[n] || container.At == int32(n) {
			e.a[c] = int32(n)
			e.place(c + 1)
		}
	}
}

func (e *enumeration) judge() {
	if constraint.Check(e.p, e.a) == nil {
		if score := constraint.Evaluate(e.p, e.a).Score; score < e.score {
			e.best, e.score = slices.Clone(e.a), score
		}
	}
}
