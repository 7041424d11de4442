package request

import (
	"errors"
	"fmt"

	"fairlead.dev/fairlead/constraint"
)

// This file holds the constraints of a request against one another and against what there
// is.

// Contradictions returns an error if constraints contradict that have to hold, naming both, and
// as warnings those that need not.
func (r *Request) Contradictions() (warnings []string, err error) {
	var wrong []error
	for _, c := range constraint.Contradictions(r.Problem.Constraints, constraint.Known(&r.Problem)) {
		if c.Hard {
			wrong = append(wrong, fmt.Errorf("constraints contradict: %s", c.Sentence))
			continue
		}
		warnings = append(warnings, c.Sentence)
	}
	return warnings, errors.Join(wrong...)
}

// Warnings are what may be mistakes: tags and groups that nobody has, with the nearest that
// somebody has.
func (r *Request) Warnings() []string {
	var warnings []string
	for _, w := range constraint.Warnings(r.Problem.Constraints, constraint.Known(&r.Problem)) {
		warnings = append(warnings, w.Sentence)
	}
	return warnings
}
