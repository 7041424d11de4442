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

// This file turns what a spec says of power into a table of hardware, and into rules of when nodes are switched off.

// PowerHelp is what --power says in help texts.
func PowerHelp() string {
	return "measure how many watts nodes draw, by a `TABLE` of their hardware: " + strings.Join(power.Names(), ", ") +
		", or a file, FILE.yaml. With options, as openb,off-after=10m,wake=2m,keep=1, nodes on which nothing has been for 10m are switched off, all but one of such, and take 2m to wake for who waits (default: none)"
}

// usualWake is how long a node takes to wake unless somebody says.
const usualWake = 2 * cluster.Minute

// mostSwitching bounds times of switching, so that sums of them are no end of time.
const mostSwitching = 365 * cluster.Day

// mostKept bounds how many nodes stay on.
const mostKept = math.MaxInt32

// sim is the table, nil if there is none, and the rules.
func (p *Power) sim() (power.Table, keeper.Rules, error) {
	if *p == (Power{}) {
		return nil, keeper.Rules{}, nil
	}
	rules, err := p.rules()
	if err != nil {
		return nil, rules, err
	}
	file := p.file()
	if file == "" {
		table, err := power.Named(p.Table)
		if err != nil {
			err = fmt.Errorf("%w; a file is named FILE.yaml", err)
		}
		return table, rules, err
	}
	written, err := document.ReadFile(file)
	if err != nil {
		return nil, rules, err
	}
	table, err := readPowerTable(file, written)
	return table, rules, err
}

// rules say when nodes are switched off.
func (p *Power) rules() (keeper.Rules, error) {
	if p.OffAfter == nil {
		if p.Wake != nil || p.Keep != 0 {
			return keeper.Rules{}, fmt.Errorf("%v: no node is switched off without off-after, such as off-after=10m", p)
		}
		return keeper.Rules{}, nil
	}
	rules := keeper.Rules{OffAfter: cluster.Time(*p.OffAfter), Wake: usualWake, Keep: p.Keep}
	if p.Wake != nil {
		rules.Wake = cluster.Time(*p.Wake)
	}
	within := func(name string, least, t cluster.Time) error {
		if t < least || t > mostSwitching {
			return fmt.Errorf("%v: %s=%v, want a time from %v to 365d, such as 10m", p, name, Time(t), Time(least))
		}
		return nil
	}
	return rules, errors.Join(within("off-after", cluster.Second, rules.OffAfter), within("wake", 0, rules.Wake), check(p.parts()))
}

// file is the file that the table is in; empty if in none.
func (p *Power) file() string {
	if slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(p.Table)) {
		return p.Table
	}
	return ""
}
