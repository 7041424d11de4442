package sim

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file lets somebody else hear of every call that a run makes on its core, who may
// write them down: the same calls on a core like it decide the same.

// Call is a call on the core with what came of it. Its lists are valid until the function
// that hears of it returns.
type Call struct {
	Kind CallKind
	At   cluster.Time
	Lane int                         // of Begin and Finish
	In   []cluster.Event             // of Observe
	Out  []sched.Decision            // of all but Begin
	Name func(cluster.TaskID) string // what people call a task that is there; empty if none is
}

// CallKind is which method of the core was called.
type CallKind uint8

// The calls that a run makes. Rounds run without a budget.
const (
	Observe CallKind = iota
	Step
	Begin
	Finish
)

// onCall is to whom calls are reported, with the names of tasks; nil if to nobody.
func (s *simulation) onCall() func(Call) {
	calls := s.cfg.Calls
	if calls == nil {
		return nil
	}
	name := func(t cluster.TaskID) string {
		if int(t) >= len(s.tasks.list) || s.tasks.list[t].seq == 0 {
			return ""
		}
		return s.tasks.list[t].listed()
	}
	return func(c Call) {
		c.Name = name
		calls(c)
	}
}
