package cpumem_test

import (
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow/cpumem"
)

// TestPrice compares a curve with the shares of the node, computed with floats: each
// task more costs what is requested on average, and by how much kinds differ, or as
// much as the task before it where that would be less.
func TestPrice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := cluster.Vector{rapid.Int64Range(1, 1000).Draw(t, "cpu"), rapid.Int64Range(1, 1000).Draw(t, "memory")}
		demand := cluster.Vector{rapid.Int64Range(0, limit[0]).Draw(t, "needs cpu"), rapid.Int64Range(0, limit[1]).Draw(t, "needs memory")}
		s := cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1}, {Name: "memory", PerUnit: 1}}, nil)
		for _, e := range []cluster.Event{
			cluster.NodeAdded{Node: 0, Spec: cluster.NodeSpec{Name: "n0", Capacity: limit}},
			cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: demand}},
		} {
			if err := s.Apply(0, e); err != nil {
				t.Fatal(err)
			}
		}
		var m cpumem.Model
		_, curve := m.Into(&s.View, 0, 0)
		const whole = 1 << 20
		last := 0.0
		for i, step := range curve {
			cpu := min(2, float64(demand[0])*float64(i+1)/float64(limit[0]))
			memory := min(2, float64(demand[1])*float64(i+1)/float64(limit[1]))
			spread := max(cpu, memory) - min(cpu, memory, 1)
			last = max(last, ((cpu+memory)/2+spread)*whole)
			if off := float64(step.Cost) - last; off > 3 || off < -3 {
				t.Fatalf("task %d costs %d, want %.1f", i+1, step.Cost, last)
			}
		}
	})
}
