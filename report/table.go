package report

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The table compares runs for people. It has a row per run and, where an
// experiment was repeated with other seeds, a row with the means. Runs of one
// experiment stand together, in the order in which they were given.
//
// A column that could only repeat itself is not printed: seed, workload and
// the like when they are the same in all runs, UNPLACEABLE when it is zero.
// The head has two lines, which keeps the table within 120 columns.

// line is the cells of one row, left to right.
type line []string

// writeTable prints the table, and why tasks are pending if any are.
func writeTable(text *bytes.Buffer, runs []Run) {
	labels := labelsOf(runs)
	measures := measuresOf(runs)
	lines := headOf(labels, measures)
	groups := experiments(runs)
	for _, group := range groups {
		for i := range group {
			lines = append(lines, runLine(&group[i], labels, measures))
		}
		if severalSeeds(group) {
			lines = append(lines, meanLine(group, labels, measures))
		}
	}
	align(text, lines, len(labels))
	if anyInterrupted(runs) {
		text.WriteString("\n* stopped before its end: not comparable with the others\n")
	}
	writePromises(text, groups, labels)
	writeDeadlines(text, groups, labels)
	writeLasting(text, groups, labels)
	writeUnserved(text, groups, labels)
	writeConstraints(text, groups, labels)
	writePower(text, groups, labels)
	writeNodeCosts(text, groups, labels)
	writeOverfull(text, slices.Concat(groups...), labels)
	writePending(text, slices.Concat(groups...), labels)
}

// experiments returns runs in groups that differ in their seed alone.
func experiments(runs []Run) [][]Run {
	var groups [][]Run
	index := map[Setup]int{}
	for _, r := range runs {
		setup := r.Setup
		setup.Seed = 0
		g, ok := index[setup]
		if !ok {
			g = len(groups)
			index[setup] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], r)
	}
	return groups
}

// severalSeeds reports whether runs differ in their seeds.
func severalSeeds(runs []Run) bool {
	return slices.ContainsFunc(runs, func(r Run) bool { return r.Seed != runs[0].Seed })
}

// interruptedMark stands behind the policy of a run that was interrupted.
const interruptedMark = " *"

// anyInterrupted reports whether one of runs was interrupted.
func anyInterrupted(runs []Run) bool {
	return slices.ContainsFunc(runs, func(r Run) bool { return r.Interrupted })
}

// headOf returns the two lines of the head.
func headOf(labels []label, measures []measure) []line {
	top, bottom := line{}, line{}
	for _, l := range labels {
		top, bottom = append(top, ""), append(bottom, l.title)
	}
	for _, m := range measures {
		top, bottom = append(top, m.above), append(bottom, m.title)
	}
	return []line{top, bottom}
}

// runLine returns the row of one run.
func runLine(r *Run, labels []label, measures []measure) line {
	cells := labelCells(&r.Setup, labels)
	if r.Interrupted {
		cells[0] += interruptedMark
	}
	for _, m := range measures {
		cells = append(cells, m.cell(m.values(r)))
	}
	return cells
}

// meanLine returns the row with the means over the seeds of an experiment.
// Quantiles are averaged like any other value: the row says what to expect of
// one more run, not what the quantile of all samples together is.
func meanLine(group []Run, labels []label, measures []measure) line {
	cells := line{}
	for _, l := range labels {
		if l.title == seedTitle {
			cells = append(cells, "mean")
		} else {
			cells = append(cells, cmp.Or(l.value(&group[0].Setup), "-"))
		}
	}
	if anyInterrupted(group) {
		cells[0] += interruptedMark
	}
	for _, m := range measures {
		cells = append(cells, m.cell(m.mean(group)))
	}
	return cells
}

// align prints lines in columns two spaces apart, the first left columns
// flush left and the others flush right.
func align(text *bytes.Buffer, lines []line, left int) {
	widths := make([]int, len(lines[0]))
	for _, l := range lines {
		for c, cell := range l {
			widths[c] = max(widths[c], utf8.RuneCountInString(cell))
		}
	}
	for _, l := range lines {
		var padded []string
		for c, cell := range l {
			space := strings.Repeat(" ", widths[c]-utf8.RuneCountInString(cell))
			if c < left {
				padded = append(padded, cell+space)
			} else {
				padded = append(padded, space+cell)
			}
		}
		text.WriteString(strings.TrimRight(strings.Join(padded, "  "), " ") + "\n")
	}
}

// Overfull is the key in Run.Examples of a node that holds more than its limit.
const Overfull = "overfull"

// writeOverfull prints which runs ended with nodes over their limit.
func writeOverfull(text *bytes.Buffer, runs []Run, labels []label) {
	title := "\nNodes over their limit at the end:\n"
	for i := range runs {
		r := &runs[i]
		if r.NodesOverfull == 0 {
			continue
		}
		text.WriteString(title)
		title = ""
		fmt.Fprintf(text, "  %s: %s\n", nameOf(r, labels), humanCount(float64(r.NodesOverfull)))
		if example := r.Examples[Overfull]; example != "" {
			fmt.Fprintf(text, "    e.g. %s\n", example)
		}
	}
}

// nameOf is what tells the run from the others of the table.
func nameOf(r *Run, labels []label) string {
	var names []string
	for _, l := range labels {
		name := l.value(&r.Setup)
		if name == "" {
			continue
		}
		if l.title == seedTitle {
			name = "seed " + name
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// shownReasons is how many reasons for waiting are printed per run.
const shownReasons = 5

// writePending prints, for each run that ended with tasks pending, the reasons
// that hold most of them back.
func writePending(text *bytes.Buffer, runs []Run, labels []label) {
	title := "\nWhy tasks are pending at the end:\n"
	var last *Run // of those that say who waits
	for i := range runs {
		r := &runs[i]
		if r.Tasks.Pending == 0 {
			continue
		}
		text.WriteString(title)
		title = ""
		codes := reasonsOf(r)
		fmt.Fprintf(text, "  %s: %s\n", nameOf(r, labels), countsOf(r, codes))
		switch {
		case last != nil && len(r.Pending) > 0 && samePending(last, r):
			fmt.Fprintf(text, "    the same as under %s\n", nameOf(last, labels))
			continue
		case len(r.Pending) > 0:
			last = r
			writeOwners(text, r)
			continue
		}
		for i, code := range codes {
			if example := r.Examples[code]; example != "" && (i == 0 || strings.HasPrefix(code, unplaceable)) {
				fmt.Fprintf(text, "    e.g. %s\n", example)
			}
		}
	}
}

// unplaceable is how the codes of tasks begin that no node could ever hold. They are
// somebody's mistake, and always shown.
const unplaceable = "unplaceable"

// reasonsOf lists the reasons of r, those with most tasks first.
func reasonsOf(r *Run) []string {
	return slices.SortedFunc(maps.Keys(r.Reasons), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.Reasons[b], r.Reasons[a]), cmp.Compare(a, b))
	})
}

// countsOf prints the first few of the reasons with their counts.
func countsOf(r *Run, codes []string) string {
	if len(codes) == 0 {
		return "not recorded"
	}
	var parts []string
	for _, code := range codes[:min(len(codes), shownReasons)] {
		parts = append(parts, code+" "+humanCount(float64(r.Reasons[code])))
	}
	if more := len(codes) - shownReasons; more > 0 {
		parts = append(parts, strconv.Itoa(more)+" more")
	}
	return strings.Join(parts, ", ")
}
