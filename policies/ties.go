package policies

import (
	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/sched/book"
)

// Ties says which of several equally good nodes is taken.
type Ties = book.Ties

// The ways to break a tie.
const (
	Fixed  = book.Fixed  // one random order for the whole run
	Lowest = book.Lowest // the lowest row
	Random = book.Random // drawn anew for every task
)

// TieBreak is the option of how ties between nodes are broken.
func TieBreak() Option {
	return Option{
		Name: "tie_break", Help: "among equally good nodes take fixed (one random order a run), lowest or random",
		Default: Fixed.String(), Values: TieBreaks(),
		get: func(o *Options) string { return o.Ties.String() },
		set: func(o *Options, text string) { o.Ties, _ = ParseTies(text) },
	}
}

// TieBreaks lists the names of the ways to break a tie.
func TieBreaks() []string {
	return []string{Fixed.String(), Lowest.String(), Random.String()}
}

// ParseTies reads the name of a tie-break.
func ParseTies(name string) (Ties, error) {
	ties, ok := book.ParseTies(name)
	if !ok {
		return ties, nearest.Unknown("tie-break", name, TieBreaks())
	}
	return ties, nil
}
