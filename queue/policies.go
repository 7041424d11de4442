package queue

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/fragmentation"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sched/lifetime"
)

// Options are what a run may choose about a policy.
type Options struct {
	Seed uint64
	Ties book.Ties
	// Typical is what tasks typically ask for, which fgd measures by; without it
	// fgd learns it from the tasks that are submitted.
	Typical []fragmentation.Typical
	// ECSched is what the baselines of that name see and do.
	ECSched ECSched
	// SLA is what the policy sla orders its queue by.
	SLA SLA
	// Lifetimes is what says how long tasks will run, one of lifetime.Names; empty is the first of them.
	Lifetimes string
	// PowerWeight is what watts count for with pwr-fgd, in thousandths; waste has the rest.
	PowerWeight int64
}

// Info describes a policy to people.
type Info struct {
	Name string
	What string // one line
	From string // where it comes from
	// Ties is the tie-break that the policy is defined by, whatever the
	// options say; nil leaves it to them. Sparrow and mesos have no ties.
	Ties func(book.Ties) book.Ties
	// Evicts says that the policy evicts tasks to make room.
	Evicts bool
	// TakesTurns says that it does so by turns where there is not enough for all.
	TakesTurns bool
	// PricesNodes says that nodes score less that do not meet what tasks prefer (cluster.Shape.Prefers).
	PricesNodes bool
	// PricesCompany says the same of nodes that do not offer the company that soft constraints ask for.
	PricesCompany bool
	// AsksLifetimes says that the policy goes by how long tasks will run (Options.Lifetimes).
	AsksLifetimes bool
	// WeighsPower says that Options.PowerWeight counts.
	WeighsPower bool
	// When is the trigger that the policy wants where nothing else is asked for.
	When sched.Trigger
	make func(Options) sched.Policy
}

// Policies lists the policies of this package in the order in which people
// should meet them.
func Policies() []Info {
	return slices.Concat(packers(), timed(), promised(), baselines(), onGPUs())
}

// packers are the policies for kinds that only add up.
func packers() []Info {
	return []Info{
		{
			Name: "kube", What: "priority order; the emptiest and best balanced node",
			From: "the QoS paper's Kubernetes: LeastRequested and BalancedAllocation",
			make: Rules{Order: ByPriority, Score: KubeScore}.New,
		},
		{
			Name: "kube-scheduler", What: "as Kubernetes does by default: its plugins' scores, its sample of nodes, its preemption",
			From: "Kubernetes 1.37", Evicts: true, PricesNodes: true, PricesCompany: true,
			make: newKubeScheduler,
		},
		{
			Name: "priority", What: "as kube, and evicts lower priorities",
			From: "baseline of QoS-driven scheduling, JISA 2020, §5", Evicts: true,
			make: Rules{Order: ByPriority, Score: KubeScore, Preempts: true}.New,
		},
		{
			Name: "qos", What: "by slack to the promised availability, and evicts those with more",
			From: "QoS-driven scheduling, JISA 2020, algorithm 1", Evicts: true, TakesTurns: true,
			When: sched.Trigger{Watchdog: 30 * cluster.Second, IgnoreOutcomes: true},
			make: newQoS,
		},
		{
			Name: "swarm-spread", What: "first come, first served; the emptiest node", From: "Docker Swarm",
			make: Rules{Score: SpreadScore}.New,
		},
		{
			Name: "swarm-binpack", What: "first come, first served; the fullest node", From: "Docker Swarm",
			make: Rules{Score: BinpackScore}.New,
		},
		{
			Name: "random", What: "first come, first served; any node that fits", From: "lower bound for the others",
			Ties: always(book.Random),
			make: Rules{}.New,
		},
		{
			Name: "first-fit", What: "first come, first served; the first node that fits", From: "Johnson 1973",
			Ties: neverRandom,
			make: Rules{}.New,
		},
		{
			Name: "best-fit", What: "first come, first served; the node left with least", From: "Johnson 1973",
			make: measured(func(by *offers) (Order, Score) { return FirstCome, bestFit(by) }),
		},
		{
			Name: "ffd", What: "first-fit, the largest waiting task first", From: "first-fit decreasing, Johnson 1973",
			Ties: neverRandom,
			make: measured(func(by *offers) (Order, Score) { return decreasing(by), AnyScore }),
		},
		{
			Name: "bfd", What: "best-fit, the largest waiting task first", From: "best-fit decreasing, Johnson 1973",
			make: measured(func(by *offers) (Order, Score) { return decreasing(by), bestFit(by) }),
		},
		{
			Name: "edf", What: "the task whose job is due first; the node left with least", From: "earliest deadline first, Liu and Layland 1973; a baseline of Chronus, SoCC 2021",
			make: measured(func(by *offers) (Order, Score) { return ByDeadline, bestFit(by) }),
		},
		{
			Name: "sparrow", What: "probes 2 random nodes a task, binds where room appears first",
			From: "Sparrow, SOSP 2013: batch sampling, late binding",
			make: func(o Options) sched.Policy { return newSparrow(o) },
		},
		{
			Name: "mesos", What: "offers one node at a time to the user with the least share",
			From: "Mesos, NSDI 2011, with DRF",
			make: func(Options) sched.Policy { return newMesos() },
		},
	}
}

// timed are the policies that decide by how long tasks will run.
func timed() []Info {
	const from = "LAVA, MLSys 2025, arXiv 2412.09840"
	return []Info{
		{
			Name: "nilas", What: "first come, first served; where all leave at about the same time, then best fit", From: from,
			AsksLifetimes: true, make: newStaying(false),
		},
		{
			Name: "lava", What: "as nilas, and fills gaps on full nodes with tasks of a shorter class of lifetime", From: from,
			AsksLifetimes: true, make: newStaying(true),
		},
	}
}

// promised are the policies that decide by the class of a task.
func promised() []Info {
	return []Info{
		{
			Name: "sla", What: "PROMETHEE II order of classes; cores by level, copies on different nodes, best fit",
			From: "SLA classes, Euro-Par 2018 Workshops", Ties: neverRandom, make: newSLA,
		},
	}
}

// baselines are the policies that ECSched was compared with.
func baselines() []Info {
	const from = "baseline of ECSched, FGCS 2020, by its authors' code"
	return []Info{
		{
			Name: "ecsched-kube", What: "first 100 of the queue; the node of which a task takes the least, evenly", From: from,
			Ties: always(book.Lowest), make: ofECSched(ecschedKubeScore, false),
		},
		{
			Name: "ecsched-kube-throttled", What: "as ecsched-kube, one placement a round, as published", From: from,
			Ties: always(book.Lowest), make: ofECSched(ecschedKubeScore, true),
		},
		{
			Name: "ecsched-swarm", What: "first 100 of the queue; the fullest node", From: from,
			Ties: always(book.Lowest), make: ofECSched(ecschedSwarmScore, false),
		},
		{
			Name: "ecsched-swarm-throttled", What: "as ecsched-swarm, one placement a round, as published", From: from,
			Ties: always(book.Lowest), make: ofECSched(ecschedSwarmScore, true),
		},
	}
}

func always(t book.Ties) func(book.Ties) book.Ties { return func(book.Ties) book.Ties { return t } }

// neverRandom is the tie-break of policies that are defined by an order of
// nodes: the lowest row, unless a fixed order was asked for.
func neverRandom(t book.Ties) book.Ties {
	if t == book.Random {
		return book.Lowest
	}
	return t
}

// neverDrawn is the tie-break of policies that compare all nodes by themselves: a fixed order in place of chance.
func neverDrawn(t book.Ties) book.Ties {
	if t == book.Random {
		return book.Fixed
	}
	return t
}

// New makes the named policy.
func New(name string, o Options) (sched.Policy, error) {
	for _, p := range Policies() {
		if p.Name != name {
			continue
		}
		if err := o.SLA.Validate(); err != nil {
			return nil, fmt.Errorf("policy %s: %w", name, err)
		}
		if _, ok := lifetime.Named(o.Lifetimes); !ok {
			return nil, fmt.Errorf("policy %s: lifetimes: there are %s, and no %s", name, strings.Join(lifetime.Names(), ", "), o.Lifetimes)
		}
		if p.Ties != nil {
			o.Ties = p.Ties(o.Ties)
		}
		return p.make(o), nil
	}
	return nil, fmt.Errorf("unknown policy %q", name)
}

// measured makes a policy whose order or score measures by the largest node,
// which each policy learns for itself.
func measured(by func(*offers) (Order, Score)) func(Options) sched.Policy {
	return func(o Options) sched.Policy {
		known := &offers{}
		order, score := by(known)
		return Rules{Order: order, Score: score}.greedy(o, known)
	}
}
