//go:build !nohighs

package lane_test

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/exact"
	"fairlead.dev/fairlead/constraint/lane"
	"fairlead.dev/fairlead/ilp/highs"
)

// TestRepairTakesNobodyOff loses a node: the container that was there comes back beside the other, as
// nowhere else is room, and stays there when that is mended, though they should be apart.
func TestRepairTakesNobodyOff(t *testing.T) {
	engine := highs.Start(highs.Options{})
	if err := engine.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	repaired := 0
	b := newBed(t, lane.Options{Repair: func(p *constraint.Problem, found constraint.Assignment, _ int64) lane.Repaired {
		r, err := exact.Repair(p, found, engine, exact.Defaults())
		if err != nil || !r.Optimal {
			t.Errorf("repaired to %+v (%v)", r, err)
		}
		repaired++
		return lane.Repaired{Assignment: r.Assignment, Ticks: r.Ticks}
	}})
	b.observe(cluster.SolverReady{})
	b.rule("{app:app1, {app:app1, 0, 0}, node}")
	b.job("batch", 2, 4)
	b.step()
	b.job("app1", 2, 2)
	b.step()
	b.want("batch: n0 n1", "app1: n2 n3")
	b.observe(cluster.NodeLost{Node: 3})
	b.step()
	b.want("app1: n2 n2")
	if repaired != 2 {
		t.Errorf("%d plans were repaired, want 2", repaired)
	}
}

// TestRepairOnceReady mends what serial leaves, but in no round before the solver is said to be
// ready, be it compiled by then or not.
func TestRepairOnceReady(t *testing.T) {
	engine := highs.Start(highs.Options{})
	if err := engine.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ ready, beside bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		models, better := 0, 0
		b := newBed(t, lane.Options{Repair: func(p *constraint.Problem, found constraint.Assignment, _ int64) lane.Repaired {
			r, err := exact.Repair(p, found, engine, exact.Defaults())
			if err != nil {
				t.Fatal(err)
			}
			models, better = models+r.Models, better+r.Better
			return lane.Repaired{Assignment: r.Assignment, Ticks: r.Ticks}
		}})
		if tc.ready {
			b.observe(cluster.SolverReady{})
		}
		// Serial puts the first two where there is most of nothing, and leaves the third no room
		// beside the first.
		b.rule("{third, {first, 1, inf}, rack}")
		b.rule("{second, {first, 0, 0}, node}")
		b.job("app1", 1, 3, "first")
		b.job("app2", 1, 3, "second")
		b.job("app3", 1, 3, "third")
		if tc.beside {
			round := b.core.Begin(0, b.now)
			round.Run(0)
			b.out = b.core.Finish(round, b.now, b.out)
		} else {
			b.step()
		}
		first, third := b.core.View().Task(0), b.core.View().Task(2)
		together := first.Node/2 == third.Node/2
		if !third.Placed() || together != tc.ready || (better > 0) != tc.ready || (models > 0) != tc.ready {
			t.Errorf("%+v: first on %d, third on %d (%v); %d of %d models made it better", tc, first.Node, third.Node, third.Phase, better, models)
		}
	}
}
