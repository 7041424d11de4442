package sim

import (
	"bytes"
	"encoding/csv"
	"math"
	"strconv"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// TestUnserved compares what was not served with what the lines of all tasks say: each asks for one core, and all are done in the end, so that
// what a task has run for beyond its work was lost.
func TestUnserved(t *testing.T) {
	for _, keep := range []bool{false, true} {
		source := story(2, 80)
		for i := range source.records {
			if r := &source.records[i]; r.Task.Work > 0 {
				r.Task.User, r.Task.Priority = []string{"ann", "bob", "eve"}[r.Task.Job%3], int32(i*7%11)
				r.Time /= 2
			}
		}
		var lines bytes.Buffer
		r, err := Run(Config{Source: source, Lanes: lane(t, "priority"), World: World{KeepWork: keep, Overheads: Overheads{Cold: []cluster.Time{cluster.Second}}}, Planner: Planner{Time: Zero}, Output: Output{Tasks: &lines}})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&lines).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		waited, lost, longest := 0.0, 0.0, 0.0
		for _, row := range rows[1:] {
			const waiting, running = 9, 11
			w, errWaiting := strconv.ParseFloat(row[waiting], 64)
			ran, errRunning := strconv.ParseFloat(row[running], 64)
			if errWaiting != nil || errRunning != nil {
				t.Fatal(row)
			}
			waited, longest = waited+w, max(longest, w)
			if !keep {
				lost += ran - 10
			}
		}
		u := r.Unserved
		near := func(what string, got, want float64) {
			if math.Abs(got-want) > 1e-3 {
				t.Errorf("work kept %t: %s is %v, want %v", keep, what, got, want)
			}
		}
		near("waited for", 3600*float64(u.Waited["cpu"]), waited)
		near("lost", 3600*float64(u.Lost["cpu"]), lost)
		w := u.BySize["25%"] // a core of four
		near("tasks", float64(w.Tasks), 80)
		near("mean wait", 80*float64(w.Mean), waited)
		near("longest wait", float64(w.Longest), longest)
		if r.Tasks.Preempted < 5 || !keep && lost < 10 || waited < 100 || len(u.BySize) != 1 {
			t.Errorf("work kept %t: the run is too tame: %d preempted, %v s lost, %v s waited for; %v", keep, r.Tasks.Preempted, lost, waited, u.BySize)
		}
		if u.Shares == nil || u.Shares.Mean <= 0 || u.Shares.Largest > 1 || u.Shares.Mean > u.Shares.Largest {
			t.Errorf("work kept %t: shares %+v", keep, u.Shares)
		}
	}
}

// TestShareGap is of two users on eight cores: one holds six of them for ten seconds, and the other two, with a task that waits; then nobody waits.
func TestShareGap(t *testing.T) {
	source := story(2, 9)
	for i := range source.records {
		if r := &source.records[i]; r.Task.Work > 0 {
			r.Time, r.Task.Job, r.Task.JobTasks, r.Task.Priority = 0, 1, 0, 0
			if r.Task.User = "ann"; i >= 8 {
				r.Task.User, r.Task.Job = "bob", 2
			}
		}
	}
	r, err := Run(Config{Source: source, Lanes: lane(t, "kube"), Planner: Planner{Time: Zero}})
	if err != nil {
		t.Fatal(err)
	}
	if u := r.Unserved.Shares; u == nil || math.Abs(float64(u.Largest)-0.5) > 1e-6 || math.Abs(float64(u.Mean)-0.25) > 1e-3 {
		t.Errorf("got %+v, want .5 at most, and .25 in the mean of 20 s", u)
	}
}
