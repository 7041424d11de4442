package cluster

import (
	"errors"
	"fmt"
)

// This file is budgets of disruption: how many of some tasks are to be available, whoever else needs room. They
// are no part of a state. A world that has them refuses evictions, and says so in advance of runs that nobody may
// evict (EvictRefused, TaskProtected); whoever plans evictions counts ahead with a Budgets of its own: Down for each
// task that is to leave, Up for each that is to run again.

// Budget is how many of its tasks are to be available.
type Budget struct {
	Name string
	// Least is how many tasks are to be available: none that is goes where fewer would be left.
	Least int64
	// FreesUnready says that a task that runs and is not available may be evicted at any time; else only while Least
	// others are available, or more are than need be.
	FreesUnready bool
}

// CheckBudget says why there can be no such budget.
func CheckBudget(b *Budget) error {
	switch {
	case b.Name == "":
		return errors.New("a budget has no name")
	case b.Least < 0 || b.Least > int64(MaxBound):
		return fmt.Errorf("budget %q: at least %d tasks, want 0 to %d", b.Name, b.Least, MaxBound)
	}
	return nil
}

// Budgets counts for each budget which of its tasks are available. The zero value has none.
type Budgets struct {
	of map[string]*budgetCount
}

type budgetCount struct {
	Budget
	available int64
}

// Add takes in a budget, of which no task is available yet.
func (b *Budgets) Add(budget Budget) error {
	if err := CheckBudget(&budget); err != nil {
		return err
	}
	if b.Has(budget.Name) {
		return fmt.Errorf("budget %q is there already", budget.Name)
	}
	if b.of == nil {
		b.of = map[string]*budgetCount{}
	}
	b.of[budget.Name] = &budgetCount{Budget: budget}
	return nil
}

// Has reports whether there is a budget of that name.
func (b *Budgets) Has(name string) bool { return b.of[name] != nil }

// Up says that one more task of these budgets is available.
func (b *Budgets) Up(names []string) { b.count(names, 1) }

// Down says that one task fewer of these budgets is available: it was, and has been told to leave, or has left.
func (b *Budgets) Down(names []string) { b.count(names, -1) }

func (b *Budgets) count(names []string, by int64) {
	for _, name := range names {
		c := b.of[name]
		if c == nil {
			continue
		}
		if c.available += by; c.available < 0 {
			panic("cluster: fewer tasks than none of budget " + name + " are available")
		}
	}
}

// Spare is how many tasks of the budget may go now, one after the other, without others coming back.
func (b *Budgets) Spare(name string) int64 {
	c := b.of[name]
	if c == nil {
		return 0
	}
	return max(c.available-c.Least, 0)
}

// Refuses reports whether a task of these budgets, which runs, may not be evicted now, and whose fault that is. A task of
// several budgets never is, as no API server of Kubernetes does it. Available says whether the task counts among
// those that are.
func (b *Budgets) Refuses(names []string, available bool) (refusal BudgetRefusal, refused bool) {
	switch {
	case len(names) == 0:
		return BudgetRefusal{}, false
	case len(names) > 1:
		return BudgetRefusal{Budget: names[0], Others: len(names) - 1}, true
	}
	c := b.of[names[0]]
	if c == nil {
		return BudgetRefusal{}, false
	}
	kept := c.available >= c.Least && c.Least > 0
	if c.available > c.Least || !available && (c.FreesUnready || kept) {
		return BudgetRefusal{}, false
	}
	return BudgetRefusal{Budget: c.Name, Least: c.Least, Available: c.available}, true
}

// BudgetRefusal is why a task may not be evicted now.
type BudgetRefusal struct {
	Budget           string
	Least, Available int64
	Others           int // budgets that the task has beside this one, for which alone it is refused
}

// String says it in words.
func (r BudgetRefusal) String() string {
	if r.Others > 0 {
		return fmt.Sprintf("it has the budget %s and %d more, and no API server evicts a pod of several", r.Budget, r.Others)
	}
	return fmt.Sprintf("its budget %s wants %d available, and %d are", r.Budget, r.Least, r.Available)
}
