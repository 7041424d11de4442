// Package greedy places applications by heuristics that look at one container at a time and
// never come back to it: those that Medea (EuroSys 2018) proposes beside its integer program,
// and those that it is compared with. Each is a file; what it has in common with others
// is here.
package greedy

import (
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/board"
)

// Heuristic is a way to place applications.
type Heuristic struct {
	Name  string
	place func(*run)
}

// All are the heuristics, the best first.
func All() []Heuristic {
	return []Heuristic{
		{"serial", serial},
		{"tag-popularity", popularity},
		{"node-candidates", candidates},
		{"j-kube++", kubernetes(true)},
		{"j-kube", kubernetes(false)},
		{"yarn", yarn},
	}
}

// Named is the heuristic of that name.
func Named(name string) (Heuristic, bool) {
	for _, h := range All() {
		if h.Name == name {
			return h, true
		}
	}
	return Heuristic{}, false
}

// Serial is the heuristic that others begin with.
func Serial() Heuristic { return All()[0] }

// Place puts on the board what is on no node yet: of applications that are not deployed all or
// nothing, of deployed ones each container that can be. It moves nothing, leaves no hard
// constraint more violated than it was, and returns its effort in ticks: how often it looked
// at a node for a container.
func (h Heuristic) Place(b *board.Board) (ticks int64) {
	r := newRun(b)
	h.place(r)
	return r.ticks
}

// Solve places the problem's applications from its start.
func (h Heuristic) Solve(p *constraint.Problem) (a constraint.Assignment, ticks int64) {
	b := board.New(p, constraint.FindRoles(p))
	ticks = h.Place(b)
	return b.Assignment(), ticks
}

// run is a heuristic at work.
type run struct {
	board   *board.Board
	problem *constraint.Problem
	roles   *constraint.Roles
	nodes   []int32 // all
	ticks   int64
}

func newRun(b *board.Board) *run {
	r := &run{board: b, problem: b.Problem(), roles: b.Roles(), nodes: make([]int32, len(b.Problem().Nodes))}
	for n := range r.nodes {
		r.nodes[n] = int32(n)
	}
	return r
}

// chooser chooses a node on which the container fits; Nowhere if there is none.
type chooser func(container int32) int32

// inTurn places one application after another. One that had to be taken back for a hard
// constraint may wait for another that came later, so it is tried again while others
// find their place.
func (r *run) inTurn(choose chooser) {
	turn := make([]int32, len(r.problem.Applications))
	for app := range turn {
		turn[app] = int32(app)
	}
	for progress := true; progress; {
		progress = false
		again := turn[:0]
		for _, app := range turn {
			placed, refused := r.application(app, choose)
			progress = progress || placed
			if refused {
				again = append(again, app)
			}
		}
		turn = again
	}
}

// application places what is missing of the application. It is refused if that fits but
// violates hard constraints.
func (r *run) application(app int32, choose chooser) (placed, refused bool) {
	of := &r.problem.Applications[app]
	for c := of.First; c < of.End; c++ {
		if r.board.At(c) != constraint.Nowhere {
			continue
		}
		node := choose(c)
		switch {
		case node != constraint.Nowhere:
			r.board.Put(c, node)
			placed = true
		case !of.Deployed:
			r.takeBack(app)
			return false, false
		}
		if of.Deployed && r.board.Excess() > 0 {
			r.board.Take(c)
			refused = true
		}
	}
	if r.board.Excess() > 0 {
		r.takeBack(app)
		return false, true
	}
	return placed && !refused, refused
}

// takeBack takes off what of the application did not run from the start.
func (r *run) takeBack(app int32) {
	of := &r.problem.Applications[app]
	for c := of.First; c < of.End; c++ {
		if r.board.At(c) != constraint.Nowhere && r.problem.Containers[c].At == constraint.Nowhere {
			r.board.Take(c)
		}
	}
}

// pending are the containers that are on no node, in the order of arrival.
func (r *run) pending() []int32 {
	var list []int32
	for c := range r.problem.Containers {
		if r.board.At(int32(c)) == constraint.Nowhere {
			list = append(list, int32(c))
		}
	}
	return list
}

// whole takes back what is not whole, and then, the latest first, whatever it takes for hard
// constraints to hold: first those applications without which they hold better, then all.
// Then Serial tries those that have no place: some found none for the sake of
// others that did not become whole. It is for heuristics that place the containers of all
// applications at once.
func (r *run) whole() {
	apps := r.problem.Applications
	for app := range apps {
		if !apps[app].Deployed && !r.board.Placed(int32(app)) {
			r.takeBack(int32(app))
		}
	}
	var nodes []int32
	for app := len(apps) - 1; app >= 0 && r.board.Excess() > 0; app-- {
		of, before := &apps[app], r.board.Excess()
		nodes = append(nodes[:0], r.board.Assignment()[of.First:of.End]...)
		r.takeBack(int32(app))
		if r.board.Excess() < before {
			continue
		}
		for i, n := range nodes {
			if c := of.First + int32(i); n != r.board.At(c) {
				r.board.Put(c, n)
			}
		}
	}
	for app := len(apps) - 1; app >= 0 && r.board.Excess() > 0; app-- {
		r.takeBack(int32(app))
	}
	serial(r)
}
