package evict

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file puts those last whose eviction would violate a budget that guards them and does not refuse (cluster.TaskGuarded). What a budget can spare
// goes to the candidates that go first: the others of the budget violate it, and go after all who violate none, in the order that they have
// among themselves. So no objective has to know of budgets, and candidates whom another rule leaves out take nothing from those who stay.
//
// Of a set that was chosen it is counted anew how many violate a budget, as some who were spared may have been let off: Violations.
// Whoever compares nodes goes by that first (Worse). Who asks decides who is a candidate, before this: nobody is a victim of less than a
// policy allows for the sake of a budget.

// allowance is what budgets can still spare while victims are chosen.
type allowance struct {
	budgets    []cluster.BudgetID
	left       []int
	crews      []crew // that are counted
	violations int    // of all who were counted
}

// crew is a job whose runs leave all at once, and whether one of these violates a budget.
type crew struct {
	job      cluster.JobID
	violates bool
}

func (a *allowance) reset() {
	a.budgets, a.left, a.crews, a.violations = a.budgets[:0], a.left[:0], a.crews[:0], 0
}

// take counts the eviction of a task, and of those who leave with it, and reports whether it violates a budget of one of them.
func (a *allowance) take(s *cluster.View, t cluster.TaskID) (violates bool) {
	job := s.Task(t).Job
	with, _ := cluster.DisruptedTogether(s, job)
	if len(with) == 0 {
		return a.takeOne(s, t)
	}
	if at := slices.IndexFunc(a.crews, func(c crew) bool { return c.job == job }); at >= 0 {
		return a.crews[at].violates
	}
	for _, other := range with {
		violates = a.takeOne(s, other) || violates
	}
	a.crews = append(a.crews, crew{job, violates})
	return violates
}

func (a *allowance) takeOne(s *cluster.View, t cluster.TaskID) (violates bool) {
	for _, b := range cluster.GuardsOf(s, t) {
		at := slices.Index(a.budgets, b)
		if at < 0 {
			at = len(a.budgets)
			a.budgets, a.left = append(a.budgets, b), append(a.left, cluster.Left(s, b))
		}
		violates = violates || a.left[at] <= 0
		a.left[at]--
	}
	if violates {
		a.violations++
	}
	return violates
}

// Violations is how many of those who leave by a bundle violate a budget, as things were before it was tried.
func Violations(s *cluster.View, bundle []sched.Action) int {
	if !cluster.Guards(s) {
		return 0
	}
	var a allowance
	for _, action := range bundle {
		if action.Kind == sched.Evict {
			a.takeOne(s, action.Task)
		}
	}
	return a.violations
}

// guarded is the memory of a search in which budgets guard candidates.
type guarded struct {
	shape     cluster.ShapeID // for which the search was begun
	node      cluster.NodeID
	allowance allowance
	ordered   []Candidate
	beyond    []Candidate
}

// guardsAny reports whether some budget guards one of the candidates, or of those who leave with them.
func guardsAny(s *cluster.View, list []Candidate) bool {
	return cluster.Guards(s) && slices.ContainsFunc(list, func(c Candidate) bool {
		with, _ := cluster.DisruptedTogether(s, s.Task(c.Task).Job)
		return len(cluster.GuardsOf(s, c.Task)) > 0 || slices.ContainsFunc(with, func(t cluster.TaskID) bool { return len(cluster.GuardsOf(s, t)) > 0 })
	})
}

// budgetsLast are the candidates, those last who would violate a budget, and how many of them would not. It is valid until the next call.
func (x *Search) budgetsLast(list []Candidate) (all []Candidate, within int) {
	x.ordered, x.beyond = x.ordered[:0], x.beyond[:0]
	x.allowance.reset()
	for _, c := range list {
		if c.violates = x.allowance.take(x.s, c.Task); c.violates {
			x.beyond = append(x.beyond, c)
		} else {
			x.ordered = append(x.ordered, c)
		}
	}
	within = len(x.ordered)
	x.ordered = append(x.ordered, x.beyond...)
	return x.ordered, within
}

// chooseGuarded chooses where budgets guard some of the candidates. By LeastSum it looks for a set that violates none first: one that violates
// some is the cheapest by chance alone.
func (x *Search) chooseGuarded(best Objective, list []Candidate) (price int64, ok bool) {
	all, within := x.budgetsLast(list)
	if best == LeastWorst || within == len(all) {
		price, ok = x.choose(best, all)
	} else if price, ok = x.choose(best, all[:within]); !ok {
		x.Begin(x.s, x.shape, x.node)
		price, ok = x.clear(best, all)
	}
	x.allowance.reset()
	for i := range slices.Backward(x.Victims) {
		x.allowance.take(x.s, x.Victims[i].Task)
	}
	x.Violations = x.allowance.violations
	return price, ok
}

// Last is who comes last in the order of candidates of those that were chosen, budgets aside. There is one.
func (x *Search) Last() *Candidate {
	last := &x.Victims[0]
	for i := range x.Victims {
		if compare(&x.Victims[i], last) > 0 {
			last = &x.Victims[i]
		}
	}
	return last
}

// Worse is how good a node is where so many violate a budget, by how good it would be if none did, which is 0 or more: worse than where
// fewer do, be it by as little as the last of its digits.
func Worse(good int64, violations int) int64 {
	const most, bits = 127, 7
	if violations == 0 {
		return good
	}
	return good>>bits - int64(min(violations, most))<<(63-bits)
}
