package queue

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// TestWhoMustStandBesideStays lets a task come to a node that is full, on which the one
// who would be evicted first must stand beside another one: the next one leaves instead.
func TestWhoMustStandBesideStays(t *testing.T) {
	classes := []cluster.Class{{Name: "bronze", Importance: 2}, {Name: "gold", Importance: 1, Availability: cluster.Whole}}
	for _, name := range []string{"priority", "qos"} {
		core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, classes), sched.Lane{Name: "all", Policy: policyNamed(t, name)})
		if err != nil {
			t.Fatal(err)
		}
		const next, firm, needs, comes = cluster.TaskID(0), cluster.TaskID(1), cluster.TaskID(2), cluster.TaskID(3)
		beside := cluster.Bound{Subject: []string{"needs"}, Target: []string{"firm"}, Min: 1, Max: cluster.Unbounded, Group: cluster.EachNode}
		events := []cluster.Event{
			cluster.ConstraintDefined{Spec: cluster.Constraint{Name: "beside", Hard: true, Any: [][]cluster.Bound{{beside}}}},
			cluster.NodeAdded{Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{9}}},
			cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{4}}},
			cluster.ShapeDefined{Shape: 1, Spec: cluster.Shape{Demand: cluster.Vector{4}, Tags: []string{"firm"}}},
			cluster.ShapeDefined{Shape: 2, Spec: cluster.Shape{Demand: cluster.Vector{1}, Tags: []string{"needs"}}},
			cluster.JobSubmitted{},
		}
		for i := range needs + 1 { // the later is the first to go, but for the one that is too small
			events = append(events, cluster.TaskSubmitted{Task: i, Seq: cluster.Seq(i), Shape: cluster.ShapeID(i), Gated: true}, cluster.TaskFound{Task: i, Seq: cluster.Seq(i)})
		}
		if _, _, err := core.Step(0, events, nil); err != nil {
			t.Fatal(err)
		}
		out, _, err := core.Step(cluster.Hour, []cluster.Event{cluster.TaskSubmitted{Task: comes, Seq: 9, Class: 1, Priority: 10}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(out) == 0 || out[0].Kind != sched.Evict || out[0].Task != next {
			t.Errorf("%s decided %v, want the eviction of task %d, as task %d must stay", name, out, next, firm)
		}
	}
}
