package policies

import (
	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/queue"
)

// Ties says which of several equally good nodes is taken.
type Ties = queue.Ties

// The ways to break a tie.
const (
	Fixed  = queue.Fixed  // one random order for the whole run
	Lowest = queue.Lowest // the lowest row
	Random = queue.Random // drawn anew for every task
)

// TieBreaks lists the names of the ways to break a tie.
func TieBreaks() []string {
	return []string{Fixed.String(), Lowest.String(), Random.String()}
}

// ParseTies reads the name of a tie-break.
func ParseTies(name string) (Ties, error) {
	ties, ok := queue.ParseTies(name)
	if !ok {
		return ties, nearest.Unknown("tie-break", name, TieBreaks())
	}
	return ties, nil
}
