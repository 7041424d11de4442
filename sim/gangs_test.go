package sim

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim/trace"
)

// TestGangsBeginTogether: a gang for which there is no room yet leaves its room to others, and begins as a whole; one that never fits waits with its
// reason. When a node is lost the others run on, and the lost ones begin anew together, as those that have finished leave nobody behind.
func TestGangsBeginTogether(t *testing.T) {
	s := cluster.Second
	l := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}}
	node := func(at cluster.Time, what trace.What, id uint64) {
		l.records = append(l.records, trace.Record{Time: at, What: what, Node: trace.Node{ID: id, Capacity: cluster.Vector{4}}})
	}
	task := func(at cluster.Time, job uint64, index uint32, gang int32, work cluster.Time) {
		l.records = append(l.records, trace.Record{Time: at, What: trace.TaskSubmitted, Task: trace.Task{Job: job, Index: index, Gang: gang, Demand: cluster.Vector{1}, Work: work}})
	}
	node(0, trace.NodeAdded, 1)
	node(0, trace.NodeAdded, 2)
	task(0, 1, 0, 0, 60*s)
	for i := range uint32(8) { // from 60 s on there is room for it
		task(s, 2, i, 8, 60*s)
	}
	task(30*s, 3, 0, 0, 10*s) // and before that for this one
	node(90*s, trace.NodeLost, 2)
	node(100*s, trace.NodeAdded, 2) // so that four run until 120 s, and four until 160 s
	for i := range uint32(9) {
		task(200*s, 4, i, 9, s)
	}
	for _, policy := range []string{"fairlead", "kube", "cpu-mem"} {
		p, err := policies.New(policy, policies.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		r, err := Run(Config{Source: &list{kinds: l.kinds, records: l.records}, Lanes: []sched.Lane{{Name: policy, Policy: p}}, Planner: Planner{Time: Zero}, Until: 1000 * s})
		if err != nil {
			t.Fatalf("%s: %v", policy, err)
		}
		want := report.Tasks{Submitted: 19, Placed: 10, Finished: 10, Pending: 9, Evicted: 4}
		if r.Tasks != want {
			t.Errorf("%s: %+v, want %+v", policy, r.Tasks, want)
		}
		if most := r.TaskResponse.Max; most < 159 || most > 159.5 {
			t.Errorf("%s: the slowest task took %v s, want 159", policy, most)
		}
		if len(r.Reasons) != 1 || r.Reasons["gang"] != 9 {
			t.Errorf("%s: tasks wait for %+v, want their gang", policy, r.Reasons)
		}
	}
}
