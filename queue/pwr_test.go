package queue

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// TestPWRWakesTheCheapest: a pod goes where the fewest watts more are drawn: to the GPU in use, else to the thriftiest model; and with fgd at full weight
// watts do not count.
func TestPWRWakesTheCheapest(t *testing.T) {
	core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1000}, {Name: "gpu", PerUnit: 1000, Devices: true}}, nil), sched.Lane{Policy: policyNamed(t, "pwr")})
	if err != nil {
		t.Fatal(err)
	}
	var events []cluster.Event
	for n, model := range []string{"P100", "G2", "T4", "V100M16"} {
		events = append(events, cluster.NodeAdded{Node: cluster.NodeID(n), Spec: cluster.NodeSpec{
			Capacity: cluster.Vector{32_000, 2000}, Labels: []cluster.Label{{Key: "gpu-model", Value: model}},
		}})
	}
	events = append(events, cluster.JobSubmitted{}, cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{1000, 600}}}, cluster.ShapeDefined{Shape: 1, Spec: cluster.Shape{Demand: cluster.Vector{1000, 400}}})
	for i, c := range []struct {
		shape cluster.ShapeID
		node  cluster.NodeID
		gpu   cluster.DeviceSet
	}{
		{0, 2, 1}, // 60 W for a T4, and its processor
		{1, 2, 1}, // what is left of it
		{1, 2, 2}, // the other one: its processor is at work
		{0, 2, 2},
		{0, 0, 1}, // P100 is dearer than G2, its processor by more cheaper
	} {
		events = append(events, cluster.TaskSubmitted{Task: cluster.TaskID(i), Seq: cluster.Seq(i), Shape: c.shape})
		out, _, err := core.Step(cluster.Time(i), events, nil)
		if err != nil || len(out) != 1 {
			t.Fatalf("decided %v, %v; want one task to be placed", out, err)
		}
		events = events[:0]
		if out[0].Node != c.node || out[0].Devices != c.gpu {
			t.Errorf("task %d is on node %d and GPUs %b, want %d and %b, in\n%s", i, out[0].Node, out[0].Devices, c.node, c.gpu, core.View().Picture())
		}
	}
}
