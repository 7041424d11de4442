package sim

import (
	"maps"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow/ecsched"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim/trace"
)

// Tasks of one shape wait for different reasons where some want to stand together:
// each node is large enough for one of them, none for two, and both are in use by
// half. A second gang, of one task, is asked for itself.
func TestReasonsOfGangs(t *testing.T) {
	l := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}}
	for n := range uint64(2) {
		l.records = append(l.records, trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: n, Capacity: cluster.Vector{4}}})
	}
	submit := func(job uint64, index uint32, demand int64, together bool) {
		l.records = append(l.records, trace.Record{Time: cluster.Time(job) * cluster.Second, What: trace.TaskSubmitted, Task: trace.Task{
			Job: job, Index: index, Demand: cluster.Vector{demand}, Work: cluster.Hour, Together: together,
		}})
	}
	submit(1, 0, 2, false)
	submit(2, 0, 2, false)
	submit(3, 0, 3, false)
	submit(4, 0, 3, true)
	submit(4, 1, 3, true)
	submit(5, 0, 3, true)
	submit(6, 0, 3, false)
	policy, err := ecsched.New(ecsched.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(Config{Source: l, Lanes: []sched.Lane{{Name: "ecsched", Policy: policy}}, Until: cluster.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]int{"unplaceable by cpu": 2, "cpu": 3}; !maps.Equal(r.Reasons, want) || r.Tasks.Unplaceable != 2 {
		t.Errorf("reasons %v of %+v, want %v", r.Reasons, r.Tasks, want)
	}
}
