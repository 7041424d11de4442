// Package sched is the core that decides: events in, decisions out.
//
// A Core owns a cluster.State and one or more lanes, each a Policy with the
// jobs it owns and the trigger that starts its rounds. A round shows the
// policy what changed, lets it try its ideas on a Trial, and hands its Plan to
// the commit, which re-checks every bundle against the state as it is by then
// and accepts or refuses it whole. Over-commitment is therefore impossible
// even if a policy is wrong.
//
// A decision is not a fact. What it decided is pending until the world reports
// the outcome as an event, through the same door as everything else.
//
// The caller drives:
//
//	decisions, wake, err := core.Step(now, events, decisions[:0])
//
// or, to let the world move on while a policy thinks, Observe, Due, Begin, Run
// and Finish, of which Step is made. The package knows no goroutine, lock,
// clock, log, context or I/O.
package sched
