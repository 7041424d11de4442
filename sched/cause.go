package sched

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
)

// This file is what may stand in the way of a task. Each mechanism that refuses nodes, or a
// task as a whole, has a type of its own that says so with its numbers, and nobody else has
// to know of it: a reason is a list of causes.

// Cause is one thing for which nodes refuse a task.
type Cause interface {
	// Refusing is how many nodes do.
	Refusing() int
	// Code is the cause in one word, to count by.
	Code(kinds []cluster.Kind) string
	// Text says it with its numbers: "2 lack cpu (needs 4, left at most 3)".
	Text(kinds []cluster.Kind) string
}

// Hindrance is a cause that lies in the task, and speaks for the reason as a whole.
type Hindrance interface {
	// CodeOf is the reason in one word; empty where the cause decides nothing.
	CodeOf(r *Reason) string
	// Sentence is the reason in words, with what nodes refuse it for at its end, as far as
	// that matters: empty where the cause decides nothing.
	Sentence(r *Reason, kinds []cluster.Kind, refusals string) string
}

// OnNodes is a cause that lies in nodes, so many of them.
type OnNodes struct{ Nodes int }

// Refusing is how many nodes there are.
func (c OnNodes) Refusing() int { return c.Nodes }

// NoRoom counts the nodes on which one kind does not suffice.
type NoRoom struct {
	OnNodes
	Kind  int
	Need  int64
	Most  int64 // the most that any of them has left
	Empty bool  // or rather, holds at all
}

// Code is the name of the kind; of nodes that are too small it is "size", as no room that comes
// free would be of use there.
func (c NoRoom) Code(kinds []cluster.Kind) string {
	if c.Empty {
		return bySize
	}
	return kinds[c.Kind].Name
}

// Text says how much is asked, and what there is.
func (c NoRoom) Text(kinds []cluster.Kind) string {
	kind := kinds[c.Kind]
	switch {
	case !c.Empty && kind.Exclusive():
		return fmt.Sprintf("%d have %s in use", c.Nodes, kind.Name)
	case c.Empty && c.Most == 0:
		return fmt.Sprintf("%d have no %s", c.Nodes, kind.Name)
	case c.Empty:
		return fmt.Sprintf("%d are too small: %s (needs %s, the largest has %s)", c.Nodes, kind.Name, kind.Amount(c.Need), kind.Amount(c.Most))
	}
	return fmt.Sprintf("%d lack %s (needs %s, left at most %s)", c.Nodes, kind.Name, kind.Amount(c.Need), kind.Amount(c.Most))
}

// compare orders by kind, nodes that are too small behind all others.
func (c NoRoom) compare(o NoRoom) int {
	rank := func(c NoRoom) int {
		if c.Empty {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(rank(c), rank(o)), cmp.Compare(c.Kind, o.Kind))
}

// NoPieces counts the nodes that have enough left of a kind that comes in devices, but not
// in pieces that are large enough.
type NoPieces struct {
	OnNodes
	Need cluster.DeviceNeed
	Most int // the most such devices that any of the nodes has left, or has at all
}

// Code is the name of the kind, with "-pieces" behind it.
func (c NoPieces) Code(kinds []cluster.Kind) string { return kinds[c.Need.Kind].Name + "-pieces" }

// Text says how many devices are asked, and how many there are.
func (c NoPieces) Text(kinds []cluster.Kind) string {
	kind := kinds[c.Need.Kind]
	return fmt.Sprintf("%d lack %s in one piece (needs %d with %s left, there are at most %d)", c.Nodes, kind.Name, c.Need.Count, kind.Rounded(c.Need.Share), c.Most)
}

// Filtered counts the nodes that one of the task's own filters keeps it off. Mechanism is what
// filters, such as "label", "taint" or "cordon", and Wants what it wants, such as "zone=a", or
// what is in the way, such as "dedicated=gpu:NoSchedule"; empty where nothing is left to say, both
// of them where nobody says which filter it is.
type Filtered struct {
	OnNodes
	Mechanism, Wants string
}

// Code is "eligibility".
func (Filtered) Code([]cluster.Kind) string { return eligibility }

const eligibility = "eligibility"

// Text says what the nodes lack or have: "3 have the taint gpu=yes:NoSchedule", "5 lack the label
// zone=a". Mechanisms that are not known here are named.
func (c Filtered) Text([]cluster.Kind) string {
	switch {
	case c.Mechanism == "":
		return fmt.Sprintf("%d are not eligible", c.Nodes)
	case c.Mechanism == byLabel && strings.ContainsAny(c.Wants, "!( <>"):
		return fmt.Sprintf("%d do not match %s", c.Nodes, c.Wants)
	case c.Mechanism == byLabel:
		return fmt.Sprintf("%d lack the label %s", c.Nodes, c.Wants)
	case c.Mechanism == byTaint:
		return fmt.Sprintf("%d have the taint %s", c.Nodes, c.Wants)
	case c.Mechanism == byCordon:
		return fmt.Sprintf("%d are cordoned", c.Nodes)
	case c.Mechanism == byNotReady:
		return fmt.Sprintf("%d are not ready", c.Nodes)
	case c.Mechanism == ByOff:
		return fmt.Sprintf("%d are off (waking takes %s)", c.Nodes, c.Wants)
	case c.Mechanism == ByWaking:
		return fmt.Sprintf("%d are waking", c.Nodes)
	case c.Mechanism == byClaim:
		return fmt.Sprintf("%d are out of reach of %s", c.Nodes, claimed(c.Wants))
	case c.Mechanism == byTier:
		return fmt.Sprintf("%d are not of tier %s", c.Nodes, c.Wants)
	case c.Wants == "":
		return fmt.Sprintf("%d are not eligible (%s)", c.Nodes, c.Mechanism)
	}
	return fmt.Sprintf("%d are not eligible (%s: %s)", c.Nodes, c.Mechanism, c.Wants)
}

// claimed is a claim in words; where it has no name but a place in brackets, it is one of several alike.
func claimed(wants string) string {
	if strings.HasPrefix(wants, "(") {
		return "its claim " + wants
	}
	return "the claim " + wants
}

// NotApart counts the nodes that hold as many tasks of the job as they may.
type NotApart struct{ OnNodes }

// Code is "apart".
func (NotApart) Code([]cluster.Kind) string { return "apart" }

// Text says how many nodes hold another task of the job.
func (c NotApart) Text([]cluster.Kind) string {
	return fmt.Sprintf("%d hold another task of its job", c.Nodes)
}

// Violates counts the nodes on which a task would violate a bound of a hard constraint.
type Violates struct {
	OnNodes
	Constraint cluster.ConstraintID
	Bound      int    // of all alternatives, one after the other
	Name       string // of the constraint
	// Most says that more would be counted than the bound's Max, Limit; else fewer than
	// its Min.
	Most  bool
	Limit int64
	Count int64 // what would be counted, on the node where it is nearest to Limit; cluster.InNoSet where it has to come into a set
	// Kept says that it is not the task itself that would not be let in, but somebody for whom a place is kept in the set.
	Kept bool
}

// Code is "constraint".
func (Violates) Code([]cluster.Kind) string { return "constraint" }

// Text names the constraint: "12 violate apart: 1 counted, at most 0".
func (c Violates) Text([]cluster.Kind) string {
	if c.Count == cluster.InNoSet {
		return fmt.Sprintf("%d are in none of the sets over which %s spreads", c.Nodes, c.Name)
	}
	limit := "at least"
	if c.Most {
		limit = "at most"
	}
	if c.Kept {
		return fmt.Sprintf("%d are in sets where a place is kept for another task, which %s would not let in beside it: %d counted, %s %d", c.Nodes, c.Name, c.Count, limit, c.Limit)
	}
	return fmt.Sprintf("%d violate %s: %d counted, %s %d", c.Nodes, c.Name, c.Count, limit, c.Limit)
}

// compare orders violations by constraint and bound, and those last where a place is kept for another task.
func (c Violates) compare(o Violates) int {
	one := func(is bool) int {
		if is {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(c.Constraint, o.Constraint), cmp.Compare(c.Bound, o.Bound), cmp.Compare(one(c.Most), one(o.Most)), cmp.Compare(one(c.Kept), one(o.Kept)))
}

// OfTask is a cause that lies in the task: no node refuses for it.
type OfTask struct{}

// Refusing is 0.
func (OfTask) Refusing() int { return 0 }

// Code is empty.
func (OfTask) Code([]cluster.Kind) string { return "" }

// Text is empty.
func (OfTask) Text([]cluster.Kind) string { return "" }

// CopyFinished says that another copy of the task has finished, so that this one is to end.
type CopyFinished struct{ OfTask }

// CodeOf is "ending".
func (CopyFinished) CodeOf(*Reason) string { return "ending" }

// Sentence says so.
func (CopyFinished) Sentence(*Reason, []cluster.Kind, string) string {
	return "it is to end: another copy of it has finished"
}

// NotWaiting says that the task is not to be placed, or has been.
type NotWaiting struct {
	OfTask
	Phase cluster.Phase
}

// CodeOf is "gated", or else empty.
func (c NotWaiting) CodeOf(*Reason) string {
	if c.Phase == cluster.Gated {
		return c.Phase.String()
	}
	return ""
}

// Sentence says what the task is instead.
func (c NotWaiting) Sentence(*Reason, []cluster.Kind, string) string {
	if c.Phase == cluster.Gated {
		return "gated: it has not been released for placement"
	}
	return "it is " + c.Phase.String()
}

// Unplaceable says that no eligible node is large enough even when empty.
type Unplaceable struct{ OfTask }

// CodeOf is "unplaceable".
func (Unplaceable) CodeOf(*Reason) string { return UnplaceableCode }

// UnplaceableCode is the reason of tasks that no node would take even when empty. What is in the way may
// stand behind it: "unplaceable by taint".
const UnplaceableCode = "unplaceable"

// Sentence says of how many nodes. Where each of them is kept off by filters, their size is no matter.
func (Unplaceable) Sentence(r *Reason, _ []cluster.Kind, refusals string) string {
	if r.Nodes == 0 {
		return "there is no node"
	}
	even := ", even empty"
	if !slices.ContainsFunc(r.Causes, func(c Cause) bool { _, filtered := c.(Filtered); return !filtered && c.Refusing() > 0 }) {
		even = ""
	}
	return fmt.Sprintf("unplaceable on any of %d nodes%s%s", r.Nodes, even, refusals)
}

// Whole is how it stands with an application whose tasks are placed together or not at all.
type Whole struct {
	OfTask
	Tasks int // that wait for it, this one included
	Found int // how many of them would find a node if the others were left out
	// Conflict is what leaves no place to all of them: a smallest set of what they demand,
	// hard constraints among it. It is empty if they would be placed.
	Conflict []string
	// With names applications that wait, too, and with which it is placed, as it may have to
	// stand beside them.
	With []string
}

// CodeOf is "application" where something conflicts and this task alone is not refused
// everywhere, and "turn" where all would be placed.
func (w Whole) CodeOf(r *Reason) string {
	switch {
	case len(w.Conflict) == 0:
		return "turn"
	case r.Admit > 0:
		return "application"
	}
	return ""
}

// Sentence says what conflicts, or that it waits for its turn.
func (w Whole) Sentence(r *Reason, _ []cluster.Kind, refusals string) string {
	if len(w.Conflict) == 0 {
		return fmt.Sprintf("waits for its turn: all %d tasks of its application would be placed%s", w.Tasks, w.with())
	}
	return fmt.Sprintf("%s. Of %d nodes, %d take this task by itself%s", w, r.Nodes, r.Admit, refusals)
}

// String says what conflicts in words, if something does.
func (w Whole) String() string {
	return fmt.Sprintf("its application is placed whole%s, and %d of its %d tasks would find a node: no place was found for all under %s", w.with(), w.Found, w.Tasks, strings.Join(w.Conflict, "; "))
}

// with says in words with whom it is placed: " with app2 and app3".
func (w Whole) with() string {
	switch last := len(w.With) - 1; {
	case last < 0:
		return ""
	case last == 0:
		return " with " + w.With[0]
	default:
		return " with " + strings.Join(w.With[:last], ", ") + " and " + w.With[last]
	}
}

// Copies is what a task wants beside a place for the least that it takes.
type Copies struct {
	OfTask
	Want  int   // tasks that are placed at once, this one included, each on a node of its own
	Grant int64 // what each of them is to be given of the first kind
	Now   int   // nodes that would take one of them now
	Ever  int   // nodes that could hold the least of one, if they were empty
}

// CodeOf is "unplaceable", "copies" where too few nodes take one, and "share" where too few
// have what it is to be given.
func (c Copies) CodeOf(r *Reason) string {
	switch {
	case c.Ever < c.Want:
		return "unplaceable"
	case r.Admit > 0 && r.Admit < c.Want:
		return "copies"
	case r.Admit > 0 && c.Now < c.Want:
		return "share"
	}
	return ""
}

// Sentence says how many nodes it wants, and how many there are.
func (c Copies) Sentence(r *Reason, kinds []cluster.Kind, refusals string) string {
	switch {
	case c.TooFew(r) != "":
		return "unplaceable: " + c.TooFew(r) + refusals
	case r.Admit > 0 && c.Now < c.Want:
		return fmt.Sprintf("%d of %d nodes have the %s %s left that it is to be given, and it wants %d%s", c.Now, r.Nodes, kinds[0].Amount(c.Grant), kinds[0].Name, c.Want, refusals)
	}
	return ""
}

// TooFew says, of copies of which not all find a node of their own, how many nodes could
// hold one; it is empty where not even one could.
func (c Copies) TooFew(r *Reason) string {
	if c.Ever == 0 || c.Ever >= c.Want {
		return ""
	}
	return fmt.Sprintf("it wants a node for each of %d copies, and %d of %d nodes could hold one, even empty", c.Want, c.Ever, r.Nodes)
}

// Together says of a task that some constraints demand others of its like beside it. That is
// no cause of its own: nodes refuse it for the constraints.
type Together struct {
	OfTask
	Constraints []string
}

// Text says on what it waits, as where there seems to be room for it alone, or somebody to evict.
func (c Together) Text([]cluster.Kind) string {
	return fmt.Sprintf("it must stand beside others of its like (%s): they come together where there is room for all, and nobody is evicted for them", strings.Join(c.Constraints, ", "))
}

// noteTogether adds Together to the reason of a task of the shape, where it is so.
func noteTogether(r *Reason, s *cluster.View, shape cluster.ShapeID) {
	var c Together
	for _, id := range s.ConstraintsOf(shape) {
		of := s.Constraint(id)
		if needs, _, _ := needsItsLike([]*cluster.Constraint{of}, s.Shape(shape).Tags); len(needs) > 0 {
			c.Constraints = append(c.Constraints, of.Name)
		}
	}
	if len(c.Constraints) > 0 {
		r.Causes = append(r.Causes, c)
	}
}

// Find returns the cause of a type, and whether the reason has one.
func Find[C Cause](r *Reason) (cause C, found bool) {
	at := slices.IndexFunc(r.Causes, func(c Cause) bool { _, is := c.(C); return is })
	if at < 0 {
		return cause, false
	}
	return r.Causes[at].(C), true
}
