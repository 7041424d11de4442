package experiment

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim/workload"
)

// This file is what the study of QoS-driven scheduling comes to.

// concludeStudy compares sizes and penalties with what was published, and draws how the
// promises to each class were kept.
func concludeStudy(samples []*workload.Sampled, all []outcome, r *report.Reproduction) {
	r.Compared = append(hostsCompared(samples), penaltiesCompared(all)...)
	r.Figures = []report.Figure{hostsFigure(samples)}
	for _, m := range studyMeasures() {
		r.Figures = append(r.Figures, m.figure(all))
	}
}

// hostsCompared holds the sizes of the clusters against the published ones. The samples
// are not the same, so it is their range that is compared.
func hostsCompared(samples []*workload.Sampled) []report.Compared {
	var rows []report.Compared
	for i, share := range studyShares() {
		var ours, theirs []report.Number
		for _, s := range samples {
			ours = append(ours, report.Number(len(s.Fleet.Part(share))))
		}
		for _, hosts := range publishedHosts() {
			theirs = append(theirs, report.Number(hosts[i]))
		}
		for _, of := range []struct {
			name string
			pick func([]report.Number) report.Number
		}{{"fewest", slices.Min[[]report.Number]}, {"mean", meanOf}, {"most", slices.Max[[]report.Number]}} {
			rows = append(rows, report.Compared{
				What: fmt.Sprintf("hosts at %s, %s of the samples", sizeName(share), of.name), Unit: report.InNodes,
				Published: new(of.pick(theirs)), Ours: new(of.pick(ours)),
			})
		}
	}
	return rows
}

func meanOf(values []report.Number) report.Number {
	sum := report.Number(0)
	for _, v := range values {
		sum += v
	}
	return sum / report.Number(max(len(values), 1))
}

// hostsFigure is the size of the clusters, sample by sample.
func hostsFigure(samples []*workload.Sampled) report.Figure {
	f := report.Figure{
		Title: "Hosts of each sample, ours and published, the samples being others",
		X:     report.Axis{Label: "sample"}, Y: report.Axis{Label: "hosts", Unit: report.InNodes},
	}
	for i, share := range studyShares() {
		ours, theirs := report.Line{Name: sizeName(share)}, report.Line{Name: sizeName(share) + ", published"}
		for at, s := range samples {
			ours.Points = append(ours.Points, [2]report.Number{report.Number(at + 1), report.Number(len(s.Fleet.Part(share)))})
		}
		for at, hosts := range publishedHosts() {
			theirs.Points = append(theirs.Points, [2]report.Number{report.Number(at + 1), report.Number(hosts[i])})
		}
		f.Lines = append(f.Lines, ours, theirs)
	}
	return f
}

// penaltiesCompared is by how much more the rival has to pay back, at each size; the paper
// tells the largest of these.
func penaltiesCompared(all []outcome) []report.Compared {
	var rows []report.Compared
	most := report.Number(0)
	for _, share := range studyShares() {
		mean := map[string]report.Number{}
		for i := range all {
			if o := &all[i]; o.at == report.Number(share) {
				mean[o.policy] += penalties(o)
			}
		}
		more := report.Ratio(float64(mean[rival]), float64(mean[studied]))
		most = max(most, more)
		rows = append(rows, report.Compared{
			What: fmt.Sprintf("penalties of %s over those of %s at %s, mean of the samples", rival, studied, sizeName(share)), Unit: report.InFactors,
			Ours: known(more, mean[studied] > 0),
		})
	}
	const published = 2.93 // "up to 193 % higher on average"
	return append(rows, report.Compared{
		What: "the most of these", Unit: report.InFactors, Published: new(report.Number(published)), Ours: known(most, most > 0),
		Note: "the paper's table of credits is not known; ours is a reconstruction",
	})
}

// penalties are those of all classes.
func penalties(o *outcome) report.Number {
	sum := report.Number(0)
	for _, name := range serviceClasses() {
		if p := o.run.Classes[name].Promise; p != nil {
			sum += p.Penalties
		}
	}
	return sum
}

// serviceClasses are the classes of the paper, the most important first; in this order
// money is added up.
func serviceClasses() []string { return []string{"gold", "silver", "bronze"} }

// studyMeasure is a number of a class.
type studyMeasure struct {
	title, label string
	unit         report.Unit
	of           func(*report.Class) report.Number
}

func studyMeasures() []studyMeasure {
	return []studyMeasure{
		{"Promises that were kept", "share of the requests", report.InShares, func(c *report.Class) report.Number { return c.Fulfilment }},
		{"By how much the others were missed", "availability that was lacking", report.InShares, func(c *report.Class) report.Number { return c.Deficit }},
		{"Inequality of availability, among requests that came in the same hour", "Gini coefficient", report.InShares, func(c *report.Class) report.Number { return c.Gini }},
		{"Preemptions", "preemptions", report.InEvents, func(c *report.Class) report.Number { return report.Number(c.Preempted) }},
		{"Penalties", "money", report.InMoney, func(c *report.Class) report.Number { return c.Penalties }},
	}
}

// figure draws the measure over the size of the cluster, as the mean of the samples, with
// a line for each policy and class.
func (m *studyMeasure) figure(all []outcome) report.Figure {
	f := report.Figure{
		Title: m.title,
		X:     report.Axis{Label: "hosts, in shares of N", Unit: report.InShares}, Y: report.Axis{Label: m.label, Unit: m.unit},
	}
	shares := studyShares()
	slices.Sort(shares)
	for _, policy := range policiesOf(all) {
		for _, class := range serviceClasses() {
			l := report.Line{Name: policy + ", " + class}
			for _, share := range shares {
				var values []report.Number
				for i := range all {
					o := &all[i]
					if c, there := o.run.Classes[class]; there && c.Promise != nil && o.policy == policy && o.at == report.Number(share) {
						values = append(values, m.of(&c))
					}
				}
				if len(values) > 0 {
					l.Points = append(l.Points, [2]report.Number{report.Number(share), meanOf(values)})
				}
			}
			if len(l.Points) > 0 {
				f.Lines = append(f.Lines, l)
			}
		}
	}
	return f
}

// policiesOf are the policies in the order in which they ran.
func policiesOf(all []outcome) []string {
	var names []string
	for i := range all {
		if !slices.Contains(names, all[i].policy) {
			names = append(names, all[i].policy)
		}
	}
	return names
}
