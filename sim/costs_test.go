package sim

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim/trace"
)

// TestNodesCost: nodes cost for as long as they are there, each by the first price that is its own, and those with a task are
// counted apart. One that is lost costs no more, and one that changes hands costs what it costs then.
func TestNodesCost(t *testing.T) {
	h := cluster.Hour
	node := func(at cluster.Time, what trace.What, id uint64, provider string) trace.Record {
		n := trace.Node{ID: id, Capacity: cluster.Vector{4}}
		if provider != "" {
			n.Labels = []cluster.Label{{Key: "provider", Value: provider}}
		}
		return trace.Record{Time: at, What: what, Node: n}
	}
	l := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}, records: []trace.Record{
		node(0, trace.NodeAdded, 1, "a"), node(0, trace.NodeAdded, 2, "b"), node(0, trace.NodeAdded, 3, ""),
		{Time: h, What: trace.TaskSubmitted, Task: trace.Task{Job: 1, Demand: cluster.Vector{4}, Work: 2 * h}},
		node(4*h, trace.NodeLost, 2, ""),
		node(5*h, trace.NodeChanged, 1, "b"),
		{Time: 9 * h, What: trace.TaskSubmitted, Task: trace.Task{Job: 2, Demand: cluster.Vector{4}, Work: h}},
	}}
	run := func(prices ...Price) map[string]report.NodeCost {
		t.Helper()
		r, err := Run(Config{Source: &list{kinds: l.kinds, records: slices.Clone(l.records)}, Lanes: lane(t, "first-fit"), World: World{Prices: prices}, Planner: Planner{Time: Zero}})
		if err != nil {
			t.Fatal(err)
		}
		return r.NodeCosts
	}
	// Ten hours. Node 1 is of a for five, with a task for two, and then of b for five, with a task for one; node 2 of b for four.
	want := map[string]report.NodeCost{
		"provider=a": {Hours: 5, Used: 2, Cost: 2.5, UsedCost: 1},
		"provider=b": {Hours: 9, Used: 1, Cost: 18, UsedCost: 2},
		"none":       {Hours: 10},
		"all":        {Hours: 24, Used: 3, Cost: 20.5, UsedCost: 3},
	}
	a, b := Price{"provider", "a", 500_000}, Price{"provider", "b", 2_000_000}
	if diff := cmp.Diff(want, run(a, b)); diff != "" {
		t.Error(diff)
	}
	delete(want, "none")
	want["other"] = report.NodeCost{Hours: 10, Cost: 1}
	want["all"] = report.NodeCost{Hours: 24, Used: 3, Cost: 21.5, UsedCost: 3}
	if diff := cmp.Diff(want, run(a, b, Price{Hour: 100_000})); diff != "" {
		t.Error(diff)
	}
	if got := run(); got != nil {
		t.Errorf("without prices: %v", got)
	}
}
