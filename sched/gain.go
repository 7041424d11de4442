package sched

import (
	"fmt"
	"slices"
)

// Gain is what a policy expects of the moves of a bundle: of runs that are told to leave so that their own tasks may run elsewhere. Its units are
// the same for every policy, so that reports can add gains up. What moves take, which is time and perhaps work, is not taken off, as the world
// measures that. A policy that cannot say it leaves it at zero.
type Gain struct {
	// Room is by how much the nodes are worth more, as the policy prices room, in millionths (OneNode) of what all room of a node is worth
	// in the mean.
	Room int64
	// Violations is how many tasks fewer violate a constraint.
	Violations int32
	// Served is how many tasks have a place that have waited for one.
	Served int32
}

// OneNode is as much in Gain.Room as all room of a node is worth in the mean.
const OneNode = 1_000_000

// plus is both together.
func (g Gain) plus(o Gain) Gain {
	return Gain{Room: g.Room + o.Room, Violations: g.Violations + o.Violations, Served: g.Served + o.Served}
}

// bring writes down at the first of a bundle's decisions that moves a run what the bundle gains by that.
func bring(g Gain, decisions []Decision) {
	if g == (Gain{}) {
		return
	}
	if i := slices.IndexFunc(decisions, Decision.Moves); i >= 0 {
		decisions[i].Gain = g
	}
}

// Moves reports whether the decision tells a run to leave so that its own task may run elsewhere.
func (d Decision) Moves() bool {
	task, serves := d.Purpose.Serves()
	return d.Kind == Evict && serves && task == d.Task && d.Purpose.Seq == d.Seq
}

// String is the parts that are not 0: "room=250000 served=1".
func (g Gain) String() (text string) {
	for _, part := range []struct {
		name string
		n    int64
	}{{"room", g.Room}, {"violations", int64(g.Violations)}, {"served", int64(g.Served)}} {
		if part.n != 0 {
			text += fmt.Sprintf(" %s=%d", part.name, part.n)
		}
	}
	return text
}
