package experiment

import (
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
)

// validated runs a validation test at full size, on the stored order too where the
// data are at hand, and returns its runs.
func validated(t *testing.T, v validation) []outcome {
	t.Helper()
	o := Options{Seed: 1, Data: os.Getenv("FAIRLEAD_DATA"), Policies: []string{"qos", "priority"}}
	p, err := v.setUp(&o)
	if err != nil {
		t.Fatal(err)
	}
	var all []outcome
	for i := range p.cases {
		out, err := p.cases[i].run(&o)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, out)
	}
	if len(all) != 2*22 {
		t.Fatalf("%d runs, want 22 of each policy", len(all))
	}
	r := &report.Reproduction{}
	p.conclude(all, r)
	if len(r.Compared) == 0 || len(r.Figures) != 1 {
		t.Error("nothing came of it")
	}
	return all
}

// between reports what is outside of its bounds.
func between(t *testing.T, o *outcome, what string, got float64, bounds [2]float64) {
	t.Helper()
	if !(got >= bounds[0] && got <= bounds[1]) {
		t.Errorf("%s, %s, seed %v: %s is %.4f, want %.4f to %.4f", o.policy, o.line, o.at, what, got, bounds[0], bounds[1])
	}
}

// TestQoSV1 holds the first validation test, in the authors' order and in 20 random
// ones, against their stored runs (specification §11): "gold 1.0; silver min .9005
// mean .9054 max .9084 (all fulfil); bronze min .4681 mean .4719 max .4751 (none
// fulfil); 5 600 preemptions".
func TestQoSV1(t *testing.T) {
	for _, o := range validated(t, firstTest()) {
		all := o.kept()
		gold, silver, bronze := &all[0], &all[1], &all[2]
		if len(gold.rising) != 80 || len(silver.rising) != 80 || len(bronze.rising) != 96 {
			t.Fatalf("%d gold, %d silver, %d bronze", len(gold.rising), len(silver.rising), len(bronze.rising))
		}
		between(t, &o, "gold", gold.least(), [2]float64{1, 1})
		switch {
		case o.policy == "priority":
			checkPriority(t, &o, silver, bronze)
		case o.trigger.Watchdog == asStored:
			between(t, &o, "silver's mean", silver.mean, [2]float64{0.904, 0.906})
			between(t, &o, "silver's least", silver.least(), [2]float64{0.898, 1})
			between(t, &o, "bronze's mean", bronze.mean, [2]float64{0.4685, 0.4765})
			between(t, &o, "bronze's best", bronze.most(), [2]float64{0, 0.4999})
			between(t, &o, "preemptions", float64(o.run.Tasks.Preempted), [2]float64{5500, 5800})
		default: // what another implementation gave, in some order
			between(t, &o, "preemptions", float64(o.run.Tasks.Preempted), [2]float64{16_205 * 0.97, 16_205 * 1.03})
			between(t, &o, "bronze's mean", bronze.mean, [2]float64{0.395, 0.402})
			between(t, &o, "silver's mean", silver.mean, [2]float64{0.9, 0.906})
		}
	}
}

// checkPriority wants of the baseline what follows from the order of the requests:
// gold and silver take 160 of the 200 places, so that 40 bronze of those that began
// stay, and the others are evicted.
func checkPriority(t *testing.T, o *outcome, silver, bronze *kept) {
	t.Helper()
	source, err := o.open()
	if err != nil {
		t.Fatal(err)
	}
	began := 0
	for tasks := 0; tasks < 200; {
		var r trace.Record
		if err := source.Next(&r); errors.Is(err, io.EOF) {
			t.Fatal("fewer than 200 tasks")
		} else if err != nil {
			t.Fatal(err)
		}
		if r.What != trace.TaskSubmitted {
			continue
		}
		tasks++
		if r.Task.Priority == bronzePriority {
			began++
		}
	}
	between(t, o, "preemptions", float64(o.run.Tasks.Preempted), [2]float64{float64(began - 40), float64(began - 40)})
	between(t, o, "allocations", float64(o.allocations), [2]float64{float64(200 + began - 40), float64(200 + began - 40)})
	between(t, o, "silver", silver.least(), [2]float64{1, 1})
	between(t, o, "bronze near 1", 96*bronze.above(0.99), [2]float64{40, 40})
	if o.line == lineOfTest(storedOrder, asStored) {
		between(t, o, "preemptions in the stored order", float64(o.run.Tasks.Preempted), [2]float64{32, 32})
	}
}

// TestQoSV2 does so for the second: "min .8967 median .8985 mean .8999 max .9055;
// 35.7 % ≥ .9; 2 545 preemptions", and of the baseline "200 at 1.0, 21 at 0".
func TestQoSV2(t *testing.T) {
	for _, o := range validated(t, secondTest()) {
		silver := &o.kept()[0]
		switch {
		case o.policy == "priority":
			between(t, &o, "silver at 1", 221*silver.above(1), [2]float64{200, 200})
			between(t, &o, "preemptions", float64(o.run.Tasks.Preempted), [2]float64{0, 0})
		case o.trigger.Watchdog == asStored:
			between(t, &o, "mean", silver.mean, [2]float64{0.899, 0.901})
			between(t, &o, "least", silver.least(), [2]float64{0.895, 1})
			between(t, &o, "median", silver.rising[110], [2]float64{0.8975, 0.8995})
			between(t, &o, "share fulfilled", silver.fulfilled, [2]float64{0.33, 0.38})
			between(t, &o, "preemptions", float64(o.run.Tasks.Preempted), [2]float64{2500, 2600})
		default:
			between(t, &o, "mean", silver.mean, [2]float64{0.8842, 0.8862})
			between(t, &o, "preemptions", float64(o.run.Tasks.Preempted), [2]float64{7_276 * 0.99, 7_276 * 1.01})
		}
	}
}

// firstVictims notes how much slack victims had.
type firstVictims struct {
	sched.Policy
	slacks []float64
}

func (f *firstVictims) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	mark := t.Mark()
	f.Policy.Plan(t, c, budget, out)
	t.Rollback(mark)
	s := t.View()
	for i := range out.Bundles() {
		for _, a := range out.Bundle(i) {
			if task := s.Task(a.Task); a.Kind == sched.Evict {
				f.slacks = append(f.slacks, s.Classes()[task.Class].Slack(task.Account.At(s.Now(), task.Phase)).Seconds())
			}
			if r := t.Try(a); r.Refused() {
				panic(r.Code.String())
			}
		}
	}
}

// TestFirstVictims wants the first three victims of the stored order: "V1's first
// three preemptions have victim slack 167.63, 166.63, 165.63".
func TestFirstVictims(t *testing.T) {
	first := firstTest()
	source, err := first.stored(data(t))
	if err != nil {
		t.Fatal(err)
	}
	qos, err := policies.New("qos", policies.Options{})
	if err != nil {
		t.Fatal(err)
	}
	watched := &firstVictims{Policy: qos}
	p := promiseOf(asStored, 1)
	_, err = sim.Run(sim.Config{
		Source: source, Lanes: []sched.Lane{{Name: "qos", Policy: watched, When: ignoringOutcomes(asStored)}},
		Planner: sim.Planner{Time: sim.Zero}, Classes: p.classes, World: p.world, Until: 250 * cluster.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(watched.slacks) < 3 {
		t.Fatalf("%d victims", len(watched.slacks))
	}
	for i, want := range []float64{167.63, 166.63, 165.63} {
		if got := watched.slacks[i]; math.Abs(got-want) > 0.005 {
			t.Errorf("victim %d had %.5f s of slack, published %.2f", i+1, got, want)
		}
	}
}

// TestKept compares the measures with their definitions on a few shares.
func TestKept(t *testing.T) {
	p := promised{classes: []cluster.Class{{Name: "none"}, {Name: "c", Availability: cluster.Whole / 2}}, accounts: make([][]cluster.Account, 2)}
	for _, running := range []cluster.Time{9, 1, 5, 3, 0} {
		p.accounts[1] = append(p.accounts[1], cluster.Account{Running: running * cluster.Second, Waiting: (10 - running) * cluster.Second})
	}
	all := p.kept()
	if len(all) != 1 {
		t.Fatalf("%d classes with tasks", len(all))
	}
	k := &all[0]
	sum := 0.0
	for _, a := range k.rising {
		for _, b := range k.rising {
			sum += math.Abs(a - b)
		}
	}
	if want := sum / (2 * 25 * k.mean); math.Abs(k.gini-want) > 1e-8 || math.Abs(k.mean-0.36) > 1e-12 || k.fulfilled != 0.4 {
		t.Errorf("%+v, want a Gini coefficient of %v", k, want)
	}
	if !slices.IsSorted(k.rising) || k.above(0.5) != 0.4 || k.least() != 0 || k.most() != 0.9 {
		t.Errorf("%+v", k)
	}
}
