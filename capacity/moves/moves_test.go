package moves_test

import (
	"slices"
	"testing"

	"fairlead.dev/fairlead/capacity/moves"
	"fairlead.dev/fairlead/cluster"
)

// chance is a world of that seed: every second has devices, every third constraints.
func chance(t *testing.T, seed uint64) (*world, *checker) {
	t.Helper()
	w := newWorld(t, seed, seed%2 == 0)
	w.nodes(12 + int(seed%20))
	var own []rule
	if seed%3 == 0 {
		own = rules()
		for i, r := range own {
			w.apply(cluster.ConstraintDefined{Constraint: cluster.ConstraintID(i), Spec: r.constraint(i)})
		}
	}
	w.fill(100 + int(seed%7)*30)
	return w, checkerOf(w, own)
}

const seeds = 60

// check is what holds of every plan.
func check(t *testing.T, seed uint64, w *world, c *checker, p *moves.Plan) {
	t.Helper()
	if err := c.replay(p.Moves); err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
	if p.Gap() < 0 {
		t.Errorf("seed %d: %d nodes are left, fewer than the bound %d", seed, len(p.Left), p.Bound)
	}
}

// TestFree holds what is switched off against the checker: nothing runs there but what is the node's own.
func TestFree(t *testing.T) {
	freed, moved := 0, 0
	for seed := range uint64(seeds) {
		w, c := chance(t, seed)
		p := moves.Free(w.problem())
		check(t, seed, w, c, &p)
		for _, n := range p.Done {
			if c.busy(n) {
				t.Errorf("seed %d: node %d is to be switched off, and tasks run there", seed, n)
			}
		}
		if len(p.Done)+len(p.Left) != w.state.Totals().Nodes {
			t.Errorf("seed %d: %d nodes are off and %d on, of %d", seed, len(p.Done), len(p.Left), w.state.Totals().Nodes)
		}
		freed, moved = freed+len(p.Done), moved+len(p.Moves)
	}
	if freed < seeds || moved < 10*seeds {
		t.Errorf("%d nodes are freed by %d moves in %d worlds: what was tested?", freed, moved, seeds)
	}
}

// TestDrain empties every third node.
func TestDrain(t *testing.T) {
	done, stuck := 0, 0
	for seed := range uint64(seeds) {
		w, c := chance(t, seed)
		var nodes []cluster.NodeID
		for n := cluster.NodeID(seed % 3); int(n) < w.state.NodeRows(); n += 3 {
			nodes = append(nodes, n)
		}
		p := moves.Drain(w.problem(), nodes)
		check(t, seed, w, c, &p)
		for _, m := range p.Moves {
			if slices.Contains(nodes, m.To) {
				t.Errorf("seed %d: a task moves to node %d, which is to be emptied", seed, m.To)
			}
		}
		for _, n := range nodes {
			if isDone := slices.Contains(p.Done, n); isDone == c.busy(n) {
				t.Errorf("seed %d: node %d: done is %v, and tasks run there: %v", seed, n, isDone, c.busy(n))
			}
		}
		done, stuck = done+len(p.Done), stuck+len(p.Left)
	}
	if done < seeds || stuck < seeds {
		t.Errorf("%d nodes are emptied and %d not in %d worlds: what was tested?", done, stuck, seeds)
	}
}

// TestLevel cools nodes down, and makes none hot.
func TestLevel(t *testing.T) {
	done, stuck := 0, 0
	for seed := range uint64(seeds) {
		w, c := chance(t, seed)
		share := 600 + int64(seed%4)*50
		var hot []int
		for n := range c.nodes {
			if c.hot(n, share) {
				hot = append(hot, n)
			}
		}
		limits := make(cluster.Vector, len(w.state.Kinds()))
		limits[0], limits[1] = share, share
		p := moves.Level(w.problem(), limits)
		check(t, seed, w, c, &p)
		for n := range c.nodes {
			left := slices.ContainsFunc(p.Left, func(l moves.Left) bool { return int(l.Node) == n })
			if c.hot(n, share) != left || left && !slices.Contains(hot, n) {
				t.Errorf("seed %d: node %d is hot: %v, was: %v, and is left: %v", seed, n, c.hot(n, share), slices.Contains(hot, n), left)
			}
		}
		done, stuck = done+len(p.Done), stuck+len(p.Left)
	}
	if done < seeds || stuck == 0 {
		t.Errorf("%d nodes are cooled and %d not in %d worlds: what was tested?", done, stuck, seeds)
	}
}

// TestBound holds the bound against all assignments of few tasks to few nodes.
func TestBound(t *testing.T) {
	tight := 0
	for seed := range uint64(200) {
		w := newWorld(t, seed, false)
		w.nodes(4)
		for range 6 {
			s := w.shape(cluster.Shape{Demand: w.demand(int64(1000*(1+w.rng.IntN(8))), int64(gib*(1+w.rng.IntN(30)))), Eligible: cluster.SetID(max(0, w.rng.IntN(8)-4))})
			job := w.job()
			if n, ok := w.anywhere(s, job); ok {
				w.run(job, s, n, moves.Move)
			}
		}
		c := checkerOf(w, nil)
		p := moves.Free(w.problem())
		fewest := c.fewest(0, make([]int, len(c.nodes)))
		if p.Bound > fewest {
			t.Errorf("seed %d: the bound is %d, and %d nodes suffice", seed, p.Bound, fewest)
		}
		if p.Bound == fewest {
			tight++
		}
	}
	if tight < 100 {
		t.Errorf("the bound is tight in %d of 200 worlds", tight)
	}
}

// fewest tries all assignments of the tasks from i on.
func (c *checker) fewest(i int, on []int) int {
	if i == len(c.tasks) {
		if len(c.wrong()) > 0 {
			return len(c.nodes) + 1
		}
		used := 0
		for _, tasks := range on {
			used += min(tasks, 1)
		}
		return used
	}
	best, was := len(c.nodes)+1, c.tasks[i].node
	for n := range c.nodes {
		c.tasks[i].node = n
		on[n]++
		best = min(best, c.fewest(i+1, on))
		on[n]--
	}
	c.tasks[i].node = was
	return best
}

// large is 12,500 nodes with 150,000 tasks, of which one in 2,000 may not move.
func large(tb testing.TB) *moves.Problem {
	tb.Helper()
	w := newWorld(tb, 1, false)
	w.nodes(12_500)
	w.fill(150_000)
	return w.problem()
}

// zone are the nodes of a zone.
func zone(v *cluster.View, value string) (nodes []cluster.NodeID) {
	for n := range cluster.NodeID(v.NodeRows()) {
		if slices.Contains(v.NodeSpec(n).Groups, cluster.Label{Key: "zone", Value: value}) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// TestLarge holds the gaps at that size.
func TestLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("large")
	}
	p := large(t)
	for _, goal := range []struct {
		name string
		plan moves.Plan
		done int // at least; most of a zone cannot be emptied, as every fifth task may go nowhere else
	}{
		{"free", moves.Free(p), 5000}, {"drain", moves.Drain(p, zone(p.View, "1")), 400}, {"level", moves.Level(p, cluster.Vector{700, 700, 0}), 8000},
	} {
		plan := goal.plan
		t.Logf("%s: %d moves, %d nodes are as they should be, %d are not, the bound is %d", goal.name, len(plan.Moves), len(plan.Done), len(plan.Left), plan.Bound)
		if 100*plan.Gap() > len(plan.Left) || len(plan.Done) < goal.done {
			t.Errorf("%s: %d nodes are as they should be, %d are not, the bound is %d: want a gap of at most 1 %%", goal.name, len(plan.Done), len(plan.Left), plan.Bound)
		}
	}
}

// BenchmarkLarge is how long plans take at that size.
func BenchmarkLarge(b *testing.B) {
	p := large(b)
	for _, goal := range []struct {
		name string
		plan func() moves.Plan
	}{
		{"free", func() moves.Plan { return moves.Free(p) }},
		{"drain", func() moves.Plan { return moves.Drain(p, zone(p.View, "1")) }},
		{"level", func() moves.Plan { return moves.Level(p, cluster.Vector{700, 700, 0}) }},
	} {
		b.Run(goal.name, func(b *testing.B) {
			for b.Loop() {
				plan := goal.plan()
				b.ReportMetric(float64(len(plan.Moves)), "moves/op")
				b.ReportMetric(float64(plan.Gap()), "gap/op")
			}
		})
	}
}
