package policies_test

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
)

// TestGuardedLast holds every policy that evicts to evict first whom no budget guards: two nodes are full of bronze, gold comes, and leaves the
// one alone whom a budget guards, whichever it is. More gold comes, and has the other place, too.
func TestGuardedLast(t *testing.T) {
	ran := 0
	for _, info := range policies.All() {
		if !info.Evicts {
			continue
		}
		ran++
		for guarded := range cluster.TaskID(2) {
			t.Run(info.Name, func(t *testing.T) {
				w := newRefusing(t, info)
				w.firm = cluster.NoTask // all who are asked leave
				w.in = append([]cluster.Event{cluster.BudgetChanged{}, cluster.TaskGuarded{Task: guarded, Attempt: 1, Budgets: []cluster.BudgetID{0}}}, w.in...)
				first := w.runs(gold)
				if first != 1-guarded {
					t.Fatalf("task row %d was evicted, though a budget guards it, or none", first)
				}
				w.in = append(w.in, cluster.TaskSubmitted{Task: gold + 1, Seq: 4, Job: 1, Class: 1, Priority: 10})
				if second := w.runs(gold + 1); second != guarded {
					t.Fatalf("task row %d was evicted, want the one that a budget guards", second)
				}
			})
		}
	}
	if ran < 4 {
		t.Errorf("%d policies evict, want at least 4", ran)
	}
}

// runs goes on until the task runs, and returns who of bronze does not run there and did before.
func (w *refusing) runs(task cluster.TaskID) (evicted cluster.TaskID) {
	w.t.Helper()
	evicted = cluster.NoTask
	before := [2]cluster.Phase{w.core.View().Task(0).Phase, w.core.View().Task(1).Phase}
	for range 400 {
		w.step()
		if s := w.core.View(); int(task) < s.TaskRows() && s.Task(task).Phase == cluster.Running {
			for bronze := range cluster.TaskID(2) {
				if before[bronze] == cluster.Running && s.Task(bronze).Phase != cluster.Running {
					evicted = bronze
				}
			}
			return evicted
		}
	}
	w.t.Fatalf("task row %d is %s at %v", task, w.core.View().Task(task).Phase, w.now)
	return evicted
}
