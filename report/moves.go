package report

// This file is about runs that are moved: told to leave so that their own task may run elsewhere. Whether the moves of a policy are worth what
// they take, a comparison with a run without them says.

// Moves says what moving runs took, and which nodes have nothing to do for it. How many did move is Tasks.Migrated.
type Moves struct {
	// Decided is how many runs were told to move. Some may end before they leave, or stay.
	Decided int `json:"decided"`
	// Freed is how many nodes a run that moved was the last to leave, less those where one began with no other there.
	Freed int `json:"nodes_freed"`
	// Lost is the part of Unserved.Lost that runs lost which were told to move: by kind, in the kind's unit times hours.
	Lost map[string]Number `json:"lost_hours"`
}

// moveMetrics are those of runs in which somebody was to move.
func moveMetrics(runs []*Run) []metric {
	var list []metric
	add := func(name string, unit Unit, better Direction, of func(*Moves) Number) {
		list = append(list, metric{"moves." + name, unit, better, func(r *Run) (Number, bool) {
			if r.Moves == nil {
				return 0, false
			}
			return of(r.Moves), true
		}})
	}
	add("decided", InEvents, NeitherBetter, func(m *Moves) Number { return Number(m.Decided) })
	add("nodes_freed", InNodes, NeitherBetter, func(m *Moves) Number { return Number(m.Freed) })
	for _, kind := range keysOf(runs, func(r *Run) map[string]Allocation { return r.Allocation }) {
		add("lost_hours."+kind, InUnits, LowerIsBetter, func(m *Moves) Number { return m.Lost[kind] })
	}
	return list
}
