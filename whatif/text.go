package whatif

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"fairlead.dev/fairlead/report"
)

// This file prints a Diff for people: what changes by owner, with nodes, and the numbers before and after.

// mostLines is how many lines of a list are printed; JSON has them all.
const mostLines = 20

// Write prints the diff.
func (d *Diff) Write(out io.Writer) error {
	w := writer{report.NewPrinter(out)}
	if !d.Changes() {
		w.Line("Nothing changes under %s.", d.Policy)
	} else {
		w.Line("Under %s:", d.Policy)
	}
	w.lists(d)
	switch {
	case d.Stay == 1:
		w.Line("\n1 pod stays on the nodes that are drained: it is of a DaemonSet, or static.")
	case d.Stay > 1:
		w.Line("\n%s pods stay on the nodes that are drained: they are of DaemonSets, or static.", report.Grouped(d.Stay))
	}
	w.budgets(d.Budgets)
	w.workloads(d.Wholes)
	w.pending(d)
	w.numbers("Violations of constraints", d.Violations)
	w.numbers("Pods that wait of classes with a promise", d.Promises)
	w.totals(d)
	return w.Err()
}

// writer prints the parts of a diff.
type writer struct{ *report.Printer }

// item is a pod in a list, with where it goes.
type item struct{ owner, pod, from, to string }

func (w writer) lists(d *Diff) {
	var placed, moved, evicted, gone, lost []item
	for _, p := range d.Placed {
		placed = append(placed, item{p.Owner, p.Pod, "", p.Node})
	}
	for _, p := range d.Moved {
		moved = append(moved, item{p.Owner, p.Pod, p.From, p.To})
	}
	for _, p := range d.Evicted {
		evicted = append(evicted, item{p.Owner, p.Pod, p.From, ""})
	}
	for _, p := range d.Gone {
		if p.Lost {
			lost = append(lost, item{p.Owner, p.Pod, p.Node, ""})
		} else {
			gone = append(gone, item{p.Owner, p.Pod, p.Node, ""})
		}
	}
	w.list("placed", placed)
	w.list("moved", moved)
	w.list("left without a place", evicted)
	w.list("taken away", gone)
	w.list("lost, as nobody makes them again", lost)
}

// list prints pods of one fate, those of an owner that come from and go to the same nodes in one line.
func (w writer) list(fate string, items []item) {
	if len(items) == 0 {
		return
	}
	w.Line("\n%s %s:", report.Count(len(items), "pod"), fate)
	type group struct {
		item
		pods int
	}
	var groups []group
	at := map[item]int{}
	for _, i := range items {
		key := item{i.owner, "", i.from, i.to}
		if _, known := at[key]; !known {
			at[key] = len(groups)
			groups = append(groups, group{item: i})
		}
		groups[at[key]].pods++
	}
	slices.SortStableFunc(groups, func(a, b group) int {
		return cmp.Or(cmp.Compare(a.owner, b.owner), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.pod, b.pod))
	})
	for _, g := range groups[:min(len(groups), mostLines)] {
		who := g.pod
		if g.pods > 1 {
			who = fmt.Sprintf("%d of %s", g.pods, g.owner)
		}
		switch {
		case g.from != "" && g.to != "":
			w.Line("  %s: %s to %s", who, g.from, g.to)
		case g.to != "":
			w.Line("  %s: to %s", who, g.to)
		case g.from != "":
			w.Line("  %s: from %s", who, g.from)
		default:
			w.Line("  %s, which waited", who)
		}
	}
	if more := len(groups) - mostLines; more > 0 {
		w.Line("  and %d more lines; -o json has them all", more)
	}
}

// budgets says for how many pods at a time the nodes could be left.
func (w writer) budgets(list []BudgetUse) {
	for i, b := range list {
		if i == 0 {
			w.Line("\nBudgets of the pods that leave:")
		}
		switch {
		case i == mostLines:
			w.Line("  and %d more; -o json has them all", len(list)-mostLines)
			return
		case b.Refused == b.Pods && b.Several:
			w.Line("  %s lets none of its %s go, as they have several budgets", b.Name, report.Count(b.Pods, "pod"))
		case b.Refused == b.Pods:
			w.Line("  %s lets none of its %s go", b.Name, report.Count(b.Pods, "pod"))
		case b.AtOnce == 0:
			w.Line("  %s lets %d of its %s go, as what is not ready may, and no others", b.Name, b.Pods-b.Refused, report.Count(b.Pods, "pod"))
		default:
			w.Line("  %s: %s, at most %d at a time", b.Name, report.Count(b.Pods, "pod"), b.AtOnce)
		}
	}
}

// workloads says of those that came or grew how much of them runs.
func (w writer) workloads(list []Whole) {
	for _, one := range list[:min(len(list), mostLines)] {
		if one.Run < one.Pods {
			w.Line("\n%s does not fit whole: %d of its %d pods would run.", one.Owner, one.Run, one.Pods)
		}
	}
}

func (w writer) pending(d *Diff) {
	if len(d.Pending) == 0 {
		return
	}
	var shown []report.Pending
	asBefore := 0
	for _, p := range d.Pending {
		if d.Changes() && d.waited(&p) {
			asBefore += p.Tasks
		} else {
			shown = append(shown, p)
		}
	}
	if len(shown) > 0 {
		w.Line("\nWhy pods wait afterwards:")
	}
	for i := range shown[:min(len(shown), mostLines)] {
		w.Line("  %s", shown[i].String())
	}
	if more := len(shown) - mostLines; more > 0 {
		w.Line("  and %d more groups; -o json has them all", more)
	}
	if asBefore > 0 {
		w.Line("\n%s waited before, and would still; without changes 'fairlead plan' says why.", report.Count(asBefore, "pod"))
	}
}

// numbers lists those that change.
func (w writer) numbers(title string, list []Number) {
	list = slices.DeleteFunc(slices.Clone(list), func(n Number) bool { return n.Before == n.After })
	if len(list) > 0 {
		w.Line("\n%s:", title)
	}
	for i, n := range list {
		if i == mostLines {
			w.Line("  and %d more; -o json has them all", len(list)-mostLines)
			return
		}
		w.Line("  %s: %s before, %s after", n.Of, report.Grouped(n.Before), report.Grouped(n.After))
	}
}

func (w writer) totals(d *Diff) {
	rows := []string{"\n\tBEFORE\tAFTER"}
	add := func(name string, before, after int) {
		if before != 0 || after != 0 {
			rows = append(rows, fmt.Sprintf("%s\t%s\t%s", name, report.Grouped(before), report.Grouped(after)))
		}
	}
	add("nodes", d.Before.Nodes, d.After.Nodes)
	add("nodes in use", d.Before.InUse, d.After.InUse)
	add("pods that run", d.Before.Running, d.After.Running)
	add("pods that wait", d.Before.Pending, d.After.Pending)
	add("of these, with a promise", d.Before.Promised, d.After.Promised)
	add("violations of constraints", d.Before.Violations, d.After.Violations)
	price := func(name string, before, after float64) {
		if before != 0 || after != 0 {
			rows = append(rows, fmt.Sprintf("%s\t%.3f\t%.3f", name, before, after))
		}
	}
	price("price of all nodes an hour", d.Before.Price, d.After.Price)
	price("price of nodes in use", d.Before.InUsePrice, d.After.InUsePrice)
	add("nodes without a price", d.Before.Unpriced, d.After.Unpriced)
	w.Table(rows)
}
