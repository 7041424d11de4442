package flow

import (
	"fmt"
	"slices"

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
	net     *network
	solver  Solver
	placer  placer
	ticks   int64

	tiers      []int32
	asleep     sleepers
	cut        bool    // the last solve spent its budget
	rivals     []int32 // requests that could have a place when the round began
	contention contention
	victims    victims
	bounds     bounds
	company    sched.Company
}

// New is a policy of a model.
func New(m Model, o Options) *Policy {
	p := &Policy{options: o, model: m}
	p.reset()
	return p
}

func (p *Policy) reset() {
	_, moves := p.model.(Mover)
	p.net = newNetwork(p.model, !moves, moves && p.options.Moves > 0)
	p.net.stop = p.options.Stop
	if p.options.Solver != nil {
		p.solver = p.options.Solver(p.net.graph)
	} else {
		p.solver = newSolver(p.net.graph)
	}
	p.placer = placer{left: map[cluster.NodeID]bool{}, at: map[cluster.NodeID]int32{}}
	p.victims = victims{}
	p.asleep.from, p.cut = noTier, false
}

// mostSolves bounds the solves of a round; what is left then goes on in the next.
const mostSolves = 64

// Plan solves until nothing more can be placed.
func (p *Policy) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	s := t.View()
	from := p.net.position()
	p.learn(s, c)
	w := p.net
	p.asleep.wake(w.keepAppointments(s))
	w.settleTaskGroups()
	if budget == 0 {
		p.asleep.from = noTier
	}
	p.asleep.update(w, s, c, from)
	if c.All || len(c.Tasks)+len(c.Gone)+len(c.Constrained) > 0 || w.position() > from {
		p.victims.cut = false
	}
	w.trimJournal() // update does, too, if somebody waits
	p.ticks = 0
	p.bounds.reset()
	whole := true
	p.tiers = w.tiers(p.tiers)
	for _, tier := range p.tiers {
		if p.asleep.sleeps(tier) {
			continue
		}
		w.serve(tier)
		if whole = p.serve(t, budget, out); !whole {
			break
		}
		if budget > 0 {
			p.asleep.sleep(tier)
		}
	}
	if len(p.tiers) == 0 && w.moves {
		whole = p.serve(t, budget, out)
	}
	out.Gap = p.bounds.gap
	out.Ticks = p.ticks/looksPerTick + w.asks + w.looks
	w.asks, w.looks = 0, 0
	if !whole {
		out.Wake = s.Now()
	}
	if len(w.lines) > 0 || w.moves {
		out.Wake = min(out.Wake, p.nextDue(s))
	}
	if w.wrong != nil {
		out.Err = fmt.Errorf("policy %s: %w", p.options.Name, w.wrong)
		w.wrong = nil
	}
	p.company.Plan(t, c, budget, out)
}

// serve plans for the tasks whose turn it is, and reports whether it came to an end.
func (p *Policy) serve(t *sched.Trial, budget int64, out *sched.Plan) bool {
	mark, before := t.Mark(), out.Bundles()
	p.net.update(t.View())
	p.rivals = p.couldCompete()
	p.bounds.begin(p, t.View())
	whole := p.spread(t, budget, out)
	competed := whole && budget == 0 && p.contended()
	if competed {
		p.compete(t, mark, before, out)
	}
	whole = whole && p.makeRoom(t, budget, out)
	p.bounds.packed = competed
	p.bounds.end(p, t, mark, before, out)
	return whole
}

// spread solves until nothing more can be placed in uniform slots, and reports
// whether it came to an end.
func (p *Policy) spread(t *sched.Trial, budget int64, out *sched.Plan) bool {
	s, w := t.View(), p.net
	for range mostSolves {
		w.update(s)
		if len(w.active) == 0 && (!w.moves || len(w.stayRow) == 0) {
			return true
		}
		status := p.solve(s, budget)
		if status == mcmf.Cancelled {
			return false
		}
		fresh := w.fresh()
		placed, refused := p.place(t, status == mcmf.Optimal, out)
		if status != mcmf.Optimal {
			return false
		}
		w.narrow(p.solver.Flow)
		if refused == 0 && fresh && (placed == 0 || len(w.asking) == 1) {
			return true
		}
	}
	return false
}

// looksPerTick is how many arcs the solver looks at while one node is priced: a
// plan's ticks are all of one size.
const looksPerTick = 8

// grid is how often, at most, changing prices alone start a round.
const grid = cluster.Second

// nextDue is when prices that change are worth a round.
func (p *Policy) nextDue(s *cluster.View) cluster.Time {
	next := p.net.nextDue()
	if next == cluster.Never {
		return next
	}
	return max(next, (s.Now()/grid+1)*grid)
}

// solve finds the cheapest flow, over all arcs there could be.
func (p *Policy) solve(s *cluster.View, budget int64) mcmf.Status {
	w := p.net
	w.fill(s)
	w.updatePorts(s)
	for {
		if w.stopped() {
			return mcmf.Cancelled
		}
		o := mcmf.Options{Algorithm: p.options.Algorithm, Stop: p.options.Stop}
		if budget > 0 {
			o.Budget = max(1, (budget-w.asks-w.looks)*looksPerTick-p.ticks)
		}
		if p.cut && budget > 0 && o.Algorithm != mcmf.Automatic {
			o.Algorithm = mcmf.Incremental // from nothing it would be cut again and again
		}
		r := p.solver.Solve(o)
		p.ticks += r.Ticks
		p.cut = r.Status == mcmf.Exhausted
		if r.Status != mcmf.Optimal {
			if r.Status != mcmf.Exhausted && r.Status != mcmf.Cancelled {
				w.refuse("the network cannot be solved: %v", r.Status)
			}
			return r.Status
		}
		if !w.widen(s, p.solver.Price) {
			p.bounds.solved(r.Cost, w.fresh())
			return r.Status
		}
		w.updatePorts(s)
	}
}

// learn takes in what changed since the last round.
func (p *Policy) learn(s *cluster.View, c *sched.Changed) {
	if c.All {
		p.reset()
	}
	again := false
	if l, ok := p.model.(Learner); ok {
		again = l.Learn(s, c.All, c.Nodes)
	}
	w := p.net
	for _, t := range c.Gone {
		w.leave(t)
	}
	if len(c.Shapes) > 0 {
		w.settleTaskGroups() // so that nothing is kept of task groups that are gone
	}
	for _, shape := range c.Shapes {
		w.forgetShape(shape)
	}
	for _, shape := range c.Constrained {
		w.reconsider(shape)
	}
	for _, n := range c.Nodes {
		w.note(n)
	}
	for _, m := range c.Members {
		w.note(m.Node)
	}
	for _, t := range c.Tasks {
		w.updateTask(s, t)
	}
	if again && !c.All {
		w.askAgain(s)
		p.asleep.from = noTier
	}
}

// Why says why the task is not placed.
func (p *Policy) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return sched.Explain(t.View(), task)
}

// fresh reports whether the arcs of all requests that ask are true: a port that was
// given more slots since they were looked at has arcs that let through too few.
func (w *network) fresh() bool {
	end := w.start + uint64(len(w.journal))
	return !slices.ContainsFunc(w.asking, func(q int32) bool { return w.requests[q].seen != end })
}
