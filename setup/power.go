package setup

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/document"
	"fairlead.dev/fairlead/queue/power"
	"fairlead.dev/fairlead/sched/keeper"
)

// This file reads what --power says: a table of hardware, and perhaps when nodes are switched off, as in openb?off-after=10m&keep=1. Options stand behind
// it as behind a SRC.

// PowerHelp is what --power says in help texts.
func PowerHelp() string {
	return "measure how many watts nodes draw, by a `TABLE` of their hardware: " + strings.Join(power.Names(), ", ") +
		", or a file, FILE.yaml. With options, as openb,off-after=10m,wake=2m,keep=1, nodes on which nothing has been for 10m are switched off, all but one of such, and take 2m to wake for who waits (default: none)"
}

// usualWake is how long a node takes to wake unless somebody says.
const usualWake = 2 * cluster.Minute

// mostSwitching bounds times of switching, so that sums of them are no end of time.
const mostSwitching = 365 * cluster.Day

// parsePower takes it apart.
func parsePower(text string) (power.Table, keeper.Rules, error) {
	rules := keeper.Rules{Wake: usualWake}
	s, err := powerURL(text)
	if err == nil {
		err = errors.Join(
			timeOf(s, "off-after", cluster.Second, &rules.OffAfter), timeOf(s, "wake", 0, &rules.Wake),
			s.whole("keep", 0, math.MaxInt32, func(v int64) { rules.Keep = int(v) }),
		)
	}
	switch {
	case err != nil:
		return nil, rules, err
	case rules.OffAfter > 0:
	case len(s.values) > 0:
		return nil, rules, fmt.Errorf("%s: no node is switched off without off-after, such as off-after=10m", text)
	default:
		rules = keeper.Rules{}
	}
	if !isPowerFile(s.Path) {
		table, err := power.Named(s.Path)
		if err != nil {
			err = fmt.Errorf("%w; a file is named FILE.yaml", err)
		}
		return table, rules, err
	}
	written, err := document.ReadFile(s.Path)
	if err != nil {
		return nil, rules, err
	}
	table, err := readPowerTable(s.Path, written)
	return table, rules, err
}

// isPowerFile reports whether a table is in a file.
func isPowerFile(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}

// powerInput is the file that the table is in; empty if in none.
func powerInput(text string) string {
	if s, err := powerURL(text); err == nil && isPowerFile(s.Path) {
		return s.Path
	}
	return ""
}

// powerURL takes the table and its options apart.
func powerURL(text string) (URL, error) {
	known := []string{"off-after", "wake", "keep"}
	s := URL{Text: text}
	var query string
	var marked bool
	if s.Path, query, marked = strings.Cut(text, "?"); !marked {
		s.Path, query = plainOptions(text, known)
	}
	return parseOptions(s, query, known)
}

// timeOf hands on the option of that name, a time, if it is given.
func timeOf(s URL, name string, least cluster.Time, to *cluster.Time) error {
	if !s.values.Has(name) {
		return nil
	}
	t, err := ParseTime(s.values.Get(name))
	if err != nil || t < least || t > mostSwitching {
		return fmt.Errorf("%s: %s=%s, want a time from %v to 365d, such as 10m", s.Text, name, s.values.Get(name), Time(least))
	}
	*to = t
	return nil
}
