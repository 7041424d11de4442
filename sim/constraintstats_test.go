package sim

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim/trace"
)

// beside is a soft constraint of that weight, in thousandths: so many others with the tag db
// stand in the set of a task with it, at most.
func beside(name, group string, most int32, weight int64) trace.Record {
	db := []string{"db"}
	return trace.Record{What: trace.ConstraintAdded, Constraint: cluster.Constraint{
		Name: name, Weight: weight, Any: [][]cluster.Bound{{{Subject: db, Target: db, Max: most, Group: group}}},
	}}
}

// ran is a task with the tag that ran from the start, on the node.
func ran(job, node uint64, tag string, work cluster.Time) trace.Record {
	return trace.Record{What: trace.TaskSubmitted, Task: trace.Task{
		Job: job, JobTasks: 1, Demand: cluster.Vector{1}, Tags: []string{tag}, Running: true, OnNode: node, Work: work,
	}}
}

// kept is a cluster of one rack in which nothing moves. Two tasks db stand on one node,
// where none should beside another, which weighs 2; the second ends after 10 s. A mem is
// in their rack, as it must be, until 15 s. Then the first db is alone and violates that,
// and ends after 20 s.
func kept() *list {
	l := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}}
	near := trace.Record{What: trace.ConstraintAdded, Constraint: cluster.Constraint{
		Name: "near", Hard: true, Any: [][]cluster.Bound{{{Subject: []string{"db"}, Target: []string{"mem"}, Min: 1, Max: cluster.Unbounded, Group: "rack"}}},
	}}
	l.records = append(l.records, beside("apart", cluster.EachNode, 0, 2000), near)
	for id := range uint64(2) {
		l.records = append(l.records, trace.Record{What: trace.NodeAdded, Node: trace.Node{
			ID: id, Capacity: cluster.Vector{4}, Groups: []cluster.Label{{Key: "rack", Value: "r"}},
		}})
	}
	l.records = append(l.records,
		ran(1, 1, "mem", 15*cluster.Second), ran(2, 0, "db", 20*cluster.Second), ran(3, 0, "db", 10*cluster.Second))
	return l
}

// The numbers by hand. Two tasks are bound for 10 s and one for as long as the run goes on;
// both violate a constraint at first, nobody from 10 to 15 s, and then the one that is left.
// Each violation of "apart" costs 2 × (1 + 0.1), as one too many of none is all of it.
func TestHowConstraintsWereKept(t *testing.T) {
	for _, tc := range []struct {
		until cluster.Time
		want  report.Constraints
	}{
		{12 * cluster.Second, report.Constraints{
			Count: 2, Hard: 1, Subjects: 2, HardViolated: 0,
			Violated: report.Level{Mean: 20. / 22, Final: 0}, Cost: report.Level{Mean: 44. / 12, Final: 0},
		}},
		{18 * cluster.Second, report.Constraints{
			Count: 2, Hard: 1, Subjects: 2, HardViolated: 1,
			Violated: report.Level{Mean: 23. / 28, Final: 1}, Cost: report.Level{Mean: 44. / 18, Final: 0},
		}},
		{8 * cluster.Second, report.Constraints{
			Count: 2, Hard: 1, Subjects: 2, HardViolated: 0,
			Violated: report.Level{Mean: 1, Final: 1}, Cost: report.Level{Mean: 4.4, Final: 4.4},
		}},
		{0, report.Constraints{ // to the end
			Count: 2, Hard: 1, Subjects: 2, HardViolated: 1,
			Violated: report.Level{Mean: 25. / 30, Final: 0}, Cost: report.Level{Mean: 44. / 20, Final: 0},
		}},
	} {
		t.Run(fmt.Sprint(tc.until), func(t *testing.T) {
			r, err := Run(Config{Source: kept(), Lanes: lane(t, "kube"), Initial: Keep, Until: tc.until, Planner: Planner{Time: Zero}})
			if err != nil {
				t.Fatal(err)
			}
			if r.Constraints == nil || !alike(*r.Constraints, tc.want) {
				t.Errorf("got %+v, want %+v", r.Constraints, tc.want)
			}
			violated, cost := r.Series.Columns["violated"], r.Series.Columns["violation_cost"]
			if len(violated) == 0 || len(cost) != len(violated) {
				t.Fatalf("%d and %d samples", len(violated), len(cost))
			}
			for i := range violated {
				share, price := report.Number(1), report.Number(0)
				switch at := i / 10; { // the second of the tenth
				case at < 10:
					price = 4.4
				case at < 15:
					share = 0
				}
				if violated[i] != share || cost[i] != price {
					t.Fatalf("tenth %d: %v violate at a cost of %v, want %v and %v", i, violated[i], cost[i], share, price)
				}
			}
		})
	}
}

// alike reports whether two accounts agree, but for what floats lose.
func alike(a, b report.Constraints) bool {
	for _, pair := range [][2]*report.Level{{&a.Violated, &b.Violated}, {&a.Cost, &b.Cost}} {
		if math.Abs(float64(pair[0].Mean-pair[1].Mean)) > 1e-12 || pair[0].Final != pair[1].Final {
			return false
		}
		*pair[0] = *pair[1]
	}
	return a == b
}

// A run without constraints says nothing of them, and one whose constraint is gone says
// what was.
func TestConstraintsThatWereNotThere(t *testing.T) {
	run := func(l *list) report.Run {
		r, err := Run(Config{Source: l, Lanes: lane(t, "kube"), Initial: Keep, Until: 18 * cluster.Second, Planner: Planner{Time: Zero}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	l := kept()
	l.records = l.records[2:]
	if r := run(l); r.Constraints != nil || r.Series.Columns["violated"] != nil || r.Series.Columns["violation_cost"] != nil {
		t.Errorf("there were no constraints, and the run says %+v", r.Constraints)
	}
	l = kept()
	for _, name := range []string{"apart", "near"} {
		l.records = append(l.records, trace.Record{Time: 5 * cluster.Second, What: trace.ConstraintRemoved, Constraint: cluster.Constraint{Name: name}})
	}
	again := beside("apart", "rack", 0, 1000)
	again.Time = 9 * cluster.Second
	l.records = append(l.records, again)
	// Both violate until 5 s at 4.4, and the new one from 9 to 10 s at 2.2; alone it binds
	// the first until 18 s.
	want := report.Constraints{
		Count: 3, Hard: 1, Subjects: 2,
		Violated: report.Level{Mean: 12. / 20}, Cost: report.Level{Mean: (5*4.4 + 2.2) / 18},
	}
	if r := run(l); r.Constraints == nil || !alike(*r.Constraints, want) {
		t.Errorf("got %+v, want %+v", r.Constraints, want)
	}
}

// counted counts from scratch the tasks db that take room, those of them that stand in a
// rack with more others than that, and how many too many there are for each of these.
func counted(s *simulation, most int) (bound, violated, excess int64) {
	state := s.planner.view()
	racks := map[string][]cluster.TaskID{}
	rackOf := map[cluster.TaskID]string{}
	for i := range state.TaskRows() {
		row := cluster.TaskID(i)
		task := state.Task(row)
		if !task.Placed() || !slices.Contains(state.Shape(task.Shape).Tags, "db") {
			continue
		}
		for _, n := range []cluster.NodeID{task.Next, task.Node} {
			if n == cluster.NoNode {
				continue
			}
			rack, _ := s.nodes.list[n].setOf("rack")
			rackOf[row] = rack
			if !slices.Contains(racks[rack], row) {
				racks[rack] = append(racks[rack], row)
			}
		}
	}
	for _, rack := range rackOf {
		bound++
		if over := len(racks[rack]) - 1 - most; over > 0 {
			violated, excess = violated+1, excess+int64(over)
		}
	}
	return bound, violated, excess
}

// Whatever goes wrong, each look sees what is counted from scratch; and looking but once a
// step tells the same of the whole run, within a hundredth.
func TestConstraintStatsAgainstCounting(t *testing.T) {
	faults := Hostile()
	faults.NodeLoss, faults.Foreign, faults.BindLate = 5*cluster.Minute, 20*cluster.Second, 100
	some, none := 0, 0
	for seed := range uint64(4) {
		l := tagged(5, 400)
		for i := range l.records {
			if i%3 == 0 {
				l.records[i].Task.Tags = nil
			}
		}
		l.records = append([]trace.Record{beside("few", "rack", 1, 1000)}, l.records...)
		s, err := newSimulation(Config{Source: l, Lanes: lane(t, "priority"), World: World{Seed: seed, Faults: faults}, Until: 7 * cluster.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.replay.read(); err != nil {
			t.Fatal(err)
		}
		every := newConstraintStats()
		every.every = func() cluster.Time { return 0 }
		s.measures.all = append(s.measures.all, &every)
		for next := s.nextMoment(); next <= s.cfg.Until; next = s.nextMoment() {
			bound, violated, excess := counted(s, 1)
			before := s.kernel.now
			s.pass(next)
			if next > before {
				if got := every.now; every.of.Count > 0 && (got.bound != bound || got.violated != violated || got.cost != 1000*violated+100*excess) {
					t.Fatalf("seed %d, %v: it sees %+v, counted are %d, %d and %d too many", seed, before, got, bound, violated, excess)
				}
				if violated > 0 {
					some++
				} else {
					none++
				}
			}
			if err := s.moment(); err != nil {
				t.Fatal(err)
			}
		}
		s.measures.advance(s.planner.view(), s.kernel.now, s.kernel.now)
		end := s.measures.span(s.planner.view(), s.kernel.now, s.kernel.now)
		var once, always report.Run
		s.measures.bounds.result(&end, &once)
		every.result(&end, &always)
		got, want := once.Constraints, always.Constraints
		if !near(got.Violated.Mean, want.Violated.Mean) || !near(got.Cost.Mean, want.Cost.Mean) {
			t.Errorf("seed %d: by looking once a step %+v, all the time %+v", seed, got, want)
		}
		got.Violated.Mean, got.Cost.Mean = want.Violated.Mean, want.Cost.Mean
		if *got != *want {
			t.Errorf("seed %d: got %+v, want %+v", seed, got, want)
		}
	}
	if some < 100 || none < 100 {
		t.Errorf("there were violations at %d moments, and none at %d; the test says little", some, none)
	}
}

// near reports whether a mean is another one within a hundredth of it.
func near(a, b report.Number) bool { return math.Abs(float64(a-b)) <= float64(b)/100 }
