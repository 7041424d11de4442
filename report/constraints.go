package report

import (
	"bytes"
	"slices"
)

// How placement constraints were kept: what is measured, and how it is shown and compared.
// Below the table of runs stands a row for each experiment that had any.

// Constraints says how placement constraints were kept.
type Constraints struct {
	// Count is how many there were, and Hard how many of them were hard. HardViolated is
	// how many of those were violated at some time: as no placement does that, by what was
	// found, lost, or was there before the constraint.
	Count        int `json:"count"`
	Hard         int `json:"hard"`
	HardViolated int `json:"hard_violated"`
	// Subjects is how many tasks a bound of any of them spoke of while they held room.
	Subjects int `json:"subjects"`
	// Violated is the share of those that hold room which violate a bound of an
	// alternative that is chosen. Its mean is over the time of all these tasks.
	Violated Level `json:"violated"`
	// Cost is what the soft ones cost: 1 for each task that violates a bound of a
	// constraint of weight 1, and a tenth for all that it misses, times the weight.
	Cost Level `json:"cost"`
}

// Level is an amount that goes up and down: its mean over time, and what it is at the end.
type Level struct {
	Mean  Number `json:"mean"`
	Final Number `json:"final"`
}

// constraintMeasures are the columns of the table of constraints.
func constraintMeasures() []measure {
	of := func(above, title string, show func(float64) string, pick func(*Constraints) Number) measure {
		return measure{above: above, title: title, show: show, values: func(r *Run) []float64 {
			if r.Constraints == nil {
				return nil
			}
			return []float64{float64(pick(r.Constraints))}
		}}
	}
	return []measure{
		of("", "CONSTRAINTS", humanCount, func(c *Constraints) Number { return Number(c.Count) }),
		of("", "HARD", humanCount, func(c *Constraints) Number { return Number(c.Hard) }),
		of("HARD", "VIOLATED", InConstraints.show, func(c *Constraints) Number { return Number(c.HardViolated) }),
		of("TASKS", "BOUND", humanCount, func(c *Constraints) Number { return Number(c.Subjects) }),
		of("TASKS", "VIOLATE", InShares.show, func(c *Constraints) Number { return c.Violated.Mean }),
		of("AT", "END", InShares.show, func(c *Constraints) Number { return c.Violated.Final }),
		of("", "COST", InViolations.show, func(c *Constraints) Number { return c.Cost.Mean }),
		of("AT", "END", InViolations.show, func(c *Constraints) Number { return c.Cost.Final }),
	}
}

// constrained reports whether there were constraints in any of the runs.
func constrained(runs []Run) bool {
	return slices.ContainsFunc(runs, func(r Run) bool { return r.Constraints != nil })
}

// writeConstraints prints how the groups kept their constraints, as means over the seeds.
func writeConstraints(text *bytes.Buffer, groups [][]Run, labels []label) {
	if !slices.ContainsFunc(groups, constrained) {
		return
	}
	labels = withoutSeed(labels)
	measures := constraintMeasures()
	lines := headOf(labels, measures)
	for _, group := range groups {
		if constrained(group) {
			lines = append(lines, row(measures, group, labelCells(&group[0].Setup, labels)...))
		}
	}
	text.WriteString("\nPlacement constraints:\n")
	align(text, lines, len(labels))
}

// ConstraintNumbers is the same table, for a page; without rows where there were no
// constraints.
func ConstraintNumbers(groups []Group) Grid {
	measures := constraintMeasures()
	head := headOf(nil, measures)
	table := Grid{Above: append([]string{""}, head[0]...), Titles: append([]string{"POLICY"}, head[1]...), Labels: 1}
	for _, g := range groups {
		if constrained(g.Runs) {
			table.Rows = append(table.Rows, row(measures, g.Runs, g.Name))
		}
	}
	return table
}

// constraintMetrics are those of runs with constraints.
func constraintMetrics() []metric {
	kept := func(name string, unit Unit, of func(*Constraints) Number) metric {
		return metric{"constraints." + name, unit, LowerIsBetter, func(r *Run) (Number, bool) {
			if r.Constraints == nil {
				return 0, false
			}
			return of(r.Constraints), true
		}}
	}
	return []metric{
		kept("hard_violated", InConstraints, func(c *Constraints) Number { return Number(c.HardViolated) }),
		kept("violated.mean", InShares, func(c *Constraints) Number { return c.Violated.Mean }),
		kept("violated.final", InShares, func(c *Constraints) Number { return c.Violated.Final }),
		kept("cost.mean", InViolations, func(c *Constraints) Number { return c.Cost.Mean }),
		kept("cost.final", InViolations, func(c *Constraints) Number { return c.Cost.Final }),
	}
}
