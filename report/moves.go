package report

// This file is about runs that are moved: told to leave so that their own task may run elsewhere. What they gain is what their policy expects of
// them; whether they are worth what they take, a comparison with a run without them says.

// Moves says what moving runs took, and which nodes have nothing to do for it. How many did move is Tasks.Migrated.
type Moves struct {
	// Decided is how many runs were told to move. Some may end before they leave, or stay.
	Decided int `json:"decided"`
	// Freed is how many nodes a run that moved was the last to leave, less those where one began with no other there.
	Freed int `json:"nodes_freed"`
	// Lost is the part of Unserved.Lost that runs lost which were told to move: by kind, in the kind's unit times hours.
	Lost map[string]Number `json:"lost_hours"`
	// Gain is what policies expected of all that were decided; nil where they said nothing.
	Gain *Gain `json:"gain,omitempty"`
}

// Gain is what moves are good for as their policy sees it, in units that are the same for all policies. What moves take is not taken off.
type Gain struct {
	// Nodes is by how much more the room that is left is worth: 1 is all room of a node, in the mean. It may be below 0, where others were
	// moved out of somebody's way.
	Nodes Number `json:"nodes"`
	// Violations is how many tasks fewer violate a constraint.
	Violations int `json:"violations"`
	// Served is how many tasks got a place out of whose way others were moved.
	Served int `json:"served"`
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
	gain := func(name string, unit Unit, of func(*Gain) Number) {
		list = append(list, metric{"moves.gain." + name, unit, NeitherBetter, func(r *Run) (Number, bool) {
			if r.Moves == nil || r.Moves.Gain == nil {
				return 0, false
			}
			return of(r.Moves.Gain), true
		}})
	}
	gain("nodes", InNodes, func(g *Gain) Number { return g.Nodes })
	gain("violations", InTasks, func(g *Gain) Number { return Number(g.Violations) })
	gain("served", InTasks, func(g *Gain) Number { return Number(g.Served) })
	return list
}

// gainMeasures are the columns of what moves gained, of those parts that are not 0 in all runs.
func gainMeasures(runs []Run) (list []measure) {
	add := func(above, title string, show func(float64) string, of func(*Gain) Number) {
		some := false
		for i := range runs {
			m := runs[i].Moves
			some = some || m != nil && m.Gain != nil && of(m.Gain) != 0
		}
		if !some {
			return
		}
		list = append(list, measure{above: above, title: title, show: show, values: func(r *Run) []float64 {
			if r.Moves == nil || r.Moves.Gain == nil {
				return nil
			}
			return []float64{float64(of(r.Moves.Gain))}
		}})
	}
	add("NODES", "GAINED", humanGain, func(g *Gain) Number { return g.Nodes })
	add("VIOLATIONS", "MENDED", humanCount, func(g *Gain) Number { return Number(g.Violations) })
	add("SERVED", "BY MOVES", humanCount, func(g *Gain) Number { return Number(g.Served) })
	return list
}

// humanGain prints an amount that may be below 0.
func humanGain(x float64) string {
	if x < 0 && humanAmount(-x) != "0" {
		return "-" + humanAmount(-x)
	}
	return humanAmount(x)
}
