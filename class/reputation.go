package class

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file learns the reputation of a node, by which tiers go (SLA paper, specification §3, which takes its three categories as given), from how often it has failed of late. It is a
// count and not a rate that decays, so that whoever asks is told it in one sentence, and knows when it will be another.

const (
	// Remembered is how long a failure counts.
	Remembered = 30 * cluster.Day
	// unreliable is the number of failures from which on a node's reputation is low; with fewer, but some, it is average.
	unreliable = 3
)

// Reputation is what is remembered of the failures of a node; the zero value is of one that has not failed.
type Reputation struct {
	failures []cluster.Time // the latest, the oldest first
}

// Failed notes a failure; of several at one moment one counts.
func (r *Reputation) Failed(at cluster.Time) {
	place, noted := slices.BinarySearch(r.failures, at)
	if noted {
		return
	}
	r.failures = slices.Insert(r.failures, place, at)
	r.failures = r.failures[max(len(r.failures)-unreliable, 0):]
}

// remembered are the failures that still count.
func (r *Reputation) remembered(now cluster.Time) []cluster.Time {
	from, _ := slices.BinarySearch(r.failures, now-Remembered+1)
	return r.failures[from:]
}

// Clean reports whether no failure counts any more.
func (r *Reputation) Clean(now cluster.Time) bool { return len(r.remembered(now)) == 0 }

// Tier is the tier that the node has earned.
func (r *Reputation) Tier(now cluster.Time) cluster.Level {
	switch n := len(r.remembered(now)); {
	case n == 0:
		return cluster.Premium
	case n < unreliable:
		return cluster.Advanced
	default:
		return cluster.BestEffort
	}
}

// Changes is when the next failure is forgotten; cluster.Never if there is none.
func (r *Reputation) Changes(now cluster.Time) cluster.Time {
	if all := r.remembered(now); len(all) > 0 {
		return all[0] + Remembered
	}
	return cluster.Never
}
