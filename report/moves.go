package report

// This file is about runs that are moved: told to leave so that their own task may run elsewhere.

// Moves says what moving runs took. How many did move is Tasks.Migrated.
type Moves struct {
	// Decided is how many runs were told to move. Some may end before they leave, or stay.
	Decided int `json:"decided"`
	// Lost is the part of Unserved.Lost that runs lost which were told to move: by kind, in the kind's unit times hours.
	Lost map[string]Number `json:"lost_hours"`
}

// moveMetrics are those of runs in which somebody was to move.
func moveMetrics(runs []*Run) []metric {
	list := []metric{{"moves.decided", InEvents, NeitherBetter, func(r *Run) (Number, bool) {
		if r.Moves == nil {
			return 0, false
		}
		return Number(r.Moves.Decided), true
	}}}
	for _, kind := range keysOf(runs, func(r *Run) map[string]Allocation { return r.Allocation }) {
		list = append(list, metric{"moves.lost_hours." + kind, InUnits, LowerIsBetter, func(r *Run) (Number, bool) {
			if r.Moves == nil {
				return 0, false
			}
			return r.Moves.Lost[kind], true
		}})
	}
	return list
}
