package experiment

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/fairlead"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/setup"
)

// This file is what each mechanism of fairlead is worth: some rows of its table with all of them, and
// without each in turn.

// ablationRows are those on which mechanisms may tell.
func ablationRows(o *Options) []row {
	names := []string{"simulate", "google-500x9", "starve", "users", "vectors-110", "ecsched-50-nodes", "openb-default"}
	rows := slices.DeleteFunc(unitedRows(o), func(r row) bool { return !slices.Contains(names, r.name) })
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(slices.Index(names, a.name), slices.Index(names, b.name)) })
	for i := range rows {
		// What such a row is held to says too little of what else a mechanism changes.
		rows[i].targets = append(rows[i].targets, ablationMeasures(&rows[i])...)
	}
	return rows
}

// ablationMeasures are further numbers of a row, without targets.
func ablationMeasures(r *row) []target {
	var list []target
	for _, g := range []target{
		{what: "pending", unit: report.InTasks, of: pendingTasks},
		{what: "preemptions", unit: report.InEvents, of: preemptions},
		{what: "penalties", unit: report.InMoney, of: penaltiesOf},
		{what: "mean response", unit: report.InSeconds, of: meanResponse},
	} {
		if !slices.ContainsFunc(r.targets, func(h target) bool { return h.what == g.what }) {
			list = append(list, g)
		}
	}
	return list
}

// ablated are fairlead as it is, and without each mechanism.
func ablated() []setup.Policy {
	list := []setup.Policy{{Name: unitedName}}
	for _, mechanism := range fairlead.Mechanisms() {
		list = append(list, setup.Policy{Name: unitedName, Options: map[string]string{"without": mechanism}})
	}
	return list
}

// setUpAblation is each row with each of these.
func setUpAblation(o *Options) (*plan, error) {
	rows := chosenRows(ablationRows(o), o.Rows)
	done, p := trials{}, tablePlan(o)
	for i := range rows {
		r := &rows[i]
		p.facts = append(p.facts, r.name+": "+r.setting)
		if why := r.absent(o); why != "" {
			p.facts = append(p.facts, r.name+" was not run: "+why)
			continue
		}
		for _, by := range ablated() {
			p.steps = append(p.steps, done.steps(o, r, by)...)
		}
	}
	p.conclude = func(_ []outcome, into *report.Reproduction) { into.Variants = sideBySide(o, rows, done) }
	return p, nil
}

// sideBySide are the numbers of the rows that were run, but for those that are 0 in all variants.
func sideBySide(o *Options, rows []row, done trials) *report.Variants {
	v := &report.Variants{Names: []string{"all"}}
	for _, mechanism := range fairlead.Mechanisms() {
		v.Names = append(v.Names, "no "+mechanism)
	}
	for i := range rows {
		r := &rows[i]
		if r.absent(o) != "" {
			continue
		}
		for k := range r.targets {
			g := &r.targets[k]
			n := report.Variant{Row: r.name, What: g.what, Unit: g.unit}
			for _, by := range ablated() {
				if !done.done(r, by) {
					n.Values = append(n.Values, nil)
					continue
				}
				n.Values = append(n.Values, new(report.MeanOf(done.of(r, g, by)).Mean))
			}
			if slices.ContainsFunc(n.Values, func(v *report.Number) bool { return v == nil || *v != 0 }) {
				v.Numbers = append(v.Numbers, n)
			}
		}
	}
	return v
}
