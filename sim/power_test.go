package sim

import (
	"math"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/power"
	"fairlead.dev/fairlead/sim/trace"
)

// TestPowerIsMeasured: two nodes of a socket draw 10 W each, and 100 W while a task works, until one of them is lost.
func TestPowerIsMeasured(t *testing.T) {
	s := cluster.Second
	node := func(at cluster.Time, what trace.What, id uint64) trace.Record {
		return trace.Record{Time: at, What: what, Node: trace.Node{ID: id, Capacity: cluster.Vector{4}}}
	}
	l := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}, records: []trace.Record{
		node(0, trace.NodeAdded, 1), node(0, trace.NodeAdded, 2),
		{Time: 10 * s, What: trace.TaskSubmitted, Task: trace.Task{Job: 1, Demand: cluster.Vector{1}, Work: 20 * s}},
		node(40*s, trace.NodeLost, 2),
		{Time: 50 * s, What: trace.TaskSubmitted, Task: trace.Task{Job: 2, Demand: cluster.Vector{1}, Work: 10 * s}},
	}}
	table := power.Table{{Cores: 2, Socket: power.Draw{Idle: 10, Full: 100}}}
	r, err := Run(Config{Source: l, Lanes: lane(t, "first-fit"), World: World{Power: table}, Planner: Planner{Time: Zero}})
	if err != nil {
		t.Fatal(err)
	}
	// 10 s × 20 W, 20 s × 110 W, 10 s × 20 W, 10 s × 10 W, 10 s × 100 W.
	const joules = 200 + 2200 + 200 + 100 + 1000
	if r.Power == nil || r.Power.Mean != joules/60. || r.Power.Final != 10 || math.Abs(float64(r.Power.Energy)-joules/3.6e6) > 1e-12 {
		t.Errorf("%+v, want a mean of %v W, 10 W at the end, %v kWh", r.Power, joules/60., joules/3.6e6)
	}
	if column := r.Series.Columns["power_w"]; len(column) == 0 || column[len(column)-1] != 10 {
		t.Errorf("over time: %v", column)
	}
}
