// Package policies lists every policy that there is, of whatever family, and
// makes them by name. The command and the Kubernetes front end choose from
// here; a policy itself knows nothing of this list.
//
// To add one: a row in its family's file here.
package policies

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/ilp"
	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/queue"
	"fairlead.dev/fairlead/sched"
)

// Options are what a run may choose about a policy. Each policy takes what it
// has a use for; Honoured says what that is.
type Options struct {
	Seed uint64
	Ties Ties
	// Typical is what tasks typically ask for, where the source knows.
	Typical []cluster.Typical
	// Solver is one of Solvers; empty is Automatic.
	Solver string
	// Migrations is how many running tasks a round may move to another node.
	Migrations int
	// Racer makes a solver for the name Race. Racing takes goroutines, which
	// nothing has that decides, so it comes from outside.
	Racer func(*mcmf.Graph) flow.Solver
	// Programs solves integer programs, with limits in ticks, for policies that mend by
	// them once cluster.SolverReady has said that they may. It may be nil, for those that
	// do without.
	Programs ilp.Solver
	// Preference is the share of a task's input, in per cent, from which on
	// quincy draws it to the node or rack that holds it; 0 is the policy's own.
	Preference int
	Batch      Batch
	// SLA is what the policy sla orders its queue by.
	SLA queue.SLA
	// Stop is asked by policies whose rounds may take long, now and then; once it is
	// true, and it stays so, a round plans nothing more. It may be nil.
	Stop func() bool
}

// Batch is how much of the queue ECSched and its baselines look at in a round;
// what is 0 is the policy's own.
type Batch struct {
	Window     int  // tasks, from the front of the queue
	Solves     int  // flows that are solved, one after the other
	Placements int  // tasks that a baseline places at most
	Keep       bool // what fits nowhere stays at the front of the queue
}

// Family is a way to decide.
type Family string

// The families.
const (
	Queue Family = "queue" // one task at a time
	Flow  Family = "flow"  // all tasks at once, as a flow of minimum cost
	// Constraint is for applications: whole, under constraints over tags and groups.
	Constraint Family = "constraint"
)

// Info describes a policy to people.
type Info struct {
	Name   string
	What   string // one line
	From   string // where it comes from
	Family Family
	// Ties is the tie-break that the policy is defined by, whatever the
	// options say; nil leaves it to them.
	Ties func(Ties) Ties
	// Evicts says that the policy evicts tasks to make room.
	Evicts bool
	// When is the trigger that the policy wants where nothing else is asked for.
	When sched.Trigger
	// Programs says that the policy has a use for Options.Programs.
	Programs bool
	// Moves says that the policy moves running tasks, where Options.Migrations lets it.
	Moves bool
	make  func(Options) (sched.Policy, error)
}

// All lists the policies in the order in which people should meet them.
func All() []Info {
	return slices.Concat(queues(), flows(), constraints())
}

// Names lists the names of All.
func Names() []string {
	var names []string
	for _, p := range All() {
		names = append(names, p.Name)
	}
	return names
}

// NamesOf lists the names of the policies of a family.
func NamesOf(f Family) []string {
	var names []string
	for _, p := range All() {
		if p.Family == f {
			names = append(names, p.Name)
		}
	}
	return names
}

// Find returns the named policy's row. The error about a name that there is
// not says which one is near it.
func Find(name string) (Info, error) {
	for _, p := range All() {
		if p.Name == name {
			return p, nil
		}
	}
	return Info{}, nearest.Unknown("policy", name, Names())
}

// New makes the named policy. The error is about a name or a solver that there
// is not, or about options that the policy refuses.
func New(name string, o Options) (sched.Policy, error) {
	p, err := Find(name)
	if err != nil {
		return nil, err
	}
	if err := CheckSolver(o.Solver); err != nil {
		return nil, err
	}
	return p.make(p.Honoured(o))
}

// Honoured returns the options as the policy takes them: the tie-break that it is
// defined by, and nothing of what it has no use for. What a result or a
// recording says of a run's options is this.
func (p *Info) Honoured(o Options) Options {
	if p.Ties != nil {
		o.Ties = p.Ties(o.Ties)
	}
	if o.Solver == Automatic || p.Family != Flow {
		o.Solver = ""
	}
	if p.Family != Flow {
		o.Preference = 0
	}
	if !p.Programs {
		o.Programs = nil
	}
	if !p.Moves {
		o.Migrations = 0
	}
	return o
}

// Trigger is what starts the policy's rounds: its own, with the heartbeat and the
// watchdog that were asked for, if they were.
func (p *Info) Trigger(heartbeat, watchdog *cluster.Time) sched.Trigger {
	when := p.When
	if heartbeat != nil {
		when.Heartbeat = *heartbeat
	}
	if watchdog != nil {
		when.Watchdog = *watchdog
	}
	return when
}

// TieBreak names the tie-break of the policy under these options; empty where it
// has none to choose, as flow policies.
func (p *Info) TieBreak(o Options) string {
	if p.Family != Queue {
		return ""
	}
	return p.Honoured(o).Ties.String()
}

// TiesOf is the tie-break that the named policy uses where the options ask for
// the given one.
func TiesOf(name string, ties Ties) Ties {
	p, err := Find(name)
	if err != nil {
		return ties
	}
	return p.Honoured(Options{Ties: ties}).Ties
}
