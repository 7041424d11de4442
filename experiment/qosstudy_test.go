package experiment

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/workload"
)

// oneHost is the tasks of a source on a host without limits.
type oneHost struct {
	trace.Source
	added bool
}

func (o *oneHost) Next(r *trace.Record) error {
	if !o.added {
		o.added = true
		*r = trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: 1, Capacity: cluster.Vector{cluster.MaxQuantity, cluster.MaxQuantity}}}
		return nil
	}
	for {
		if err := o.Source.Next(r); err != nil || !r.What.OfNode() {
			r.Task.Requirements, r.Task.PerNode = nil, 0
			return err
		}
	}
}

// smallStudy is a sample of a small cluster.
func smallStudy(t *testing.T, length cluster.Time) (workload.Google, *workload.Sampled) {
	t.Helper()
	g := workload.Default()
	g.Nodes, g.Length = 100, length
	users, err := workload.UsersOf(g)
	if err != nil {
		t.Fatal(err)
	}
	s, err := workload.Sample(g, users, workload.PublishedSample(3))
	if err != nil {
		t.Fatal(err)
	}
	return g, s
}

// TestPeakIsThatOfARun holds the size that is computed by sweeping over the requests
// against "the run on one infinite host", which is what the paper did: the most that runs
// at a time in a simulation.
func TestPeakIsThatOfARun(t *testing.T) {
	g, s := smallStudy(t, 2*cluster.Hour)
	src, err := s.Open(1)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := policies.New("first-fit", policies.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var placements, tasks bytes.Buffer
	run, err := sim.Run(sim.Config{
		Source: &oneHost{Source: src}, Lanes: []sched.Lane{{Name: "first-fit", Policy: policy}}, Until: g.Length,
		Planner: sim.Planner{Time: sim.Zero}, Output: sim.Output{Placements: &placements, Tasks: &tasks},
	})
	if err != nil {
		t.Fatal(err)
	}
	if run.Tasks.Submitted != s.Requests || run.Tasks.Placed != s.Requests || s.Requests < 100 {
		t.Errorf("%d of %d requests ran, of %d in the sample", run.Tasks.Placed, run.Tasks.Submitted, s.Requests)
	}
	if got := mostAtOnce(t, &placements, &tasks); !slices.Equal(got, s.Peak) {
		t.Errorf("the run had %v at most, the sweep says %v", got, s.Peak)
	}
}

// mostAtOnce is what ran at the same time at most, by the records of a run. Demands are in
// the rows of decisions, ends in those of tasks.
func mostAtOnce(t *testing.T, placements, tasks *bytes.Buffer) cluster.Vector {
	t.Helper()
	read := func(b *bytes.Buffer) [][]string {
		rows, err := csv.NewReader(b).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	ends := map[string]float64{}
	for i, r := range read(tasks) {
		if i > 0 && r[7] == "finish" {
			ends[r[0]+"/"+r[1]] = number(r[6])
		}
	}
	change := map[float64]cluster.Vector{}
	at := func(when float64) cluster.Vector {
		if change[when] == nil {
			change[when] = make(cluster.Vector, 2)
		}
		return change[when]
	}
	for _, r := range read(placements) {
		demand := cluster.Vector{int64(number(r[9])*1e7 + 0.5), int64(number(r[10])*1e7 + 0.5)}
		end, ended := ends[r[2]+"/"+r[3]]
		for k, d := range demand {
			at(number(r[0]) / 1e6)[k] += d
			if ended {
				at(end)[k] -= d
			}
		}
	}
	now, most := make(cluster.Vector, 2), make(cluster.Vector, 2)
	var moments []float64
	for when := range change {
		moments = append(moments, when)
	}
	slices.Sort(moments)
	for _, when := range moments {
		for k := range now {
			now[k] += change[when][k]
			most[k] = max(most[k], now[k])
		}
	}
	return most
}

// TestStudyCases runs the sample on as many hosts as it needs and on fewer, and
// wants fewer hosts, and more of them taken, from case to case.
func TestStudyCases(t *testing.T) {
	o := &Options{Size: tiny, Seed: 1, Policies: []string{"priority"}}
	p, err := setUpStudy(o)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.cases) != 3 {
		t.Fatalf("%d cases, want one sample at three sizes", len(p.cases))
	}
	nodes, allocated := 1_000_000, report.Number(0)
	for i := range p.cases {
		out, err := p.cases[i].run(o)
		if err != nil {
			t.Fatal(err)
		}
		if out.run.Nodes >= nodes || out.run.Allocation["memory"].Mean < allocated {
			t.Errorf("%s: %d nodes after %d, of which %v is taken after %v", out.line, out.run.Nodes, nodes, out.run.Allocation["memory"].Mean, allocated)
		}
		nodes, allocated = out.run.Nodes, out.run.Allocation["memory"].Mean
		if out.run.EvictedWork != "kept" || out.run.Watchdog != 10 || out.run.Classes["silver"].Promise == nil {
			t.Errorf("%s: not the world of the study: %+v", out.line, out.run.Setup)
		}
	}
}

// TestStudyPenalties adds up what was to be paid back, by policy and size.
func TestStudyPenalties(t *testing.T) {
	result := func(policy string, share float64, gold, bronze report.Number) outcome {
		c := &simulation{policy: policy, at: report.Number(share)}
		return outcome{simulation: c, run: report.Run{Classes: map[string]report.Class{
			"gold": {Promise: &report.Promise{Penalties: gold}}, "bronze": {Promise: &report.Promise{Penalties: bronze}},
		}}}
	}
	rows := penaltiesCompared([]outcome{
		result("qos", 0.8, 1, 2), result("priority", 0.8, 4, 5), result("qos", 0.8, 0, 1), result("priority", 0.8, 0, 1),
		result("qos", 0.9, 0, 4), result("priority", 0.9, 0, 2), result("qos", 1, 0, 0), result("priority", 1, 1, 0),
	})
	var got []string
	for _, r := range rows {
		got = append(got, r.Unit.Show(*orZero(r.Ours)))
	}
	if want := []string{"0.000×", "0.500×", "2.500×", "2.500×"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v: %s", got, want, fmt.Sprint(rows))
	}
}

// orZero is the number, or 0 where it is not known.
func orZero(n *report.Number) *report.Number {
	if n == nil {
		return new(report.Number(0))
	}
	return n
}
