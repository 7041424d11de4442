package sim

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
)

// moves counts the runs that were told to leave so that their own task may run elsewhere, and what work was lost by that. How many did
// move, outcomes counts.
type moves struct {
	decided int
	lost    []float64 // quantity × µs; nil: nothing
}

// isMove reports whether the run is evicted by a bundle that places its own task again.
func isMove(d *sched.Decision) bool {
	task, serves := d.Purpose.Serves()
	return d.Kind == sched.Evict && serves && task == d.Task && d.Purpose.Seq == d.Seq
}

// lose counts work that was lost by a move.
func (m *moves) lose(done []float64) {
	if m.lost == nil {
		m.lost = make([]float64, len(done))
	}
	for k, q := range done {
		m.lost[k] += q
	}
}

// result is nil where nobody was to move.
func (m *moves) result(kinds []cluster.Kind) *report.Moves {
	if m.decided == 0 {
		return nil
	}
	if m.lost == nil {
		m.lost = make([]float64, len(kinds))
	}
	return &report.Moves{Decided: m.decided, Lost: hoursOf(m.lost, kinds)}
}
