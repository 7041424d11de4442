package sched

import (
	"fmt"
	"slices"
)

// Fewest is how few runs have to leave their nodes for what a bundle places, as the policy has proven it, be it that they come to other nodes. The zero value says nothing.
type Fewest struct {
	Leave   int32 // by the bundle
	AtLeast int32 // by any plan that the policy might have made, those who are less important first
}

// Proven reports whether fewer do not suffice.
func (f Fewest) Proven() bool { return f.Leave <= f.AtLeast }

// String is "1 leaves, fewer do not suffice" or "3 leave, at least 2 have to".
func (f Fewest) String() string {
	leave := "leave"
	if f.Leave == 1 {
		leave = "leaves"
	}
	if f.Proven() {
		return fmt.Sprintf("%d %s, fewer do not suffice", f.Leave, leave)
	}
	return fmt.Sprintf("%d %s, at least %d have to", f.Leave, leave, f.AtLeast)
}

// prove writes it down at the first eviction of a bundle.
func prove(f Fewest, decisions []Decision) {
	if i := slices.IndexFunc(decisions, func(d Decision) bool { return d.Kind == Evict }); i >= 0 {
		decisions[i].Fewest = f
	}
}
