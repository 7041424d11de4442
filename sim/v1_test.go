package sim

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim/trace/qos"
)

// The priority scheduler on the first validation workload of the QoS paper
// (specification §11): 20 hosts of 10 slots, 256 requests, one a second, none
// of which ends within the hour. "232 allocations, 32 preemptions; gold, silver
// 1.0; bronze 40 at ≈1.0, 56 < 0.065", it says.
func TestPriorityOnV1(t *testing.T) {
	data := os.Getenv("FAIRLEAD_DATA")
	if data == "" {
		t.Skip("FAIRLEAD_DATA is not set: the folder with the real traces")
	}
	for _, planner := range []PlannerTime{Zero, Ticks} {
		src, err := qos.Open(filepath.Join(data, "qos", "v1-workload.txt"), qos.Default())
		if err != nil {
			t.Fatal(err)
		}
		var placements, tasks bytes.Buffer
		r, err := Run(Config{
			Source: src, Lanes: lane(t, "priority"), Until: cluster.Hour, World: World{KeepWork: true},
			Planner: Planner{Time: planner}, Output: Output{Placements: &placements, Tasks: &tasks},
		})
		if err != nil {
			t.Fatal(err)
		}
		if r.Tasks.Preempted != 32 || r.Tasks.WithoutPlacement != 0 {
			t.Errorf("%d preemptions, published 32; %d without a placement", r.Tasks.Preempted, r.Tasks.WithoutPlacement)
		}
		if n := allocations(t, &placements); n != 232 {
			t.Errorf("%d allocations, published 232", n)
		}
		checkBronze(t, &tasks)
		for class, want := range map[string]report.Number{"gold": 1, "silver": 1, "bronze": 40. / 96} {
			if got := r.Classes[class].Fulfilment; got != want {
				t.Errorf("a share of %v of the %s tasks has what was promised, published %v", got, class, want)
			}
		}
		if got := r.Classes["bronze"]; got.Deficit < 0.435 || got.Deficit > 0.5 || got.Gini <= r.Classes["silver"].Gini {
			t.Errorf("bronze has a deficit of %v where it is below 0.065, and a Gini coefficient of %v", got.Deficit, got.Gini)
		}
		t.Logf("bronze: deficit %.4f, Gini %.4f, penalties %.2f of %.2f", float64(r.Classes["bronze"].Deficit), float64(r.Classes["bronze"].Gini),
			float64(r.Classes["bronze"].Penalties), float64(r.Classes["bronze"].Revenue))
	}
}

// allocations counts the SCHEDULE rows.
func allocations(t *testing.T, rows *bytes.Buffer) int {
	t.Helper()
	records, err := csv.NewReader(rows).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, r := range records {
		if r[5] == "1" {
			n++
		}
	}
	return n
}

// checkBronze compares the availability of the three classes with what was
// published.
func checkBronze(t *testing.T, rows *bytes.Buffer) {
	t.Helper()
	records, err := csv.NewReader(rows).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	bronze, near, low := 0, 0, 0
	for _, r := range records[1:] {
		number := func(field int) float64 {
			v, err := strconv.ParseFloat(r[field], 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		availability := number(11) / (number(6) - number(5))
		switch {
		case r[4] != "1":
			if availability < 0.999 {
				t.Errorf("task %s of priority %s has availability %v, published 1", r[1], r[4], availability)
			}
		case availability > 0.999:
			bronze++
			near++
		case availability < 0.065:
			bronze++
			low++
		default:
			bronze++
		}
	}
	if bronze != 96 || near != 40 || low != 56 {
		t.Errorf("%d bronze tasks, %d near 1 and %d below 0.065; published 96, 40 and 56", bronze, near, low)
	}
}
