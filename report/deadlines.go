package report

import (
	"bytes"
	"maps"
	"slices"
)

// Below the promises of availability stand the others, a row for each class that has some, as means over the seeds: deadlines of
// jobs, and runs that are to last once they have begun. Where no class has any, both are left out.

// writeDeadlines prints how jobs kept their deadlines.
func writeDeadlines(text *bytes.Buffer, groups [][]Run, labels []label) {
	of := func(show func(float64) string, pick func(*Deadlines) Number) func(class string) measure {
		return func(class string) measure {
			return measure{show: show, values: func(r *Run) []float64 {
				if d := r.Classes[class].Deadlines; d != nil {
					return []float64{float64(pick(d))}
				}
				return nil
			}}
		}
	}
	writeByClass(text, "Deadlines by class", groups, labels, []column{
		{"DUE", of(humanCount, func(d *Deadlines) Number { return Number(d.Due) })},
		{"KEPT", of(humanCount, func(d *Deadlines) Number { return Number(d.KeptDeadlines) })},
		{"SHARE", of(humanShare, func(d *Deadlines) Number { return Ratio(float64(d.KeptDeadlines), float64(d.Due)) })},
		{"WORTH", of(humanCount, func(d *Deadlines) Number { return d.Worth })},
		{"GAINED", of(humanCount, func(d *Deadlines) Number { return d.Gained })},
	})
}

// writeLasting prints what became of runs that are promised to last.
func writeLasting(text *bytes.Buffer, groups [][]Run, labels []label) {
	of := func(show func(float64) string, pick func(*Lasting) Number) func(class string) measure {
		return func(class string) measure {
			return measure{show: show, values: func(r *Run) []float64 {
				if l := r.Classes[class].Lasting; l != nil {
					return []float64{float64(pick(l))}
				}
				return nil
			}}
		}
	}
	writeByClass(text, "Runs that are to last, by class", groups, labels, []column{
		{"PROMISED", of(InSeconds.show, func(l *Lasting) Number { return l.LeastRun })},
		{"EVICTED", of(humanCount, func(l *Lasting) Number { return Number(l.EvictedRuns) })},
		{"EARLY", of(humanCount, func(l *Lasting) Number { return Number(l.EvictedEarly) })},
		{"WAITED", of(InSeconds.show, func(l *Lasting) Number { return l.MeanWait })},
	})
}

// column is a column of a table by class.
type column struct {
	title string
	of    func(class string) measure
}

// writeByClass prints a table with a row for each class of which the first column knows something.
func writeByClass(text *bytes.Buffer, title string, groups [][]Run, labels []label, columns []column) {
	labels = withoutSeed(labels)
	head := line{}
	for _, l := range labels {
		head = append(head, l.title)
	}
	head = append(head, "CLASS")
	for _, c := range columns {
		head = append(head, c.title)
	}
	lines := []line{head}
	for _, group := range groups {
		classes := map[string]bool{}
		for i := range group {
			for name := range group[i].Classes {
				classes[name] = classes[name] || len(columns[0].of(name).values(&group[i])) > 0
			}
		}
		for _, class := range slices.Sorted(maps.Keys(classes)) {
			if !classes[class] {
				continue
			}
			var measures []measure
			for _, c := range columns {
				measures = append(measures, c.of(class))
			}
			lines = append(lines, row(measures, group, append(labelCells(&group[0].Setup, labels), class)...))
		}
	}
	if len(lines) == 1 {
		return
	}
	text.WriteString("\n" + title + ":\n")
	align(text, lines, len(labels)+1)
}
