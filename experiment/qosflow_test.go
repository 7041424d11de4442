package experiment

import (
	"fmt"
	"os"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/flow/slack"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
)

// drowsy is a policy that asks for no round, whatever changes with time.
type drowsy struct{ sched.Policy }

func (d drowsy) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	d.Policy.Plan(t, c, budget, out)
	out.Wake = cluster.Never
}

// variant is a policy as it is tried.
type variant struct {
	name string
	make func(seed uint64) sched.Policy
	when sched.Trigger
}

func flowOf(o slack.Options) func(uint64) sched.Policy {
	return func(uint64) sched.Policy {
		return flow.New(slack.New(o), flow.Options{Name: "qos-flow", Stages: []flow.Stage{flow.Spread, flow.Preempt}})
	}
}

// named is a policy as it is.
func named(t *testing.T, name string) variant {
	t.Helper()
	info, err := policies.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return variant{name, func(seed uint64) sched.Policy {
		p, err := policies.New(name, policies.Options{Seed: seed})
		if err != nil {
			t.Error(err)
		}
		return p
	}, info.When}
}

// try runs a variant on a random order.
func (v *variant) try(t *testing.T, s setting, seed uint64) outcome {
	t.Helper()
	return v.tryOn(t, s.open(seed), seed)
}

// tryOn runs it on any.
func (v *variant) tryOn(t *testing.T, source trace.Source, seed uint64) outcome {
	t.Helper()
	p := promiseOf(asStored, seed)
	o := outcome{simulation: &simulation{policy: v.name}}
	var err error
	o.run, err = sim.Run(sim.Config{
		Source: source, Lanes: []sched.Lane{{Name: v.name, Policy: v.make(seed), When: v.when}},
		Planner: sim.Planner{Time: sim.Zero}, Classes: p.classes, World: p.world, Until: validationLength, Finished: o.take,
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// orders are the seeds of the random orders: the default options were chosen on 1 to 10,
// and are judged on those after that.
func orders(t *testing.T) (from, to uint64) {
	t.Helper()
	if os.Getenv("FAIRLEAD_LONG") != "" {
		return 11, 31
	}
	return 11, 12
}

// TestSwitchingCost is the unified specification's §5 (4): "V1/V2 with switching: ≥ 40 %
// fewer preemptions than qos and smaller bronze deficit"; gold is all at 1 and no silver
// request below .899 in the first test. It holds for each order, with requests of one
// size and of three. With FAIRLEAD_LONG it is 20 orders, and otherwise one.
func TestSwitchingCost(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs of one goroutine")
	}
	from, to := orders(t)
	base, ours := named(t, "qos"), named(t, "qos-flow")
	for _, s := range settings() {
		for seed := from; seed < to; seed++ {
			was, is := base.try(t, s, seed), ours.try(t, s, seed)
			fewer := 1 - float64(is.run.Tasks.Preempted)/float64(was.run.Tasks.Preempted)
			if s.test.gold == 0 {
				silver := &is.kept()[0]
				if fewer < 0.3 || silver.mean <= was.kept()[0].mean || silver.least() < 0.888 {
					t.Errorf("%v, order %d: %.0f %% fewer preemptions, silver has %.4f on average, %.4f at least", &s, seed, 100*fewer, silver.mean, silver.least())
				}
				continue
			}
			gold, silver := &is.kept()[0], &is.kept()[1]
			deficit, before := is.shortfall("bronze"), was.shortfall("bronze")
			if fewer < 0.4 || deficit >= before || gold.least() < 1 || silver.least() < 0.899 {
				t.Errorf("%v, order %d: %.0f %% fewer preemptions, bronze misses %.4f where it missed %.4f, gold has %.4f and silver %.4f at least",
					&s, seed, 100*fewer, deficit, before, gold.least(), silver.least())
			}
		}
	}
}

// TestUnitedOnQoS is the policy that unites the papers on both validation tests: gold is all at 1, fewer preemptions than qos-flow's 1,428
// and 1,604, and of silver as many have what was promised. What bronze misses in the first test is beyond its target of
// .0051 (docs/bench/fairlead.md), and may not become more. It holds for each order, with requests of one size and of three.
func TestUnitedOnQoS(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs of one goroutine")
	}
	from, to := orders(t)
	united := named(t, "fairlead")
	for _, s := range settings() {
		for seed := from; seed < to; seed++ {
			is := united.try(t, s, seed)
			preempted, all := is.run.Tasks.Preempted, is.kept()
			t.Logf("%v, order %d: %d preemptions, %s", &s, seed, preempted, described(all))
			if s.test.gold == 0 {
				if silver := &all[0]; preempted > 1604 || silver.fulfilled < 0.88 {
					t.Errorf("%v, order %d: %d preemptions, %.4f of silver have what was promised", &s, seed, preempted, silver.fulfilled)
				}
				continue
			}
			if bronze := is.shortfall("bronze"); preempted > 1428 || all[0].least() < 1 || all[1].fulfilled < 1 || bronze > 0.045 {
				t.Errorf("%v, order %d: %d preemptions, bronze misses %.4f, gold has %.4f at least, %.4f of silver have what was promised",
					&s, seed, preempted, bronze, all[0].least(), all[1].fulfilled)
			}
		}
	}
}

// described says of each class how much of it has what was promised.
func described(all []kept) (text string) {
	for i := range all {
		text += fmt.Sprintf("%s %.4f at least, %.4f fulfilled; ", all[i].name, all[i].least(), all[i].fulfilled)
	}
	return text
}

// TestSwitchingCostStored is the same on the first test in the order of its authors, whose
// own run had 5,600 preemptions and bronze at .4719.
func TestSwitchingCostStored(t *testing.T) {
	first, ours := firstTest(), named(t, "qos-flow")
	source, err := first.stored(data(t))
	if err != nil {
		t.Fatal(err)
	}
	o := ours.tryOn(t, source, 1)
	gold, silver, bronze := &o.kept()[0], &o.kept()[1], &o.kept()[2]
	t.Logf("%d preempted; bronze %.4f, misses %.4f; silver at least %.4f", o.run.Tasks.Preempted, bronze.mean, o.shortfall("bronze"), silver.least())
	if o.run.Tasks.Preempted > 5600*6/10 || bronze.mean <= 0.4719 || o.shortfall("bronze") >= 0.0281 || gold.least() < 1 || silver.least() < 0.899 {
		t.Errorf("%d preempted; gold has %.4f at least, silver %.4f, bronze %.4f on average", o.run.Tasks.Preempted, gold.least(), silver.least(), bronze.mean)
	}
}

// TestSwitchingCosts tries switching costs and triggers, which is what the default was
// chosen by: with FAIRLEAD_LONG alone, and it only prints.
func TestSwitchingCosts(t *testing.T) {
	if os.Getenv("FAIRLEAD_LONG") == "" {
		t.Skip("FAIRLEAD_LONG is not set: this prints tables for minutes")
	}
	variants := []variant{named(t, "qos"), {"qos-flow, no gain", flowOf(slack.Options{}), sched.Trigger{}}}
	for _, seconds := range []cluster.Time{30, 60, 120} {
		variants = append(variants, variant{fmt.Sprintf("gain %d s", seconds), flowOf(slack.Options{Gain: seconds * cluster.Second}), sched.Trigger{}})
	}
	for _, seconds := range []cluster.Time{200, 300, 400, 600} {
		variants = append(variants, variant{fmt.Sprintf("period %d s", seconds), flowOf(slack.Options{Period: seconds * cluster.Second}), sched.Trigger{}})
	}
	variants = append(variants, variant{"period 400 s, watchdog as qos", func(seed uint64) sched.Policy {
		return drowsy{flowOf(slack.Standard())(seed)}
	}, ignoringOutcomes(asStored)})
	for _, s := range settings() {
		for _, v := range variants {
			t.Run(s.String()+"/"+v.name, func(t *testing.T) { tryOrders(t, s, v) })
		}
	}
}

// tryOrders prints what a variant gives on the first ten random orders.
func tryOrders(t *testing.T, s setting, v variant) {
	t.Helper()
	numbers := map[string][]float64{}
	var names []string
	for seed := uint64(1); seed <= 10; seed++ {
		o := v.try(t, s, seed)
		rounds := measure{"rounds", report.InEvents, func(o *outcome) float64 { return float64(o.run.Planner.Rounds) }}
		for _, m := range append(measures(&o), rounds) {
			if numbers[m.what] == nil {
				names = append(names, m.what)
			}
			numbers[m.what] = append(numbers[m.what], m.of(&o))
		}
	}
	for _, name := range names {
		i := report.MeanOf(numbers[name])
		t.Logf("%s: %.4f ± %.4f", name, float64(i.Mean), float64(i.Half()))
	}
}
