// Package ecsched places containers as ECSched does (Hu, Zhou, de Laat and Zhao,
// "ECSched: Efficient Container Scheduling on Heterogeneous Clusters"; the
// journal version is FGCS 102, 2020): each heartbeat, the tasks at the front of
// the queue are matched with nodes by a minimum-cost flow.
//
//	          request 1 ───▶ node 1 ─┐
//	        ╱           ╲ ╱          │  one unit each
//	supply ─  request 2  ╳   node 2 ─┼▶ sink
//	        ╲           ╱ ╲          │
//	          request 3 ───▶ node 3 ─┤
//	              └────▶ unscheduled ┘
//
// A request has an arc to each node that has room for it now and that it may
// use, priced by what the node has left (price.go). A node takes one request:
// what it has left is known before anything is placed there, and that is what
// makes vectors safe in a network that only counts. So there are several solves
// a heartbeat, and what is left is measured anew between them.
//
// A request is a task, or all waiting tasks of a job that want to stand together
// (gang.go), contracted to one.
//
// A heartbeat is one stage, again and again: take a window, match it, try what was found. The
// solves are no list of stages as those of package flow are (flow.Stage), each of which
// goes on from what another kind of step has planned. A gang is a request from the
// beginning and not a step after the others, and the solvers below are two ways to make the same step.
//
// Two solvers: package mcmf over the few nodes that can matter to each request
// (match.go), and the authors' own over all arcs, for their exact numbers
// (literal.go).
//
// Ours, where the paper is silent or its code decides: staying unscheduled costs
// more than anything else, so that as many tasks are placed as can be, where the
// paper's price of 0 may leave one out to make others cheaper. A task that no
// node has room for goes to the end of the queue, so that it cannot hold up
// those behind the window for ever; Options.Keep is the order of the authors'
// stored results. A preference for nodes, which the paper does not have, is a part of the price: one of
// the largest weight is more than what nodes have left can make up for, and half the weight
// is half of that. A node takes one request a solve all the same, so that some of a batch go elsewhere.
package ecsched

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// Literal is the solver of the authors' published code: successive shortest
// paths in the order of the queue and of the nodes.
const Literal = "ssp-literal"

// Options are what a run may choose; the zero value is the paper's dot product
// with the settings of its code.
type Options struct {
	Score  Score
	Window int // requests in a solve; 0 is 100
	Solves int // in a heartbeat at most; 0 is 5
	// Keep is the order of the authors' stored results. Tasks that no node has room
	// for stay at the front of the queue, where enough of them hold up all others;
	// and of tasks that could be placed as well, the later is.
	Keep bool
	// Solver is Literal, or the name of an algorithm of package mcmf; empty is
	// the one that is fastest here.
	Solver string
	// Stop is asked now and then; once it is true, and it stays so, a heartbeat
	// places nothing more. It may be nil.
	Stop func() bool
}

// New makes the policy, or says what is wrong with the options.
func New(o Options) (sched.Policy, error) {
	if o.Window == 0 {
		o.Window = 100
	}
	if o.Solves == 0 {
		o.Solves = 5
	}
	switch {
	case o.Window < 0 || o.Solves < 0:
		return nil, fmt.Errorf("ecsched: a window of %d and %d solves a heartbeat, want at least 1 of each", o.Window, o.Solves)
	case o.Score > MostLoaded:
		return nil, fmt.Errorf("ecsched: there is no score %d", o.Score)
	}
	p := &policy{options: o}
	p.company.Not = func(j *cluster.Job) bool { return j.Together }
	switch {
	case o.Solver == Literal:
		p.solve = (&literal{stop: o.Stop}).solve
	case o.Solver == "" || slices.Contains(mcmf.Algorithms(), mcmf.Algorithm(o.Solver)):
		p.solve = newMatcher(mcmf.Algorithm(o.Solver), o.Stop).solve
	default:
		return nil, fmt.Errorf("ecsched: there is no solver %q, want %s or one of %v", o.Solver, Literal, mcmf.Algorithms())
	}
	return p, nil
}

// policy is ECSched. All its memory is used again in the next round.
type policy struct {
	options Options
	solve   func(*round)
	queue   book.Window
	gangs   gangs
	round   round
	company sched.Company
}

// round is what one solve sees: requests, and what nodes have left. The solver
// fills in where each request goes.
type round struct {
	trial    *sched.Trial
	state    *cluster.View
	prices   prices
	tasks    []cluster.TaskID // of all requests
	actions  []sched.Action   // scratch
	requests []request
	offers   []offers
	used     int     // how many of offers are in use
	late     bool    // of requests that are as good the later is placed
	shared   []int32 // per shape, 1 + its offers in this solve
	ticks    int64   // nodes and arcs looked at
}

// request is a task, or a gang contracted to one.
type request struct {
	first, last int // its tasks
	offers      int // what it can have
	fits        bool
	best        int64          // the price of the cheapest node that may take it, if fits
	node        cluster.NodeID // NoNode: it stays unscheduled
}

// KeepsTogether says that the tasks of a job that wants to stand together are
// placed on one node or not at all.
func (p *policy) KeepsTogether() {}

// Why says why the task is not placed.
func (p *policy) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	if s := t.View(); s.Job(s.Task(task).Job).Together {
		return explainGang(s, task)
	}
	return sched.Explain(t.View(), task)
}

// Plan is one heartbeat. However small the budget, it solves once.
func (p *policy) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	s, r := t.View(), &p.round
	r.late = p.options.Keep
	p.queue.Learn(s, c)
	p.gangs.learn(s, c)
	r.trial, r.state, r.ticks = t, s, 0
	placed := 0
	for solve := range p.options.Solves {
		if p.queue.Len() == 0 || solve > 0 && budget > 0 && r.ticks >= budget {
			break
		}
		if solve == 0 {
			r.prices.measure(s, p.options.Score)
		}
		p.fill(r)
		p.solve(r)
		if placed = p.place(r, out); placed == 0 {
			break
		}
	}
	out.Ticks = r.ticks
	if p.queue.Len() > 0 && (placed > 0 || !p.options.Keep && !p.queue.Settled()) {
		out.Wake = s.Now() + cluster.Microsecond // the next heartbeat, not this one again
	}
	p.company.Plan(t, c, budget, out)
}

// fill takes the window from the front of the queue.
func (p *policy) fill(r *round) {
	r.tasks, r.requests, r.used = r.tasks[:0], r.requests[:0], 0
	r.shared = append(r.shared[:0], make([]int32, r.state.ShapeRows())...)
	p.gangs.solve++
	for len(r.requests) < p.options.Window {
		t, ok := p.queue.Take(r.state)
		if !ok {
			break
		}
		first := len(r.tasks)
		if job := r.state.Task(t).Job; r.state.Job(job).Together {
			if !p.gangs.first(job) {
				continue // it came with the first of its gang
			}
			r.tasks = p.gangs.waiting(r.state, job, r.tasks)
		} else {
			r.tasks = append(r.tasks, t)
		}
		r.requests = append(r.requests, request{first: first, last: len(r.tasks), offers: p.offersFor(r, r.tasks[first:]), node: cluster.NoNode})
	}
	for i := range r.requests {
		q := &r.requests[i]
		o := &r.offers[q.offers]
		var at int
		if at, q.fits = o.next(r, q, 0); q.fits {
			q.best = o.best[at].price
		}
	}
}

// offersFor returns what nodes offer to a request of these tasks. Single tasks
// of a shape share that.
func (p *policy) offersFor(r *round, tasks []cluster.TaskID) int {
	shape := r.state.Task(tasks[0]).Shape
	pin, single := cluster.NoNode, len(tasks) == 1
	if job := r.state.Task(tasks[0]).Job; r.state.Job(job).Together {
		pin = p.gangs.home(r.state, job)
	}
	if single && pin == cluster.NoNode && r.shared[shape] > 0 {
		return int(r.shared[shape]) - 1
	}
	if r.used == len(r.offers) {
		r.offers = append(r.offers, offers{})
	}
	r.offers[r.used].collect(r, tasks, pin)
	r.used++
	if single && pin == cluster.NoNode {
		r.shared[shape] = int32(r.used)
	}
	return r.used - 1
}

// place tries what the solver found, and puts the rest of the window back. It
// returns how many requests were placed.
func (p *policy) place(r *round, out *sched.Plan) (placed int) {
	for i := range r.requests {
		q := &r.requests[i]
		tasks := r.tasks[q.first:q.last]
		switch {
		case q.node != cluster.NoNode && r.do(tasks, q.node, out):
			r.prices.update(r.state, q.node)
			placed++
		case q.fits || p.options.Keep:
			for _, t := range tasks {
				p.queue.Return(r.state, t)
			}
		default:
			for _, t := range tasks {
				p.queue.Last(r.state, t)
			}
		}
	}
	return placed
}

// do places the tasks on the node, or none of them. What was found together may violate
// a constraint, as each request was looked at by itself.
func (r *round) do(tasks []cluster.TaskID, n cluster.NodeID, out *sched.Plan) bool {
	switch refusal := r.try(tasks, n); refusal.Code {
	case cluster.Allowed:
	case cluster.Violates:
		return false
	default:
		panic("ecsched: a node that admits the request refuses it: " + refusal.Code.String())
	}
	for _, a := range r.actions {
		out.Add(a)
	}
	out.Close()
	return true
}

// try places the tasks on the node in the trial, or says why it cannot be.
func (r *round) try(tasks []cluster.TaskID, n cluster.NodeID) cluster.Refusal {
	r.actions = r.actions[:0]
	for _, t := range tasks {
		r.actions = append(r.actions, sched.Action{Kind: sched.Place, Task: t, Attempt: r.state.Task(t).Attempt, Node: n})
	}
	return r.trial.TryTogether(r.actions)
}

// admits reports whether the node has room for all of the request now, and may
// hold it.
func (r *round) admits(q *request, n cluster.NodeID) bool {
	tasks := r.tasks[q.first:q.last]
	if len(tasks) == 1 {
		return !r.state.Admits(tasks[0], n).Refused()
	}
	mark := r.trial.Mark()
	defer r.trial.Rollback(mark)
	return !r.try(tasks, n).Refused() &&
		!slices.ContainsFunc(tasks, func(t cluster.TaskID) bool { return r.state.Task(t).Phase != cluster.Starting })
}
