package setup

import (
	"errors"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies/chosen"
)

// ParseUntil reads when to stop, which is later than the start.
func ParseUntil(text string) (cluster.Time, error) {
	until, err := ParseTime(text)
	if err == nil && until == 0 {
		err = errors.New("want a time after the start")
	}
	return until, err
}

// ParseTime reads a duration such as 90s, 10m, 2h, 29d or 1d12h.
func ParseTime(text string) (cluster.Time, error) { return chosen.ParseTime(text) }
