package flow_test

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/flow/cpumem"
	"fairlead.dev/fairlead/flow/quincy"
)

// TestStop stops a round at some of the times that it asks: within solves, between
// them, and where several shapes compete. It must not go on. Later rounds, which nobody
// stops, place what that one has left out, if there is room for all.
func TestStop(t *testing.T) {
	for _, bench := range []struct {
		name   string
		model  func() flow.Model
		shapes int
		tasks  int // of 3,600 slots
	}{
		{"one shape", func() flow.Model { return quincy.New(quincy.Standard()) }, 1, 3000},
		{"contended", func() flow.Model { return &cpumem.Model{} }, 20, 3800},
	} {
		t.Run(bench.name, func(t *testing.T) {
			// round is a round that is stopped when it has asked so often, and rounds
			// that are not: how often it asked, and how many wait after it and in the end.
			round := func(last int) (asked, after, end int) {
				p := flow.New(bench.model(), flow.Options{Name: bench.name, Stages: flow.Stages(), Stop: func() bool {
					asked++
					return asked >= last
				}})
				b := newBed(t, p, 300, bench.shapes, bench.shapes == 1)
				b.submit(bench.tasks)
				asked = 0
				b.step()
				questions := asked
				after = b.core.View().InPhase(cluster.Waiting)
				last = 1 << 30
				for range 5 {
					b.step()
				}
				return questions, after, b.core.View().InPhase(cluster.Waiting)
			}
			all, _, settled := round(1 << 30)
			if all < 3 {
				t.Fatalf("nobody stops it, and it asks %d times; the test is of no use", all)
			}
			fewer := 1 // of the times
			if testing.Short() {
				fewer = 6
			}
			for last := 1; last <= all; last += 1 + last*fewer/2 {
				asked, after, end := round(last)
				if asked > last+4 {
					t.Errorf("stopped at question %d of %d, it went on until question %d", last, all, asked)
				}
				if last == 1 && after != bench.tasks {
					t.Errorf("stopped at once, it placed %d tasks", bench.tasks-after)
				}
				if settled == 0 && end > 0 {
					t.Errorf("stopped at question %d of %d, %d tasks still wait in the end", last, all, end)
				}
			}
		})
	}
}
