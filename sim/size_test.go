package sim

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// TestSized gives tasks the ranges of their classes' levels of size: by the smallest
// node that has any cores, in whole ones where it has enough of them, and with the same
// effort as before.
func TestSized(t *testing.T) {
	table := class.SLA()
	for i := range table.Classes {
		table.Classes[i].Tier = 0
	}
	const minute = cluster.Minute
	for _, tc := range []struct {
		name     string
		capacity int64
		factor   int64 // of over-commit, in thousandths
		promise  string
		demand   int64
		most     int64 // the trace's own
		want     [2]int64
		work     cluster.Time
	}{
		{"a core", 32_000, 1000, "premium", 1000, 0, [2]int64{22_000, 32_000}, minute},
		{"two and a half", 32_000, 1000, "advanced", 2500, 0, [2]int64{11_000, 21_000}, minute * 5 / 2},
		{"none", 32_000, 1000, "best-effort", 0, 0, [2]int64{1000, 10_000}, minute},
		{"fewer cores than levels", 2_500, 1000, "advanced", 500, 0, [2]int64{834, 1666}, minute / 2},
		{"a range of its own", 32_000, 1000, "premium", 1000, 3000, [2]int64{1000, 3000}, minute},
		{"half of the node", 32_000, 500, "premium", 1000, 0, [2]int64{11_000, 16_000}, minute},
		{"twice the node", 16_000, 2000, "premium", 1000, 0, [2]int64{22_000, 32_000}, minute},
		{"no node has the kind", 0, 1000, "premium", 1000, 0, [2]int64{1000}, minute},
		{"no range is left", 3_000, 1000, "best-effort", 2000, 0, [2]int64{1000, 0}, 2 * minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1000}}}
			s, err := newSimulation(Config{Source: l, Lanes: lane(t, "sla"), Classes: table, Overcommit: map[string]int64{"cpu": tc.factor}})
			if err != nil {
				t.Fatal(err)
			}
			for id, capacity := range []int64{4 * tc.capacity, tc.capacity, 0, tc.capacity / 2} {
				s.nodes.add(&trace.Node{ID: uint64(id), Capacity: cluster.Vector{capacity}}, s.outbox.emit)
			}
			s.runs.loseNode(3)
			task := trace.Task{Promise: tc.promise, Demand: cluster.Vector{tc.demand}, Work: minute}
			if tc.most > 0 {
				task.Max = cluster.Vector{tc.most}
			}
			of, err := s.tasks.arrives(&task)
			if err != nil {
				t.Fatal(err)
			}
			is := s.nodes.sized(of)
			got := [2]int64{is.Demand[0]}
			if is.Max != nil {
				got[1] = is.Max[0]
			}
			if got != tc.want || is.Work != tc.work {
				t.Errorf("it takes %d and works for %v, want %d and %v", got, is.Work, tc.want, tc.work)
			}
			if task.Demand[0] != tc.demand {
				t.Error("the record itself is changed")
			}
		})
	}
}

// Devices have no range, so that there is no share of them: that is said before a run
// begins.
func TestSizesOfDevicesAreRefused(t *testing.T) {
	l := &list{kinds: []cluster.Kind{{Name: "gpu", PerUnit: 1000, Devices: true}}}
	_, err := newSimulation(Config{Source: l, Lanes: lane(t, "kube"), Classes: class.SLA()})
	if want := "the table of classes: classes[0].size: the first kind, gpu, comes in devices"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}
