package class

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/document"
	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/queue/promethee"
)

// This file is the tables that need no file: those of the two papers, and one without promises.

// Preset is a table with a name.
type Preset struct {
	Name, What string
	Table      func() *Table
}

// Presets are the tables that need no file.
func Presets() []Preset {
	return []Preset{
		{"google", "gold, silver and bronze by Google's priorities: availability of 1, 0.9 and 0.5 (QoS-driven scheduling, 2020)", Google},
		{"sla", "premium, advanced and best-effort users: levels, tiers of nodes and replicas (SLA classes, 2018)", SLA},
		{"spot", "jobs of high priority, and spot jobs, of which a run that has begun is not evicted for an hour (GFS, 2026)", Spot},
		{"none", "one class, to which nothing was promised", None},
	}
}

// PresetNames are the names of Presets.
func PresetNames() []string {
	var list []string
	for _, p := range Presets() {
		list = append(list, p.Name)
	}
	return list
}

// Load is the preset of that name, or the table in the file of that name.
func Load(name string) (*Table, error) {
	for _, p := range Presets() {
		if p.Name == name {
			return p.Table(), nil
		}
	}
	text, err := document.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(name, `/\.`) {
		return nil, nearest.Unknown("table of classes", name, PresetNames())
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the table of classes: %w", err)
	}
	return Decode(name, text)
}

// Google is the table of the QoS paper for Google's priorities: gold above 8, silver
// from 2 to 8, bronze below (specification §1). The margin is that of its stored runs
// (§11), 30 s; its text says 10 s.
func Google() *Table {
	row := func(name string, importance, from int32, promised cluster.Share) Class {
		c := cluster.Class{
			Name: name, Importance: importance, Availability: promised,
			Margin: 30 * cluster.Second, Budget: cluster.Whole - promised,
		}
		return Class{Class: c, From: from, Price: PriceOf(&c)}
	}
	return &Table{Credits: Credits(), Classes: []Class{
		row("gold", 0, 9, cluster.Whole),
		row("silver", 1, 2, cluster.Whole*9/10),
		row("bronze", 2, math.MinInt32, cluster.Whole/2),
	}}
}

// SLA is the table of the SLA paper for users who have one level in all four dimensions:
// Premium, Advanced and Best effort, with three, two and one copies (specification §1 and
// §5). Which priority goes with which level is ours, the same bounds as Google's: the
// authors took Google's least priority for Premium (§6), which turns its meaning round.
func SLA() *Table {
	row := func(name string, importance, from int32, l cluster.Level) Class {
		c := cluster.Class{
			Name: name, Importance: importance, Urgency: l, Tier: l, Size: l, Redundancy: l, Replicas: int32(l),
		}
		return Class{Class: c, From: from, Price: PriceOf(&c)}
	}
	return &Table{Credits: Credits(), Classes: []Class{
		row("premium", 0, 9, cluster.Premium),
		row("advanced", 1, 2, cluster.Advanced),
		row("best-effort", 2, math.MinInt32, cluster.BestEffort),
	}}
}

// Spot is a table of guaranteed and of spot capacity (GFS, ASPLOS 2026): from priority 1 on tasks are to run all of the
// time, and those below have what is left over, each run for an hour at least once it has begun. GFS
// promises spot tasks a duration; that it is an hour, and nothing else, is ours.
func Spot() *Table {
	hp := cluster.Class{Name: "hp", Availability: cluster.Whole, Margin: 30 * cluster.Second}
	spot := cluster.Class{Name: "spot", Importance: 1, LeastRun: cluster.Hour}
	return &Table{Credits: Credits(), Classes: []Class{
		{Class: hp, From: 1, Price: PriceOf(&hp)},
		{Class: spot, From: math.MinInt32, Price: PriceOf(&spot)},
	}}
}

// None is the table of a cluster in which nothing was promised to anybody.
func None() *Table {
	c := cluster.Class{Name: "none"}
	return &Table{Credits: Credits(), Classes: []Class{{Class: c, From: math.MinInt32, Price: PriceOf(&c)}}}
}

// Criteria are the names of what the order of the queue may go by, in the order of
// Table.Criteria.
func Criteria() []string { return []string{"urgency", "tier", "size", "redundancy"} }

// SAFC is the criteria in the SLA authors' own scheduler: satisfaction time counts
// twice, cores once (specification §2).
func SAFC() []promethee.Criterion {
	criteria := make([]promethee.Criterion, len(Criteria()))
	criteria[0].Weight, criteria[2].Weight = 2, 1
	return criteria
}

// Levels are the names of the levels, the lowest first.
func Levels() []string { return []string{"best-effort", "advanced", "premium"} }

// Tiers are the names of the tiers of nodes, the lowest first.
func Tiers() []string { return []string{"low", "average", "high"} }

// TierName is the name of a tier.
func TierName(l cluster.Level) string {
	if l == 0 || int(l) > cluster.Levels {
		return "none"
	}
	return Tiers()[l-1]
}
