package queue

import (
	"fmt"

	"fairlead.dev/fairlead/sched"
)

// Options are what a run may choose about a policy.
type Options struct {
	Seed uint64
	Ties Ties
}

// Info describes a policy to people.
type Info struct {
	Name string
	What string // one line
	From string // where it comes from
	// Ties is the tie-break that the policy is defined by, whatever the
	// options say; nil leaves it to them. Sparrow and mesos have no ties.
	Ties func(Ties) Ties
}

// Policies lists the policies of this package in the order in which people
// should meet them.
func Policies() []Info {
	return []Info{
		{Name: "kube", What: "priority order; the emptiest and best balanced node", From: "Kubernetes' LeastRequested and BalancedAllocation"},
		{Name: "priority", What: "as kube, and evicts lower priorities", From: "baseline of QoS-driven scheduling, JISA 2020, §5"},
		{Name: "swarm-spread", What: "first come, first served; the emptiest node", From: "Docker Swarm"},
		{Name: "swarm-binpack", What: "first come, first served; the fullest node", From: "Docker Swarm"},
		{Name: "random", What: "first come, first served; any node that fits", From: "lower bound for the others", Ties: always(Random)},
		{Name: "first-fit", What: "first come, first served; the first node that fits", From: "Johnson 1973", Ties: neverRandom},
		{Name: "best-fit", What: "first come, first served; the node left with least", From: "Johnson 1973"},
		{Name: "ffd", What: "first-fit, the largest waiting task first", From: "first-fit decreasing, Johnson 1973", Ties: neverRandom},
		{Name: "bfd", What: "best-fit, the largest waiting task first", From: "best-fit decreasing, Johnson 1973"},
		{Name: "sparrow", What: "probes 2 random nodes a task, binds where room appears first", From: "Sparrow, SOSP 2013: batch sampling, late binding"},
		{Name: "mesos", What: "offers one node at a time to the user with the least share", From: "Mesos, NSDI 2011, with DRF"},
	}
}

func always(t Ties) func(Ties) Ties { return func(Ties) Ties { return t } }

// neverRandom is the tie-break of policies that are defined by an order of
// nodes: the lowest row, unless a fixed order was asked for.
func neverRandom(t Ties) Ties {
	if t == Random {
		return Lowest
	}
	return t
}

// TiesOf is the tie-break that the named policy uses where the options ask for
// the given one.
func TiesOf(name string, ties Ties) Ties {
	for _, p := range Policies() {
		if p.Name == name && p.Ties != nil {
			return p.Ties(ties)
		}
	}
	return ties
}

// New makes the named policy.
func New(name string, o Options) (sched.Policy, error) {
	o.Ties = TiesOf(name, o.Ties)
	known := &offers{}
	switch name {
	case "kube":
		return newGreedy(byPriority, kubeScore, o), nil
	case "priority":
		g := newGreedy(byPriority, kubeScore, o)
		g.victims, g.waiting.evicts = &victims{}, true
		return g, nil
	case "swarm-spread":
		return newGreedy(firstCome, spreadScore, o), nil
	case "swarm-binpack":
		return newGreedy(firstCome, binpackScore, o), nil
	case "random", "first-fit":
		return newGreedy(firstCome, anyScore, o), nil
	case "best-fit":
		return measured(newGreedy(firstCome, bestFit(known), o), known), nil
	case "ffd":
		return measured(newGreedy(decreasing(known), anyScore, o), known), nil
	case "bfd":
		return measured(newGreedy(decreasing(known), bestFit(known), o), known), nil
	case "sparrow":
		return newSparrow(o), nil
	case "mesos":
		return newMesos(), nil
	}
	return nil, fmt.Errorf("unknown policy %q", name)
}

// measured is a policy whose order or score measures by the largest node.
func measured(g *greedy, by *offers) *greedy {
	g.offers = by
	return g
}
