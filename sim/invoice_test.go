package sim

import (
	"bytes"
	"encoding/csv"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim/trace"
)

// dear is a table in which everything costs something.
func dear() *class.Table {
	table := class.Google()
	table.Priced = "cpu"
	for i := range table.Classes {
		c := &table.Classes[i]
		c.Price = class.Price{UnitHour: class.Money(3_333_337 / (i + 1)), Urgency: 123_457, Tier: 250_001, Copy: cluster.Whole * 3 / 4}
	}
	return table
}

// millionthsOf is an amount in millionths, exactly.
func millionthsOf(t *testing.T, text string) int64 {
	t.Helper()
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%q is no amount", text)
	}
	r.Mul(r, big.NewRat(1_000_000, 1))
	if !r.IsInt() {
		t.Fatalf("%q has more than six decimals", text)
	}
	return r.Num().Int64()
}

// invoicesOf are the lines of a file of invoices, by what they are of.
func invoicesOf(t *testing.T, text []byte) map[[3]string]map[string]int64 {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	lines := map[[3]string]map[string]int64{}
	for _, row := range rows[1:] {
		line := map[string]int64{}
		for c, name := range rows[0][3:] {
			line[name] = millionthsOf(t, row[3+c])
		}
		lines[[3]string(row[:3])] = line
	}
	return lines
}

// Lines add up: items to totals, classes to users, users to all, and all of it to the
// revenue and the penalties of the result, to the last digit.
func TestInvoicesAddUp(t *testing.T) {
	credited := int64(0)
	for seed := range uint64(4) {
		var first string
		for range 2 {
			var text bytes.Buffer
			r, err := Run(Config{
				Source: crowded(seed), Lanes: lane(t, "priority"), Classes: dear(), Until: 5 * cluster.Hour,
				World: World{Seed: seed, Faults: Hostile()}, Output: Output{Invoices: &text},
			})
			if err != nil {
				t.Fatal(err)
			}
			if first != "" && first != text.String() {
				t.Fatal("the same run gave other invoices")
			}
			first = text.String()
			lines := invoicesOf(t, text.Bytes())
			credited += lines[[3]string{"all"}]["credited"] / 1_000_000
			checkInvoices(t, lines)
			checkInvoicesAgainst(t, lines, &r)
		}
	}
	if credited < 100 {
		t.Errorf("%d credits in all runs: too few to say anything", credited)
	}
}

func checkInvoices(t *testing.T, lines map[[3]string]map[string]int64) {
	t.Helper()
	sums := map[[3]string]map[string]int64{}
	add := func(to [3]string, line map[string]int64) {
		if sums[to] == nil {
			sums[to] = map[string]int64{}
		}
		for name, v := range line {
			sums[to][name] += v
		}
	}
	for key, line := range lines {
		if want := line["units"] + line["copies"] + line["urgency"] + line["tier"] - line["credits"]; line["total"] != want {
			t.Errorf("%v: a total of %d, want %d: %v", key, line["total"], want, line)
		}
		switch key[0] {
		case "class":
			add([3]string{"user", key[1]}, line)
		case "user":
			add([3]string{"all"}, line)
		}
	}
	for key, sum := range sums {
		for name, v := range sum {
			// Hours are rounded down in each line, and a mean is no sum.
			if have := lines[key][name]; name != "mean_units" && have != v && (name != "unit_hours" || have < v || have > v+10) {
				t.Errorf("%v: %s is %d, its lines add up to %d", key, name, have, v)
			}
		}
	}
}

func checkInvoicesAgainst(t *testing.T, lines map[[3]string]map[string]int64, r *report.Run) {
	t.Helper()
	for name, c := range r.Classes {
		revenue, penalties, tasks := int64(0), int64(0), int64(0)
		for key, line := range lines {
			if key[0] == "class" && key[2] == name {
				revenue += line["total"] + line["credits"]
				penalties += line["credits"]
				tasks += line["tasks"]
			}
		}
		if amount(class.Money(revenue)) != c.Revenue || amount(class.Money(penalties)) != c.Penalties || tasks != int64(c.Submitted)*1_000_000 {
			t.Errorf("%s: %d tasks owe %d without %d of credits; the result has %d, %v and %v", name, tasks, revenue, penalties, c.Submitted, c.Revenue, c.Penalties)
		}
	}
}

// A class with two replicas has the second copy as an item of its own, also where it is
// not needed in the end; urgency and tier are surcharges on both. Followed by hand: one
// core for an hour at 2, and a copy of it at half of that.
func TestInvoiceItems(t *testing.T) {
	table := &class.Table{Classes: []class.Class{{
		Class: cluster.Class{Name: "premium", Urgency: cluster.Premium, Tier: cluster.Premium, Redundancy: cluster.Premium, Replicas: 2},
		Price: class.Price{UnitHour: 2 * class.One, Urgency: cluster.Whole / 4, Tier: cluster.Whole / 10, Copy: cluster.Whole / 2},
	}}}
	l := story(2, 0)
	for i := range l.records {
		l.records[i].Node.Tier = int32(cluster.Premium)
	}
	l.records = append(l.records, trace.Record{What: trace.TaskSubmitted, Task: trace.Task{
		Job: 1, User: `a "b", c`, Demand: cluster.Vector{1}, Work: cluster.Hour,
	}})
	var text bytes.Buffer
	r, err := Run(Config{Source: l, Lanes: lane(t, "kube"), Classes: table, Planner: Planner{Time: Zero}, Output: Output{Invoices: &text}})
	if err != nil {
		t.Fatal(err)
	}
	const items = `2,0,2.000000,1.000000,2.000000,1.000000,0.750000,0.300000,0.000000,4.050000`
	want := strings.Join([]string{
		InvoicesHeader, `class,"a ""b"", c",premium,` + items, `user,"a ""b"", c",,` + items, `all,,,` + items, "",
	}, "\n")
	if text.String() != want {
		t.Errorf("the invoice is\n%s\nwant\n%s", text.String(), want)
	}
	if c := r.Classes["premium"]; c.Promise != nil || c.Revenue != 4.05 {
		t.Errorf("a class without a target has %+v and a revenue of %v", c.Promise, c.Revenue)
	}
	if r.Tasks.Superseded+r.Tasks.Finished != 2 {
		t.Errorf("%+v, want both copies to end", r.Tasks)
	}
}

// What is charged follows what a task takes: 300 s of one core are as much with nine of
// them, one, and two; in the mean over the 165 s that it took, they were 1.818 cores.
func TestInvoicesFollowTheGrant(t *testing.T) {
	table := class.Google()
	table.Priced = "cpu"
	cpu := func(q int64) cluster.Vector { return cluster.Vector{1, q} }
	s := cluster.Second
	g := &grantor{grants: map[cluster.Seq]cluster.Vector{1: cpu(9000)}, resizes: []resizing{{10 * s, 1, nil}, {110 * s, 1, cpu(2000)}}}
	var text bytes.Buffer
	if _, err := Run(Config{
		Source: sequential(9, 1), Lanes: []sched.Lane{{Name: "grants", Policy: g}}, Classes: table, Planner: Planner{Time: Zero}, Output: Output{Invoices: &text},
	}); err != nil {
		t.Fatal(err)
	}
	if want := "\nclass,,bronze,1,0,0.083333,1.818000,0.041666,0.000000,0.000000,0.000000,0.000000,0.041666\n"; !strings.Contains(text.String(), want) {
		t.Errorf("the invoice is\n%s\nwant%s", text.String(), want)
	}
}

// A task that was never let run gets back what its work would have cost with the least
// that it asks for: 300 s of a core, of which it was promised more than it has.
func TestCreditOfElasticWork(t *testing.T) {
	elastic := task{effort: effort{work: 300 * cluster.Second}, demand: cluster.Vector{1, 2000}, most: cluster.Vector{1, 9000}}
	kinds := sequential(9, 0).kinds
	if got := elastic.longest(kinds); got != 150*cluster.Second {
		t.Errorf("it works for %v with two cores, want 150s", got)
	}
	elastic.most = nil
	if got := elastic.longest(kinds); got != 300*cluster.Second {
		t.Errorf("it works for %v where its demand is fixed, want 300s", got)
	}
}

// Nobody was there: there is a last line all the same.
func TestInvoicesOfNobody(t *testing.T) {
	var text bytes.Buffer
	if _, err := Run(Config{Source: story(1, 0), Lanes: lane(t, "kube"), Output: Output{Invoices: &text}}); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(text.String(), "\n"); lines != 2 || !strings.HasSuffix(text.String(), "\nall,,,0,0,0.000000,0.000000"+strings.Repeat(",0.000000", 6)+"\n") {
		t.Errorf("%s lines:\n%s", strconv.Itoa(lines), text.String())
	}
}

// TestTheShortestWorkCounts: who worked for a microsecond has worked, in the classes and on invoices;
// who never began has not.
func TestTheShortestWorkCounts(t *testing.T) {
	l := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}, records: []trace.Record{
		{What: trace.NodeAdded, Node: trace.Node{ID: 1, Capacity: cluster.Vector{4}}},
		{What: trace.TaskSubmitted, Task: trace.Task{Job: 1, JobTasks: 1, User: "ann", Demand: cluster.Vector{3}, Work: 1}},
		{What: trace.TaskSubmitted, Task: trace.Task{Job: 2, JobTasks: 1, User: "ann", Demand: cluster.Vector{5}, Work: 1}},
	}}
	s, err := newSimulation(Config{Source: l, Lanes: lane(t, "kube"), Classes: dear(), Planner: Planner{Time: Zero}, Output: Output{Invoices: &bytes.Buffer{}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.play(); err != nil {
		t.Fatal(err)
	}
	s.conclude()
	worked := 0
	for i := range s.measures.services.classes {
		worked += s.measures.services.classes[i].worked
	}
	invoiced, tasks := 0, 0
	for _, one := range s.measures.services.invoices {
		invoiced += one.worked
		tasks += one.tasks
	}
	if worked != 1 || invoiced != 1 || tasks != 2 {
		t.Errorf("of %d tasks %d have worked by their classes, %d by invoices; want 1 of 2", tasks, worked, invoiced)
	}
}
