package report

import (
	"bytes"
	"fmt"
)

// This file is an acceptance table: targets that a policy is held to, each beside what another policy reaches.

// Attained says what came of a target.
type Attained string

// What may come of it.
const (
	Met    Attained = "met"
	Missed Attained = "missed"
	NotRun Attained = "not run" // and why is in the note
)

// Goal is a target of a row of the table.
type Goal struct {
	Row  string `json:"row"`
	What string `json:"what"` // is measured
	Unit Unit   `json:"unit"`
	// Rival is the policy that was best so far, and Theirs what it reaches.
	Rival  string  `json:"rival"`
	Theirs *Number `json:"theirs,omitempty"`
	// Target is what Ours shall be at most, or at least.
	Target  *Number  `json:"target,omitempty"`
	AtLeast bool     `json:"at_least,omitempty"`
	Ours    *Number  `json:"ours,omitempty"`
	Verdict Attained `json:"verdict"`
	// Note says by how much the samples differ that Ours is the mean of, or why nothing was run.
	Note string `json:"note,omitempty"`
}

// Hold fills in the verdict of a goal whose numbers are there.
func (g *Goal) Hold() {
	g.Verdict = Missed
	if g.AtLeast && *g.Ours >= *g.Target || !g.AtLeast && *g.Ours <= *g.Target {
		g.Verdict = Met
	}
}

// target prints it with its direction.
func (g *Goal) target() string {
	switch {
	case g.Target == nil:
		return "-"
	case g.AtLeast:
		return "≥ " + g.Unit.Show(*g.Target)
	}
	return "≤ " + g.Unit.Show(*g.Target)
}

// GoalsGrid is the acceptance table; without rows where there are no targets.
func (r *Reproduction) GoalsGrid() Grid {
	g := Grid{Titles: []string{"row", "measure", "policy so far", "it has", "target", "ours", "", "note"}, Labels: 3}
	for i := range r.Goals {
		x := &r.Goals[i]
		g.Rows = append(g.Rows, []string{x.Row, x.What, x.Rival, x.Unit.optional(x.Theirs), x.target(), x.Unit.optional(x.Ours), string(x.Verdict), x.Note})
	}
	return g
}

// writeGoals prints the table, and below it the notes.
func writeGoals(text *bytes.Buffer, r *Reproduction) {
	if len(r.Goals) == 0 {
		return
	}
	lines, counts := []line{{"ROW", "MEASURE", "SO FAR", "HAS", "TARGET", "OURS", ""}}, map[Attained]int{}
	for _, row := range r.GoalsGrid().Rows {
		lines = append(lines, row[:7])
	}
	text.WriteByte('\n')
	align(text, lines, 3)
	for i := range r.Goals {
		g := &r.Goals[i]
		counts[g.Verdict]++
		if g.Note != "" {
			fmt.Fprintf(text, "%s, %s: %s\n", g.Row, g.What, g.Note)
		}
	}
	fmt.Fprintf(text, "%d targets met, %d missed, %d not run\n", counts[Met], counts[Missed], counts[NotRun])
}
