package page

import (
	"strings"

	"fairlead.dev/fairlead/report"
)

// The differences between policies, as fairlead compare finds them: each group
// against the first one.

// differences is the tables of all pairs.
type differences struct {
	None     string
	Base     string
	Warnings []string
	Pairs    []pairDifferences
}

// pairDifferences is the table of one pair.
type pairDifferences struct {
	Other    string
	Summary  string // how many metrics are better and worse
	Method   string
	Warnings []string
	Table    report.Grid
	Same     int // how many metrics are the same
	Tasks    string
}

// differencesOf compares the groups of files. What cannot be compared has a
// page all the same, which says why.
func differencesOf(files []report.File) differences {
	c, err := report.Compare(files, "")
	if err != nil {
		return differences{None: "Nothing to compare: " + err.Error() + "."}
	}
	d := differences{Base: c.Base, Warnings: c.Warnings}
	for i := range c.Pairs {
		p := &c.Pairs[i]
		pair := pairDifferences{Other: p.Other, Method: "mean against mean", Warnings: p.Warnings}
		if p.Paired {
			pair.Method = "seed by seed"
		}
		pair.Table, pair.Same = c.Differences(p)
		pair.Summary = verdictsOf(p.Rows, len(pair.Table.Rows))
		for _, i := range p.Improvements {
			pair.Tasks += improvement(i)
		}
		d.Pairs = append(d.Pairs, pair)
	}
	return d
}

// verdictsOf counts the verdicts of rows, of which so many differ.
func verdictsOf(rows []report.Row, differ int) string {
	counts := map[string]int{}
	for i := range rows {
		counts[rows[i].Judgement()]++
	}
	var parts []string
	for _, v := range []report.Verdict{report.Better, report.Worse, report.Higher, report.Lower} {
		for _, judgement := range []string{string(v), string(v) + "?"} {
			if n := counts[judgement]; n > 0 {
				parts = append(parts, wholeNumber(n)+" "+judgement)
			}
		}
	}
	if parts == nil {
		return wholeNumber(differ) + " metrics differ, none with a verdict"
	}
	return strings.Join(parts, ", ") + ", of " + wholeNumber(differ) + " metrics that differ"
}

// improvement says in a sentence how much faster tasks were, one by one.
func improvement(i report.Improvement) string {
	times := map[string]string{"task_response_s": "response", "placement_latency_s": "placement"}
	name, ok := times[i.Metric]
	if !ok {
		name = i.Metric
	}
	show := func(x report.Number) string { return nameOf(share, float64(x), 1e-3) }
	return "Of " + wholeNumber(i.Tasks) + " tasks that finished in both, " + name + " was faster for " + show(i.Better) +
		", slower for " + show(i.Worse) + " and within 1% for " + show(i.Same) + ". "
}
