package flow

import (
	"fmt"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/sched"
)

// Options are what a run may choose about a flow policy.
type Options struct {
	// Name is the policy's, for what is said of it.
	Name string
	// Solver makes the solver of a graph; nil is mcmf.NewSolver, with the first
	// algorithm as first.go has it.
	Solver func(*mcmf.Graph) Solver
	// Algorithm is what the solver uses; Automatic is right for most.
	Algorithm mcmf.Algorithm
	// Moves is how many running tasks a round may move to other nodes. Evicting
	// one for the sake of another that waits is not counted.
	Moves int
	// Stages are the steps of a round; without any, Spread and Pack.
	Stages []Stage
	// Stop is asked now and then; once it is true, and it stays so, a round plans
	// nothing more. It may be nil.
	Stop func() bool
}

// Solver is what solves: mcmf.Solver, or one that races several.
type Solver interface {
	Solve(mcmf.Options) mcmf.Result
	Flow(mcmf.Arc) int64
	Price(mcmf.Node) int64
}

// Policy is a model that decides.
type Policy struct {
	options Options
	model   Model
	effort  effort
	net     *network
	routing routing
	spread  spread
	stages  []stage
	asleep  sleepers
	tiers   []Step // scratch: supply.tiers, which changes during a round
	round   round  // the last one, whose memory the next one uses
	past    past
	bounds  bounds
	company sched.Company
	// contention is what is known of the last round that was planned by packing.
	contention contention
}

// past is what a policy knows of its last round.
type past struct {
	news uint64  // rounds before which something happened, or a price changed
	idle bool    // it came to its end, and planned nothing: nor would another
	held []stage // those with which the next goes on, if nothing happens

	undone  bool // round.undone, of some tier
	limited bool // it had a budget: one without passes nobody over, and one with lets tiers sleep
}

// New is a policy of a model.
func New(m Model, o Options) *Policy {
	p := &Policy{options: o, model: m}
	p.reset()
	return p
}

func (p *Policy) reset() {
	p.effort = effort{}
	w := newNetwork(p.model, p.options.Moves > 0, &p.effort)
	w.stop = p.options.Stop
	p.net = w
	p.routing = routing{net: w, effort: &p.effort, algorithm: p.options.Algorithm}
	if p.options.Solver != nil {
		p.routing.solver = p.options.Solver(w.graph.Graph)
	} else {
		p.routing.solver = newSolver(w.graph.Graph)
	}
	p.spread = spread{net: w, routing: &p.routing, placer: newPlacer(&p.routing, p.options.Moves)}
	p.contention.net = w
	p.stages, p.past.held = p.stages[:0], nil
	for _, name := range p.options.stages() {
		p.stages = append(p.stages, p.stage(name))
	}
	p.bounds = newBounds(w, &p.routing, &p.contention)
	p.asleep.from = noTier
}

// Plan solves until nothing more can be placed.
func (p *Policy) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	s, bundles := t.View(), out.Bundles()
	from := p.net.journal.End()
	p.learn(s, c)
	w := p.net
	urgent := w.members.keepAppointments(s)
	p.asleep.wake(urgent)
	w.supply.settle()
	if budget == 0 {
		p.asleep.from = noTier
	}
	p.asleep.update(w, s, c, from)
	quiet := !c.All && len(c.Tasks)+len(c.Gone)+len(c.Constrained) == 0 && w.journal.End() == from && urgent == belowTiers
	if !quiet {
		p.past.news++
	}
	if !quiet || budget == 0 {
		p.past.held = nil
	}
	w.journal.Cut() // update does, too, if somebody waits
	p.effort.arcs, p.past.undone = 0, false
	whole := true
	if !quiet || !p.past.idle || p.past.limited != (budget > 0) {
		whole = p.serveAll(t, budget, out)
		p.past.idle, p.past.limited = whole && !p.past.undone && out.Bundles() == bundles && !w.stopped(), budget > 0
	}
	out.Gap = p.bounds.gap
	out.Ticks = p.effort.ticks()
	p.effort = effort{}
	if !whole {
		out.Wake = s.Now()
	}
	if len(w.supply.lines) > 0 || w.stays.any() {
		out.Wake = min(out.Wake, p.nextDue(s))
	}
	if wrong := w.answers.wrong; wrong != nil {
		out.Err = fmt.Errorf("policy %s: %w", p.options.Name, wrong)
		w.answers.wrong = nil
	}
	p.company.Plan(t, c, budget, out)
}

// serveAll plans tier by tier, the highest first, and reports whether it came to an end.
func (p *Policy) serveAll(t *sched.Trial, budget int64, out *sched.Plan) bool {
	p.bounds.reset()
	p.tiers = append(p.tiers[:0], p.net.supply.tiers...)
	for _, of := range p.tiers {
		tier := int32(-of.Cost)
		if p.asleep.sleeps(tier) {
			continue
		}
		p.net.supply.serve(tier)
		if !p.serve(t, budget, out) {
			return false
		}
		if budget > 0 {
			p.asleep.sleep(tier)
		}
	}
	return len(p.tiers) > 0 || !p.net.stays.any() || p.serve(t, budget, out)
}

// serve plans for the tasks whose turn it is, and reports whether it came to an end.
func (p *Policy) serve(t *sched.Trial, budget int64, out *sched.Plan) bool {
	w := p.net
	w.update(t.View())
	r := &p.round
	rivals := w.ranking.withPlaces(w.turn.asking, r.rivals[:0])
	*r = round{trial: t, budget: budget, out: out, mark: t.Mark(), from: out.Bundles(), rivals: rivals, news: p.past.news}
	p.bounds.begin(r)
	stages, whole := p.stages, true
	if r.resumes = p.past.held != nil; r.resumes {
		stages, p.past.held = p.past.held, nil
	}
	for i := 0; i < len(stages) && whole; i++ {
		if whole = stages[i].plan(r); r.holds {
			p.past.held = stages[i:]
		}
	}
	p.past.undone = p.past.undone || r.undone
	p.bounds.end(r, len(p.tiers) > 1)
	return whole
}

// grid is how often, at most, changing prices alone start a round.
const grid = cluster.Second

// nextDue is when prices that change are worth a round.
func (p *Policy) nextDue(s *cluster.View) cluster.Time {
	next := p.net.members.nextDue()
	if next == cluster.Never {
		return next
	}
	return max(next, (s.Now()/grid+1)*grid)
}

// learn takes in what changed since the last round.
func (p *Policy) learn(s *cluster.View, c *sched.Changed) {
	if c.All {
		p.reset()
	}
	var stale Stale
	if l, ok := p.model.(Learner); ok {
		stale = l.Learn(s, c.All, c.Nodes)
	}
	p.net.learn(s, c)
	if c.All {
		return
	}
	if stale.Nodes {
		for n := range s.NodeRows() {
			p.net.note(cluster.NodeID(n))
		}
	}
	if stale.Tasks {
		p.net.members.askAgain(s)
		p.asleep.from = noTier
		p.past.idle, p.past.held, p.past.news = false, nil, p.past.news+1
	}
}

// Why says why the task is not placed.
func (p *Policy) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return sched.Explain(t.View(), task)
}
