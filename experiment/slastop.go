package experiment

import (
	"fmt"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/report"
)

// This file is what the SLA-class paper promises by redundancy, put to the test: a node of
// each tier stops for good while containers work on it. What has another copy goes on;
// what has none begins again from nothing, when it is its turn.

// setUpNodeStop lets the first node of each tier stop, under the same load with copies and
// without.
func setUpNodeStop(o *Options) (*plan, error) {
	p := sameTime()
	p.name += ", a node of each tier stops"
	stopped := []int{0, 5, 10}
	made := &plan{
		whole: true,
		data:  fmt.Sprintf("%s; on %d nodes of %d cores, five of each tier, of which one each stops at %v; seed %d", p.data, slaNodes, slaCores, slaStop, o.Seed),
		facts: []string{
			"Nothing of this was published: the paper's redundancy is not measured there.",
			"The work of a run that is lost is lost. A container is kept if another copy finished it when it was to be finished.",
		},
	}
	for _, variant := range []string{oneCopy, copies} {
		made.cases = append(made.cases, slaCase(p, variant, o.Seed, stopped...))
	}
	var names []string
	for _, n := range stopped {
		names = append(names, fmt.Sprint(n))
	}
	made.conclude = func(all []outcome, r *report.Reproduction) {
		for i := range all {
			concludeStop(&all[i], names, r)
		}
	}
	return made, nil
}

func concludeStop(o *outcome, stopped []string, r *report.Reproduction) {
	f := report.Figure{
		Title: "Containers that are done, " + o.line,
		X:     report.Axis{Label: "time", Unit: report.InSeconds}, Y: report.Axis{Label: "containers", Unit: report.InTasks},
	}
	for _, name := range class.SLA().Names() {
		h := o.watch.struckAt(slaStop, stopped, slaTime, name)
		r.Compared = append(r.Compared, report.Compared{
			What: fmt.Sprintf("containers that worked on a node that stopped, %s, %s", name, o.line), Unit: report.InTasks, Ours: new(report.Number(h.struck)),
		}, report.Compared{
			What: fmt.Sprintf("of them finished by another copy, %s, %s", name, o.line), Unit: report.InTasks, Ours: new(report.Number(h.kept)),
		})
		f.Lines = append(f.Lines, o.watch.doneOverTime(name))
	}
	r.Figures = append(r.Figures, counted(f))
}
