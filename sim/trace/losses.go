package trace

import "fmt"

// Losses says what becomes of what a format cannot hold, when it is written.
// Unless Lenient, the first such thing ends the writing; if Lenient, it is left
// out and counted.
type Losses struct {
	Lenient bool
	Counts  []Loss // in the order in which they were met first
}

// Loss is what a format cannot hold, in the plural, and how often it was met.
type Loss struct {
	What  string
	Count int
}

// Refuse returns an error about the record, of which the format cannot hold
// what, in the plural: "names that are not UTF-8". If l is lenient it counts it
// and returns nil.
func (l *Losses) Refuse(r *Record, what string) error {
	if !l.Lenient {
		return fmt.Errorf("%s: the format holds no %s", r.subject(), what)
	}
	for i := range l.Counts {
		if l.Counts[i].What == what {
			l.Counts[i].Count++
			return nil
		}
	}
	l.Counts = append(l.Counts, Loss{what, 1})
	return nil
}

// subject says what the record is about, and when.
func (r *Record) subject() string {
	switch r.What {
	case TaskSubmitted, TaskKilled:
		return fmt.Sprintf("%s at %v: task %d of job %d", r.What, r.Time, r.Task.Index, r.Task.Job)
	case ConstraintAdded, ConstraintRemoved:
		return fmt.Sprintf("%s at %v: %q", r.What, r.Time, r.Constraint.Name)
	case BudgetAdded:
		return fmt.Sprintf("%s at %v: %q", r.What, r.Time, r.Budget.Name)
	default:
		return fmt.Sprintf("%s at %v: node %d", r.What, r.Time, r.Node.ID)
	}
}
