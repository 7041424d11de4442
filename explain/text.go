package explain

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
)

// This file prints answers as text. Names are printed as report.Printable has them, as a recording or a
// trace may come from anybody.

// Text is how answers are printed.
type Text struct {
	Lines int    // of a table, at most; below 1 there is no limit
	More  string // says behind a table that is cut short how to see more of it; may be empty
	// Dump says that the moment is that of a cluster's dump, which has no time, and by which policy pods that wait there
	// find a place; empty: it is none.
	Dump string
}

// Write prints the answer.
func (x Text) Write(out io.Writer, a *Answer) error {
	if x.Lines < 1 {
		x.Lines = math.MaxInt
	}
	w := &writer{Text: x, Printer: report.NewPrinter(out), at: shortly(a.At)}
	switch {
	case a.Task != nil && len(a.Waiting) > 0:
		w.waiting(a.Waiting)
		w.Line("\nOne of them:")
		w.task(a.Task)
	case a.Task != nil:
		w.task(a.Task)
	case len(a.Waiting) == 0 && x.Dump != "":
		w.Line("No pod waits.")
	case len(a.Waiting) == 0:
		w.Line("At %s no task waits.", w.at)
	default:
		w.waiting(a.Waiting)
		w.worth(a.Worth)
	}
	w.placed(a)
	return w.Err()
}

// mostPlaced is how many pods are named that find a place.
const mostPlaced = 3

// placed says which of those that wait in the dump find a place.
func (w *writer) placed(a *Answer) {
	switch {
	case len(a.Placed) == 0:
		return
	case a.Task != nil && len(a.Placed) == 1 && a.Placed[0].Task == a.Task.Name:
		w.Line("\nIn the dump it waits: nothing keeps %s from placing it.", w.Dump)
		return
	}
	var names []string
	for _, p := range a.Placed[:min(len(a.Placed), mostPlaced)] {
		names = append(names, p.Task+" on "+p.Node)
	}
	if more := len(a.Placed) - mostPlaced; more > 0 {
		names = append(names, report.Grouped(more)+" more")
	}
	wait := "pods that wait in the dump find"
	if len(a.Placed) == 1 {
		wait = "pod that waits in the dump finds"
	}
	w.Line("\n%s %s a place under %s, as 'fairlead plan' lists: %s.", report.Grouped(len(a.Placed)), wait, w.Dump, strings.Join(names, ", "))
}

// shortly prints a moment.
func shortly(at report.Number) string {
	return report.ShortTime(cluster.Time(float64(at) * float64(cluster.Second)))
}

// writer prints the parts of an answer.
type writer struct {
	Text
	*report.Printer
	at string
}

func (w *writer) task(t *Task) {
	where := t.Phase
	if t.Node != "" {
		where += " on " + t.Node
	}
	if w.Dump != "" {
		w.Line("task %s: %s; policy %s", t.Name, where, t.Policy)
	} else {
		w.Line("task %s at %s: %s; policy %s", t.Name, w.at, where, t.Policy)
	}
	w.Line("needs %s", amounts(t.Needs))
	if t.Others.Gated && t.Gate != "" {
		w.Line("It is %s.", t.Gate)
		return
	}
	if t.Others.Gated {
		w.Line("It has not been released for placement.")
		return
	}
	for _, sentence := range t.Standing {
		w.Line("%s", sentence)
	}
	as := ""
	if t.Node != "" {
		as = ", if it left " + t.Node + " now"
	}
	switch {
	case t.Price == nil:
		other := ""
		if t.Node != "" {
			other = "other "
		}
		w.Line("\nPolicy %s has no prices. Of %snodes that would take it now there %s%s.", t.Policy, other, are(t.Nodes), some(t.Takers, t.Nodes))
	case t.Nodes == 0:
		w.price(t.Price)
		w.Line("\nNo node would take it%s.", as)
	default:
		w.price(t.Price)
		w.Line("\n%s would take it%s:", count(t.Nodes, "node"), as)
		w.prices(t.Price)
	}
	w.others(t)
}

// price prints what waiting costs, and evicting it from where it runs.
func (w *writer) price(p *Price) {
	parts := partsOf(p.WaitParts)
	if parts != "" {
		parts = ": " + parts
	}
	if p.Wait != nil {
		w.Line("waiting costs %s%s", p.waiting(), parts)
	}
	if len(p.HoldParts) == 0 {
		return
	}
	sum := int64(0)
	for _, part := range p.HoldParts {
		sum += part.Cost
	}
	w.Line("evicting it costs %s: %s", priced(sum), partsOf(p.HoldParts))
}

// priced prints a price. The unit is the policy's own, so that prices are there to be compared with each other, digit by digit.
func priced(price int64) string {
	if price > -grouped && price < grouped {
		return fmt.Sprint(price)
	}
	return report.Grouped(price)
}

// grouped is from where on digits stand in groups of three.
const grouped = 10_000

// waiting says what waiting costs.
func (p *Price) waiting() string {
	text := priced(*p.Wait)
	if p.WaitChanges != nil {
		text += ", until " + shortly(*p.WaitChanges)
	}
	return text
}

// prices prints a line a candidate, and where the task would go.
func (w *writer) prices(p *Price) {
	first := p.first()
	lines := []string{"NODE\tCOST\tPARTS"}
	for i := range p.Candidates {
		c := &p.Candidates[i]
		note := ""
		if c.Here {
			note += " (here)"
		}
		if c.Full {
			note += " (has no room now)"
		}
		lines = append(lines, report.Sprintf("%s%s\t%s\t%s", c.Node, note, priced(c.Cost), c.parts(first)))
	}
	w.Table(lines)
	cheapest := &p.Candidates[0]
	for i := range p.Candidates {
		if p.Candidates[i].Here && p.Candidates[i].Cost <= cheapest.Cost {
			cheapest = &p.Candidates[i]
		}
	}
	switch {
	case p.Wait == nil:
	case cheapest.Cost > *p.Wait:
		w.Line("Waiting costs less than any of them.")
	case cheapest.Cost == *p.Wait:
		w.Line("Waiting costs as much as %s.", cheapest.Node)
	default:
		w.Line("%s costs %s less than waiting.", cheapest.Node, priced(*p.Wait-cheapest.Cost))
	}
}

// first is the candidate that others are compared with: where the task is, or else the cheapest.
func (p *Price) first() *Candidate {
	return &p.Candidates[max(0, slices.IndexFunc(p.Candidates, func(c Candidate) bool { return c.Here }))]
}

// parts says what the price consists of, or how it differs from the first's: "12 more:
// 8 for spread, 4 for load".
func (c *Candidate) parts(first *Candidate) string {
	if c == first {
		return partsOf(c.Parts)
	}
	switch why := partsOf(c.More); {
	case why == "":
		return "as much"
	case c.Cost == first.Cost:
		return "as much: " + why
	case c.Cost < first.Cost:
		return fmt.Sprintf("%s less: %s", priced(first.Cost-c.Cost), why)
	default:
		return fmt.Sprintf("%s more: %s", priced(c.Cost-first.Cost), why)
	}
}

// others says why the nodes that do not take the task do not.
func (w *writer) others(t *Task) {
	o := &t.Others
	switch why := strings.Join(o.Whys, ", "); {
	case o.Copies != "" && why == "":
		w.Line("Unplaceable: %s.", o.Copies)
	case o.Copies != "":
		w.Line("Unplaceable: %s: %s.", o.Copies, why)
	case o.Unplaceable:
		w.Line("Not even if it were empty: %s.", why)
	case o.Nodes == 0 || why == "":
	case t.Nodes == 0 && t.Node == "":
		w.Line("Of %s %s.", count(o.Nodes, "node"), why)
	case o.Nodes == 1:
		w.Line("The other node would not: %s.", why)
	default:
		w.Line("The other %s would not: %s.", report.Grouped(o.Nodes), why)
	}
	if o.Help != "" {
		w.Line("%s%s.", strings.ToUpper(o.Help[:1]), o.Help[1:])
	}
	if o.Application != "" {
		w.Line("It waits: %s.", o.Application)
	}
}

func (w *writer) waiting(groups []Group) {
	all := 0
	for _, g := range groups {
		all += g.Tasks
	}
	switch {
	case w.Dump != "" && all == 1:
		w.Line("1 pod waits:")
	case w.Dump != "":
		w.Line("%s pods wait:", report.Grouped(all))
	default:
		w.Line("At %s %s:", w.at, waits(all))
	}
	lines := []string{"TASKS\tSUCH AS\tNEED\tWHY"}
	for _, g := range groups[:min(w.Lines, len(groups))] {
		why := g.Why
		if g.Help != "" {
			why += "; " + g.Help
		}
		lines = append(lines, report.Sprintf("%s\t%s\t%s\t%s", report.Grouped(g.Tasks), g.Example, amounts(g.Needs), why))
	}
	w.Table(lines)
	w.rest(len(groups)-w.Lines, "line")
}

// rest says how much was left out of a table.
func (w *writer) rest(n int, thing string) {
	if n <= 0 {
		return
	}
	how := ""
	if w.More != "" {
		how = "; " + w.More
	}
	w.Line("%s more%s.", count(n, thing), how)
}

// worth prints a table for each policy.
func (w *writer) worth(kinds []Worth) {
	for len(kinds) > 0 {
		own := 1
		for own < len(kinds) && kinds[own].Policy == kinds[0].Policy {
			own++
		}
		w.worthTo(kinds[:own])
		kinds = kinds[own:]
	}
}

// worthTo prints the table of a policy.
func (w *writer) worthTo(kinds []Worth) {
	policy, priced, useful := kinds[0].Policy, kinds[0].Most != nil, false
	lines := []string{"LIKE\tOF ITS KIND\tHAS\tWOULD LET RUN"}
	for i := range kinds {
		useful = useful || kinds[i].Tasks > 0 || priced && *kinds[i].Most > 0
		if i < w.Lines {
			lines = append(lines, kinds[i].cells())
		}
	}
	switch {
	case !useful && priced:
		w.Line("\nOne more node of any kind would save nothing, by the prices of %s.", policy)
	case !useful:
		w.Line("\nOne more node of any kind would let none of them run.")
	case priced:
		w.Line("\nOne more node, the kind that saves most by the prices of %s first:", policy)
	default:
		w.Line("\nOne more node, by the room that it has:")
	}
	if useful {
		w.Table(lines)
		w.rest(len(kinds)-w.Lines, "kind")
	}
}

// cells are those of the line about a kind.
func (k *Worth) cells() string {
	return report.Sprintf("%s\t%s\t%s\t%s", k.Like, report.Grouped(k.Nodes), amounts(k.Capacity), count(k.Tasks, "task"))
}

// amounts prints quantities in a row.
func amounts(list []Amount) string {
	var parts []string
	for _, a := range list {
		parts = append(parts, strings.TrimSpace(a.Kind+" "+a.Amount+" "+a.Unit))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// count prints so many of a thing.
func count(n int, thing string) string {
	if n == 0 {
		return "none"
	}
	return report.Count(n, thing)
}

func are(n int) string {
	switch n {
	case 0:
		return "are none"
	case 1:
		return "is 1"
	}
	return "are " + report.Grouped(n)
}

func waits(n int) string {
	if n == 1 {
		return "1 task waits"
	}
	return report.Grouped(n) + " tasks wait"
}

// some names the first of several nodes.
func some(names []string, all int) string {
	switch {
	case len(names) == 0:
		return ""
	case len(names) < all:
		return ", such as " + strings.Join(names, ", ")
	}
	return ": " + strings.Join(names, ", ")
}

// partsOf names parts of a price, but for those that are nothing.
func partsOf(parts []Part) string {
	var list []string
	for _, part := range parts {
		switch {
		case part.Cost < 0:
			list = append(list, priced(-part.Cost)+" less for "+part.Name)
		case part.Cost > 0:
			list = append(list, priced(part.Cost)+" for "+part.Name)
		}
	}
	return strings.Join(list, ", ")
}
