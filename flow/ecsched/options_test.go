package ecsched

import (
	"fmt"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

func TestOptions(t *testing.T) {
	for want, o := range map[string]Options{
		"":                           {Solver: "auction", Window: 1, Solves: 1, Score: MostLoaded},
		"a window of -1":             {Window: -1},
		"-2 solves a heartbeat":      {Solves: -2},
		"no score 2":                 {Score: 2},
		`no solver "fast", want ssp`: {Solver: "fast"},
	} {
		_, err := New(o)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v: error %v, want %q", o, err, want)
		}
	}
}

// TestOverflow makes prices so large that the size of a gang cannot be told: all are placed all the same.
func TestOverflow(t *testing.T) {
	const requests, members = 20, 500
	m := newMatcher("", nil)
	p := newPolicy(t, Options{Window: requests, Solves: 1}).(*policy)
	p.solve = func(r *round) {
		for i := range r.requests {
			r.requests[i].best = -1 << 45
		}
		m.solve(r)
	}
	core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil), sched.Lane{Name: "ecsched", Policy: p})
	if err != nil {
		t.Fatal(err)
	}
	events := []cluster.Event{cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{1}}}}
	row := cluster.TaskID(0)
	for i := range requests {
		events = append(events,
			cluster.NodeAdded{Node: cluster.NodeID(i), Spec: cluster.NodeSpec{Name: fmt.Sprint("n", i), Capacity: cluster.Vector{members}}},
			cluster.JobSubmitted{Job: cluster.JobID(i), Name: fmt.Sprint("j", i), Together: true})
		for range members*max(1-i, 0) + min(i, 1) {
			events = append(events, cluster.TaskSubmitted{Task: row, Seq: cluster.Seq(row) + 1, Job: cluster.JobID(i)})
			row++
		}
	}
	out, _, err := core.Step(0, events, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(out) != members+requests-1 || m.largest >= members {
		t.Errorf("%d of %d tasks were placed, at such prices, of a gang %d count; want all, and fewer than %d", len(out), members+requests-1, m.largest, members)
	}
}
