package board_test

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/board"
	"fairlead.dev/fairlead/constraint/constrainttest"
)

func cases(short, long int) uint64 {
	if os.Getenv("FAIRLEAD_LONG") != "" {
		return uint64(long)
	}
	return uint64(short)
}

// TestBoardSaysWhatTheJudgeSays lets containers come and go by chance, as they fit or not, and
// asks the judge after each change.
func TestBoardSaysWhatTheJudgeSays(t *testing.T) {
	seen := map[string]int{}
	for seed := range cases(400, 10_000) {
		chance := rand.New(rand.NewPCG(seed, 1))
		p := constrainttest.Draw(chance, constrainttest.Size{Nodes: 6, Applications: 5, Containers: 4, Constraints: 6})
		if seed%3 == 0 {
			constrainttest.AddCards(rand.New(rand.NewPCG(seed, 12)), p)
		}
		if seed%7 == 0 {
			p.Objective.Violation, p.Objective.Extent = 0, 0
		}
		before := constraint.Evaluate(p, p.Start())
		b := board.New(p, constraint.FindRoles(p))
		compare(t, seed, b, &before)
		for range 12 {
			c := int32(chance.IntN(len(p.Containers)))
			if b.At(c) != constraint.Nowhere {
				b.Take(c)
				compare(t, seed, b, &before)
				seen["taken"]++
			}
			n := int32(chance.IntN(len(p.Nodes)))
			score, _ := b.Delta(c, n)
			was, loose := b.Score(), b.Parts().Loose
			b.Put(c, n)
			if score != b.Score()-was {
				t.Fatalf("seed %d: container %d on node %d is said to add %d, and adds %d", seed, c, n, score, b.Score()-was)
			}
			if loose != b.Parts().Loose {
				seen["loose"]++
			}
			compare(t, seed, b, &before)
			if b.Excess() > 0 {
				seen["hard"]++
			}
			if b.Devices(c) != 0 {
				seen["devices"]++
			}
		}
		a := constrainttest.Scatter(chance, p)
		b.Set(a)
		compare(t, seed, b, &before)
	}
	for _, what := range []string{"taken", "loose", "hard", "devices"} {
		if seen[what] == 0 {
			t.Errorf("no case in which %s matters", what)
		}
	}
}

func compare(t *testing.T, seed uint64, b *board.Board, before *constraint.Report) {
	t.Helper()
	p := b.Problem()
	r := constraint.Evaluate(p, b.Assignment())
	if r.Score != b.Score() {
		t.Fatalf("seed %d: the score is %d, the judge says %d of %v", seed, b.Score(), r.Score, b.Assignment())
	}
	load := func(n int32) (most int64) {
		for k, capacity := range p.Nodes[n].Capacity {
			if capacity > 0 {
				most = max(most, p.Objective.Peak*max(capacity-b.Free(n)[k], 0)/capacity)
			}
		}
		return most
	}
	for n := range p.Nodes {
		if p.Objective.Peak > 0 && load(int32(n)) > load(b.Fullest()) {
			t.Fatalf("seed %d: node %d is said to be the fullest, and node %d is", seed, b.Fullest(), n)
		}
	}
	parts, excess, cost := b.Parts(), int64(0), int64(0)
	r.Parts.Violations, r.Parts.Peak = 0, 0
	if parts != r.Parts {
		t.Fatalf("seed %d: the parts are %+v, the judge says %+v", seed, parts, r.Parts)
	}
	for i, v := range r.Verdicts {
		cost += v.Cost
		if p.Constraints[i].Hard {
			excess += int64(max(v.Violations-before.Verdicts[i].Violations, 0))
		}
	}
	if excess != b.Excess() || cost != b.Cost() {
		t.Fatalf("seed %d: excess %d and cost %d, the judge says %d and %d", seed, b.Excess(), b.Cost(), excess, cost)
	}
	listed := map[board.Violated]bool{}
	for _, v := range b.Violated() {
		if listed[v] {
			t.Fatalf("seed %d: %v is listed twice", seed, v)
		}
		listed[v] = true
	}
	roles := constraint.FindRoles(p)
	for _, v := range r.Violations {
		if v.Set == constraint.Nowhere && roles.Bounds[v.Bound].Group != constraint.Nowhere {
			v.Set = int32(len(p.Groups[roles.Bounds[v.Bound].Group].Sets))
		}
		if !listed[board.Violated{Bound: v.Bound, Set: max(v.Set, 0)}] {
			t.Fatalf("seed %d: violation %+v is not listed in %v", seed, v, b.Violated())
		}
	}
}

// TestWhatFitsIsFeasible fills boards as long as something fits and lets constraint.Check judge
// all but what a board says by Excess.
func TestWhatFitsIsFeasible(t *testing.T) {
	feasible, refused := 0, 0
	for seed := range cases(1000, 10_000) {
		chance := rand.New(rand.NewPCG(seed, 2))
		p := constrainttest.Draw(chance, constrainttest.Size{Nodes: 4, Applications: 4, Containers: 4, Constraints: 3})
		if seed%3 == 0 {
			constrainttest.AddCards(rand.New(rand.NewPCG(seed, 12)), p)
		}
		b := board.New(p, constraint.FindRoles(p))
		for range 30 {
			c := int32(chance.IntN(len(p.Containers)))
			n := int32(chance.IntN(len(p.Nodes)))
			if p.Containers[c].Fixed {
				continue
			}
			from := b.At(c)
			if from != constraint.Nowhere {
				b.Take(c)
			}
			if b.Fits(c, n) {
				b.Put(c, n)
			} else if refused++; from != constraint.Nowhere {
				b.Put(c, from)
			}
		}
		for app := range p.Applications {
			if of := &p.Applications[app]; !of.Deployed && !b.Placed(int32(app)) {
				for c := of.First; c < of.End; c++ {
					if b.At(c) != constraint.Nowhere {
						b.Take(c)
					}
				}
			}
		}
		if err := constraint.Check(p, b.Assignment()); (err == nil) != (b.Excess() == 0) {
			t.Fatalf("seed %d: excess is %d, the judge says: %v", seed, b.Excess(), err)
		}
		if b.Excess() == 0 {
			feasible++
		}
	}
	if feasible < 300 || refused < 300 {
		t.Errorf("%d feasible plans and %d refusals; want more of both", feasible, refused)
	}
}

// TestDevices says which devices containers get.
func TestDevices(t *testing.T) {
	kinds := []cluster.Kind{{Name: "gpu", PerUnit: 10, Devices: true}}
	gpu := cluster.DeviceKinds(kinds)
	p := &constraint.Problem{
		Kinds:        kinds,
		Nodes:        []constraint.Node{{Capacity: cluster.Vector{30}, Free: cluster.Vector{17}, Devices: []int64{10, 3, 4}}},
		Groups:       []constraint.Group{{Name: cluster.EachNode, Sets: []string{"n"}, SetOf: []int32{0}}},
		Applications: []constraint.Application{{End: 3}},
		Shapes: []constraint.Shape{
			{Demand: cluster.Vector{3}, Needs: cluster.NeedsOf(gpu, cluster.Vector{3})},
			{Demand: cluster.Vector{10}, Needs: cluster.NeedsOf(gpu, cluster.Vector{10})},
		},
		Containers: []constraint.Container{{Shape: 0, At: constraint.Nowhere}, {Shape: 0, At: 0, Devices: 1 << 2}, {Shape: 1, At: constraint.Nowhere}},
	}
	b := board.New(p, constraint.FindRoles(p))
	b.Take(1) // leaves 7 on the last device
	b.Put(0, 0)
	if got := b.Devices(0); got != 1<<1 {
		t.Errorf("a share of 3 is on devices %b, want the fullest that suffices, 10", got)
	}
	b.Put(1, 0)
	if got := b.Devices(1); got != 1<<2 {
		t.Errorf("what ran on device 2 returns to devices %b, want its own", got)
	}
	if !b.Fits(2, 0) {
		t.Error("a whole device is left, and is said not to fit")
	}
	b.Put(2, 0)
	b.Take(0)
	b.Take(1)
	b.Take(2)
	if b.Fits(2, 0); b.Devices(2) != 0 {
		t.Error("a container on no node holds devices")
	}
}

// TestEstimates holds estimates, which are remembered, to those of a board that has nothing to
// remember, and to what they estimate: the score and, every other time, surcharges.
func TestEstimates(t *testing.T) {
	compared := 0
	for seed := range cases(300, 5_000) {
		chance := rand.New(rand.NewPCG(seed, 5))
		p := constrainttest.Draw(chance, constrainttest.Size{Nodes: 6, Applications: 5, Containers: 4, Constraints: 6})
		roles := constraint.FindRoles(p)
		b := board.New(p, roles)
		nodes := make([]int32, len(p.Nodes))
		for n := range nodes {
			nodes[n] = int32(n)
		}
		var charged []int32 // rows of constraints
		for range 10 {
			c := int32(chance.IntN(len(p.Containers)))
			if p.Containers[c].Fixed {
				continue
			}
			if b.At(c) != constraint.Nowhere {
				b.Take(c)
			}
			best, least := b.Best(c, nodes)
			found, lowest := constraint.Nowhere, int64(math.MaxInt64)
			for _, n := range nodes {
				if e := b.Estimate(c, n); b.Fits(c, n) && e < lowest {
					found, lowest = n, e
				}
			}
			if best != found || least != lowest {
				t.Fatalf("seed %d: the best node for container %d is %d at %d, want %d at %d", seed, c, best, least, found, lowest)
			}
			if seed%2 == 1 {
				charged = surcharge(t, b, charged, int32(chance.IntN(len(p.Constraints)+1))-1)
			}
			fresh := board.New(p, roles)
			fresh.Set(b.Assignment())
			for _, row := range charged {
				levy(fresh, row)
			}
			for n := range p.Nodes {
				estimate := b.Estimate(c, int32(n))
				if want := fresh.Estimate(c, int32(n)); estimate != want {
					t.Fatalf("seed %d: container %d on node %d is estimated at %d, from scratch at %d", seed, c, n, estimate, want)
				}
				score, strain := b.Delta(c, int32(n))
				before, was := b.Parts(), b.Score()+b.Surcharges()
				b.Put(c, int32(n))
				lacked := p.Objective.Unplaced*(before.Unplaced-b.Parts().Unplaced) + p.Objective.Loose*(before.Loose-b.Parts().Loose)
				lacked += lacked * charges(charged, constraint.Nowhere) / 4
				rounded := int64(6000 + 1000*len(charged))
				if off := estimate - strain - 1000*(b.Score()+b.Surcharges()-was+lacked); off < -rounded || off > rounded {
					t.Fatalf("seed %d: container %d on node %d is estimated at %d, adds %d and strain %d", seed, c, n, estimate, score, strain)
				}
				b.Take(c)
				compared++
			}
			b.Put(c, int32(chance.IntN(len(p.Nodes))))
		}
	}
	if compared < 5000 {
		t.Errorf("only %d estimates compared", compared)
	}
}

// surcharge makes a constraint dearer, now and then none, and returns the rows of those that are;
// Nowhere stands for what is no constraint. What it comes to is worked out from the verdicts.
func surcharge(t *testing.T, b *board.Board, charged []int32, row int32) []int32 {
	t.Helper()
	if len(charged) == 7 {
		b.Relieve()
		charged = nil
	} else {
		levy(b, row)
		charged = append(charged, row)
	}
	want := int64(0)
	r := constraint.Evaluate(b.Problem(), b.Assignment())
	for row, v := range r.Verdicts {
		want += charges(charged, int32(row)) * v.Cost / 4
	}
	o := &b.Problem().Objective
	want += charges(charged, constraint.Nowhere) * (o.Unplaced*r.Parts.Unplaced + o.Loose*r.Parts.Loose + o.Moved*r.Parts.Moved) / 4
	if b.Surcharges() != want {
		t.Fatalf("the surcharges of constraints %v are %d, want %d", charged, b.Surcharges(), want)
	}
	return charged
}

func levy(b *board.Board, row int32) {
	if row == constraint.Nowhere {
		b.SurchargeParts()
	} else {
		b.Surcharge(row)
	}
}

// charges is how often the row was charged.
func charges(charged []int32, row int32) int64 {
	times := int64(0)
	for _, c := range charged {
		if c == row {
			times++
		}
	}
	return times
}

// TestNoNodes scores what is left of an application when its last node is lost, where the fullest node is weighed.
func TestNoNodes(t *testing.T) {
	p := &constraint.Problem{
		Groups:       []constraint.Group{{Name: cluster.EachNode}},
		Applications: []constraint.Application{{Name: "a", End: 1, Deployed: true}},
		Shapes:       make([]constraint.Shape, 1),
		Containers:   []constraint.Container{{At: constraint.Nowhere}},
		Objective:    constraint.Standard(),
	}
	p.Objective.Peak = 1000
	b := board.New(p, constraint.FindRoles(p))
	if want := constraint.Evaluate(p, p.Start()).Score; b.Score() != want || b.Floor() != want {
		t.Errorf("the score is %d and the floor %d, want %d", b.Score(), b.Floor(), want)
	}
}
