package world

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file holds back the binds of a gang until all of its placements have been judged. Upstream's filters may refuse some of a gang
// that the core has placed as a whole. If the others are fewer than its number, none of them is bound, and all
// are decided again.

// Gangs are the placements of one turn that belong to gangs. The zero value has none.
type Gangs struct{ list []gangPlacements }

type gangPlacements struct {
	job     cluster.JobID
	pods    []*Pod // that were admitted
	refused int
}

// Hold takes in a placement that was judged, and reports whether its bind is to wait for the others of its gang.
func (gs *Gangs) Hold(s *cluster.View, d sched.Decision, p *Pod, admitted bool) bool {
	job := s.Task(d.Task).Job
	if !cluster.IsGang(s, job) {
		return false
	}
	at := slices.IndexFunc(gs.list, func(g gangPlacements) bool { return g.job == job })
	if at < 0 {
		at = len(gs.list)
		gs.list = append(gs.list, gangPlacements{job: job})
	}
	g := &gs.list[at]
	if !admitted {
		g.refused++
		return false
	}
	g.pods = append(g.pods, p)
	return true
}

// Whole are the pods that were held, in order: those to be bound, and those of which there are too few, to be given to TakeBack once what was
// set aside for them is given back. The view is that of the core, which does not know yet who was refused.
func (gs *Gangs) Whole(s *cluster.View) (send, takeBack []*Pod) {
	for _, g := range gs.list {
		if g.refused == 0 || cluster.GangHas(s, g.job)-g.refused >= int(s.Job(g.job).Gang) {
			send = append(send, g.pods...)
		} else {
			takeBack = append(takeBack, g.pods...)
		}
	}
	return send, takeBack
}
