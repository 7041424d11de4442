package experiment

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/setup"
)

// This file is the acceptance table of the policy that unites the papers (specification of the
// unified policy, §7): rows with names, each with set-ups, the policy that was best on them so far,
// and targets. A target stands as it was specified, whatever the policy lacks to reach it.

// unitedName is the policy that is held to the targets.
const unitedName = "fairlead"

// row is a row of the table.
type row struct {
	name    string
	setting string            // the set-up in words
	data    []string          // what of the folder of data it needs; nil: nothing
	rival   string            // the policy that was best so far
	chosen  map[string]string // options of fairlead for this row
	parts   []part            // set-ups; most rows have one
	seeds   []uint64
	targets []target
}

// part is a set-up. Rows that have the same one, by its name, share its runs.
type part struct {
	name string
	run  func(o *Options, by setup.Policy, seed uint64) (*tried, error)
}

// tried is what came of a run of a part.
type tried struct {
	outcome
	waited map[string]float64 // by user: the mean time that tasks waited, in seconds; nil where nobody asks
	counts map[string]float64 // what a part counts itself
}

// target is what a row is held to.
type target struct {
	what   string
	unit   report.Unit
	part   string  // of which part; empty: the mean of all
	least  bool    // it is the least that is wanted, and else the most
	value  float64 // beside what the rival has, if it is relative
	beside bool    // it is relative
	of     func(*tried) float64
}

// targetAtMost and targetAtLeast are targets that stand by themselves; targetNoMore and targetNoLess stand beside
// what the rival has.
func targetAtMost(what string, unit report.Unit, value float64, of func(*tried) float64) target {
	return target{what: what, unit: unit, value: value, of: of}
}

func targetAtLeast(what string, unit report.Unit, value float64, of func(*tried) float64) target {
	return target{what: what, unit: unit, value: value, least: true, of: of}
}

func targetNoMore(what string, unit report.Unit, than float64, of func(*tried) float64) target {
	return target{what: what, unit: unit, value: than, beside: true, of: of}
}

func targetNoLess(what string, unit report.Unit, than float64, of func(*tried) float64) target {
	return target{what: what, unit: unit, value: than, beside: true, least: true, of: of}
}

// unitedExperiments are the table, and what each mechanism of the policy is worth on some of its rows.
func unitedExperiments() []Experiment {
	const paper = "specification of the unified policy, "
	return []Experiment{
		{
			Name: "fairlead", What: "each target of the policy fairlead, beside the policy that was best so far", Paper: paper + "acceptance",
			Policies: rivals(), Rows: rowNames(unitedRows(&Options{Seed: 1})), setUp: setUpUnited,
		},
		{
			Name: "fairlead-ablation", What: "what each mechanism of fairlead is worth", Paper: paper + "acceptance",
			Policies: []string{unitedName}, Rows: rowNames(ablationRows(&Options{Seed: 1})), setUp: setUpAblation,
		},
	}
}

// unitedRows are all rows, in the order of the specification.
func unitedRows(o *Options) []row {
	return slices.Concat(generatedRows(o), googleRows(o), openbRows(o), packingRows(o), jobRows(o), localityRow(o), applicationRows(o), promiseRows(o), tierRows(o), fairRows(o), latencyRows(o))
}

// rivals are the policies of the table, fairlead first.
func rivals() []string {
	names := []string{unitedName}
	for _, r := range unitedRows(&Options{Seed: 1}) {
		if !slices.Contains(names, r.rival) {
			names = append(names, r.rival)
		}
	}
	return names
}

func rowNames(rows []row) []string {
	var names []string
	for i := range rows {
		names = append(names, rows[i].name)
	}
	return names
}

// chosenRows are those of the names, in the order of the table; all if there are no names.
func chosenRows(rows []row, names []string) []row {
	return slices.DeleteFunc(rows, func(r row) bool { return len(names) > 0 && !slices.Contains(names, r.name) })
}

// united is fairlead as the row has it.
func (r *row) united() setup.Policy { return setup.Policy{Name: unitedName, Options: r.chosen} }

// absent says what of its data a row lacks; empty if nothing.
func (r *row) absent(o *Options) string {
	for _, path := range r.data {
		if o.Data == "" {
			return fmt.Sprintf("it needs %s in the folder of traces, which neither --traces nor FAIRLEAD_DATA names", path)
		}
		if _, err := os.Stat(filepath.Join(o.Data, path)); err != nil {
			return "its data: " + err.Error()
		}
	}
	return ""
}

// seedsFrom are so many seeds from the one of the options on; of a small size one.
func seedsFrom(o *Options, first uint64, count int) []uint64 {
	var seeds []uint64
	for i := range uint64(of(o.Size, count, 1, 1)) {
		seeds = append(seeds, first+o.Seed-1+i)
	}
	return seeds
}

// trialID tells the runs of a table from each other.
type trialID struct {
	part, by string
	seed     uint64
}

// trials are the runs of a table, each once.
type trials map[trialID]*tried

// idOf names the run of a part.
func idOf(p *part, by setup.Policy, seed uint64) trialID {
	text := []string{by.Name}
	for _, name := range slices.Sorted(maps.Keys(by.Options)) {
		text = append(text, name+"="+by.Options[name])
	}
	return trialID{p.name, strings.Join(text, " "), seed}
}

// steps are the runs that the row needs of a policy and that nobody has asked for yet, a step each.
func (t trials) steps(o *Options, r *row, by setup.Policy) []step {
	var list []step
	for i := range r.parts {
		p := &r.parts[i]
		for _, seed := range r.seeds {
			id := idOf(p, by, seed)
			if _, asked := t[id]; asked {
				continue
			}
			t[id] = nil
			list = append(list, step{name: fmt.Sprintf("%s, %s, seed %d", p.name, id.by, seed), do: func() error {
				came, err := p.run(o, by, seed)
				if stopped := o.Stop != nil && o.Stop(); err == nil && !stopped {
					came.lighten()
					t[id] = came
				}
				return err
			}})
		}
	}
	return list
}

// lighten drops what no target looks at, as all runs of a table are kept to its end.
func (came *tried) lighten() {
	r := &came.run
	r.Series, r.Heat, r.Sample, r.Latencies, r.Availabilities = nil, nil, nil, nil, nil
	came.rounds = nil
}

// of are the values of a target, one for each seed: of its part, or the mean of all parts.
func (t trials) of(r *row, g *target, by setup.Policy) []float64 {
	var list []float64
	for _, seed := range r.seeds {
		sum, count := 0.0, 0
		for i := range r.parts {
			if p := &r.parts[i]; g.part == "" || g.part == p.name {
				sum += g.of(t[idOf(p, by, seed)])
				count++
			}
		}
		list = append(list, sum/float64(count))
	}
	return list
}

// setUpUnited is the table, or some of its rows.
func setUpUnited(o *Options) (*plan, error) {
	rows := chosenRows(unitedRows(o), o.Rows)
	done, p := trials{}, tablePlan(o)
	for i := range rows {
		r := &rows[i]
		p.facts = append(p.facts, r.name+": "+r.setting)
		if r.absent(o) != "" {
			continue
		}
		p.steps = append(p.steps, done.steps(o, r, setup.Policy{Name: r.rival})...)
		p.steps = append(p.steps, done.steps(o, r, r.united())...)
	}
	p.conclude = func(_ []outcome, into *report.Reproduction) {
		for i := range rows {
			into.Goals = append(into.Goals, rows[i].held(o, done)...)
		}
	}
	return p, nil
}

// tablePlan is what the table and the ablation say of themselves.
func tablePlan(o *Options) *plan {
	from := "no real traces; rows that need them are not run"
	if o.Data != "" {
		from = "real traces where a row says so"
	}
	return &plan{data: fmt.Sprintf("generators from seed %d, and %s", o.Seed, from), real: o.Data != "", partial: true}
}

// done reports whether the row was run by the policy with all seeds.
func (t trials) done(r *row, by setup.Policy) bool {
	for i := range r.parts {
		for _, seed := range r.seeds {
			if t[idOf(&r.parts[i], by, seed)] == nil {
				return false
			}
		}
	}
	return true
}

// held are the targets of the row with what came of them.
func (r *row) held(o *Options, done trials) []report.Goal {
	var list []report.Goal
	why, rival, own := r.absent(o), setup.Policy{Name: r.rival}, r.united()
	if why == "" && (!done.done(r, rival) || !done.done(r, own)) {
		why = "stopped before its end"
	}
	for i := range r.targets {
		g := &r.targets[i]
		out := report.Goal{Row: r.name, What: g.what, Unit: g.unit, Rival: r.rival, AtLeast: g.least}
		if !g.beside {
			out.Target = new(report.Number(g.value))
		}
		if why != "" {
			out.Verdict, out.Note = report.NotRun, why
			list = append(list, out)
			continue
		}
		theirs, ours := done.of(r, g, rival), done.of(r, g, own)
		a, b := report.MeanOf(theirs), report.MeanOf(ours)
		out.Theirs, out.Ours = &a.Mean, &b.Mean
		if g.beside {
			out.Target = new(a.Mean + report.Number(g.value))
		}
		if b.Known() {
			spread := func(i report.Interval) string { return g.unit.Show(i.Low) + " to " + g.unit.Show(i.High) }
			show := func(v float64) string { return g.unit.Show(report.Number(v)) }
			out.Note = fmt.Sprintf("means of %d seeds, 95 %%: %s (%s: %s); seeds from %s to %s; the first %s (%s: %s)", b.N, spread(b), r.rival, spread(a),
				show(slices.Min(ours)), show(slices.Max(ours)), show(ours[0]), r.rival, show(theirs[0]))
		}
		out.Hold()
		list = append(list, out)
	}
	return list
}
