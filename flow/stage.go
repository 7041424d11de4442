package flow

import (
	"fmt"

	"fairlead.dev/fairlead/sched"
)

// Stage names a step of a round. A policy is a model and a list of stages, each of which goes
// on from what those before it have planned. No stage excludes another.
type Stage string

// The stages there are.
const (
	// Spread places what it can in uniform slots by the cheapest flow, and evicts where one
	// leaves for one who comes.
	Spread Stage = "spread"
	// Pack plans again where requests of several shapes want more than there is: in slots
	// of their sizes.
	Pack Stage = "pack"
	// Preempt evicts several for one who got no place.
	Preempt Stage = "preempt"
)

// Stages are all stages, in the order that suits most.
func Stages() []Stage { return []Stage{Spread, Pack, Preempt} }

// stage plans for the tasks whose turn it is.
type stage interface {
	// plan appends bundles to the plan, and reports whether it came to an end.
	plan(r *round) bool
}

// round is what stages share that plan for one tier.
type round struct {
	trial   *sched.Trial
	budget  int64 // 0: none
	out     *sched.Plan
	mark    int     // of the trial, when the round began
	from    int     // the first bundle of the round
	rivals  []int32 // requests that could have a place then
	news    uint64  // rounds so far before which something happened, or a price changed
	evicted Cost    // what those pay for it who were evicted in the round
	undone  bool    // a bundle was refused, or had too many moves: another round may have others
	packed  bool    // it was planned again by packing
	resumes bool    // it begins with the stage that held back what those before it had planned
	holds   bool    // the stage that was cut does so: the next round, if nothing happens, resumes
}

// stage makes a step of a policy's rounds.
func (p *Policy) stage(name Stage) stage {
	switch name {
	case Spread:
		return &p.spread
	case Pack:
		return &packing{net: p.net, effort: &p.effort, spread: &p.spread, contention: &p.contention}
	case Preempt:
		return &preempt{net: p.net, effort: &p.effort}
	}
	panic(fmt.Sprintf("flow: there is no stage %q", name))
}

// stages are those of the options.
func (o *Options) stages() []Stage {
	if o.Stages == nil {
		return []Stage{Spread, Pack}
	}
	return o.Stages
}
