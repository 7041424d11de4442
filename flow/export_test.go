package flow

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// Optimum is the cost of the cheapest flow of a state, added up arc by arc, with the
// task that is asked about, if there is one, or without it.
func (p *Policy) Optimum(s *cluster.View, all *sched.Changed, asked *cluster.TaskID, with bool) (Cost, error) {
	p.relearn(s, all)
	p.net.serveAll()
	but := noTask
	if asked != nil {
		p.net.separate(s, *asked)
		p.net.settleTaskGroups()
		p.net.serve(p.net.members[*asked].terms.Tier)
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
			for unit := range p.solver.Flow(a) {
				sum += p.unit(a, unit)
			}
		}
	}
	return sum, nil
}

// Memory is how many entries the lists have that grow with time: nodes that changed, and
// times at which prices do.
func (p *Policy) Memory() (journal, due int) { return len(p.net.journal), len(p.net.due.heap) }
