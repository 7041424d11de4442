package flow

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// Optimum is the cost of the cheapest flow of a state, added up arc by arc, with the
// task that is asked about, if there is one, or without it.
func (p *Policy) Optimum(s *cluster.View, all *sched.Changed, asked *cluster.TaskID, with bool) (Cost, error) {
	p.relearn(s, all)
	p.turnOfAll()
	but := noTask
	if asked != nil {
		p.turnOf(s, *asked)
		if !with {
			but = *asked
		}
	}
	if err := p.settleAll(s, but); err != nil {
		return 0, err
	}
	sum, g := Cost(0), p.net.graph
	for v := range g.NodeBound() {
		if !g.HasNode(v) {
			continue
		}
		for a := range g.Leaving(v) {
			for unit := range p.routing.solver.Flow(a) {
				sum += p.routing.unit(a, unit)
			}
		}
	}
	return sum, nil
}

// Undone reports whether the last round had a bundle that was refused, or with too many moves.
func (p *Policy) Undone() bool { return p.past.undone }

// PlanAnew is Plan that does all its work, although nothing may have changed.
func (p *Policy) PlanAnew(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	p.past.idle = false
	p.Plan(t, c, budget, out)
}

// Memory is how many entries the lists have that grow with time: nodes that changed, and
// times at which prices do.
func (p *Policy) Memory() (journal, due int) {
	return p.net.journal.Len(), p.net.members.due.Kept()
}
