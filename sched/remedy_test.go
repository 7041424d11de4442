package sched_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// TestRemediesHelp: on the node that a remedy names, the task fits once the filters of the remedy are gone and so much
// more is there as it says; so many nodes are like that; and no node would take fewer changes of filters alone.
func TestRemediesHelp(t *testing.T) {
	kinds := []cluster.Kind{{Name: "cpu", PerUnit: 1000}, {Name: "memory", PerUnit: 1 << 30}}
	rapid.Check(t, func(r *rapid.T) {
		quantity := rapid.Int64Range(0, 4000)
		var events []cluster.Event
		nodes := rapid.IntRange(1, 8).Draw(r, "nodes")
		barred := map[cluster.NodeID]int{} // filters, of two
		var open []cluster.NodeID
		for i := range nodes {
			n := cluster.NodeID(i)
			events = append(events, cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Name: fmt.Sprint("n", i), Capacity: cluster.Vector{quantity.Draw(r, "cpu"), quantity.Draw(r, "memory")}}})
			if barred[n] = rapid.IntRange(0, 3).Draw(r, "filters"); barred[n] == 0 {
				open = append(open, n)
			}
		}
		demand := cluster.Vector{1 + quantity.Draw(r, "needs"), 1 + quantity.Draw(r, "needs memory")}
		events = append(events, cluster.SetDefined{Set: 1, Nodes: open}, cluster.ShapeDefined{Spec: cluster.Shape{Demand: demand, Eligible: 1}}, cluster.JobSubmitted{Name: "j"})
		// What takes room are tasks of another shape, one a node at most.
		for i := range nodes {
			taken := cluster.Vector{quantity.Draw(r, "taken"), quantity.Draw(r, "taken memory")}
			row := cluster.ShapeID(i + 1)
			events = append(events, cluster.ShapeDefined{Shape: row, Spec: cluster.Shape{Demand: taken}}, cluster.TaskSubmitted{Task: cluster.TaskID(i + 1), Seq: cluster.Seq(i + 2), Shape: row}, cluster.TaskFound{Task: cluster.TaskID(i + 1), Seq: cluster.Seq(i + 2), Node: cluster.NodeID(i)})
		}
		events = append(events, cluster.TaskSubmitted{Task: 0, Seq: 1})
		s := cluster.NewState(kinds, nil)
		core, err := sched.New(s, sched.Lane{Policy: neverPlaces{}})
		if err != nil {
			r.Fatal(err)
		}
		filters := func(n cluster.NodeID) (list []sched.Filtered) {
			for i := range 2 {
				if barred[n]&(1<<i) != 0 {
					list = append(list, sched.Filtered{Mechanism: "taint", Wants: fmt.Sprint("t", i)})
				}
			}
			return list
		}
		core.SetFilters(func(_ cluster.SetID, n cluster.NodeID) []sched.Filtered { return filters(n) })
		if _, err := core.Observe(0, events, nil); err != nil {
			r.Fatal(err)
		}
		for _, remedy := range core.Why(0).Remedies {
			checkRemedy(r, s, &remedy, filters)
		}
	})
}

// checkRemedy looks at each node, by vectors alone.
func checkRemedy(r *rapid.T, s *cluster.State, remedy *sched.Remedy, filters func(cluster.NodeID) []sched.Filtered) {
	demand := s.Shape(0).Demand
	fits := func(n cluster.NodeID) bool {
		for _, f := range filters(n) {
			if !slices.ContainsFunc(remedy.Obstacles, func(o sched.Obstacle) bool { return o.Mechanism == f.Mechanism && o.Wants == f.Wants }) {
				return false
			}
		}
		for k, need := range demand {
			left := s.Limit(n)[k] - s.Used(n)[k]
			for i, o := range remedy.Obstacles {
				if o.Kind == k && o.Mechanism == "room" {
					left += remedy.Short[i]
				}
			}
			if need > left || need > s.Limit(n)[k] {
				return false
			}
		}
		return true
	}
	if slices.ContainsFunc(remedy.Obstacles, func(o sched.Obstacle) bool { return o.Mechanism == "size" }) {
		return // it is about a node that is not there
	}
	count := 0
	named := false
	for n := range cluster.NodeID(s.NodeRows()) {
		if fits(n) {
			count++
			named = named || s.NodeSpec(n).Name == remedy.First
		}
	}
	if !named || count < remedy.Nodes {
		r.Fatalf("%s: on %d nodes that would do, %s among them: %t", remedy.Text(s.Kinds()), count, remedy.First, named)
	}
}
