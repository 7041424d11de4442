package advise

import (
	"fmt"
	"io"
	"math"
	"strings"

	"fairlead.dev/fairlead/report"
)

// This file prints an Advice on one screen.

// How much of each list is printed; JSON has them all.
const (
	mostChanges = 5
	mostWaiting = 5
	mostNames   = 5
)

// Write prints the advice.
func (a *Advice) Write(out io.Writer) error {
	w := writer{report.NewPrinter(out)}
	w.Line("%s.", upper(a.Verdict))
	w.Line("%s, %s in use; %s, %s.", report.Count(a.Nodes, "node"), report.Grouped(a.InUse), report.Count(a.Running, "pod that runs"), report.Count(a.Pending, "pod that waits"))
	if len(a.Policies) > 1 {
		w.Table(a.policies())
	}
	w.free(a.Free)
	w.changes(a)
	w.waiting(a)
	w.unused(a)
	return w.Err()
}

// writer prints the parts of an advice.
type writer struct{ *report.Printer }

func (a *Advice) policies() []string {
	lines := []string{"\nPOLICY\tPLACES\tSTILL WAIT\tEVICTS\tMOVES\tNODES IN USE"}
	for _, o := range a.Policies {
		lines = append(lines, report.Sprintf("%s\t%s\t%s\t%s\t%s\t%s", o.Policy, report.Grouped(o.Placed), report.Grouped(o.Pending), report.Grouped(o.Evicted), report.Grouped(o.Moved), report.Grouped(o.InUse)))
	}
	return lines
}

func (w writer) free(f *Free) {
	if f == nil {
		return
	}
	if len(f.Nodes) == 0 {
		w.Line("\nNo node can be switched off.")
		return
	}
	most := ""
	if f.Bound > len(f.Nodes) {
		most = fmt.Sprintf(" (no moves could free more than %d)", f.Bound)
	}
	w.Line("\n%s could be switched off after %s%s: %s", report.Count(len(f.Nodes), "node"), report.Count(f.Moves, "move"), most, some(f.Nodes))
}

func (w writer) changes(a *Advice) {
	if len(a.Changes) == 0 {
		return
	}
	w.Line("\nWhat to change first: of the pods that would wait still, one by one, there fit")
	for i, c := range a.Changes[:min(len(a.Changes), mostChanges)] {
		w.Line("  %d. %s %s: %s", i+1, report.Count(c.Pods, "pod"), c.What, some(c.Of))
	}
	if more := len(a.Changes) - mostChanges; more > 0 {
		w.Line("     and %s", report.Count(more, "more change"))
	}
}

func (w writer) waiting(a *Advice) {
	if len(a.Waiting) == 0 {
		return
	}
	w.Line("\nWhy they wait:")
	for i := range a.Waiting[:min(len(a.Waiting), mostWaiting)] {
		p := a.Waiting[i]
		p.Help = ""
		w.Line("  %s", p.String())
	}
	if more := len(a.Waiting) - mostWaiting; more > 0 {
		w.Line("  and %s; 'fairlead explain' has them all", report.Count(more, "more group"))
	}
}

func (w writer) unused(a *Advice) {
	for _, u := range a.Unused {
		w.Line("\nOf %s %s that are free %s are of no use, as %s is used up there: the pod of middle size would not fit.", whole(u.Free), u.of(), whole(u.Stranded), u.By)
	}
	for _, o := range a.Out {
		w.Line("\n%s %s with %s cores: %s", report.Count(len(o.Nodes), "node"), o.Why, o.CPU, some(o.Nodes))
	}
}

func whole(n report.Number) string { return report.Grouped(int(math.Round(float64(n)))) }

// of is the kind with its unit.
func (u *Unused) of() string {
	if u.Unit == "" || u.Unit == u.Kind {
		return u.Kind
	}
	return u.Unit + " of " + u.Kind
}

// some are the first of several names.
func some(names []string) string {
	if len(names) <= mostNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNames], ", "), len(names)-mostNames)
}

func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
