package sim

import (
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// This file is budgets of disruption, as an API server keeps them: it refuses an eviction that would leave fewer tasks
// available than are to be. A task is available from when its run works until that is told to leave, or stops; a
// run of a snapshot that is not ready is not. So that policies do not try in vain, the core is told which runs are
// protected whenever a budget comes to allow nothing more, and when it allows something again.
//
// How many more may leave, policies do not know. One that wants two victims of a budget that allows one would get the
// first again and again, which leaves for nobody, and is back at once. So a budget that has refused protects its
// runs for a while, and for longer if it has to refuse again soon after that, as whoever asks an API server does.

// budgets are those that are there, and the tasks that count for them.
type budgets struct {
	cluster.Budgets
	kernel *kernel
	tasks  *tasks

	of      map[cluster.TaskID]*budgeted
	working map[string]map[cluster.TaskID]bool // tasks whose runs work, by budget
	changed map[string]bool                    // budgets whose runs may have to be protected, or no longer
	pauses  map[string]pause                   // of budgets that have refused
}

// pause is for how long a budget that has refused protects its runs.
type pause struct{ until, length cluster.Time }

// A pause is a shortPause at first, and twice as long as the last each time up to a longPause; after a time without
// refusals that is as long again, it is short again.
const (
	shortPause = 10 * cluster.Second
	longPause  = 10 * cluster.Minute
)

// budgeted is a task with budgets.
type budgeted struct {
	names     []string
	unready   bool         // the run that it came with is not available
	available bool         // it counts
	protected cluster.Time // until when the core was told that its run is
}

// add takes in a budget.
func (b *budgets) add(budget cluster.Budget) error {
	if err := b.Add(budget); err != nil {
		return err
	}
	if b.of == nil {
		b.of, b.working, b.changed = map[cluster.TaskID]*budgeted{}, map[string]map[cluster.TaskID]bool{}, map[string]bool{}
		b.pauses = map[string]pause{}
	}
	b.working[budget.Name] = map[cluster.TaskID]bool{}
	return nil
}

// check says which budget of the task is not there.
func (b *budgets) check(r *trace.Task) error {
	for _, name := range r.Budgets {
		if !b.Has(name) {
			return fmt.Errorf("task %d of job %d counts for the budget %q, which is not there", r.Index, r.Job, name)
		}
	}
	return nil
}

// enter notes which budgets a task counts for.
func (b *budgets) enter(row cluster.TaskID, r *trace.Task) {
	if len(r.Budgets) > 0 {
		b.of[row] = &budgeted{names: slices.Clone(r.Budgets)}
	}
}

// found notes whether the run that a task comes with is available.
func (b *budgets) found(row cluster.TaskID, unready bool) {
	if g := b.of[row]; g != nil {
		g.unready = unready
	}
}

// begin counts a task whose run works from now on.
func (b *budgets) begin(row cluster.TaskID) {
	g := b.of[row]
	if g == nil {
		return
	}
	g.protected = 0 // it was said of another run
	if !g.unready && !g.available {
		g.available = true
		b.Up(g.names)
	}
	for _, name := range g.names {
		b.working[name][row] = true
	}
	b.touch(g)
}

// leave counts a task no longer whose run has been told to leave, or stops.
func (b *budgets) leave(row cluster.TaskID) {
	g := b.of[row]
	if g == nil {
		return
	}
	if g.available {
		g.available = false
		b.Down(g.names)
	}
	g.unready = false
	for _, name := range g.names {
		delete(b.working[name], row)
	}
	b.touch(g)
}

// touch notes that something about the budgets of a task has changed.
func (b *budgets) touch(g *budgeted) {
	for _, name := range g.names {
		b.changed[name] = true
	}
}

// forget drops a task that is done, and has left.
func (b *budgets) forget(row cluster.TaskID) { delete(b.of, row) }

// refuses reports whether the task may not be evicted now, and why.
func (b *budgets) refuses(row cluster.TaskID) (cluster.BudgetRefusal, bool) {
	g := b.of[row]
	if g == nil {
		return cluster.BudgetRefusal{}, false
	}
	return b.Refuses(g.names, g.available)
}

// refuse notes that the task was to be evicted, and is not.
func (b *budgets) refuse(row cluster.TaskID) {
	g := b.of[row]
	for _, name := range g.names {
		p := b.pauses[name]
		if b.kernel.now > p.until+p.length {
			p.length = 0
		}
		p.length = max(shortPause, min(2*p.length, longPause))
		p.until = b.kernel.now + p.length
		b.pauses[name] = p
	}
	b.touch(g)
}

// protection is until when the task's run is protected, and why; 0 if it is not.
func (b *budgets) protection(row cluster.TaskID) (until cluster.Time, why string) {
	if refusal, refused := b.refuses(row); refused {
		return cluster.Never, refusal.String()
	}
	for _, name := range b.of[row].names {
		if p := b.pauses[name]; p.until > b.kernel.now {
			return p.until, "its budget " + name + " has refused another eviction"
		}
	}
	return 0, ""
}

// settle tells the core which runs are protected by now, and which no longer are.
func (b *budgets) settle(emit func(cluster.Event)) {
	if len(b.changed) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(b.changed)) {
		for _, row := range slices.Sorted(maps.Keys(b.working[name])) {
			g, t := b.of[row], b.tasks.list[row]
			until, why := b.protection(row)
			if until != g.protected && !t.pinned {
				g.protected = until
				emit(cluster.TaskProtected{Task: row, Attempt: t.attempt, Until: until, Reason: why})
			}
		}
	}
	clear(b.changed)
}

// Guards are the budgets of disruption as they stand, and which tasks count for them, by row.
type Guards struct {
	cluster.Budgets
	Of        [][]string // the names of each task's budgets
	Available []bool     // whether it is available
}

// guards are those at the end of a run, with so many rows.
func (b *budgets) guards(rows int) Guards {
	g := Guards{Budgets: b.Budgets, Of: make([][]string, rows), Available: make([]bool, rows)}
	for row, of := range b.of {
		g.Of[row], g.Available[row] = of.names, of.available
	}
	return g
}
