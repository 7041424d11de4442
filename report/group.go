package report

import (
	"bytes"
	"io"
	"slices"
	"strconv"
)

// Results as a page shows them: runs by group, tables as cells. What the tables
// hold is what Write and WriteComparison print.

// Group is one set-up with all its runs, which differ in their seed. It is an
// Experiment as comparisons know it, with interrupted runs.
type Group struct {
	// Name tells it from the other groups: the policy, and what else it takes.
	Name string
	// Runs is never empty. Its order is that in which the runs were given.
	Runs []Run
}

// Groups returns the runs of files by group, in the order in which they first
// come. Equal set-ups in two files are two groups, told apart by the names of
// the files.
func Groups(files []File) []Group {
	var names []*Experiment
	var groups []Group
	for _, file := range files {
		for _, runs := range experiments(file.Runs) {
			setup := runs[0].Setup
			setup.Seed = 0
			names = append(names, &Experiment{File: file.Name, Setup: setup})
			groups = append(groups, Group{Runs: runs})
		}
	}
	nameExperiments(names)
	for i := range groups {
		groups[i].Name = names[i].Name
	}
	return groups
}

// Grid is a table as cells.
type Grid struct {
	// Above and Titles are the two lines of the head. Above may be empty, and
	// is otherwise as long as Titles and each row.
	Above, Titles []string
	// Labels is how many columns, from the left, say what a row is about.
	Labels int
	Rows   [][]string
}

// Numbers returns the table of all groups: in means a row for each, the means
// over its seeds; in runs a row for each run, or none where every group has but
// one.
func Numbers(groups []Group) (means, runs Grid) {
	var all []Run
	for _, g := range groups {
		all = append(all, g.Runs...)
	}
	measures := measuresOf(all)
	head := headOf(nil, measures)
	means = Grid{Above: append([]string{""}, head[0]...), Titles: append([]string{"POLICY"}, head[1]...), Labels: 1}
	runs = Grid{Above: append([]string{"", ""}, head[0]...), Titles: append([]string{"POLICY", "SEED"}, head[1]...), Labels: 2}
	for _, g := range groups {
		means.Rows = append(means.Rows, row(measures, g.Runs, g.Name))
		for i, r := range g.Runs {
			if len(all) > len(groups) {
				runs.Rows = append(runs.Rows, row(measures, g.Runs[i:i+1], g.Name, strconv.FormatUint(r.Seed, 10)))
			}
		}
	}
	return means, runs
}

// WriteMeans prints a row for each group of the files' runs, the means over its seeds.
func WriteMeans(w io.Writer, files []File) error {
	groups := Groups(files)
	means, _ := Numbers(groups)
	columns := len(means.Titles)
	if !slices.ContainsFunc(groups, func(g Group) bool { return g.Runs[0].Planner.Wall > 0 }) {
		columns-- // the last one is decisions in a second of this machine, of which nothing is known
	}
	lines := []line{means.Above[:columns], means.Titles[:columns]}
	for _, row := range means.Rows {
		lines = append(lines, row[:columns])
	}
	var text bytes.Buffer
	align(&text, lines, means.Labels)
	_, err := text.WriteTo(w)
	return err
}

// row returns the means over runs behind their labels, the first of which is
// marked where one of them was interrupted.
func row(measures []measure, runs []Run, labels ...string) []string {
	if anyInterrupted(runs) {
		labels[0] += interruptedMark
	}
	for _, m := range measures {
		labels = append(labels, m.cell(m.mean(runs)))
	}
	return labels
}

// Differences returns the metrics in which a pair differs, and how many metrics
// are the same.
func (c *Comparison) Differences(p *Pair) (differ Grid, same int) {
	differ = Grid{Titles: []string{"METRIC", c.Base, p.Other, "DIFFERENCE", "", "CHANGE", "VERDICT"}, Labels: 1}
	for i := range p.Rows {
		if p.Rows[i].Differs() {
			differ.Rows = append(differ.Rows, p.Rows[i].line())
		} else {
			same++
		}
	}
	return differ, same
}
