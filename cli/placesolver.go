package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/exact"
	"fairlead.dev/fairlead/constraint/outcome"
	"fairlead.dev/fairlead/ilp"
	"fairlead.dev/fairlead/ilp/highs"
)

// This file is what integer programs do for place: they mend what the search left, prove the
// bound and find the fewest constraints that conflict. HiGHS is compiled beside all else; when it
// cannot be had, or fails, the plan is the search's.

// The solvers of integer programs that there are.
const (
	solverHighs = "highs"
	solverNone  = "none"
)

func placeSolvers() []string { return []string{solverHighs, solverNone} }

// How many ticks of the solver, of some 100 microseconds each, mending takes at most where
// effort is counted, and all reasons together in any case.
const (
	forMending = 40_000
	forReasons = 10_000
)

var errMemory = errors.New("HiGHS needs more memory than it may have")

// mender is the solver, if there is one.
type mender struct {
	engine *highs.Engine // nil: none
	// waits says that the solver is waited for, however long that takes.
	waits   bool
	trouble error // the first that there was
	spent   int64 // on reasons, in ticks
}

// errLate says that the solver was not there in time.
var errLate = errors.New("HiGHS was still being compiled at the deadline, which takes some seconds; a longer --deadline, or --ticks, waits for it")

// finish lets the solver that came too late be compiled to the end, once the plan is printed, so that it
// is there the next time; without that nobody who is in a hurry would ever have it.
func (d *mender) finish(ctx context.Context, printNote func(string)) {
	if !errors.Is(d.trouble, errLate) || !d.engine.Kept() || ctx.Err() != nil {
		return
	}
	printNote("HiGHS is being compiled to the end, this once, and kept; Ctrl-C breaks that off")
	_ = d.engine.Wait(ctx) // whatever comes of it, the plan is there
}

// solverFunc is a solver whose time may end.
type solverFunc func(m *ilp.Model, start []float64, l ilp.Limits) (ilp.Solution, error)

// Solve calls the function.
func (f solverFunc) Solve(m *ilp.Model, start []float64, l ilp.Limits) (ilp.Solution, error) {
	return f(m, start, l)
}

// within is the solver until the context ends. What fails, or hits the cap on memory, is noted.
func (d *mender) within(ctx context.Context) ilp.Solver {
	return solverFunc(func(m *ilp.Model, start []float64, l ilp.Limits) (ilp.Solution, error) {
		solution, err := d.engine.SolveContext(ctx, m, start, l)
		d.note(err)
		if solution.Limit == ilp.Memory {
			d.note(errMemory)
		}
		return solution, err
	})
}

func (d *mender) note(err error) {
	if d.trouble == nil {
		d.trouble = err
	}
}

// ready reports whether the solver may be asked now.
func (d *mender) ready() bool {
	if d.engine == nil {
		return false
	}
	select {
	case <-d.engine.Ready():
		return d.engine.Wait(context.Background()) == nil
	default:
		return false
	}
}

// wait waits for the solver until the context ends, and reports whether it may be asked.
func (d *mender) wait(ctx context.Context) bool {
	if d.engine == nil {
		return false
	}
	err := d.engine.Wait(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = errLate
	}
	d.note(err)
	return err == nil
}

// mend makes the found plan better and proves a bound, before the context ends.
func (d *mender) mend(ctx context.Context, p *constraint.Problem, f *found) {
	o := exact.Defaults()
	if d.waits {
		o.Ticks = forMending
	}
	r, err := exact.Repair(p, f.plan, d.within(ctx), o)
	d.note(err)
	f.plan, f.score = r.Assignment, r.Score
	f.bound = exact.Bounded{Score: r.Bound, Proof: r.Proof}
	if r.Models > 0 {
		f.solver = &outcome.Solver{Name: solverHighs, Models: r.Models, Better: r.Better, Ticks: r.Ticks}
	}
}

// asking is who is asked why the plan leaves something out: the search, and the solver where that
// finds no place.
func (d *mender) asking(ctx context.Context, plan constraint.Assignment, search func(*constraint.Problem) constraint.Assignment) outcome.Asking {
	if !slices.Contains(plan, constraint.Nowhere) || d.engine == nil || d.waits && !d.wait(ctx) || !d.ready() {
		return outcome.Asking{Place: search}
	}
	o := exact.Defaults()
	limit := func() bool {
		o.Ticks = forReasons - d.spent
		return o.Ticks > 0 && ctx.Err() == nil
	}
	return outcome.Asking{
		Place: func(p *constraint.Problem) constraint.Assignment {
			a := search(p)
			if !slices.Contains(a, constraint.Nowhere) || !limit() {
				return a
			}
			r, err := exact.Repair(p, a, d.within(ctx), o)
			d.note(err)
			d.spent += r.Ticks
			return r.Assignment
		},
		Conflict: func(p *constraint.Problem, application int) exact.Conflicting {
			if !limit() {
				return exact.Conflicting{}
			}
			c, err := exact.Conflict(p, p.Start(), int32(application), d.within(ctx), o)
			d.note(err)
			d.spent += c.Ticks
			if err != nil {
				return exact.Conflicting{}
			}
			return c
		},
	}
}

// until is the context that ends at the moment, unless the solver is waited for.
func (d *mender) until(ctx context.Context, end time.Time) (context.Context, context.CancelFunc) {
	if d.waits {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, end)
}

// said is what there is to say of the solver's trouble; empty if there was none.
func (d *mender) said() string {
	if d.trouble == nil || errors.Is(d.trouble, context.Canceled) {
		return ""
	}
	return fmt.Sprintf("%v; without it the plan is what the search finds, and reasons may name too much", d.trouble)
}
