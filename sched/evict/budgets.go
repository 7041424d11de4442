package evict

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file puts those last whose eviction would violate a budget that guards them (cluster.TaskGuarded). What a budget can spare goes to some
// of the candidates: the others of the budget violate it, and go after all who violate none, in the order that they have
// among themselves. Where it cannot spare all, several ways of giving are tried, and the best set is taken (chooseGuarded). So no objective has to know of budgets, and candidates whom another rule leaves out take nothing from those who stay.
//
// Of a set that was chosen it is counted anew how many violate a budget, as some who were spared may have been let off: Violations.
// Whoever compares nodes goes by that first (Worse). Who asks decides who is a candidate, before this: nobody is a victim of less than a
// policy allows for the sake of a budget.

// allowance is what budgets can still spare while victims are chosen.
type allowance struct {
	budgets    []cluster.BudgetID
	left       []int
	before     []int  // scratch
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

// takeWithin is take for who goes last if it violates a budget: it takes nothing of its other budgets then.
func (a *allowance) takeWithin(s *cluster.View, t cluster.TaskID) (violates bool) {
	a.before = append(a.before[:0], a.left...)
	if violates = a.take(s, t); violates {
		copy(a.left, a.before)
		for i := len(a.before); i < len(a.left); i++ {
			a.left[i] = cluster.Left(s, a.budgets[i])
		}
	}
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
	turns     []int // in which candidates are given what budgets can spare
	marked    []Candidate
	ordered   []Candidate
	beyond    []Candidate
	kept      []Candidate // who was chosen before
}

// guardsAny reports whether some budget guards one of the candidates, or of those who leave with them.
func guardsAny(s *cluster.View, list []Candidate) bool {
	return cluster.Guards(s) && slices.ContainsFunc(list, func(c Candidate) bool {
		with, _ := cluster.DisruptedTogether(s, s.Task(c.Task).Job)
		return len(cluster.GuardsOf(s, c.Task)) > 0 || slices.ContainsFunc(with, func(t cluster.TaskID) bool { return len(cluster.GuardsOf(s, t)) > 0 })
	})
}

// spared says to which of the candidates goes what budgets can spare; from 0 on it is to the candidate of that number, and then to the first.
type spared int

const (
	toTheFirst spared = -3 + iota
	toTheLast         // as kube-scheduler has it
	toTheLargest
	toOne
)

// mostSpared bounds how many candidates are tried as the one to whom goes what budgets can spare.
const mostSpared = 32

// budgetsLast are the candidates, those last who would violate a budget, and how many of them would not. It is valid until the next call.
func (x *Search) budgetsLast(list []Candidate, spared spared) (all []Candidate, within int) {
	x.turns = x.turns[:0]
	for i := range list {
		x.turns = append(x.turns, i)
	}
	switch spared {
	case toTheFirst:
	case toTheLast:
		slices.Reverse(x.turns)
	case toTheLargest:
		slices.SortStableFunc(x.turns, func(a, b int) int { return cmp.Compare(x.helps(&list[b]), x.helps(&list[a])) })
	default:
		copy(x.turns[1:], x.turns[:spared])
		x.turns[0] = int(spared)
	}
	x.marked = append(x.marked[:0], list...)
	x.allowance.reset()
	for _, i := range x.turns {
		x.marked[i].violates = x.allowance.takeWithin(x.s, list[i].Task)
	}
	x.ordered, x.beyond = x.ordered[:0], x.beyond[:0]
	for _, c := range x.marked {
		if c.violates {
			x.beyond = append(x.beyond, c)
		} else {
			x.ordered = append(x.ordered, c)
		}
	}
	within = len(x.ordered)
	x.ordered = append(x.ordered, x.beyond...)
	return x.ordered, within
}

// chooseGuarded chooses where budgets guard some of the candidates. Where they cannot spare all of these, it is tried to give what they can to one end
// of the candidates and to the other, and to those who leave most room, and as long as some would violate a budget to each by itself; the best set is taken.
func (x *Search) chooseGuarded(best Objective, list []Candidate) (price int64, ok bool) {
	price, bite, ok := x.chooseSparing(best, list, toTheFirst)
	bite = bite && slices.ContainsFunc(list, func(c Candidate) bool { return spares(x.s, c.Task) }) // else it is all the same to whom
	for spared := toTheLast; ok && bite && (spared < toOne || x.Violations > 0 && int(spared) < min(len(list), mostSpared)); spared++ {
		if spared >= toOne && !spares(x.s, list[spared].Task) {
			continue // all the same as to give it to the first
		}
		x.kept = append(x.kept[:0], x.Victims...)
		violations := x.Violations
		x.again()
		other, _, found := x.chooseSparing(best, list, spared)
		if found && x.better(best, other, price, violations) {
			price = other
			continue
		}
		x.Victims, x.Violations = append(x.Victims[:0], x.kept...), violations
	}
	if ok && bite && best == LeastWorst {
		price = x.chooseAmongFirst(list, price)
	}
	return price, ok
}

// spares reports whether budgets guard the task, and each can spare somebody.
func spares(s *cluster.View, t cluster.TaskID) bool {
	guards := cluster.GuardsOf(s, t)
	return len(guards) > 0 && !slices.ContainsFunc(guards, func(b cluster.BudgetID) bool { return cluster.Left(s, b) <= 0 })
}

// chooseAmongFirst looks for a set among as few of the first candidates as there is one, with what budgets can spare given to the largest: it may be better than the
// set that was chosen, as those who leave most room are often the last.
func (x *Search) chooseAmongFirst(list []Candidate, price int64) int64 {
	last := *x.Last()
	few, many := 1, slices.IndexFunc(list, func(c Candidate) bool { return c.Task == last.Task })
	for few <= many {
		count := (few + many) / 2
		x.kept = append(x.kept[:0], x.Victims...)
		violations := x.Violations
		x.again()
		if other, _, found := x.chooseSparing(LeastWorst, list[:count], toTheLargest); found && x.better(LeastWorst, other, price, violations) {
			price, many = other, count-1
			continue
		}
		x.Victims, x.Violations = append(x.Victims[:0], x.kept...), violations
		few = count + 1
	}
	return price
}

// better reports whether those who were chosen now are a better set than those who are kept, who violate so many budgets.
func (x *Search) better(best Objective, price, before int64, violations int) bool {
	switch {
	case x.Violations != violations:
		return x.Violations < violations
	case best == LeastSum:
		return price < before
	}
	now, then := lastOf(x.Victims), lastOf(x.kept)
	return cmp.Or(cmp.Compare(now.Rank, then.Rank), cmp.Compare(len(x.Victims), len(x.kept)), compare(now, then)) < 0
}

// chooseSparing is chooseGuarded with what budgets can spare given to some of the candidates, and reports whether it is less than all of these. By LeastSum
// it looks for a set that violates none first: one that violates some is the cheapest by chance alone.
func (x *Search) chooseSparing(best Objective, list []Candidate, spared spared) (price int64, bite, ok bool) {
	all, within := x.budgetsLast(list, spared)
	bite = within < len(all)
	if best == LeastWorst || !bite {
		price, ok = x.choose(best, all)
	} else if price, ok = x.choose(best, all[:within]); !ok {
		x.again()
		price, ok = x.clear(best, all)
	}
	x.marked = append(x.marked[:0], x.Victims...)
	slices.SortFunc(x.marked, inOrder)
	x.allowance.reset()
	for i := range x.marked {
		x.allowance.take(x.s, x.marked[i].Task)
	}
	x.Violations = x.allowance.violations
	return price, bite, ok
}

// Last is who comes last in the order of candidates of those that were chosen, budgets aside. There is one.
func (x *Search) Last() *Candidate { return lastOf(x.Victims) }

func lastOf(list []Candidate) *Candidate {
	last := &list[0]
	for i := range list {
		if compare(&list[i], last) > 0 {
			last = &list[i]
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
