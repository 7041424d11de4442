// Package policies lists every policy that there is, of whatever family, and
// makes them by name. The command and the Kubernetes front end choose from
// here; a policy itself knows nothing of this list.
//
// To add one: a row in its family's file here.
package policies

import (
	"slices"

	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/ilp"
	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/queue"
	"fairlead.dev/fairlead/queue/fragmentation"
	"fairlead.dev/fairlead/sched"
)

// Options are what a run may choose about a policy. Each policy takes what it
// has a use for; Honoured says what that is.
type Options struct {
	Seed uint64
	Ties Ties
	// Typical is what tasks typically ask for, where the source knows.
	Typical []fragmentation.Typical
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
	// Beside says that its rounds run beside all else (sched.Lane), so that they may take seconds.
	Beside bool
	// Preference is the share of a task's input, in per cent, from which on
	// quincy draws it to the node or rack that holds it; 0 is the policy's own.
	Preference int
	Batch      Batch
	// Own are the options that policies of others declare.
	Own Settings
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

// Info is a policy: how it is described to people, what may be chosen about it, and how it is
// made. One from elsewhere is a value as those here are.
type Info struct {
	Name   string
	What   string // one line
	From   string // where it comes from
	Family Family
	// Ties is the tie-break that the policy is defined by, whatever the
	// options say; nil leaves it to them.
	Ties func(Ties) Ties
	// Evicts says that the policy evicts tasks to make room; see KeepRunning.
	Evicts bool
	// TakesTurns says that it has tasks take turns where there is not enough for all, so that one is evicted soon after
	// others were for it; the overhead budgets of classes bound that.
	TakesTurns bool
	// When is the trigger that the policy wants where nothing else is asked for.
	When sched.Trigger
	// PricesNodes says that nodes are dearer to it, or score less, that do not meet what tasks prefer (cluster.Shape.Prefers).
	PricesNodes bool
	// PricesCompany says the same of nodes that do not offer the company that soft constraints ask for.
	PricesCompany bool
	// Programs says that the policy has a use for Options.Programs, ProgramsBeside that it has one in a lane beside the core.
	Programs, ProgramsBeside bool
	// Options are those that the policy takes.
	Options []Option
	// Make makes the policy of options that it honours.
	Make func(Options) (sched.Policy, error)
}

// List is policies in the order in which people should meet them.
type List []Info

// All lists the policies of this module.
func All() List {
	return slices.Concat(List{united()}, queues(), flows(), constraints())
}

// first are the names of the policies that people should meet first: the one that unites the papers, and for each
// paper and for what others use one to compare it with.
func first() []string {
	return []string{"fairlead", "kube-scheduler", "kube", "priority", "quincy", "ecsched-dp", "medea", "qos", "sla", "fgd"}
}

// Short leaves out policies of this module that people need not meet first.
func (l List) Short() List {
	known := All().Names()
	return slices.DeleteFunc(slices.Clone(l), func(p Info) bool {
		return slices.Contains(known, p.Name) && !slices.Contains(first(), p.Name)
	})
}

// Find returns the named policy of All.
func Find(name string) (Info, error) { return All().Find(name) }

// New makes the named policy of All.
func New(name string, o Options) (sched.Policy, error) { return All().New(name, o) }

// Names lists the names of the policies.
func (l List) Names() []string {
	var names []string
	for _, p := range l {
		names = append(names, p.Name)
	}
	return names
}

// Of lists the policies of a family.
func (l List) Of(f Family) List {
	return slices.DeleteFunc(slices.Clone(l), func(p Info) bool { return p.Family != f })
}

// Options lists what may be chosen about some policy, each option once.
func (l List) Options() []Option {
	var all []Option
	for _, p := range l {
		for _, x := range p.Options {
			if !slices.ContainsFunc(all, func(y Option) bool { return y.Name == x.Name }) {
				all = append(all, x)
			}
		}
	}
	return all
}

// Find returns the named policy's row. The error about a name that there is
// not says which one is near it.
func (l List) Find(name string) (Info, error) {
	for _, p := range l {
		if p.Name == name {
			return p, nil
		}
	}
	return Info{}, nearest.Unknown("policy", name, l.Names())
}

// New makes the named policy. The error is about a name or a solver that there
// is not, or about options that the policy refuses.
func (l List) New(name string, o Options) (sched.Policy, error) {
	p, err := l.Find(name)
	if err != nil {
		return nil, err
	}
	if err := CheckSolver(o.Solver); err != nil {
		return nil, err
	}
	return p.Make(p.Honoured(o))
}

// Honoured returns the options as the policy takes them: the tie-break that it is
// defined by, and nothing of what it has no use for. What a result or a
// recording says of a run's options is this.
func (p *Info) Honoured(o Options) Options {
	given := o
	o.Ties, o.Solver, o.Migrations, o.Own = Fixed, "", 0, nil
	for _, x := range p.Options {
		x.put(&o, x.of(&given))
	}
	if p.Ties != nil {
		o.Ties = p.Ties(given.Ties)
	}
	if p.Family != Flow {
		o.Preference = 0
	}
	if !p.Programs && (!p.ProgramsBeside || !o.Beside) {
		o.Programs = nil
	}
	return o
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
