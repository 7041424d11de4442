package request

import (
	"errors"
	"fmt"

	"fairlead.dev/fairlead/constraint"
)

// This file holds the constraints of a request against one another and against what there
// is. What it says begins with where the constraint is written, and names it.

// Contradictions returns an error if constraints contradict that have to hold, naming both, and
// as warnings those that need not.
func (r *Request) Contradictions() (warnings []string, err error) {
	var wrong []error
	for _, c := range constraint.Contradictions(r.Problem.Constraints, constraint.Known(&r.Problem)) {
		least, most := c.Least.Constraint, c.Most.Constraint
		text := c.Sentence
		if r.written != nil && most != least {
			text += " (the second is on " + r.written[most].String() + ")"
		}
		if c.Hard {
			wrong = append(wrong, fmt.Errorf("%sconstraints contradict: %s", r.place(least), text))
			continue
		}
		warnings = append(warnings, r.place(least)+text)
	}
	return warnings, errors.Join(wrong...)
}

// Warnings are what may be mistakes: tags and groups that nobody has, with the nearest that
// somebody has, and what is said twice.
func (r *Request) Warnings() []string {
	var warnings []string
	for _, w := range constraint.Warnings(r.Problem.Constraints, constraint.Known(&r.Problem)) {
		sentence := w.Sentence
		switch {
		case w.Same < 0:
		case r.written != nil:
			sentence = "is written on " + r.written[w.Same].String() + " too, and counts twice"
		default:
			sentence = "is there twice, and counts twice"
		}
		warnings = append(warnings, r.place(w.Constraint)+constraint.Title(&r.Problem.Constraints[w.Constraint])+": "+sentence)
	}
	return warnings
}

// place is where a constraint is written, as it stands before a message; empty if nobody knows.
func (r *Request) place(row int) string {
	if r.written == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d: ", r.source, r.written[row].line, r.written[row].column)
}

func (p position) String() string { return fmt.Sprintf("line %d, column %d", p.line, p.column) }
