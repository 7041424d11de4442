package sched

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// Kind is what an action or a decision does.
type Kind uint8

// What can be done to a task.
const (
	Place  Kind = iota + 1 // run it on a node; for a task told to leave: next
	Evict                  // tell its run to leave
	Resize                 // give its run more or less of its node, in place
	// End tells a task to end for good, as another copy of it has finished. The
	// core decides that by itself; no policy plans it.
	End
)

// String names the kind in one word.
func (k Kind) String() string {
	switch k {
	case Place:
		return "place"
	case Evict:
		return "evict"
	case Resize:
		return "resize"
	case End:
		return "end"
	}
	return "unknown"
}

// Action is one change that a policy wants.
type Action struct {
	Kind Kind
	Task cluster.TaskID
	// Attempt is the task's attempt as the policy saw it. Commit refuses the
	// action if the task has moved on since.
	Attempt uint32
	Node    cluster.NodeID // of Place
	// Devices are those of the node that the task shall have, where it asks for
	// any; none leaves the choice to commit, which takes the fullest that suffice.
	Devices cluster.DeviceSet
	// Grant is, of Place and Resize, how much the task shall have where its shape
	// leaves that open; nil is the least. It must not be changed afterwards.
	Grant cluster.Vector
}

// Plan is what one round of a policy wants: bundles of actions, each to be
// done whole or not at all.
type Plan struct {
	actions []Action
	ends    []bundleEnd // of the bundles that are closed
	start   int         // where the open bundle begins
	gain    Gain        // of the open bundle
	fewest  Fewest      // of the open bundle

	// Wake is when the policy wants a round although nothing happens.
	Wake cluster.Time
	// Ticks is the effort spent, in the policy's unit of work (a node scored,
	// an arc scanned). It does not depend on the machine.
	Ticks int64
	// Gap says how much better the plan might be, if the policy knows.
	Gap Gap
	// Solved says by what applications were placed, if some were to be.
	Solved Solved
	// Err says what is wrong with the policy, so that somebody hears of it. What
	// the plan holds is done all the same.
	Err error
}

// bundleEnd is where a bundle ends in the actions, what its moves gain, and how few have to leave for it.
type bundleEnd struct {
	at     int
	gain   Gain
	fewest Fewest
}

// Reset empties the plan and keeps its memory.
func (p *Plan) Reset() {
	*p = Plan{actions: p.actions[:0], ends: p.ends[:0], Wake: cluster.Never}
}

// Add appends an action to the open bundle.
func (p *Plan) Add(a Action) { p.actions = append(p.actions, a) }

// Gains says what the moves of the open bundle gain, beside what was said of it before.
func (p *Plan) Gains(g Gain) { p.gain = p.gain.plus(g) }

// Proves says how few have to leave for the open bundle.
func (p *Plan) Proves(f Fewest) { p.fewest = f }

// Close ends the open bundle. Evictions stand before what counts on them.
func (p *Plan) Close() {
	if len(p.actions) > p.start {
		p.ends = append(p.ends, bundleEnd{len(p.actions), p.gain, p.fewest})
		p.start = len(p.actions)
	}
	p.gain, p.fewest = Gain{}, Fewest{}
}

// Drop forgets the open bundle.
func (p *Plan) Drop() { p.actions, p.gain, p.fewest = p.actions[:p.start], Gain{}, Fewest{} }

// Cut forgets the bundles from i on, and the open one.
func (p *Plan) Cut(i int) {
	p.start = 0
	if i > 0 {
		p.start = p.ends[i-1].at
	}
	p.actions, p.ends, p.gain, p.fewest = p.actions[:p.start], p.ends[:i], Gain{}, Fewest{}
}

// Bundles is how many bundles the plan holds.
func (p *Plan) Bundles() int { return len(p.ends) }

// Bundle returns the actions of bundle i.
func (p *Plan) Bundle(i int) []Action {
	from := 0
	if i > 0 {
		from = p.ends[i-1].at
	}
	return p.actions[from:p.ends[i].at]
}

// Gain is what the moves of bundle i gain.
func (p *Plan) Gain(i int) Gain { return p.ends[i].gain }

// Fewest is how few have to leave for bundle i.
func (p *Plan) Fewest(i int) Fewest { return p.ends[i].fewest }

// Decision is an accepted action on its way to the world. It is pending until
// an event reports its outcome: TaskStarted or BindRefused for Place, TaskLeft
// or EvictRefused for Evict, TaskEnded for End. A Resize holds at once, and has no
// outcome. An Evict of a run that is not there is answered
// with TaskLeft, and so, at last, is that of an orphan: nobody asks again.
type Decision struct {
	Kind    Kind
	Task    cluster.TaskID
	Seq     cluster.Seq
	Attempt uint32
	Node    cluster.NodeID
	Devices cluster.DeviceSet // of Place: which of the node the task has
	Grant   cluster.Vector    // of Place and Resize: how much it has; nil is the demand of its shape

	Purpose Purpose
	// Gain stands with the first run that a bundle moves, and is what all its moves gain. The ledger does not keep it, nor do recordings.
	Gain Gain
	// Fewest stands with the first eviction of a bundle, and is of all of it. The ledger does not keep it, nor do recordings.
	Fewest Fewest
}

// Equal reports whether d and o do the same, whatever it is for: recordings do not hold that.
func (d Decision) Equal(o Decision) bool {
	return d.Kind == o.Kind && d.Task == o.Task && d.Seq == o.Seq && d.Attempt == o.Attempt && d.Node == o.Node && d.Devices == o.Devices &&
		slices.Equal(d.Grant, o.Grant)
}
