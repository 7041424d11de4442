package sim

import (
	"bytes"
	"encoding/csv"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim/trace"
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

// throng is more than four unlike nodes can do in ten minutes: tasks of all sizes, classes and users, a few of them larger than any node.
func throng(seed uint64) *list {
	dice := rand.New(rand.NewPCG(seed, 22))
	l := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1000}, {Name: "memory", PerUnit: 1 << 20}}}
	for i := range uint64(4) {
		l.records = append(l.records, trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: i, Capacity: cluster.Vector{8000 >> (i % 2), int64(16<<20) << (i % 2)}}})
	}
	for i := range 200 {
		demand := cluster.Vector{1 + dice.Int64N(1<<(4+dice.IntN(10))), 1 + dice.Int64N(1<<(10+dice.IntN(16)))}
		l.records = append(l.records, trace.Record{Time: cluster.Time(i) * 3 * cluster.Second, What: trace.TaskSubmitted, Task: trace.Task{
			Job: uint64(i), JobTasks: 1, User: []string{"ann", "bob", "eve"}[dice.IntN(3)], Priority: int32(dice.IntN(11)), Demand: demand,
			Work: cluster.Second + cluster.Time(dice.Int64N(int64(5*cluster.Minute))),
		}})
	}
	return l
}

// waits is what the lines of all tasks say of who waited, recomputed from nothing else.
type waits struct {
	hours   [2]float64            // by kind
	classes map[string][2]float64 // by class, and kind
	sizes   map[string]sizeWaits  // by the name of the size
	waiting int                   // at the end
}

// waitsOf reads the lines, looking up in the source what each task asked for. The largest node has 8 cores and 32 units of memory.
func waitsOf(t *testing.T, lines *bytes.Buffer, source *list) waits {
	t.Helper()
	rows, err := csv.NewReader(lines).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	tasks := map[string]*trace.Task{}
	for i := range source.records {
		if r := &source.records[i]; r.What == trace.TaskSubmitted {
			tasks[strconv.FormatUint(r.Task.Job, 10)] = &r.Task
		}
	}
	all := waits{classes: map[string][2]float64{}, sizes: map[string]sizeWaits{}}
	for _, row := range rows[1:] {
		const job, end, waiting = 0, 7, 9
		seconds, err := strconv.ParseFloat(row[waiting], 64)
		if err != nil {
			t.Fatal(err)
		}
		task := tasks[row[job]]
		class := "silver"
		switch {
		case task.Priority > 8:
			class = "gold"
		case task.Priority < 2:
			class = "bronze"
		}
		cpu, memory := float64(task.Demand[0])/1000, float64(task.Demand[1])/(1<<20)
		of := all.classes[class]
		for k, q := range []float64{cpu, memory} {
			all.hours[k] += q * seconds / 3600
			of[k] += q * seconds / 3600
		}
		all.classes[class] = of
		share, size := max(cpu/8, memory/32), "100%"
		for _, s := range []struct {
			to   float64
			name string
		}{{0.5, "50%"}, {0.25, "25%"}, {0.1, "10%"}, {0.01, "1%"}} {
			if share <= s.to {
				size = s.name
			}
		}
		w := all.sizes[size]
		w.tasks++
		w.sum += seconds
		w.longest = max(w.longest, cluster.Time(math.Round(seconds*float64(cluster.Second))))
		all.sizes[size] = w
		if row[end] == "waiting" {
			all.waiting++
		}
	}
	return all
}

// TestUnservedOfAThrong compares what was not served, in whole and by class and size, with what the lines of all tasks say, in worlds in which
// tasks wait at the end, whatever goes wrong.
func TestUnservedOfAThrong(t *testing.T) {
	seeds := uint64(12)
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		var world World
		if seed%2 == 1 {
			world = World{Seed: seed, Faults: Hostile()}
			world.Faults.NodeLoss, world.Faults.Foreign = 5*cluster.Minute, 20*cluster.Second
		}
		source, policy := throng(seed), []string{"kube", "priority"}[seed/2%2]
		var lines bytes.Buffer
		r, err := Run(Config{Source: source, Lanes: lane(t, policy), World: world, Until: 10 * cluster.Minute, Output: Output{Tasks: &lines}})
		if err != nil {
			t.Fatal(err)
		}
		want := waitsOf(t, &lines, throng(seed)) // the run has read the other one to its end
		near := func(what string, got report.Number, want float64) {
			t.Helper()
			if math.Abs(float64(got)-want) > 2e-6*max(1, want) {
				t.Errorf("seed %d: %s is %v, want %v", seed, what, got, want)
			}
		}
		for k, kind := range []string{"cpu", "memory"} {
			near(kind, r.Unserved.Waited[kind], want.hours[k])
			for name, of := range r.Classes {
				near(kind+" of "+name, of.Waited[kind], want.classes[name][k])
			}
		}
		if len(r.Unserved.BySize) != len(want.sizes) || len(r.Classes) != len(want.classes) {
			t.Errorf("seed %d: sizes %v, classes %v, want %v and %v", seed, r.Unserved.BySize, r.Classes, want.sizes, want.classes)
		}
		for size, w := range r.Unserved.BySize {
			of := want.sizes[size]
			near("how many fill "+size, report.Number(w.Tasks), float64(of.tasks))
			near("the mean wait of "+size, w.Mean, of.sum/float64(of.tasks))
			near("the longest wait of "+size, w.Longest, of.longest.Seconds())
		}
		if want.waiting < 10 || len(want.sizes) < 4 || len(want.classes) != 3 {
			t.Errorf("seed %d: the world is too tame: %d wait at the end, sizes %v, classes %v", seed, want.waiting, want.sizes, want.classes)
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
