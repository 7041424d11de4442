package race_test

import (
	"bytes"
	"runtime"
	"slices"
	"testing"

	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/mcmf/mcmftest"
	"fairlead.dev/fairlead/mcmf/race"
)

// TestConformance holds real races to what every algorithm is held to. Who won
// and what it cost are no part of that: the same race may end otherwise.
func TestConformance(t *testing.T) {
	mcmftest.Run(t, func(g *mcmf.Graph) mcmftest.Solver { return whoever{race.New(g, mcmf.CostScaling)} })
}

type whoever struct{ *race.Solver }

func (w whoever) Solve(o mcmf.Options) mcmf.Result {
	r := w.Solver.Solve(o)
	r.Algorithm, r.Ticks = mcmf.Automatic, 0
	return r
}

// TestTransfer lets the racers win by turns, so that each begins with what the
// other left. On the small networks of mcmftest, whose solves end before anybody
// asks whether to stop, chance would never do that.
func TestTransfer(t *testing.T) {
	for _, against := range []mcmf.Algorithm{mcmf.CostScaling, mcmf.NetworkSimplex, mcmf.Auction} {
		t.Run(string(against), func(t *testing.T) {
			mcmftest.Run(t, func(g *mcmf.Graph) mcmftest.Solver {
				return &byTurns{Solver: mcmf.NewSolver(g), against: against}
			})
		})
	}
}

// byTurns does what a race does, but has decided who wins.
type byTurns struct {
	*mcmf.Solver

	against mcmf.Algorithm
	solves  int
}

func (s *byTurns) Solve(o mcmf.Options) mcmf.Result {
	s.solves++
	if s.solves%2 == 0 {
		return s.Solver.Solve(o)
	}
	rival := s.Rival()
	interrupted := o
	interrupted.Budget = 20
	s.Solver.Solve(interrupted)
	o.Algorithm = s.against
	r := rival.Solve(o)
	s.Adopt(rival)
	return r
}

// cluster is big enough that racers ask now and then whether to stop.
func cluster() *mcmftest.Workload { return mcmftest.Hot(100, 1.05).New(1) }

// running reports whether a rival is still there. One that has told its result
// may be on its way out.
func running() bool {
	stacks := make([]byte, 1<<20)
	return bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("created by fairlead.dev/fairlead/mcmf/race.(*Solver).race"))
}

// heldUp holds ours up, whenever it asks whether to stop, until the rival is done.
func heldUp() bool {
	for running() {
		runtime.Gosched()
	}
	return false
}

// nobodyLeft wants rivals to go when they are done.
func nobodyLeft(t *testing.T) {
	t.Helper()
	for tries := 0; running(); tries++ {
		if tries == 10_000 {
			t.Fatal("a rival runs on after its race")
		}
		runtime.Gosched()
	}
}

// TestWinners rigs two races, one for each side.
func TestWinners(t *testing.T) {
	want := mcmf.NewSolver(cluster().Graph).Solve(mcmf.Options{}).Cost

	g := cluster().Graph
	s := race.New(g, mcmf.CostScaling)
	r := s.Solve(mcmf.Options{Stop: heldUp})
	if r.Algorithm != mcmf.CostScaling || r.Status != mcmf.Optimal || r.Cost != want {
		t.Errorf("%v by %s with the cost %d, want cost scaling to win with %d", r.Status, r.Algorithm, r.Cost, want)
	}
	if err := s.Certificate(); err != nil {
		t.Error(err)
	}
	// What the winner found is where the next solve begins: nothing is left to do.
	if r := s.Solve(mcmf.Options{}); r.Algorithm != mcmf.Incremental || r.Cost != want || r.Ticks > race.HeadStart*int64(g.ArcBound()) {
		t.Errorf("solved again without a change: cost %d by %s with %d ticks", r.Cost, r.Algorithm, r.Ticks)
	}

	// Cycle cancelling is in no danger of winning.
	s = race.New(cluster().Graph, mcmf.CycleCancelling)
	seen := false
	r = s.Solve(mcmf.Options{Stop: func() bool {
		seen = seen || running()
		return false
	}})
	if r.Algorithm != mcmf.Auction || r.Status != mcmf.Optimal || r.Cost != want {
		t.Errorf("%v by %s with the cost %d, want the auction to win with %d", r.Status, r.Algorithm, r.Cost, want)
	}
	if !seen {
		t.Error("no rival was seen to run; the test is broken")
	}
	nobodyLeft(t)
}

// TestStop ends both racers by the caller's wish, and by a budget.
func TestStop(t *testing.T) {
	s := race.New(cluster().Graph, mcmf.CycleCancelling)
	if r := s.Solve(mcmf.Options{Stop: func() bool { return true }}); r.Status != mcmf.Cancelled {
		t.Errorf("stopped: %v", r.Status)
	}
	if r := race.New(cluster().Graph, mcmf.CycleCancelling).Solve(mcmf.Options{Budget: 1000}); r.Status != mcmf.Exhausted || r.Ticks == 0 {
		t.Errorf("with a small budget: %v after %d ticks", r.Status, r.Ticks)
	}
	// One spends its budget, the other has enough of it: one result is a result.
	chain := func() *mcmf.Graph { return mcmftest.Chain(400, 100) }
	enough := mcmf.NewSolver(chain()).Solve(mcmf.Options{Algorithm: mcmf.CostScaling}).Ticks + 1
	alone := mcmf.NewSolver(chain()).Solve(mcmf.Options{Budget: enough})
	r := race.New(chain(), mcmf.CostScaling).Solve(mcmf.Options{Budget: enough})
	if alone.Status != mcmf.Exhausted || r.Status != mcmf.Optimal || r.Algorithm != mcmf.CostScaling {
		t.Errorf("with a budget of %d: %v alone, %v in a race by %s", enough, alone.Status, r.Status, r.Algorithm)
	}
	nobodyLeft(t)
}

// TestReplay races through the life of a cluster, and does so again by the names
// of the winners: every flow is the same, arc by arc.
func TestReplay(t *testing.T) {
	var results []mcmf.Result
	var flows [][]int64
	live := func(solve func(step int, s *race.Solver) mcmf.Result) {
		w := cluster()
		s := race.New(w.Graph, mcmf.CostScaling)
		for step := range 8 {
			r := solve(step, s)
			if r.Status != mcmf.Optimal {
				t.Fatalf("step %d: %v", step, r.Status)
			}
			flow := make([]int64, w.Graph.ArcBound())
			for a := range w.Graph.ArcBound() {
				if w.Graph.HasArc(a) {
					flow[a] = s.Flow(a)
				}
			}
			if len(flows) == step {
				flows = append(flows, flow)
			} else if !slices.Equal(flow, flows[step]) {
				t.Fatalf("step %d, won by %s: another flow than in the race", step, results[step].Algorithm)
			}
			w.Churn(300)
			if step == 4 {
				w.FailRack()
			}
		}
	}
	live(func(step int, s *race.Solver) mcmf.Result {
		o := mcmf.Options{}
		if step%2 == 0 {
			o.Stop = heldUp
		}
		r := s.Solve(o)
		results = append(results, r)
		return r
	})
	won := func(name mcmf.Algorithm) bool {
		return slices.ContainsFunc(results, func(r mcmf.Result) bool { return r.Algorithm == name })
	}
	if !won(mcmf.CostScaling) || !won(mcmf.Incremental) {
		t.Errorf("not both have won: %+v", results)
	}
	live(func(step int, s *race.Solver) mcmf.Result {
		was := results[step]
		r := s.Solve(mcmf.Options{Algorithm: was.Algorithm})
		if r.Algorithm != was.Algorithm || r.Cost != was.Cost || r.Ticks != was.Ticks {
			t.Errorf("step %d: %s, cost %d, %d ticks; the race: %s, cost %d, %d ticks", step, r.Algorithm, r.Cost, r.Ticks, was.Algorithm, was.Cost, was.Ticks)
		}
		return r
	})
}
