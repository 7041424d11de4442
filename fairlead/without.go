package fairlead

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
)

// Without is a set of mechanisms that are switched off, so that it can be measured what each is worth.
type Without uint16

// The mechanisms.
const (
	WithoutWorth     Without = 1 << iota // tasks go to the emptiest node
	WithoutClaims                        // nobody claims a node
	WithoutShares                        // users' shares do not count in line
	WithoutStretch                       // sizes and waits do not count in line
	WithoutEvictions                     // nobody is evicted
	WithoutSwitching                     // a run has no slack to gain before its equals evict it
	WithoutBound                         // equals may lose any amount of work by evicting each other
	WithoutGrants                        // tasks with ranges keep the least of them
	WithoutMoves                         // nobody is moved
	WithoutRefine                        // a batch stays as it was placed one by one
	WithoutSiblings                      // tasks of a service are not kept apart
)

// Mechanisms are the names of the mechanisms, in the order of the constants.
func Mechanisms() []string {
	return []string{"worth", "claims", "shares", "stretch", "evictions", "switching", "bound", "grants", "moves", "refine", "siblings"}
}

// ParseWithout reads names of mechanisms with + between them; false if one of them is not known.
func ParseWithout(text string) (Without, bool) {
	set, known := Without(0), Mechanisms()
	if text == "" {
		return 0, true
	}
	for name := range strings.SplitSeq(text, "+") {
		at := slices.Index(known, name)
		switch {
		case name == "none":
		case at < 0:
			return 0, false
		default:
			set |= 1 << at
		}
	}
	return set, true
}

// lacks reports whether the mechanism is switched off.
func (w Without) lacks(mechanism Without) bool { return w&mechanism != 0 }

// fill is the price of a node where worth is switched off: how full it would be of the kind of which it would be fullest.
func fill(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) int64 {
	most, limit, used := int64(0), s.Limit(n), s.Used(n)
	for k, q := range s.Shape(shape).Demand {
		most = max(most, cluster.Fraction(used[k]+q, max(limit[k], 1)))
	}
	return most
}
