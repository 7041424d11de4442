package report

import (
	"bytes"
	"cmp"
	"slices"
)

// Below the table of runs stands how the promises of availability were kept, a row for
// each class that has one, as means over the seeds. Where all runs kept all of them there
// is nothing to show, and it is left out.

// writePromises prints the promises of the groups.
func writePromises(text *bytes.Buffer, groups [][]Run, labels []label) {
	if !slices.ContainsFunc(groups, func(g []Run) bool { return slices.ContainsFunc(g, brokePromise) }) {
		return
	}
	labels = withoutSeed(labels)
	head := line{}
	for _, l := range labels {
		head = append(head, l.title)
	}
	lines := []line{append(head, "CLASS", "TARGET", "AVAILABLE", "KEPT", "DEFICIT", "GINI", "PREEMPTED", "OVERHEAD", "PENALTIES")}
	for _, group := range groups {
		for _, class := range promisingClasses(group) {
			cells := append(labelCells(&group[0].Setup, labels), class)
			lines = append(lines, row(promiseMeasures(class), group, cells...))
		}
	}
	text.WriteString("\nPromises of availability by class:\n")
	align(text, lines, len(labels)+1)
}

// brokePromise reports whether a task of the run missed its target. Where no task counts,
// which has no availability then, earlier versions of fairlead say that 0 of them kept it.
func brokePromise(r Run) bool {
	for _, c := range r.Classes {
		if c.Promise != nil && c.Availability != nil && c.Fulfilment < 1 {
			return true
		}
	}
	return false
}

// promisingClasses are the classes with a target in any of the runs, the largest target
// first.
func promisingClasses(runs []Run) []string {
	targets := map[string]Number{}
	for i := range runs {
		for name, c := range runs[i].Classes {
			if c.Promise != nil {
				targets[name] = max(targets[name], c.Target)
			}
		}
	}
	var classes []string
	for name := range targets {
		classes = append(classes, name)
	}
	slices.SortFunc(classes, func(a, b string) int {
		return cmp.Or(cmp.Compare(targets[b], targets[a]), cmp.Compare(a, b))
	})
	return classes
}

// promiseMeasures are the columns of a class.
func promiseMeasures(class string) []measure {
	of := func(show func(float64) string, pick func(Class) Number) measure {
		return measure{show: show, values: func(r *Run) []float64 {
			c, ok := r.Classes[class]
			if !ok || c.Promise == nil || c.Availability == nil || c.Bill == nil {
				return nil
			}
			return []float64{float64(pick(c))}
		}}
	}
	return []measure{
		of(humanShare, func(c Class) Number { return c.Target }),
		of(InShares.show, func(c Class) Number { return c.Availability.Mean }),
		of(humanShare, func(c Class) Number { return c.Fulfilment }),
		of(InShares.show, func(c Class) Number { return c.Deficit }),
		of(InShares.show, func(c Class) Number { return c.Gini }),
		of(humanCount, func(c Class) Number { return Number(c.Preempted) }),
		of(InShares.show, func(c Class) Number { return c.Overhead }),
		of(InMoney.show, func(c Class) Number { return c.Penalties }),
	}
}
