package workload

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// TestData looks at each number that the program would only meet by chance.
func TestData(t *testing.T) {
	d := load()
	tables := map[string]quantiles{
		"job_gap": d.JobGap, "class0": d.Work.Class0, "class1": d.Work.Class1, "class2": d.Work.Class2, "class3": d.Work.Class3,
		"batch": d.Work.Batch, "factor": d.Work.Factor, "users.flow": d.Users.Flow, "users.stock": d.Users.Stock,
		"churn.gap": d.Churn.Gap, "churn.down": d.Churn.Down,
		"left.free":   {d.Left.Free.Source, d.Left.Free.Knots},
		"left.middle": {d.Left.Middle.Source, d.Left.Middle.Knots}, "left.production": {d.Left.Production.Source, d.Left.Production.Knots},
	}
	for name, q := range tables {
		if _, err := newTable(q.Knots, 1e6); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if q.Source == "" {
			t.Errorf("%s: no source", name)
		}
	}
	for _, source := range []string{
		d.Machines.Source, d.Shapes.Source, d.Stock.Source, d.Flow.Source, d.Hours.Source,
		d.Work.Long.Source, d.Churn.Source, d.Apart.Source, d.Versions.Source, d.Requirements.Source,
	} {
		if source == "" {
			t.Error("a part without a source")
		}
	}
	if n := d.theirNodes(); n != 12477 {
		t.Errorf("Google had %d nodes, want 12477", n)
	}
	for _, bad := range []string{"{}{}", `{"Sauce":1}`, strings.Replace(google2011, `"factors"`, `"factor"`, 1)} {
		if _, err := decode(bad); err == nil {
			t.Errorf("decode(%.20q...) found nothing wrong", bad)
		}
	}
}

func TestTable(t *testing.T) {
	q, err := newTable([][2]float64{{0, 1}, {0.5, 2}, {1, 4e6}}, 1e6)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		u    uint32
		want int64
	}{{0, 1e6}, {1 << 30, 1.5e6}, {1 << 31, 2e6}, {3 << 30, 2e12 + 1e6}, {math.MaxUint32, 4e12 - 1863}} {
		if got := q.at(c.u); got != c.want {
			t.Errorf("at(%#x) = %d, want %d", c.u, got, c.want)
		}
	}
	for _, bad := range [][][2]float64{nil, {{0, 1}}, {{0, 1}, {0.9, 2}}, {{0, 2}, {1, 1}}, {{0, 1}, {0, 2}, {1, 3}}} {
		if _, err := newTable(bad, 1); err == nil {
			t.Errorf("newTable(%v) found nothing wrong", bad)
		}
	}
}

func TestValidate(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
	for _, spoil := range []func(*Google){
		func(g *Google) { g.Nodes = 0 },
		func(g *Google) { g.Nodes = maxNodes + 1 },
		func(g *Google) { g.TasksPerNode = -1 },
		func(g *Google) { g.TasksPerNode = math.NaN() },
		func(g *Google) { g.Rate = -1 },
		func(g *Google) { g.Rate = math.Inf(1) },
		func(g *Google) { g.Churn = math.NaN() },
		func(g *Google) { g.Constrained = 1.1 },
		func(g *Google) { g.Length = -1 },
	} {
		g := Default()
		spoil(&g)
		if _, err := New(g); err == nil {
			t.Errorf("New(%+v) found nothing wrong", g)
		}
	}
}

// each calls f with every record of g.
func each(t *testing.T, g Google, f func(*trace.Record)) {
	t.Helper()
	s, err := New(g)
	if err != nil {
		t.Fatal(err)
	}
	var r trace.Record
	for err = s.Next(&r); err == nil; err = s.Next(&r) {
		f(&r)
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
}

// lines returns the records of g that keep admits, one a line.
func lines(t *testing.T, g Google, keep func(*trace.Record) bool) string {
	t.Helper()
	var b strings.Builder
	each(t, g, func(r *trace.Record) {
		if !keep(r) {
			return
		}
		if r.What == trace.TaskSubmitted {
			fmt.Fprintf(&b, "%v %v\n", r.Time, r.Task)
		} else {
			fmt.Fprintf(&b, "%v %v %v\n", r.Time, r.What, r.Node)
		}
	})
	if b.Len() == 0 {
		t.Fatal("no records to compare")
	}
	return b.String()
}

func TestSeeds(t *testing.T) {
	g := Default()
	g.Nodes, g.Churn, g.Length = 300, 5, 6*cluster.Hour
	all := func(*trace.Record) bool { return true }
	nodes := func(r *trace.Record) bool { return r.What != trace.TaskSubmitted }
	stock := func(r *trace.Record) bool { return r.What == trace.TaskSubmitted && r.Task.Job < firstFlowJob }
	flow := func(r *trace.Record) bool { return r.What == trace.TaskSubmitted && r.Task.Job >= firstFlowJob }
	first := lines(t, g, all)
	for _, c := range []struct {
		name   string
		change func(*Google)
		part   func(*trace.Record) bool
		same   bool
	}{
		{"the same seed", func(*Google) {}, all, true},
		{"another seed: nodes", func(g *Google) { g.Seed++ }, nodes, false},
		{"another seed: stock", func(g *Google) { g.Seed++ }, stock, false},
		{"another seed: flow", func(g *Google) { g.Seed++ }, flow, false},
		{"less stock: flow", func(g *Google) { g.TasksPerNode = 5 }, flow, true},
		{"less stock: nodes", func(g *Google) { g.TasksPerNode = 5 }, nodes, true},
		{"more flow: stock", func(g *Google) { g.Rate = 2 }, stock, true},
		{"more flow: nodes", func(g *Google) { g.Rate = 2 }, nodes, true},
		{"no churn: flow", func(g *Google) { g.Churn = 0 }, flow, true},
		{"no churn: nodes", func(g *Google) { g.Churn = 0 }, nodes, false},
	} {
		other := g
		c.change(&other)
		a, b := lines(t, g, c.part), lines(t, other, c.part)
		if (a == b) != c.same {
			t.Errorf("%s: same = %v, want %v", c.name, a == b, c.same)
		}
	}
	if !strings.Contains(first, "node lost") {
		t.Error("no node was lost")
	}
}

// TestRecords checks at many sizes what a simulator relies on: time runs
// forward, nodes are there before they are lost, jobs are complete, and each
// task could be placed in an empty cluster.
func TestRecords(t *testing.T) {
	for _, nodes := range []int{1, 5, 20, 100, 1000, 20000} {
		g := Default()
		g.Nodes, g.Churn, g.Length, g.Constrained = nodes, 20, 3*cluster.Hour, 0.3
		up := map[uint64]trace.Node{}
		known := map[string]bool{}
		lost, tasks := 0, 0
		var left uint32
		var last cluster.Time
		each(t, g, func(r *trace.Record) {
			if r.Time < last || r.Time > g.Length {
				t.Fatalf("%d nodes: time %v after %v", nodes, r.Time, last)
			}
			last = r.Time
			switch _, there := up[r.Node.ID]; {
			case r.What == trace.TaskSubmitted:
				tasks++
				left = checkTask(t, g, &r.Task, left)
				key := fmt.Sprint(r.Task.Demand, r.Task.Requirements)
				if !known[key] && lost == 0 {
					known[key] = true
					if !placeable(&r.Task, up) {
						t.Errorf("%d nodes: no node for %+v", nodes, r.Task)
					}
				}
			case there == (r.What == trace.NodeAdded):
				t.Fatalf("%d nodes: %v %d, which is there: %v", nodes, r.What, r.Node.ID, there)
			case there:
				lost++
				delete(up, r.Node.ID)
			default:
				up[r.Node.ID] = r.Node
			}
		})
		if left != 0 || tasks < 11*nodes {
			t.Errorf("%d nodes: %d tasks, %d missing of the last job", nodes, tasks, left)
		}
		if nodes >= 1000 && lost == 0 {
			t.Errorf("%d nodes: none was lost", nodes)
		}
	}
}

// checkTask checks a task where left more of the job before were to come, and
// returns how many are to come of its own.
func checkTask(t *testing.T, g Google, k *trace.Task, left uint32) uint32 {
	t.Helper()
	if k.Index == 0 && left != 0 || k.Index > 0 && left != k.JobTasks-k.Index {
		t.Fatalf("%d nodes: task %d of %d in job %d, where %d were to come", g.Nodes, k.Index, k.JobTasks, k.Job, left)
	}
	if k.Work <= 0 || k.User == "" || k.PerNode > 0 && int(k.JobTasks) > max(1, g.Nodes/2) {
		t.Fatalf("%d nodes: %+v", g.Nodes, *k)
	}
	return k.JobTasks - k.Index - 1
}

func placeable(k *trace.Task, nodes map[uint64]trace.Node) bool {
	for _, n := range nodes {
		if k.Demand.Fits(n.Capacity) && matches(k.Requirements, n.Labels) {
			return true
		}
	}
	return false
}

// TestChurn compares how often nodes are lost, and for how long, with what is
// published.
func TestChurn(t *testing.T) {
	g := Google{Nodes: 12477, Seed: 1, Churn: 1, Length: 200 * cluster.Day}
	since := map[uint64]cluster.Time{}
	var away []float64
	lost := 0
	each(t, g, func(r *trace.Record) {
		if r.What == trace.NodeLost {
			lost++
			since[r.Node.ID] = r.Time
		} else if r.Time > 0 {
			away = append(away, (r.Time-since[r.Node.ID]).Seconds()/60)
		}
	})
	y := tally{work: away}
	y.sort()
	check(t, []published{
		{"removals a node and day", 0.0246, 0.03, float64(lost) / 200 / 12477},
		{"minutes away p25", 6.6, 0.05, quantile(away, 0.25)},
		{"minutes away p50", 16.6, 0.05, quantile(away, 0.5)},
		{"minutes away p75", 119, 0.1, quantile(away, 0.75)},
		{"minutes away p90", 519, 0.1, quantile(away, 0.9)},
		{"minutes away mean", 293, 0.1, mean(away)},
	})
}

// TestFlat checks that a task costs no memory: the rare allocations of a job
// or a node returning are far fewer than tasks.
func TestFlat(t *testing.T) {
	g := Default()
	g.Nodes, g.Churn = 12477, 1
	s, err := New(g)
	if err != nil {
		t.Fatal(err)
	}
	var r trace.Record
	next := func() {
		if err := s.Next(&r); err != nil {
			t.Fatal(err)
		}
	}
	for range 200_000 {
		next()
	}
	if n := testing.AllocsPerRun(10, func() {
		for range 100_000 {
			next()
		}
	}); n > 300 {
		t.Errorf("%v allocations for 100,000 records", n)
	}
}

func BenchmarkGoogle(b *testing.B) {
	g := Default()
	g.Nodes = 12477
	b.ReportAllocs()
	s, err := New(g)
	if err != nil {
		b.Fatal(err)
	}
	var r trace.Record
	for range 160_000 { // past the nodes and the stock
		if err := s.Next(&r); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if err := s.Next(&r); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
}

func BenchmarkNew(b *testing.B) {
	g := Default()
	g.Nodes = 12477
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New(g); err != nil {
			b.Fatal(err)
		}
	}
}
