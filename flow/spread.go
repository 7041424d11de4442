package flow

import "fairlead.dev/fairlead/mcmf"

// mostSolves bounds the solves of a round; what is left then goes on in the next.
const mostSolves = 64

// spread places what it can in uniform slots, and evicts where one leaves for one who
// comes.
type spread struct {
	net     *network
	routing *routing
	placer  placer
}

// plan solves until nothing more can be placed, and reports whether it came to an end.
func (d *spread) plan(r *round) bool {
	s, w := r.trial.View(), d.net
	for range mostSolves {
		w.update(s)
		if len(w.turn.active) == 0 && len(w.stays.rowOf) == 0 {
			return true
		}
		status := d.routing.solve(s, r.budget)
		if status == mcmf.Cancelled {
			return false
		}
		fresh := w.fresh()
		placed, refused := d.placer.place(r, status == mcmf.Optimal)
		if status != mcmf.Optimal {
			return false
		}
		w.columns.narrow(w.turn.asking, d.routing.solver.Flow)
		if refused == 0 && fresh && (placed == 0 || len(w.turn.asking) == 1) {
			return true
		}
	}
	return false
}
