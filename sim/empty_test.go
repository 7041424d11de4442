package sim

import (
	"math"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// TestNodesEmpty: of two nodes one works for a quarter of 40 s; the other is lost half-way, and counts for as long as it was there.
func TestNodesEmpty(t *testing.T) {
	for _, lost := range []bool{false, true} {
		l := story(2, 1)
		want := 70.0 / 80
		if lost {
			l.records = append(l.records, trace.Record{Time: 20 * cluster.Second, What: trace.NodeLost, Node: trace.Node{ID: 1}})
			want = 50.0 / 60
		}
		l.records = append(l.records, trace.Record{Time: 40 * cluster.Second, What: trace.TaskKilled})
		r, err := Run(Config{Source: l, Lanes: lane(t, "first-fit"), Planner: Planner{Time: Zero}, Until: 40 * cluster.Second})
		if err != nil {
			t.Fatal(err)
		}
		if r.NodesEmpty == nil || math.Abs(float64(*r.NodesEmpty)-want) > 1e-9 {
			t.Errorf("nodes were empty for %v of the time, want %v", r.NodesEmpty, want)
		}
	}
}

// TestForetold: the core is told how long tasks will run where the world foretells it, and only there.
func TestForetold(t *testing.T) {
	for _, foretells := range []bool{false, true} {
		l := story(1, 2)
		l.records[2].Task.Work = cluster.Never
		want := map[bool][]cluster.Time{false: {0, 0}, true: {10 * cluster.Second, cluster.Never}}[foretells]
		seen := 0
		_, err := Run(Config{
			Source: l, Lanes: lane(t, "first-fit"), World: World{Foretells: foretells}, Until: 5 * cluster.Second,
			Finished: func(end Ending) {
				s := end.Core.View()
				for row := range cluster.TaskID(s.TaskRows()) {
					if is := cluster.Lasts(s, row); is != want[row] {
						t.Errorf("task %d lasts %v by what the core was told, want %v", row, is, want[row])
					}
					seen++
				}
			},
		})
		if err != nil || seen != 2 {
			t.Errorf("%d tasks were looked at, %v", seen, err)
		}
	}
}
