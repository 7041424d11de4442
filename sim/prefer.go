package sim

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// This file is where tasks would rather be. Nodes that are preferred are a set like those that are required, so that they are
// kept up with every node that comes, goes or changes its labels.

// sets are those that a task's shape names.
type sets struct {
	eligible cluster.SetID
	prefers  []cluster.Preference
}

// setsOf are the sets of a task which may go to nodes that are as wanted.
func (b *nodes) setsOf(t *trace.Task, wanted admission, emit func(cluster.Event)) sets {
	in := sets{eligible: b.set(wanted, emit)}
	for _, p := range t.Prefers {
		set := b.set(admission{requirements: p.Requirements}, emit)
		in.prefers = append(in.prefers, cluster.Preference{Set: set, Weight: p.Weight})
	}
	return in
}
