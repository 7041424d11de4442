package setup

import (
	"fmt"

	"fairlead.dev/fairlead/sim/trace"
)

// unpromised is a source under the table that promises nothing: which classes its tasks name is left aside,
// and said at its end.
type unpromised struct {
	trace.Source
	note  func([]string)
	named int
	first string
}

// Next fills in the next record.
func (u *unpromised) Next(r *trace.Record) error {
	err := u.Source.Next(r)
	switch {
	case err == nil && r.What == trace.TaskSubmitted && r.Task.Promise != "":
		if u.named++; u.named == 1 {
			u.first = r.Task.Promise
		}
		r.Task.Promise = ""
	case err != nil && u.named > 0 && u.note != nil:
		u.note([]string{fmt.Sprintf("%d tasks name a class of promises, such as %s, and --classes none promises nothing; --classes google, or a table of your own, says what it promises", u.named, u.first)})
		u.named = 0
	}
	return err
}
