package sim

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim/trace"
)

// TestPromise: what a record promises comes before its priority, and a class that there
// is not ends the run at the record that names it.
func TestPromise(t *testing.T) {
	task := func(job uint64, name, promise string, priority int32) trace.Record {
		return trace.Record{Time: cluster.Time(job) * cluster.Second, What: trace.TaskSubmitted, Task: trace.Task{
			Job: job, Index: 3, Name: name, Promise: promise, Priority: priority, Demand: cluster.Vector{1}, Work: cluster.Second,
		}}
	}
	run := func(records ...trace.Record) (report.Run, error) {
		node := trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: 1, Capacity: cluster.Vector{8}}}
		l := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}, records: append([]trace.Record{node}, records...)}
		return Run(Config{Source: l, Lanes: lane(t, "kube"), Planner: Planner{Time: Zero}})
	}
	r, err := run(task(1, "", "", 9), task(2, "", "bronze", 9), task(3, "", "silver", 0), task(4, "", "", 0))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"gold": 1, "silver": 1, "bronze": 2} {
		if got := r.Classes[name].Submitted; got != want {
			t.Errorf("%d tasks of %s, want %d", got, name, want)
		}
	}
	for _, c := range []struct {
		record trace.Record
		want   string
	}{
		{task(17, "", "glod", 0), `trace at 17s: task 17/3: promise "glod": no such class; did you mean gold?`},
		{task(17, "web/a", "x", 0), `trace at 17s: task web/a: promise "x": no such class; there are gold, silver, bronze`},
	} {
		if _, err := run(c.record); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}
