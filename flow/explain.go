package flow

import (
	"cmp"
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/sched"
)

// This file says what a task could have and what that would cost: for each node that
// would take it the price in full, in named parts.
//
// The question is put to a network of its own, made of the state as it is: the task
// that is asked about waits there, as if its run had just left, while all others are
// where they are. The network is solved without it. Then a shortest path through the
// residual network (explaindistance.go) is exactly what one unit more costs by way of
// each node, whatever the prices of the solver, which may be one of many that prove
// the same flow. So the cheapest candidate is where the solver would send the task,
// and what it costs beyond the model's own price is what others of the same moment
// make of it: they add to the load of the node, or would have to go elsewhere.

// Parts of a price that are the engine's, not the model's.
const (
	// TermAggregator is what an aggregator, which prices all nodes below it alike,
	// asks beyond what the model names.
	TermAggregator = "aggregator"
	// TermCongestion is what other tasks that want a place at the same time make of
	// the price of a node that has room.
	TermCongestion = "congestion"
	// TermPreferences is what preferences for nodes cost that the node does not meet.
	TermPreferences = "preferences for nodes"
	// TermEviction is what it costs to stop what runs on a node that has no room.
	TermEviction = "eviction"
)

// Explain says what the task could have, with so many candidates at most. All is
// every row of the state (sched.Core.Everything). The state is not touched, but the
// policy begins anew with it: ask one that does not decide. The error is about a task
// that the policy does not place, or about what the model says.
func (p *Policy) Explain(s *cluster.View, all *sched.Changed, t cluster.TaskID, most int) (sched.Explanation, error) {
	task, x := s.Task(t), sched.NewExplanation(s, t)
	if !slices.Contains(all.Tasks, t) {
		return x, fmt.Errorf("policy %s does not place task %s", p.options.Name, s.TaskName(t))
	}
	if task.Phase == cluster.Gated {
		x.Others = sched.Explain(s, t)
		return x, nil
	}
	parts, named := p.model.(WaitExplainer)
	if named && task.Phase == cluster.Running {
		x.HoldTerms = parts.ExplainWait(s, t)
	}
	own, err := sched.Without(s, t)
	if err != nil {
		return x, err
	}
	s = &own.View
	if named {
		x.WaitTerms = parts.ExplainWait(s, t)
	}
	p.relearn(s, all)
	p.turnOf(s, t)
	if err := p.settleAll(s, t); err != nil {
		return x, err
	}
	terms := p.net.members.of(t).terms
	x.Waits, x.Wait, x.WaitChanges, x.Others = true, terms.Wait, terms.Next, sched.Explain(s, t)
	x.Candidates = p.routing.candidates(s, t)
	x.Shorten(most)
	return x, nil
}

// relearn begins anew with a state.
func (p *Policy) relearn(s *cluster.View, all *sched.Changed) {
	fresh := *all
	fresh.All = true
	p.learn(s, &fresh)
}

// turnOf makes it the turn of the tier of a task, which gets a request of its own job if
// tasks of that job are on nodes where it may not be beside them. Rounds find that out when
// a node refuses it.
func (p *Policy) turnOf(s *cluster.View, t cluster.TaskID) {
	w := p.net
	for i := range s.NodeRows() {
		n := cluster.NodeID(i)
		if s.NodeLive(n) && s.Admits(t, n).Code == cluster.NotApart {
			w.avoid(s, t, cluster.NoNode, cluster.Refusal{Code: cluster.NotApart})
			break
		}
	}
	w.supply.settle()
	w.supply.serve(w.members.of(t).terms.Tier)
}

// settleAll solves the network of a state; without a task, if there is one, whose
// request is then shown all nodes.
func (p *Policy) settleAll(s *cluster.View, without cluster.TaskID) error {
	w := p.net
	w.update(s)
	request := int32(-1)
	if without != noTask {
		m := w.members.of(without)
		c := w.group(w.members.group(without))
		request = c.request
		w.graph.give(c.node, c.units-1)
		w.shares.count(m.share, m.terms.Wait, -1)
	}
	for range mostSolves {
		w.update(s)
		if request >= 0 {
			w.columns.all(s, request)
		}
		if status := p.routing.solve(s, 0); w.answers.wrong != nil || status != mcmf.Optimal {
			return fmt.Errorf("policy %s: %w", p.options.Name, cmp.Or(w.answers.wrong, fmt.Errorf("the network is not solved: %v", status)))
		}
		if w.fresh() {
			return nil
		}
	}
	return fmt.Errorf("policy %s: prices do not settle in %d solves", p.options.Name, mostSolves)
}

// candidates lists the nodes that the task could go to, after the network was solved
// without it, the cheapest first.
func (r *routing) candidates(s *cluster.View, t cluster.TaskID) []sched.Candidate {
	w, rest := r.net, r.distances(toSink)
	c := w.group(w.members.group(t))
	best := map[cluster.NodeID]priced{}
	offer := func(n cluster.NodeID, a wayIn) {
		from := rest[w.ports.nodes[n].port]
		if from == nowhere || w.graph.Arc(a.last).Capacity == 0 {
			return
		}
		base := a.before + w.graph.Arc(a.last).Cost - w.ports.surcharge(s, c.id.request.shape, n)
		load, _ := w.answers.load(s, n) // a port whose load cannot be has no way to the sink
		base += load.first()
		ends, there := w.graph.Arc(a.last), r.solver.Flow(a.last)
		full := a.before + r.unit(a.last, there) + from
		if there > 0 { // another of its like may give its place up, and must if there is no other
			instead := a.before + rest[ends.From]
			if there == ends.Capacity || instead < full {
				full = instead
			}
		}
		if b, known := best[n]; !known || full < b.full {
			best[n] = priced{base: base, full: full}
		}
	}
	for _, o := range c.outs {
		if o.group < 0 {
			offer(o.node, wayIn{last: o.arc})
		}
	}
	q := w.request(c.request)
	for _, g := range q.groups {
		before, ok := w.ranking.reach(c, g)
		for _, n := range w.ranking.groups[g].chosen {
			if ok {
				offer(n, wayIn{before, q.offers[n].arc})
			}
		}
	}
	list := make([]sched.Candidate, 0, len(best))
	for n, b := range best {
		list = append(list, sched.Candidate{Node: n, Cost: b.full, Terms: w.answers.explain(s, t, n, b), Full: !s.RoomNow(s.Task(t).Shape, n)})
	}
	slices.SortFunc(list, func(a, b sched.Candidate) int {
		return cmp.Or(cmp.Compare(a.Cost, b.Cost), cmp.Compare(a.Node, b.Node))
	})
	return list
}

// wayIn is a way from a task group to the port of a node: what it costs up to its last
// arc.
type wayIn struct {
	before Cost
	last   mcmf.Arc
}

// priced is what a node costs by the model as things stand, and in full.
type priced struct{ base, full Cost }

// explain names the parts of a price.
func (a *answers) explain(s *cluster.View, t cluster.TaskID, n cluster.NodeID, b priced) []Term {
	var list []Term
	named := Cost(0)
	if e, ok := a.model.(Explainer); ok {
		list = e.Explain(s, t, n)
		for _, term := range list {
			named += term.Cost
		}
	}
	if unmet := a.unmet(s, s.Task(t).Shape, n); unmet != 0 {
		list = append(list, Term{Name: TermPreferences, Cost: unmet})
		named += unmet
	}
	if b.base != named {
		list = append(list, Term{Name: TermAggregator, Cost: b.base - named})
	}
	if b.full != b.base {
		name := TermCongestion
		if !s.RoomNow(s.Task(t).Shape, n) {
			name = TermEviction
		}
		list = append(list, Term{Name: name, Cost: b.full - b.base})
	}
	return list
}

// reach is what it costs a unit of the task group to get to a group, and false if
// no way leads there.
func (k *ranking) reach(c *taskGroup, g int32) (Cost, bool) {
	least, ok := Cost(0), false
	for _, o := range c.outs {
		if o.group == g && (!ok || o.cost < least) {
			least, ok = o.cost, true
		}
	}
	above := k.groups[g].above
	if above < 0 {
		return least, ok
	}
	if cost, known := k.reach(c, above); known {
		for _, b := range k.groups[above].below {
			if down := cost + k.graph.Arc(b.arc).Cost; b.group == g && (!ok || down < least) {
				least, ok = down, true
			}
		}
	}
	return least, ok
}
