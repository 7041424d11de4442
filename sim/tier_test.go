package sim

import (
	"testing"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// TestTier lets a policy that knows nothing of tiers run tasks of two classes with a
// tier and one without. "Premium→high, Advanced→average, Best effort→low only":
// a tier is hard, whoever decides, and one that no node has is no reason for others to
// wait. A node that changes its tier changes who may use it.
func TestTier(t *testing.T) {
	table := &class.Table{}
	for _, c := range []cluster.Class{{Name: "Premium", Tier: cluster.Premium}, {Name: "Advanced", Tier: cluster.Advanced}, {Name: "any"}} {
		table.Classes = append(table.Classes, class.Class{Class: c})
	}
	node := func(at cluster.Time, what trace.What, id uint64, tier int32) trace.Record {
		return trace.Record{Time: at, What: what, Node: trace.Node{ID: id, Capacity: cluster.Vector{8}, Tier: tier}}
	}
	task := func(job uint64, promise string) trace.Record {
		return trace.Record{What: trace.TaskSubmitted, Task: trace.Task{Job: job, Promise: promise, Demand: cluster.Vector{1}, Work: 10 * cluster.Second}}
	}
	l := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}, records: []trace.Record{
		node(0, trace.NodeAdded, 1, 3), node(0, trace.NodeAdded, 2, 1), node(0, trace.NodeAdded, 3, 0),
		task(1, "Premium"), task(2, "Premium"), task(3, "Advanced"), task(4, "any"),
		node(5*cluster.Second, trace.NodeChanged, 2, 2),
	}}
	s, err := newSimulation(Config{Source: l, Lanes: lane(t, "kube"), Classes: table, Planner: Planner{Time: Zero}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.play(); err != nil {
		t.Fatal(err)
	}
	if done := s.measures.outcomes.tasks.Finished; done != 4 {
		t.Errorf("%d tasks are done, want 4", done)
	}
	if s.kernel.now != 15*cluster.Second {
		t.Errorf("all is done at %v, want 15 s: the Advanced task waits for 5 s until a node has its tier", s.kernel.now)
	}
	for _, n := range s.nodes.list {
		if got, want := s.planner.view().NodeSpec(s.nodes.rows[n.id]).Tier, map[uint64]int32{1: 3, 2: 2, 3: 0}[n.id]; got != want {
			t.Errorf("the core believes that node %d has tier %d, want %d", n.id, got, want)
		}
	}
}
