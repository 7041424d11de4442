package experiment

import (
	"errors"
	"time"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
)

// This file is one simulation of an experiment.

// plan is an experiment that is set up.
type plan struct {
	data     string // what it runs on, in a sentence
	real     bool   // it is a trace, and not a generator's
	whole    bool   // it has the paper's size, whatever size was asked for
	partial  bool   // it concludes from the steps that were done, too, if it is stopped
	facts    []string
	cases    []simulation
	steps    []step // after the cases
	conclude func([]outcome, *report.Reproduction)
}

// step is a part of an experiment that is no simulation. What it comes to, the conclusion
// knows.
type step struct {
	name string
	do   func() error
}

// simulation is a run to be done.
type simulation struct {
	line    string        // of the figure to which it belongs
	at      report.Number // its place on that line, where a run is a point
	policy  string
	options policies.Options
	open    func() (trace.Source, error)
	source  string // what the result calls the source
	input   string // and its data; empty where there is none
	trigger sched.Trigger
	planner sim.PlannerTime
	until   cluster.Time                    // after the speed-up; 0 until its work is done
	speedup float64                         // 0 is none
	waits   bool                            // measure how long batch tasks wait
	promise *promise                        // nil: classes count for nothing, and evicted work is lost
	around  func(sched.Policy) sched.Policy // what stands between the policy and the rest; may be nil
	watch   *placements                     // what around returns; may be nil
}

// promise is what a case has that is about what was promised to tasks.
type promise struct {
	classes   *class.Table
	table     string // what the result calls the classes; empty is google
	world     sim.World
	overheads string // the same in words
	toTheEnd  bool   // accounts are those of the end of the run, not of its last round
}

// outcome is a run that was done.
type outcome struct {
	*simulation
	run    report.Run
	rounds []round
	// placement is the distribution of how long batch tasks waited for their first
	// place, if it was measured.
	placement report.Curve
	// promised is how the tasks stand at the end to which something was promised, if
	// the case is about that.
	promised
}

// round is when a round began in the simulation, and how long it took on this
// machine, from bringing the view up to date to the plan; where planning takes no
// simulated time, to the commit.
type round struct{ at, took cluster.Time }

func (c *simulation) name() string { return c.policy + ", " + c.line }

// run simulates.
func (c *simulation) run(o *Options) (outcome, error) {
	source, err := c.open()
	if err != nil {
		return outcome{}, err
	}
	defer source.Close() //nolint:errcheck // it was only read
	c.options.Seed, c.options.Stop = o.Seed, o.Stop
	policy, err := policies.New(c.policy, c.options)
	if err != nil {
		return outcome{}, err
	}
	if c.around != nil {
		policy = c.around(policy)
	}
	start := time.Now()
	watch := &stopwatch{policy: policy, steps: c.planner == sim.Zero, clock: func() cluster.Time { return cluster.Time(time.Since(start).Microseconds()) }}
	config := sim.Config{
		Source: source, Lanes: []sched.Lane{{Name: c.policy, Policy: watch, When: c.trigger}},
		Until: c.until, Planner: sim.Planner{Time: c.planner, Clock: watch.read}, World: sim.World{Seed: o.Seed},
		Stop: o.Stop,
	}
	if c.watch != nil {
		config.Output.Tasks = c.watch
	}
	if c.speedup != 0 {
		config.Source = trace.Speedup(source, c.speedup)
	}
	var kept promised
	if p := c.promise; p != nil {
		config.Classes, config.World, config.Finished = p.classes, p.world, kept.take
		if p.toTheEnd {
			kept.until = c.until
		}
	}
	var waiting *waits
	if c.waits {
		waiting = &waits{Source: config.Source, since: map[[2]uint64][]cluster.Time{}}
		config.Source, config.Output.Placements = waiting, waiting
	}
	config.World.Foretells = policies.Foretold(c.options.Own)
	config.Setup, err = c.setup(o)
	if err != nil {
		return outcome{}, err
	}
	run, err := sim.Run(config)
	if err == nil && run.Nodes == 0 && !run.Interrupted {
		err = errors.New("there was no node at the end; the source is not what it should be")
	}
	out := outcome{simulation: c, run: run, rounds: watch.rounds, promised: kept}
	if waiting != nil {
		out.placement = waiting.took.Curve()
	}
	return out, err
}

// setup is what the result says of the case.
func (c *simulation) setup(o *Options) (report.Setup, error) {
	p, err := policies.Find(c.policy)
	if err != nil {
		return report.Setup{}, err
	}
	evicted, overheads, table := "lost", "", ""
	if p := c.promise; p != nil {
		overheads, table = p.overheads, p.table
		if p.world.KeepWork {
			evicted = "kept"
		}
	}
	setup := report.Setup{
		Policy: c.policy, Cluster: c.source, Workload: c.source, Data: c.input, Seed: o.Seed, Until: report.Seconds(c.until), Speedup: report.Number(c.speedup),
		Initial: "keep", EvictedWork: evicted, Overheads: overheads, Classes: table, Faults: "none",
		Heartbeat: report.Seconds(c.trigger.Heartbeat), Watchdog: report.Seconds(c.trigger.Watchdog),
		PlannerTime: [...]string{sim.Ticks: "ticks", sim.Zero: "zero", sim.Measured: "measured"}[c.planner],
	}
	report.Choose(&setup, p.Chosen(c.options))
	return setup, nil
}

// stopwatch is a policy and the clock by which the simulation measures it: two
// readings for the plan of a round, with the policy asked in between, then two for
// its commit; or two around a whole step.
type stopwatch struct {
	policy  sched.Policy
	steps   bool
	clock   func() cluster.Time
	rounds  []round
	began   cluster.Time
	at      cluster.Time
	inside  bool // between the two readings
	planned bool // the policy has planned since the first of them
}

// read is the clock.
func (w *stopwatch) read() cluster.Time {
	now := w.clock()
	switch {
	case !w.inside:
		w.began, w.planned = now, false
	case w.planned:
		w.rounds = append(w.rounds, round{w.at, now - w.began})
	case !w.steps && len(w.rounds) > 0:
		w.rounds[len(w.rounds)-1].took += now - w.began
	}
	w.inside = !w.inside
	return now
}

// Plan notes when it is.
func (w *stopwatch) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	w.at, w.planned = t.View().Now(), true
	w.policy.Plan(t, c, budget, out)
}

// Why is the policy's.
func (w *stopwatch) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return w.policy.Why(t, task)
}
