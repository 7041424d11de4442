package flow_test

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/flow/quincy"
	"fairlead.dev/fairlead/sched"
)

// crowded is a cluster of quincy's where services have come, for some of which there
// is room, and for the others batch tasks that have just begun have to go.
func crowded(t *testing.T) *stage {
	t.Helper()
	st := newStage(t, flow.New(quincy.New(quincy.Standard()), flow.Options{Name: "quincy", Moves: 3}))
	for range 40 {
		st.node(cluster.Vector{1, 1, 0})
	}
	shape, batch := st.shape(cluster.Shape{Demand: cluster.Vector{1, 1, 0}}), st.job()
	for range 30 {
		st.task(batch, shape)
	}
	st.mustStep()
	st.mustStep()
	services := st.job()
	for range 20 {
		st.task(services, shape)
		e := st.events[len(st.events)-1].(cluster.TaskSubmitted)
		e.Priority = 9
		st.events[len(st.events)-1] = e
	}
	if _, err := st.core.Observe(st.now, st.events, nil); err != nil {
		t.Fatal(err)
	}
	st.events = nil
	return st
}

// round is one round with a budget, beside the world, and whether it came to its end.
func (s *stage) round(budget int64) (placed, evicted int, whole bool) {
	r := s.core.Begin(0, s.now)
	r.Run(budget)
	for _, d := range s.core.Finish(r, s.now, nil) {
		if d.Kind == sched.Place {
			placed++
		} else {
			evicted++
		}
	}
	if err := s.core.State().Check(); err != nil {
		s.tb.Fatalf("%v", err)
	}
	return placed, evicted, s.core.Wake(s.now) > s.now
}

// TestBudget ends rounds at every point. One that did not come to its end places waiting
// tasks, and moves nobody who runs; as many rounds as it takes come to what one does.
func TestBudget(t *testing.T) {
	all := crowded(t)
	placed, evicted, whole := all.round(0)
	if placed != 10 || evicted != 10 || !whole {
		t.Fatalf("without a budget %d are placed and %d stopped, want 10 each; whole: %t", placed, evicted, whole)
	}
	cut, some := 0, 0
	for budget := int64(1); ; budget = budget + budget/8 + 1 {
		st := crowded(t)
		placed, evicted, whole := st.round(budget)
		if !whole {
			cut++
			if evicted > 0 {
				t.Fatalf("a round that ended after %d ticks stops %d tasks that run, want none", budget, evicted)
			}
			if placed > 0 {
				some++
			}
		}
		sumPlaced, sumEvicted, rounds := placed, evicted, 1
		for ; !whole && rounds < 500; rounds++ {
			placed, evicted, whole = st.round(budget)
			sumPlaced, sumEvicted = sumPlaced+placed, sumEvicted+evicted
		}
		if sumPlaced != 10 || sumEvicted != 10 {
			t.Fatalf("%d rounds of %d ticks place %d and stop %d, want 10 each", rounds, budget, sumPlaced, sumEvicted)
		}
		if rounds == 1 {
			break
		}
	}
	t.Logf("%d budgets were too small for a round; with %d of them it placed some", cut, some)
	if cut < 5 {
		t.Errorf("only %d budgets were too small, so that this shows little", cut)
	}
}
