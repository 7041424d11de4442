package report

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// This file is who waits at the end, of workloads that say whose each task is: a line for each owner and
// reason, with what would help.

// Pending is tasks of one owner that wait at the end for the same reason.
type Pending struct {
	Owner string `json:"owner"` // such as shop/deployment/web
	Tasks int    `json:"tasks"`
	// Names are those of the tasks, in the order in which they came, cut after MostNames.
	Names []string `json:"names"`
	Code  string   `json:"code"` // as in Run.Reasons
	Why   string   `json:"why"`  // a sentence with numbers
	// Help is what would let one of them run; empty where nothing is known.
	Help string `json:"help,omitempty"`
}

// How much a result holds of who waits.
const (
	MostPending = 2000
	MostNames   = 100
)

// SortPending puts the groups with most tasks first.
func SortPending(list []Pending) {
	slices.SortStableFunc(list, func(a, b Pending) int {
		return cmp.Or(cmp.Compare(b.Tasks, a.Tasks), cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Why, b.Why))
	})
}

// shownPending is how many groups are printed of a run.
const shownPending = 20

// samePending reports whether the same tasks wait for the same reasons in both.
func samePending(a, b *Run) bool {
	return slices.EqualFunc(a.Pending, b.Pending, func(a, b Pending) bool {
		return a.Owner == b.Owner && a.Tasks == b.Tasks && a.Why == b.Why && a.Help == b.Help
	})
}

// writeOwners prints who waits in a run, a line for each owner and reason.
func writeOwners(text *bytes.Buffer, r *Run) {
	for i := range r.Pending[:min(len(r.Pending), shownPending)] {
		p := &r.Pending[i]
		fmt.Fprintf(text, "    %s\n", p)
	}
	if more := len(r.Pending) - shownPending; more > 0 {
		fmt.Fprintf(text, "    and %s more groups of tasks; -o json lists them all\n", humanCount(float64(more)))
	}
}

// String says who waits, why, and what would help.
func (p *Pending) String() string { return p.who() + ": " + Printable(p.Why) + p.helped() }

// who names the task, or says how many tasks of whom.
func (p *Pending) who() string {
	if p.Tasks == 1 && len(p.Names) == 1 {
		return Printable(p.Names[0])
	}
	return humanCount(float64(p.Tasks)) + " of " + Printable(p.Owner)
}

func (p *Pending) helped() string {
	if p.Help == "" {
		return ""
	}
	return "; " + Printable(p.Help)
}
