package sim

import (
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// TestFinished ends a run while a round is under way, and wants the core with what
// that round decided, and the names that the source has for tasks.
func TestFinished(t *testing.T) {
	var end Ending
	_, err := Run(Config{
		Source: story(1, 30), Lanes: lane(t, "kube"), Until: 3 * cluster.Second,
		Planner: Planner{PerTick: 1e8}, Finished: func(e Ending) { end = e },
	})
	if err != nil {
		t.Fatal(err)
	}
	s := end.Core.View()
	if s.InPhase(cluster.Running) != 3 || s.InPhase(cluster.Starting) != 1 || s.InPhase(cluster.Waiting) != 0 {
		t.Errorf("want three tasks that run and one that was decided about:\n%s", s.Picture())
	}
	if want := []string{"0/0", "0/1", "0/2", "1/0"}; !slices.Equal(end.Names, want) {
		t.Errorf("tasks are called %q, want %q", end.Names, want)
	}
}
