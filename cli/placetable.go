package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"

	"go.yaml.in/yaml/v3"

	"fairlead.dev/fairlead/constraint/outcome"
)

// This file prints the answer of place.

func (s *placing) print(out io.Writer, a *outcome.Plan) error {
	switch s.format {
	case "json":
		return writeJSON(out, a)
	case "yaml":
		encoder := yaml.NewEncoder(out)
		encoder.SetIndent(2)
		if err := encoder.Encode(a); err != nil {
			return err
		}
		return encoder.Close()
	}
	return printPlan(out, a)
}

func printPlan(out io.Writer, a *outcome.Plan) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	printPlacements(w, a.Placements)
	for _, u := range a.Unplaced {
		fmt.Fprintf(w, "not placed: %s: %s\n\n", u.Application, u.Reason)
	}
	printViolations(w, a.Violations)
	fmt.Fprintf(w, "violated\t%d of %d constrained containers\n", a.Violated, a.Constrained)
	for _, part := range a.Objective {
		fmt.Fprintf(w, "%s\t%s × %s\n", part.Name, part.Amount, part.Weight)
	}
	optimal := ""
	if a.Optimal {
		optimal = ": no plan is better"
	}
	fmt.Fprintf(w, "score\t%s, bound %s (%s)%s\n", a.Score, a.Bound, a.Proof, optimal)
	fmt.Fprintf(w, "effort\t%s, %d ticks", a.Policy, a.Ticks)
	if s := a.Solver; s != nil {
		fmt.Fprintf(w, "; %s, %d ticks: %d of %d models made the plan better", s.Name, s.Ticks, s.Better, s.Models)
	}
	fmt.Fprintln(w)
	return w.Flush()
}

// printPlacements has a column for where containers are moved from only if some are.
func printPlacements(w io.Writer, placements []outcome.Placement) {
	moved := slices.ContainsFunc(placements, func(p outcome.Placement) bool { return p.From != "" })
	if len(placements) == 0 {
		return
	}
	title := "APPLICATION\tCONTAINER\tNODE"
	if moved {
		title += "\tFROM"
	}
	fmt.Fprintln(w, title)
	for _, p := range placements {
		fmt.Fprintf(w, "%s\t%s\t%s", p.Application, p.Container, p.Node)
		if moved {
			fmt.Fprintf(w, "\t%s", cmp.Or(p.From, "-"))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}

// printViolations marks those that are inherited.
func printViolations(w io.Writer, violations []outcome.Violation) {
	if len(violations) == 0 {
		return
	}
	fmt.Fprintln(w, "VIOLATED\tBY\tIN\tWANT\tCOUNTED")
	for i := range violations {
		v := &violations[i]
		by, in, inherited := "the whole set", v.Group+" "+v.Set, ""
		if v.Container != "" {
			by = v.Application + "/" + v.Container
		}
		if v.Set == "" {
			in = "no " + v.Group
		}
		if v.Inherited {
			inherited = ", inherited"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d%s\n", v.Constraint, by, in, wanted(v), v.Counted, inherited)
	}
	fmt.Fprintln(w)
}

// wanted is the range of a bound.
func wanted(v *outcome.Violation) string {
	most := "any"
	if v.Max != nil {
		most = strconv.Itoa(int(*v.Max))
	}
	return fmt.Sprintf("%d to %s", v.Min, most)
}
