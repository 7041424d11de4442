package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"fairlead.dev/fairlead/capacity/moves"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
)

// This file is the answer of capacity free, drain and level, as a value and in words.

type movesAnswer struct {
	Goal  string `json:"goal"`
	Nodes int    `json:"nodes"` // of the cluster
	// Done are the nodes that are as they should be at the end, in the order in which they come to be so, and Left those
	// that are not, of which there are Bound at least whatever is moved.
	Done  []doneNode `json:"done"`
	Left  []leftNode `json:"left"`
	Bound int        `json:"bound"`
	// Gap is how many nodes fewer could be left at most.
	Gap   int       `json:"gap"`
	Moves []oneMove `json:"moves"`

	Below string `json:"below,omitempty"` // of level

	kinds []cluster.Kind
	done  cluster.Vector // what the nodes of Done have, together
}

type doneNode struct {
	Node string `json:"node"`
	// Moves is after how many of the moves it is done.
	Moves    int                    `json:"moves"`
	Capacity map[string]json.Number `json:"capacity"`
}

type leftNode struct {
	Node string `json:"node"`
	Pod  string `json:"pod"`
	Why  string `json:"why"`
}

type oneMove struct {
	Pod  string `json:"pod"`
	From string `json:"from"`
	To   string `json:"to"`
}

func newMovesAnswer(goal string, l *look, p *moves.Plan) *movesAnswer {
	v := l.v
	name := func(n cluster.NodeID) string { return v.NodeSpec(n).Name }
	a := &movesAnswer{
		Goal: goal, Nodes: v.Totals().Nodes, Bound: p.Bound, Gap: p.Gap(), kinds: v.Kinds(), done: make(cluster.Vector, len(v.Kinds())),
		Done: []doneNode{}, Left: []leftNode{}, Moves: []oneMove{},
	}
	last := map[cluster.NodeID]int{} // after which move each node has nothing to move any more
	for i, m := range p.Moves {
		a.Moves = append(a.Moves, oneMove{l.Names[m.Task], name(m.From), name(m.To)})
		last[m.From] = i + 1
	}
	for _, n := range p.Done {
		a.Done = append(a.Done, doneNode{name(n), last[n], amounts(a.kinds, v.Capacity(n))})
		for k, q := range v.Capacity(n) {
			a.done[k] += q
		}
	}
	for _, left := range p.Left {
		a.Left = append(a.Left, leftNode{name(left.Node), l.Names[left.Task], whyLeft(l, &left)})
	}
	return a
}

// whyLeft says of a pod why its node is left.
func whyLeft(l *look, left *moves.Left) string {
	switch r := left.Refusal; {
	case left.Why == moves.Stays && !mayLeave(l, int(left.Task)):
		return "is kept by the budget " + l.Guards.Of[left.Task][0]
	case left.Why == moves.Stays:
		return "may not be moved"
	case r.Code == cluster.Violates:
		return "would violate " + l.v.Constraint(r.Constraint).Name + " on any other node with room"
	case r.Code == cluster.NotApart:
		return "may not stand beside its like, which all other nodes with room hold"
	case r.Code == cluster.NoDevice:
		return "finds no device that is free enough on any other node"
	}
	return "finds no room on any other node"
}

// print says it in words, with so many lines of moves at most.
func (a *movesAnswer) print(out io.Writer, lines int) error {
	var b strings.Builder
	a.headline(&b)
	a.printLeft(&b)
	if idle := a.idle(); len(idle) > 0 && a.Goal != "level" {
		fmt.Fprintf(&b, "%s nothing to do already: %s\n", have(len(idle)), namesText(idle, 8))
	}
	a.printMoves(&b, lines)
	_, err := io.WriteString(out, b.String())
	return err
}

func (a *movesAnswer) headline(b *strings.Builder) {
	done, left := len(a.Done), len(a.Left)
	gap := "no other moves could do better"
	if a.Gap > 0 {
		gap = fmt.Sprintf("%s are proved to be inevitable, which leaves a gap of %s (%.1f %%)", report.Grouped(a.Bound), report.Grouped(a.Gap), 100*float64(a.Gap)/float64(max(left, 1)))
	}
	switch a.Goal {
	case "free":
		fmt.Fprintf(b, "%s of %s can be switched off, by %s: %s\n", report.Grouped(done), report.Count(a.Nodes, "node"), report.Count(len(a.Moves), "move"), amountsText(a.kinds, a.done))
		fmt.Fprintf(b, "%s on: %s\n", stay(left), gap)
	case "drain":
		fmt.Fprintf(b, "%s of %s can be emptied, by %s\n", report.Grouped(done), report.Count(done+left, "node"), report.Count(len(a.Moves), "move"))
		if left > 0 {
			fmt.Fprintf(b, "%s not empty: %s\n", stay(left), gap)
		}
	case "level":
		fmt.Fprintf(b, "%s fuller than %s; %s of them can be brought below that, by %s\n", are(done+left), a.Below, report.Grouped(done), report.Count(len(a.Moves), "move"))
		if left > 0 {
			fmt.Fprintf(b, "%s fuller: %s\n", stay(left), gap)
		}
	}
}

func have(n int) string {
	if n == 1 {
		return "1 node has"
	}
	return report.Grouped(n) + " nodes have"
}

func stay(n int) string {
	if n == 1 {
		return "1 node stays"
	}
	return report.Grouped(n) + " nodes stay"
}

func are(n int) string {
	if n == 1 {
		return "1 node is"
	}
	return report.Grouped(n) + " nodes are"
}

// idle are the nodes that are done before the first move.
func (a *movesAnswer) idle() (names []string) {
	for _, n := range a.Done {
		if n.Moves == 0 {
			names = append(names, n.Node)
		}
	}
	slices.Sort(names)
	return names
}

// mostReasons is how many reasons are listed.
const mostReasons = 10

// printLeft says why nodes are left, each reason once, with the pods that it is about.
func (a *movesAnswer) printLeft(b *strings.Builder) {
	by := map[string][]string{}
	var reasons []string
	for _, l := range a.Left {
		if by[l.Why] == nil {
			reasons = append(reasons, l.Why)
		}
		by[l.Why] = append(by[l.Why], fmt.Sprintf("%s on %s", l.Pod, l.Node))
	}
	slices.SortStableFunc(reasons, func(a, b string) int { return len(by[b]) - len(by[a]) })
	for i, why := range reasons {
		if i == mostReasons {
			fmt.Fprintf(b, "  and for %s more\n", report.Count(len(reasons)-i, "reason"))
			return
		}
		holds := "hold a pod that"
		if len(by[why]) == 1 {
			holds = "holds a pod that"
		}
		fmt.Fprintf(b, "  %s %s %s: %s\n", report.Grouped(len(by[why])), holds, report.Printable(why), namesText(by[why], 2))
	}
}

// printMoves lists the moves, those in a row from one node together.
func (a *movesAnswer) printMoves(b *strings.Builder, most int) {
	if len(a.Moves) == 0 {
		return
	}
	fmt.Fprintln(b, "\nMoves, in this order:")
	shown := 0
	for i := 0; i < len(a.Moves); shown++ {
		if shown == most {
			fmt.Fprintf(b, "  and %s more; --lines says how many lines to list, -o json has all\n", report.Count(len(a.Moves)-i, "move"))
			return
		}
		from, first := a.Moves[i].From, i
		var to []string
		count := map[string]int{}
		for ; i < len(a.Moves) && a.Moves[i].From == from; i++ {
			if count[a.Moves[i].To]++; count[a.Moves[i].To] == 1 {
				to = append(to, a.Moves[i].To)
			}
		}
		if len(to) > 1 {
			for j, name := range to {
				to[j] = fmt.Sprintf("%s (%d)", name, count[name])
			}
		}
		what := report.Count(i-first, "pod")
		if i-first == 1 {
			what = report.Printable(a.Moves[first].Pod)
		}
		fmt.Fprintf(b, "  %s from %s to %s\n", what, report.Printable(from), namesText(to, 6))
	}
}
