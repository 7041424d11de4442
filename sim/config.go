// Package sim is a simulated world around the scheduler: the same core that
// schedules a real cluster sees events and gives decisions here, and a
// discrete-event kernel plays the nodes and tasks.
//
// Run reads a trace, replays it against the lanes it is given, and returns
// what came of it as a report.Run. Checkers watch from outside that no node is
// ever taken over its limit, no task runs twice and none is lost.
//
// The package starts no goroutine and reads no clock; a clock for measured
// planner time is passed in.
package sim

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/fragmentation"
	"fairlead.dev/fairlead/queue/power"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/keeper"
	"fairlead.dev/fairlead/sim/trace"
)

// Config is one run. Source and Lanes are required; the zero value of
// everything else is the plainest choice.
type Config struct {
	Setup  report.Setup // names that go into the result
	Source trace.Source
	// Beside says that the source is one of trace.Beside, whose jobs are called by the
	// numbers that their own source gives them.
	Beside bool
	Lanes  []sched.Lane
	// Typical is what tasks typically ask for, by which fragmentation is
	// measured; without it that is learned from the tasks that are submitted.
	Typical []fragmentation.Typical

	// Classes are what may be promised to tasks; nil is class.Google.
	Classes *class.Table
	// Until ends the run; 0 runs until nothing is left to happen.
	Until cluster.Time
	// Overcommit multiplies the capacity of the kinds it names, in
	// thousandths.
	Overcommit map[string]int64
	// Initial says what becomes of tasks that run when the trace begins.
	Initial Initial
	World   World
	Planner Planner
	Output  Output

	// Progress is called now and then; it may be nil.
	Progress func(Progress)
	// Stop is asked now and then whether to end the run early; it may be nil.
	Stop func() bool
	// Calls is called after each call on the core; it may be nil.
	Calls func(Call)
	// Finished is called when the run ends, after the rounds that were under way; it
	// may be nil.
	Finished func(Ending)
}

// Ending is the scheduler as it stands at the end of a run.
type Ending struct {
	Core *sched.Core // the callee's from now on
	// Names are what the source calls the tasks that are there, by row: their names,
	// or their job and index as in 17/3, or beside:17/3 if they are of the second source;
	// empty where no task is.
	Names []string
	// Owners are who has made them, by row; empty where nobody says.
	Owners []string
	// Gates are what keeps them from being placed for now, by row; empty where nothing does.
	Gates []string
	// Pinned says which of them belong to their nodes, by row.
	Pinned []bool
	// Guards are the budgets of disruption that hold for them.
	Guards Guards
}

// Initial says what becomes of tasks that run when the trace begins.
type Initial uint8

const (
	// Keep leaves them where the trace says, even where that is over a limit.
	Keep Initial = iota
	// PlaceAnew lets the policy place them like any other task.
	PlaceAnew
)

// World says how the simulated nodes behave.
type World struct {
	Seed uint64
	// Overheads are how long a run takes to begin.
	Overheads Overheads
	// Later are overheads that hold instead from their moments on, the first first: what a control plane took, decision by decision.
	Later []LaterOverheads
	// KeepWork says that what an evicted task has done is not lost, whatever its class says.
	KeepWork bool
	// Foretells says that the core is told of each task how long a run of it will work, as no real world knows: the
	// bound of what lifetimes can be of use for.
	Foretells bool
	// Power is what nodes draw; nil: it is not measured.
	Power power.Table
	// Switches say when nodes are switched off; the zero value is that none is.
	Switches keeper.Rules
	// Prices are what nodes cost, of which the first counts that is of a node; none: it is not measured.
	Prices []Price
	Usage  Usage
	Faults Faults
}

// PlannerTime says how the time that a policy thinks passes in the simulation.
type PlannerTime uint8

const (
	// Ticks charges the policy's effort at a constant rate. It does not
	// depend on the machine.
	Ticks PlannerTime = iota
	// Zero lets policies decide in no time.
	Zero
	// Measured charges what Planner.Clock measures. Runs differ from machine
	// to machine, and from each other.
	Measured
)

// Planner says what thinking costs.
type Planner struct {
	// Solver says that the solver of integer programs is ready when the run begins.
	Solver bool
	Time   PlannerTime
	// PerTick is the time of one tick in nanoseconds; 0 is DefaultPerTick.
	PerTick int64
	// Clock returns the wall-clock time in microseconds from any start. It is
	// required for Measured, and otherwise adds a measurement to the result. What
	// is measured is all of a round: update, plan and commit. It is read in pairs:
	// before and after a step, or before and after the plan of a round and then
	// before and after its commit.
	Clock func() cluster.Time
}

// DefaultPerTick is the time charged for a tick, in nanoseconds: about what
// scoring one node takes.
const DefaultPerTick = 50

// Output is where records of the run go; nil writers get none.
type Output struct {
	Placements io.Writer // a line a decision, in the columns of Google's task_events
	Tasks      io.Writer // a line a task, in the order in which they end
	Invoices   io.Writer // what users owe, at the end
}

// Progress is how far a run has come.
type Progress struct {
	Now, Until cluster.Time // Until is 0 if it is not known
	Submitted  int
	Ended      int
	Decisions  int64
}

// Validate says what is wrong with the configuration.
func (c *Config) Validate() error {
	switch {
	case c.Source == nil:
		return errors.New("a simulation needs a source")
	case cluster.CheckKinds(c.Source.Kinds()) != nil:
		return cluster.CheckKinds(c.Source.Kinds())
	case len(c.Lanes) == 0:
		return errors.New("a simulation needs a policy")
	case c.Until < 0:
		return fmt.Errorf("until is %v, want a time after the start", c.Until)
	case c.Planner.Time == Measured && c.Planner.Clock == nil:
		return errors.New("measured planner time needs a clock")
	case c.Planner.PerTick < 0:
		return fmt.Errorf("a tick takes %d ns, want at least 0", c.Planner.PerTick)
	}
	for name, factor := range c.Overcommit {
		known := false
		for _, k := range c.Source.Kinds() {
			known = known || k.Name == name
		}
		if !known {
			return fmt.Errorf("over-commit of %q: the cluster has no such kind", name)
		}
		if factor <= 0 {
			return fmt.Errorf("over-commit of %s is %d thousandths, want more than 0", name, factor)
		}
	}
	if c.Classes != nil {
		if err := c.Classes.CheckPrices(); err != nil {
			return err
		}
	}
	if err := c.World.Usage.Validate(); err != nil {
		return err
	}
	if r := c.World.Switches; r.OffAfter < 0 || r.Wake < 0 || r.Keep < 0 {
		return fmt.Errorf("switches %+v, want nothing below 0", r)
	}
	if !slices.IsSortedFunc(c.World.Later, func(a, b LaterOverheads) int { return cmp.Compare(a.From, b.From) }) {
		return errors.New("later overheads do not come in the order of their moments, want the first first")
	}
	return c.World.Faults.Validate()
}
