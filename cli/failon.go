package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/report"
)

// This file is --fail-on: what in the results of runs makes the command fail, for gates in scripts.

// failure is something that results may have.
type failure struct {
	name, what string
	count      func(*report.Run) int
}

func failures() []failure {
	return []failure{
		{"pending", "tasks wait at the end", func(r *report.Run) int { return r.Tasks.Pending }},
		{"unplaced", "tasks never ran", func(r *report.Run) int { return r.Tasks.Submitted - r.Tasks.Placed }},
		{"violations", "constraints were violated or nodes are over their limits", func(r *report.Run) int {
			n := r.NodesOverfull
			if r.Constraints != nil {
				n += r.Constraints.HardViolated
			}
			return n
		}},
	}
}

// foundError says that results have what they were not to have.
type foundError struct{ error }

// checkFailOn says which names of the list are none.
func checkFailOn(names []string) error {
	var known []string
	for _, f := range failures() {
		known = append(known, f.name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return unknown("cause", name, known)
		}
	}
	return nil
}

// failOn says which of the runs have what is named, and how many.
func failOn(names []string, runs []report.Run) error {
	var found []error
	for _, f := range failures() {
		if !slices.Contains(names, f.name) {
			continue
		}
		var of []string
		for i := range runs {
			if n := f.count(&runs[i]); n > 0 {
				of = append(of, fmt.Sprintf("%s %s with seed %d", report.Grouped(n), report.Printable(runs[i].Policy), runs[i].Seed))
			}
		}
		if len(of) > 0 {
			found = append(found, fmt.Errorf("--fail-on %s: %s: %s", f.name, f.what, strings.Join(of, ", ")))
		}
	}
	if len(found) == 0 {
		return nil
	}
	return foundError{errors.Join(found...)}
}
