package policies

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/constraint/lane"
	"fairlead.dev/fairlead/fairlead"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/lifetime"
)

// united is the policy that the project is named after.
func united() Info {
	return Info{
		Name: "fairlead", What: "by promise, priority and share; where least is lost of what others may ask for; evicts lower ranks",
		From: "all five papers; specification of the unified policy", Family: Queue, Evicts: true, PricesNodes: true, PricesCompany: true, ProgramsBeside: true,
		Options: []Option{TieBreak(), without(), nodePrice(), lifetimes()},
		Make: func(o Options) (sched.Policy, error) {
			off, _ := fairlead.ParseWithout(o.Own[withoutName])
			apps := bySearch(o.Seed)
			apps.Moves, apps.MayMove, apps.Objective.Moved = off&fairlead.WithoutEvictions == 0, fairlead.MayMove, movePrice
			apps.Every = interval                                              // rounds come with each event here, and a search takes a second
			apps.Repair, apps.RepairTicks = repairing(o.Programs), searchTicks // beside the core there is time for both
			price, _ := strconv.ParseInt(o.Own[nodePriceName], 10, 64)
			asked := fairlead.Options{Seed: o.Seed, Ties: o.Ties, Without: off, NodePrice: price, Applications: lane.New(apps)}
			if name := o.Own[lifetimesName]; name != "" {
				asked.Lifetimes, _ = lifetime.Named(name)
			}
			return fairlead.New(asked), nil
		},
	}
}

// movePrice is what a move of a running container costs: as much as one violation of a constraint. At the lane's own
// one and a half 1.5 % of the tasks violated one at the end, of which .6 % do so (docs/bench/fairlead.md).
const movePrice = 1000

const withoutName = "without"

// without is the option of which mechanisms of fairlead are switched off.
func without() Option {
	return Option{
		Name: withoutName, Help: "switch mechanisms of fairlead off, to see what each is worth: " + strings.Join(fairlead.Mechanisms(), ", ") + "; several with + between them, or none",
		Values: append(fairlead.Mechanisms(), "none"), Several: true, Useless: "has anything of fairlead that could be switched off",
	}
}

const nodePriceName = "node_price"

// nodePrice is the option of what a node with tasks costs.
func nodePrice() Option {
	return Option{
		Name: nodePriceName, Useless: "counts nodes; fairlead does",
		Help: "what a node with tasks costs fairlead, in per cent of what all its room is worth: above 0 it keeps tasks on few nodes, and moves them away from others",
	}
}

// KeepRunning returns the settings with which the policy evicts nobody. It is false where the policy always
// evicts.
func (p *Info) KeepRunning(s Settings) (Settings, bool) {
	const evictions = "evictions"
	if !p.Evicts {
		return s, true
	}
	x, takes := p.option(withoutName)
	if !takes || !slices.Contains(x.Values, evictions) {
		return s, false
	}
	off := strings.FieldsFunc(s[withoutName], func(r rune) bool { return r == '+' })
	if slices.Contains(off, evictions) {
		return s, true
	}
	if s = maps.Clone(s); s == nil {
		s = Settings{}
	}
	s[withoutName] = strings.Join(append(off, evictions), "+")
	return s, true
}
