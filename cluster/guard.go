package cluster

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// This file is which runs a budget guards: whoever evicts one of its runs beyond what it spares violates it, and
// looks for others first. Nothing is refused for that here; the world may. The world says how many runs a budget can spare, and which runs it guards; the state counts those that
// leave, also in a trial, so that of two victims of a budget that spares one the second is known to violate it. A world that
// keeps budgets of its own, as the simulator does, tells the state nothing of them: see budget.go.
//
// Where the number that a budget can still spare changes, nodes are noted as changed on which it makes a difference: those with more of
// its runs than that.

// SparesAll is the Spare of a budget that nobody violates: one that is no more.
const SparesAll = math.MaxInt32

// guardTable is what a state keeps of such budgets. The zero value has none.
type guardTable struct {
	row     []guardRow
	stances map[TaskID]guardStance // of the runs that some budget guards
	counted []BudgetID             // anew since nodes were last noted, each once
}

// guardRow is one budget. Runs are counted by whoever reads, too, so that a copy is told of Spare alone.
type guardRow struct {
	spare   int32            // as reported
	leaving int32            // of its runs
	noted   int32            // what was left when nodes were last noted
	counted bool             // it is in guardTable.counted
	runs    map[NodeID]int32 // by node; those that leave included
}

// guardStance is as what a run is counted; its budgets are never written to.
type guardStance struct {
	budgets []BudgetID
	node    NodeID
	leaving bool
}

// left is how many more runs may be told to leave.
func (r *guardRow) left() int32 { return max(r.spare-r.leaving, 0) }

// Guards reports whether there are budgets at all that guard runs.
func Guards(v *View) bool { return len(v.guards.stances) > 0 }

// GuardsOf are the budgets that guard the task's run. They must not be changed.
func GuardsOf(v *View, t TaskID) []BudgetID {
	if r := v.task[t].rare; r != nil {
		return r.guards
	}
	return nil
}

// Left is how many more runs may be told to leave without violating the budget.
func Left(v *View, b BudgetID) int { return int(v.guards.row[b].left()) }

// Overdrawn is how many more runs have been told to leave than the budget can spare.
func Overdrawn(v *View, b BudgetID) int {
	return int(max(v.guards.row[b].leaving-v.guards.row[b].spare, 0))
}

// WouldViolate reports whether whoever evicts the task's run violates a budget.
func WouldViolate(v *View, t TaskID) bool {
	return slices.ContainsFunc(GuardsOf(v, t), func(b BudgetID) bool { return v.guards.row[b].left() == 0 })
}

// guard takes in how many runs a budget can spare.
func guard(s *State, e BudgetChanged) error {
	if err := s.checkRow(Guarding, "budget", uint32(e.Budget)); err != nil {
		return err
	}
	if e.Spare < 0 {
		return fmt.Errorf("budget row %d: it can spare %d runs", e.Budget, e.Spare)
	}
	s.log.made[Guarding]++
	s.guards.row = grown(s.guards.row, int(e.Budget))
	s.guards.row[e.Budget].spare = e.Spare
	s.log.note(Guarding, uint32(e.Budget))
	s.guards.count(guardStance{budgets: []BudgetID{e.Budget}}, 0)
	s.guards.settle(&s.log)
	return nil
}

// guardTask takes in which budgets guard a run.
func guardTask(s *State, e TaskGuarded) error {
	task, err := s.running(e.Task, e.Attempt)
	if err != nil {
		return err
	}
	if task.Phase == Reserved {
		return ErrStale // this run has not been sent out
	}
	for i, b := range e.Budgets {
		if int(b) >= len(s.guards.row) {
			return fmt.Errorf("task row %d: budget row %d holds no budget", e.Task, b)
		}
		if i > 0 && b <= e.Budgets[i-1] {
			return fmt.Errorf("task row %d: budgets %d are not in order, each once", e.Task, e.Budgets)
		}
	}
	r := uncommon(task)
	r.guards = nil
	if len(e.Budgets) > 0 {
		r.guards = slices.Clone(e.Budgets)
	}
	task.setRare(r)
	s.noteNode(task.Node)
	s.noteTask(e.Task)
	return nil
}

// recount brings the counts up to date with the task.
func (g *guardTable) recount(t TaskID, task *Task) {
	guarded := task.rare != nil && task.rare.guards != nil
	if !guarded && len(g.stances) == 0 {
		return
	}
	before, was := g.stances[t]
	var now guardStance
	if guarded && task.Placed() {
		now = guardStance{task.rare.guards, task.Node, task.Phase == Leaving}
	}
	if !was && now.budgets == nil || was && now.equal(&before) {
		return
	}
	g.count(before, -1)
	g.count(now, 1)
	if now.budgets == nil {
		delete(g.stances, t)
		return
	}
	if g.stances == nil {
		g.stances = map[TaskID]guardStance{}
	}
	g.stances[t] = now
}

func (a *guardStance) equal(b *guardStance) bool {
	return a.node == b.node && a.leaving == b.leaving && slices.Equal(a.budgets, b.budgets)
}

// count adds sign times a run.
func (g *guardTable) count(of guardStance, sign int32) {
	for _, b := range of.budgets {
		g.row = grown(g.row, int(b)) // a copy may hear of the budget later
		r := &g.row[b]
		if !r.counted {
			r.counted, g.counted = true, append(g.counted, b)
		}
		if sign == 0 {
			continue
		}
		if r.runs == nil {
			r.runs = map[NodeID]int32{}
		}
		if r.runs[of.node] += sign; r.runs[of.node] == 0 {
			delete(r.runs, of.node)
		}
		if of.leaving {
			r.leaving += sign
		}
	}
}

// settle notes the nodes where it makes a difference that of some budget another number is left.
func (g *guardTable) settle(l *log) {
	for _, b := range g.counted {
		r := &g.row[b]
		left, fewer := r.left(), min(r.left(), r.noted)
		if r.counted = false; left == r.noted {
			continue
		}
		r.noted = left
		for _, n := range slices.Sorted(maps.Keys(r.runs)) {
			if r.runs[n] > fewer {
				l.note(Nodes, uint32(n))
			}
		}
	}
	g.counted = g.counted[:0]
}

// settleCopied is settle for a copy, whose nodes are copied as they were noted.
func (g *guardTable) settleCopied() {
	for _, b := range g.counted {
		g.row[b].counted, g.row[b].noted = false, g.row[b].left()
	}
	g.counted = g.counted[:0]
}

// checkGuards recounts from scratch.
func (v checker) checkGuards() error {
	var anew guardTable
	anew.row = make([]guardRow, len(v.guards.row))
	for i := range v.task {
		anew.recount(TaskID(i), &v.task[i])
	}
	if len(anew.row) > len(v.guards.row) || !maps.EqualFunc(anew.stances, v.guards.stances, func(a, b guardStance) bool { return a.equal(&b) }) {
		return fmt.Errorf("budgets guard %v, counted %v", v.guards.stances, anew.stances)
	}
	for b := range anew.row {
		if got, want := &v.guards.row[b], &anew.row[b]; got.leaving != want.leaving || !maps.Equal(got.runs, want.runs) {
			return fmt.Errorf("budget row %d: %d runs leave of %v, counted %d of %v", b, got.leaving, got.runs, want.leaving, want.runs)
		}
	}
	return nil
}
