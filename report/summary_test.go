package report_test

import (
	"testing"

	"fairlead.dev/fairlead/report"
)

// TestSummary: who waits comes first, then who violates, then who is disturbed, then nodes; who is as good in all is named too.
func TestSummary(t *testing.T) {
	group := func(name string, pending int, violated report.Number, evicted, active int) report.Group {
		return report.Group{Name: name, Runs: []report.Run{{
			Setup: report.Setup{Policy: name, Certain: true}, Nodes: 10, NodesActive: active,
			Tasks: report.Tasks{Submitted: 100, Pending: pending, Preempted: evicted}, Constraints: &report.Constraints{Violated: report.Level{Final: violated}},
		}}}
	}
	for _, test := range []struct {
		groups []report.Group
		want   string
	}{
		{nil, ""},
		{[]report.Group{group("a", 2, 0.25, 3, 4)}, "Under a 2 of 100 tasks wait at the end, 25.00% violate a constraint, 3 evictions, 4 of 10 nodes in use."},
		{
			[]report.Group{group("a", 2, 0, 0, 4), group("b", 1, 0.25, 3, 5)},
			"b did best: 1 of 100 tasks wait at the end, 25.00% violate a constraint, 3 evictions, 5 of 10 nodes in use; under a 2 of 100 tasks wait at the end, 4 of 10 nodes in use.",
		},
		{
			[]report.Group{group("a", 1, 0.25, 0, 4), group("b", 1, 0, 3, 5)},
			"b did best: 1 of 100 tasks wait at the end, 3 evictions, 5 of 10 nodes in use; under a 1 of 100 tasks wait at the end, 25.00% violate a constraint, 4 of 10 nodes in use.",
		},
		{
			[]report.Group{group("a", 1, 0, 1, 4), group("b", 1, 0, 0, 5)},
			"b did best: 1 of 100 tasks wait at the end, 5 of 10 nodes in use; under a 1 of 100 tasks wait at the end, 1 eviction, 4 of 10 nodes in use.",
		},
		{
			[]report.Group{group("a", 1, 0, 0, 5), group("b", 1, 0, 0, 4), group("c", 1, 0, 0, 4)},
			"b and c did alike: 1 of 100 tasks wait at the end, 4 of 10 nodes in use; under a 1 of 100 tasks wait at the end, 5 of 10 nodes in use.",
		},
	} {
		if got := report.Summary(test.groups); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}
