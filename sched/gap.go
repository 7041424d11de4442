package sched

// Gap says how good a round's plan is, by the prices of its policy. What it is about
// is the tasks that could have had a place when the round began; prices are those of
// that moment.
type Gap struct {
	// Value is what the plan costs: the price of each task that it places, and the
	// price of waiting of each that it leaves.
	Value int64
	// Bound is what any plan of the round costs at least, proven. It is at most Value.
	Bound int64
	// Omits is why a better bound might be higher.
	Omits Omission
}

// Omission is what the proof of a bound passes over. A bound of several parts has the
// last of their omissions.
type Omission uint8

// What a bound may leave out.
const (
	// NoBound is of rounds without one: nobody could have had a place, tasks that ran
	// were stopped or moved, or the policy does not say.
	NoBound Omission = iota
	// OmitsNothing is of a bound that is the optimum.
	OmitsNothing
	// OmitsSharing is of a bound that gives every task group its cheapest places,
	// as if no other group wanted them.
	OmitsSharing
	// OmitsPieces is of a bound that also counts the room of each node, as if tasks could
	// be cut to pieces.
	OmitsPieces
	// OmitsEvictions is of a bound that also passes over what could be gained by stopping
	// or moving what runs: plans that do so may cost less.
	OmitsEvictions
)

// String says what is left out, to stand behind "left out:".
func (o Omission) String() string {
	switch o {
	case NoBound:
	case OmitsNothing:
		return "nothing"
	case OmitsSharing:
		return "that tasks of several kinds share nodes"
	case OmitsPieces:
		return "that tasks cannot be cut to pieces"
	case OmitsEvictions:
		return "that tasks share nodes, and that running tasks could be stopped or moved"
	}
	return "all: there is no bound"
}

// Known reports whether there is a bound.
func (g Gap) Known() bool { return g.Omits != NoBound }

// Optimal reports whether the plan is proven to be the best there is.
func (g Gap) Optimal() bool {
	return g.Value == g.Bound && g.Known() && g.Omits != OmitsEvictions
}

// Relative is what the plan costs beyond the bound, in millionths of the larger of
// the two, whatever its sign; 0 where they are equal.
func (g Gap) Relative() int64 {
	over := g.Value - g.Bound
	if over <= 0 {
		return 0
	}
	whole := max(g.Value, -g.Value, g.Bound, -g.Bound)
	if over > 1<<42 {
		return over / max(1, whole/1_000_000)
	}
	return over * 1_000_000 / whole
}
