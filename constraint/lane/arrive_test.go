package lane_test

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/lane"
)

// TestWhoComesIsLetIn: hard constraints that bind who comes are no part of a plan, which would put every
// container on the first node. All the same each comes to a node that lets it in, if there is one, or
// its application waits as a whole.
func TestWhoComesIsLetIn(t *testing.T) {
	for _, tc := range []struct {
		why, rules string
		tasks      int
		cpu        int64
		want       string
	}{
		{"apart from one that runs", "{app:app1, {app:app0, 0, 0}, node}: arriving", 1, 1, "app1: n1"},
		{"apart from it in the whole rack", "{app:app1, {app:app0, 0, 0}, rack}: arriving", 2, 1, "app1: n2 n2"},
		{"apart from each other", "{app:app1, {app:app1, 0, 0}, node}: arriving", 3, 1, "app1: n0 n1 n2"},
		{"one more than there are nodes", "{app:app1, {app:app1, 0, 0}, node}: arriving", 5, 1, "app1: - - - - -"},
		{"spread over racks, the first of which has room for all", "{app:app1, {app:app1, 0, 1}, rack, over-fewest}: arriving counted", 3, 1, "app1: n0 n2 n0"},
		{"beside one that runs, where there is no room for both", "{app:app1, {app:app0, 1, inf}, rack}: arriving", 2, 3, "app1: n0 n1"},
		{"in one rack, wherever the first is", "{app:app1, {app:app1, 1, inf}, rack, or-first}: arriving; {app:app1, {app:app0, 0, 0}, node}: arriving", 2, 2, "app1: n1 n1"},
		{"nobody goes back on where the first went", "{app:app1, {app:app1, 1, inf}, rack, or-first}: arriving; {app:app1, {app:app0, 0, 0}, node}: arriving", 3, 2, "app1: - - -"},
		{"a rule that holds in the end as well", "{app:app1, {app:app1, 0, 0}, node}: arriving; {app:app1, {app:app0, 0, 0}, rack}: hard", 2, 1, "app1: n2 n3"},
		{"what it had rather is weighed", "{app:app1, {app:app1, 0, 0}, node}: arriving; {app:app1, {app:app0, 0, 0}, rack}", 2, 1, "app1: n2 n3"},
	} {
		b := newBed(t, lane.Options{})
		for rule := range strings.SplitSeq(tc.rules, "; ") {
			b.ruleOf(constraint.ParseArriving, rule)
		}
		b.job("app0", 1, 1)
		b.step()
		b.want("app0: n0")
		b.job("app1", tc.tasks, tc.cpu)
		b.step()
		t.Log(tc.why)
		b.want(tc.want)
	}
}

// TestWhoIsShutOutKeepsNoPlace: two for whom there is no company have the racks in the plan, one each, and
// a third that may not be beside them in a rack gets one.
func TestWhoIsShutOutKeepsNoPlace(t *testing.T) {
	b := newBed(t, lane.Options{})
	b.ruleOf(constraint.ParseArriving, "{alone, {alone, 0, 0}, rack}: hard")
	b.ruleOf(constraint.ParseArriving, "{needy, {friend, 1, inf}, node}: arriving")
	b.job("app0", 1, 1, "alone", "needy")
	b.job("app1", 1, 1, "alone", "needy")
	b.job("app2", 1, 1, "alone")
	b.step()
	b.want("app0: -", "app1: -", "app2: n0")
}
