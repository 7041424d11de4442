package sched

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
)

// Reason says with numbers why a task is not placed.
type Reason struct {
	Phase  cluster.Phase
	Ending bool // another copy of it has finished
	// Nodes counts the live nodes. Each of them is counted in exactly one of the fields
	// below, under the first thing that it refuses for, but for those that could hold one
	// of too many copies: they are counted in Copies.Ever.
	Nodes       int
	NotEligible int
	NotApart    int     // hold another task of the job
	Short       []Short // per resource kind; Short[k].Nodes may be 0
	Pieces      Pieces
	Violated    []Violated // per bound of a hard constraint, in their order
	Admit       int        // would take the task now: it waits for its turn
	// Unplaceable says that no eligible node is large enough even when empty, or too
	// few are for the copies.
	Unplaceable bool
	Copies      Copies
	Whole       Whole
}

// Whole is how it stands with an application whose tasks are placed together or not at all;
// the zero value is of a task that stands for itself.
type Whole struct {
	Tasks int // that wait for it, this one included
	Found int // how many of them would find a node if the others were left out
	// Conflict is what leaves no place to all of them: a smallest set of what they demand,
	// hard constraints among it. It is empty if they would be placed.
	Conflict []string
	// With names applications that wait, too, and with which it is placed, as it may have to
	// stand beside them.
	With []string
}

// String says it in words, if something conflicts.
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

// Copies is what a task wants beside a place for the least that it takes; the zero value
// is nothing.
type Copies struct {
	Want  int   // tasks that are placed at once, this one included, each on a node of its own
	Grant int64 // what each of them is to be given of the first kind
	Now   int   // nodes that would take one of them now
	Ever  int   // nodes that could hold the least of one, if they were empty
}

// Short counts the nodes on which one kind does not suffice.
type Short struct {
	Nodes int
	Need  int64
	Most  int64 // the most that any of them has left, or holds at all if Unplaceable
}

// Pieces counts the nodes that have enough left of the kind that comes in
// devices, but not in pieces that are large enough.
type Pieces struct {
	Nodes int
	Kind  int // which kind that is
	Need  cluster.DeviceNeed
	Most  int // the most such devices that any of the nodes has left, or has at all if Unplaceable
}

// Violated counts the nodes on which a task would violate a bound of a hard constraint.
type Violated struct {
	Constraint cluster.ConstraintID
	Bound      int    // of all alternatives, one after the other
	Name       string // of the constraint
	Nodes      int
	// Most says that more would be counted than the bound's Max, Limit; else fewer than
	// its Min.
	Most  bool
	Limit int64
	Count int64 // what would be counted, on the node where it is nearest to Limit
}

// Explain looks at every node to say why the task is not placed.
func Explain(s *cluster.View, t cluster.TaskID) Reason {
	task := s.Task(t)
	shape := s.Shape(task.Shape)
	r := Reason{Phase: task.Phase, Ending: task.Ending, Short: make([]Short, len(shape.Demand)), Unplaceable: true}
	r.Pieces = Pieces{Kind: s.DeviceKind(), Need: s.DeviceNeed(task.Shape)}
	for k := range r.Short {
		r.Short[k] = Short{Need: shape.Demand[k], Most: -cluster.MaxQuantity}
	}
	for i := range s.NodeRows() {
		n := cluster.NodeID(i)
		if !s.NodeLive(n) {
			continue
		}
		r.Nodes++
		if s.FitsEmpty(task.Shape, n) {
			r.Unplaceable = false
		}
		countRefusal(&r, s, t, n)
	}
	if r.Unplaceable {
		measureEmpty(&r, s, shape)
	}
	return r
}

// ExplainCopies is Explain for a task that is placed together with others like it, each
// on a node of its own, and given more than the least: Want and Grant.
func ExplainCopies(s *cluster.View, t cluster.TaskID, c Copies) Reason {
	r := Explain(s, t)
	shape := s.Task(t).Shape
	for i := range s.NodeRows() {
		n := cluster.NodeID(i)
		if s.FitsEmpty(shape, n) {
			c.Ever++
		}
		if room := s.Limit(n)[0] - s.Used(n)[0]; s.RoomNow(shape, n) && (c.Grant == 0 || room >= c.Grant) && !s.Admits(t, n).Refused() {
			c.Now++
		}
	}
	if r.Copies, r.Unplaceable = c, c.Ever < c.Want; r.Unplaceable {
		measureEmpty(&r, s, s.Shape(shape))
	}
	return r
}

// countRefusal notes why the node refuses the task.
func countRefusal(r *Reason, s *cluster.View, t cluster.TaskID, n cluster.NodeID) {
	task := s.Task(t)
	shape := s.Shape(task.Shape)
	// Where the task is not to stand beside another of its job, room that comes free is of
	// no use to it: that is the reason, also on a node that is full. To ask costs a look at
	// all tasks of the node, and is left to where there is room for a task that has no such
	// limit itself.
	if shape.PerNode > 0 && task.Phase == cluster.Waiting && s.Eligible(shape.Eligible, n) && s.Crowded(t, n) {
		r.NotApart++
		return
	}
	switch refusal := s.AdmitsShape(task.Shape, n); refusal.Code {
	case cluster.Allowed:
		if task.Phase == cluster.Waiting && s.Admits(t, n).Code == cluster.NotApart {
			r.NotApart++
		} else {
			r.Admit++
		}
	case cluster.NoRoom:
		short := &r.Short[refusal.Kind]
		short.Nodes++
		short.Most = max(short.Most, refusal.Have)
	case cluster.NoDevice:
		r.Pieces.Nodes++
		r.Pieces.Most = max(r.Pieces.Most, int(refusal.Have))
	case cluster.Violates:
		r.Violated = violated(r.Violated, s, refusal)
	default:
		r.NotEligible++
	}
}

// violated notes that a node refuses the task for a constraint.
func violated(list []Violated, s *cluster.View, refusal cluster.Refusal) []Violated {
	now := Violated{
		Constraint: refusal.Constraint, Bound: refusal.Kind, Name: s.Constraint(refusal.Constraint).Name,
		Most: refusal.Have > refusal.Need, Limit: refusal.Need, Count: refusal.Have,
	}
	at, found := slices.BinarySearchFunc(list, now, func(a, b Violated) int {
		most := func(v Violated) int {
			if v.Most {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(a.Constraint, b.Constraint), cmp.Compare(a.Bound, b.Bound), cmp.Compare(most(a), most(b)))
	})
	if !found {
		list = slices.Insert(list, at, now)
	}
	v := &list[at]
	v.Nodes++
	if now.Most {
		v.Count = min(v.Count, now.Count)
	} else {
		v.Count = max(v.Count, now.Count)
	}
	return list
}

// text says it in words: "12 violate apart: 1 counted, at most 0".
func (v *Violated) text() string {
	limit := "at least"
	if v.Most {
		limit = "at most"
	}
	return fmt.Sprintf("%d violate %s: %d counted, %s %d", v.Nodes, v.Name, v.Count, limit, v.Limit)
}

// measureEmpty replaces what is left on the nodes by what they hold when empty, for a task
// that fits on none, or on too few for its copies. Nodes that could hold it then are in none
// of the counts.
func measureEmpty(r *Reason, s *cluster.View, shape *cluster.Shape) {
	for k := range r.Short {
		r.Short[k].Nodes, r.Short[k].Most = 0, 0
	}
	r.NotEligible, r.NotApart, r.Admit, r.Violated = 0, 0, 0, nil
	r.Pieces.Nodes, r.Pieces.Most = 0, 0
	for i := range s.NodeRows() {
		n := cluster.NodeID(i)
		if !s.NodeLive(n) {
			continue
		}
		if !s.Eligible(shape.Eligible, n) {
			r.NotEligible++
			continue
		}
		counted := false
		for k, need := range shape.Demand {
			if have := s.Limit(n)[k]; need > have && !counted {
				r.Short[k].Nodes++
				r.Short[k].Most = max(r.Short[k].Most, have)
				counted = true
			}
		}
		if have := s.WholeDevices(n, r.Pieces.Need); !counted && have < r.Pieces.Need.Count {
			r.Pieces.Nodes++
			r.Pieces.Most = max(r.Pieces.Most, have)
		}
	}
}

// Code is the reason in one word, to count by: "unplaceable", "eligibility",
// "apart", "constraint", "application", "copies", "share", "turn", "gated", "ending", the name of the kind that most nodes lack, or that
// with "-pieces" behind it, where they have enough in pieces that are too small.
func (r Reason) Code(kinds []cluster.Kind) string {
	switch {
	case r.Ending:
		return "ending"
	case r.Phase == cluster.Gated:
		return "gated"
	case r.Unplaceable:
		return "unplaceable"
	case r.Whole.Tasks > 0 && len(r.Whole.Conflict) == 0:
		return "turn"
	case len(r.Whole.Conflict) > 0 && r.Admit > 0:
		return "application"
	case r.Admit > 0 && r.Admit < r.Copies.Want:
		return "copies"
	case r.Admit > 0 && r.Copies.Now < r.Copies.Want:
		return "share"
	case r.Admit > 0:
		return "turn"
	}
	code, most := "eligibility", 0
	for k, short := range r.Short {
		if short.Nodes > most {
			code, most = kinds[k].Name, short.Nodes
		}
	}
	if r.Pieces.Nodes > most {
		code, most = kinds[r.Pieces.Kind].Name+"-pieces", r.Pieces.Nodes
	}
	if r.NotApart > most {
		code, most = "apart", r.NotApart
	}
	violated := 0
	for _, v := range r.Violated {
		violated += v.Nodes
	}
	if violated > most {
		return "constraint"
	}
	return code
}

// Text says the reason in a sentence with its numbers, without a full stop.
func (r Reason) Text(kinds []cluster.Kind) string {
	if r.Ending {
		return "it is to end: another copy of it has finished"
	}
	if r.Phase == cluster.Gated {
		return "gated: it has not been released for placement"
	}
	if r.Phase != cluster.Waiting {
		return "it is " + r.Phase.String()
	}
	why := strings.Join(r.Refusals(kinds), ", ")
	if why != "" {
		why = ": " + why
	}
	if few := r.TooFew(); few != "" {
		return fmt.Sprintf("unplaceable: %s%s", few, why)
	}
	if r.Unplaceable {
		return fmt.Sprintf("unplaceable on any of %d nodes, even empty%s", r.Nodes, why)
	}
	if len(r.Whole.Conflict) > 0 {
		return fmt.Sprintf("%s. Of %d nodes, %d take this task by itself%s", r.Whole, r.Nodes, r.Admit, why)
	}
	if r.Whole.Tasks > 0 {
		return fmt.Sprintf("waits for its turn: all %d tasks of its application would be placed%s", r.Whole.Tasks, r.Whole.with())
	}
	if c := r.Copies; r.Admit > 0 && c.Now < c.Want {
		return fmt.Sprintf("%d of %d nodes have the %s %s left that it is to be given, and it wants %d%s", c.Now, r.Nodes, kinds[0].Format(c.Grant), kinds[0].Name, c.Want, why)
	}
	if r.Admit > 0 {
		return fmt.Sprintf("waits for its turn: %d of %d nodes would take it%s", r.Admit, r.Nodes, why)
	}
	return fmt.Sprintf("0 of %d nodes take it%s", r.Nodes, why)
}

// TooFew says of copies, of which not all find a node of their own, how many nodes could
// hold one; it is empty where not even one could, or where there are no copies.
func (r Reason) TooFew() string {
	if c := r.Copies; r.Unplaceable && c.Ever > 0 {
		return fmt.Sprintf("it wants a node for each of %d copies, and %d of %d nodes could hold one, even empty", c.Want, c.Ever, r.Nodes)
	}
	return ""
}

// Refusals says in words how many nodes refuse for which reason: "2 lack cpu (needs 4,
// left at most 3)".
func (r Reason) Refusals(kinds []cluster.Kind) []string {
	var parts []string
	for k, short := range r.Short {
		if short.Nodes == 0 {
			continue
		}
		left := "left at most"
		if r.Unplaceable {
			left = "the largest offers"
		}
		parts = append(parts, fmt.Sprintf("%d lack %s (needs %s, %s %s)", short.Nodes, kinds[k].Name, kinds[k].Format(short.Need), left, kinds[k].Format(short.Most)))
	}
	if p := r.Pieces; p.Nodes > 0 {
		parts = append(parts, fmt.Sprintf("%d lack %s in one piece (needs %d with %s left, there are at most %d)", p.Nodes, kinds[p.Kind].Name, p.Need.Count, kinds[p.Kind].Format(p.Need.Share), p.Most))
	}
	if r.NotEligible > 0 {
		parts = append(parts, fmt.Sprintf("%d are not eligible", r.NotEligible))
	}
	if r.NotApart > 0 {
		parts = append(parts, fmt.Sprintf("%d hold another task of its job", r.NotApart))
	}
	for i := range r.Violated {
		parts = append(parts, r.Violated[i].text())
	}
	return parts
}
