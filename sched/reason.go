package sched

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
)

// Reason says with numbers why a task is not placed.
type Reason struct { //nolint:recvcheck // it is a value to all who read it, and made bit by bit
	Phase cluster.Phase
	Nodes int // that are live
	Admit int // would take the task now: it waits for its turn
	// Causes are what lies in the task (Hindrance), what decides most first, and then what
	// nodes refuse it for. Each live node that does not admit it is counted in exactly one,
	// under the first thing that it refuses for; but for those that could hold one of too
	// many copies: they are counted in Copies.Ever.
	Causes []Cause
	// Remedies are what would let a task that waits come to a node, what takes least first: see
	// remedy.go. There is none where some node takes it.
	Remedies []Remedy
}

// remedy adds what would help a task that no node takes, and puts what nodes refuse for that would
// have to change first before the rest.
func (r *Reason) remedy(s *cluster.View, t cluster.TaskID, f Filters) {
	if r.Admit > 0 || r.Phase != cluster.Waiting || r.Nodes == 0 {
		return
	}
	_, whole := Find[Whole](r)
	_, copies := Find[Copies](r)
	gang, lacks := Find[Gang](r)
	if whole || copies || lacks && gang.Least-gang.Has > 1 { // a place for this task alone is none
		return
	}
	r.Remedies = remedies(s, t, f)
	if len(r.Remedies) == 0 {
		return
	}
	first := r.Remedies[0].Obstacles
	slices.SortStableFunc(r.Causes, func(a, b Cause) int { return helps(b, first) - helps(a, first) })
}

// awaken takes back that the task can be placed nowhere, where it could on a node that is off: who is too large for what is on waits for that to wake.
func (r *Reason) awaken() {
	asleep := func(o Obstacle) bool { return o.Mechanism == ByOff || o.Mechanism == ByWaking }
	if len(r.Remedies) > 0 && !slices.ContainsFunc(r.Remedies[0].Obstacles, func(o Obstacle) bool { return !asleep(o) }) {
		r.Causes = slices.DeleteFunc(r.Causes, func(c Cause) bool { _, is := c.(Unplaceable); return is })
	}
}

// helps is 2 for a cause that lies in the task, 1 for one of nodes that is among the obstacles, and else 0.
func helps(c Cause, first []Obstacle) int {
	if _, hinders := c.(Hindrance); hinders {
		return 2
	}
	if slices.ContainsFunc(first, func(o Obstacle) bool { return o.is(c) }) {
		return 1
	}
	return 0
}

// Explain looks at every node to say why the task is not placed.
func Explain(s *cluster.View, t cluster.TaskID) Reason {
	task := s.Task(t)
	r := NewReason(task)
	var refusals Refusals
	unplaceable := true
	for n := range cluster.NodeID(s.NodeRows()) {
		if !s.NodeLive(n) {
			continue
		}
		r.Nodes++
		unplaceable = unplaceable && !s.FitsEmpty(task.Shape, n)
		if !refusals.count(s, t, n) {
			r.Admit++
		}
	}
	if unplaceable {
		r.Causes = append(r.Causes, Unplaceable{})
		r.Admit, refusals = 0, measureEmpty(s, task.Shape)
	}
	r.Causes = append(r.Causes, refusals.Causes()...)
	if task.Phase == cluster.Waiting && r.Admit == 0 && !unplaceable {
		noteTogether(&r, s, task.Shape)
	}
	return r
}

// NewReason begins the reason of a task: with what keeps it from being placed wherever there
// is room.
func NewReason(task *cluster.Task) Reason {
	r := Reason{Phase: task.Phase}
	if task.Told == cluster.ToEnd {
		r.Causes = append(r.Causes, CopyFinished{})
	}
	if task.Phase != cluster.Waiting {
		r.Causes = append(r.Causes, NotWaiting{Phase: task.Phase})
	}
	return r
}

// ExplainCopies is Explain for a task that is placed together with others like it, each
// on a node of its own, and given more than the least: Want and Grant.
func ExplainCopies(s *cluster.View, t cluster.TaskID, c Copies) Reason {
	r := Explain(s, t)
	shape := s.Task(t).Shape
	for n := range cluster.NodeID(s.NodeRows()) {
		if s.FitsEmpty(shape, n) {
			c.Ever++
		}
		if room := s.Limit(n)[0] - s.Used(n)[0]; s.RoomNow(shape, n) && (c.Grant == 0 || room >= c.Grant) && !s.Admits(t, n).Refused() {
			c.Now++
		}
	}
	if c.Ever < c.Want {
		refusals := measureEmpty(s, shape)
		r.Admit, r.Causes = 0, append(slices.DeleteFunc(r.Causes, func(c Cause) bool { return c.Refusing() > 0 }), refusals.Causes()...)
	}
	r.Hinder(c)
	return r
}

// Hinder adds what lies in the task. It comes behind what lies there already, and before what
// nodes refuse for.
func (r *Reason) Hinder(by Cause) {
	at := slices.IndexFunc(r.Causes, func(c Cause) bool { return c.Refusing() > 0 })
	if at < 0 {
		at = len(r.Causes)
	}
	r.Causes = slices.Insert(r.Causes, at, by)
}

// Unplaceable reports whether no eligible node is large enough even when empty, or too few
// are for the copies.
func (r Reason) Unplaceable() bool {
	_, nowhere := Find[Unplaceable](&r)
	c, copies := Find[Copies](&r)
	return nowhere || copies && c.Ever < c.Want
}

// Code is the reason in a word or a few, to count by: "unplaceable by" what is in the way, "apart",
// "constraint", "application", "gang", "copies", "share", "turn", "claimed", "gated", "ending", the name of the kind that most nodes lack, or that
// with "-pieces" behind it, where they have enough in pieces that are too small. Where room that comes free would not
// help, it is the filter that is least to change: "taint", "label", "cordon", "not ready", "off", "waking"; "eligibility" where nobody
// says which.
func (r Reason) Code(kinds []cluster.Kind) string {
	for _, c := range r.Causes {
		if h, is := c.(Hindrance); is && h.CodeOf(&r) != "" {
			code := h.CodeOf(&r)
			if code == UnplaceableCode && len(r.Remedies) > 0 {
				code += " by " + r.Remedies[0].code(kinds)
			}
			return code
		}
	}
	if r.Admit > 0 {
		return "turn"
	}
	code, most := eligibility, 0
	for i, c := range r.Causes {
		of, nodes := c.Code(kinds), 0
		if of == eligibility || of == bySize {
			continue // it is what is left where no room would help
		}
		for _, same := range r.Causes[i:] {
			if same.Code(kinds) == of {
				nodes += same.Refusing()
			}
		}
		if nodes > most {
			code, most = of, nodes
		}
	}
	if code == eligibility && len(r.Remedies) > 0 {
		return r.Remedies[0].code(kinds)
	}
	return code
}

// Text says the reason in a sentence with its numbers, without a full stop.
func (r Reason) Text(kinds []cluster.Kind) string {
	text := r.Sentence(kinds)
	if help := r.Help(kinds); help != "" {
		text += "; " + help
	}
	return text
}

// Help says what would let the task come to a node: "it would fit with the toleration gpu=yes:NoSchedule
// on any of 14 nodes". It is empty where nothing is known.
func (r Reason) Help(kinds []cluster.Kind) string {
	if len(r.Remedies) == 0 {
		return ""
	}
	var ways []string
	for i := range r.Remedies {
		ways = append(ways, r.Remedies[i].Text(kinds))
	}
	return "it would fit " + strings.Join(ways, ", or ")
}

// Sentence is Text without what would help.
func (r Reason) Sentence(kinds []cluster.Kind) string {
	var list strings.Builder
	between := ": "
	for _, c := range r.Causes {
		if text := c.Text(kinds); text != "" {
			if c.Refusing() == 0 {
				between = "; "
			}
			list.WriteString(between + text)
			between = ", "
		}
	}
	why := list.String()
	for _, c := range r.Causes {
		if h, is := c.(Hindrance); is {
			if text := h.Sentence(&r, kinds, why); text != "" {
				return text
			}
		}
	}
	if r.Admit > 0 {
		return fmt.Sprintf("waits for its turn: %d of %d nodes would take it%s", r.Admit, r.Nodes, why)
	}
	return fmt.Sprintf("0 of %d nodes take it%s", r.Nodes, why)
}

// Refusals says in words how many nodes refuse for which cause: "2 lack cpu (needs 4,
// left at most 3)"; and what else is to be said of them.
func (r Reason) Refusals(kinds []cluster.Kind) []string {
	var parts []string
	for _, c := range r.Causes {
		if text := c.Text(kinds); text != "" {
			parts = append(parts, text)
		}
	}
	return parts
}
