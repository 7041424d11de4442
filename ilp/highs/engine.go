package highs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"fairlead.dev/fairlead/ilp"
)

var (
	// ErrLeftOut says that the program was built without HiGHS.
	ErrLeftOut = errors.New("built without HiGHS: build without the tag nohighs")
	// ErrPlatform says that wazero has no compiler for this platform.
	ErrPlatform = errors.New("no compiler for WebAssembly on this platform, and interpreted HiGHS would be far too slow: use amd64 or arm64, on a system that allows executable memory")
	// ErrCrashed says that HiGHS failed on this model. Nothing else is affected.
	ErrCrashed = errors.New("HiGHS crashed")
	// ErrWrong says that HiGHS returned values that do not hold.
	ErrWrong = errors.New("HiGHS returned values that do not hold")
)

// Options of an engine; the zero value is right for most.
type Options struct {
	// Cache is the folder that keeps compiled code: fairlead/highs in
	// os.UserCacheDir if empty, none if it is NoCache. A folder that cannot be
	// written is no error; the code is then compiled each time. What is in it
	// is run, so nobody else should be able to write there.
	Cache string
	// Memory is the most that one solve may take, in bytes: 1 GiB if 0, else
	// from 32 MiB to 2 GiB, or what is nearest. Near it HiGHS is asked to stop
	// with what it has.
	Memory int64
	// Instances is how many solves may run at once: as many as Go uses processors if 0.
	Instances int
	// Preemptible makes HiGHS give way in each of its loops. Without it, whatever
	// stops all goroutines for a moment, such as the garbage collector, waits
	// until HiGHS next reads its clock: up to 30 ms at 200 columns, 100 ms at
	// 1,000. With it HiGHS takes two to three times as long, and can be broken off anywhere. A
	// process in which others must not wait should choose it.
	Preemptible bool
}

// NoCache as Options.Cache keeps compiled code nowhere.
const NoCache = "-"

const (
	memoryDefault = 1 << 30
	memoryLeast   = 32 << 20 // the module takes 21 MB before it has seen a model
	memoryMost    = 2 << 30
)

// Engine is HiGHS, compiled once for all solves. It may be used by several
// goroutines at once. It implements ilp.Solver.
type Engine struct {
	folder  string // of compiled code; empty if there is none
	ready   chan struct{}
	program *program // these two are set before ready is closed
	err     error
}

var _ ilp.Solver = (*Engine)(nil)

// Start compiles HiGHS in the background and returns at once.
func Start(o Options) *Engine {
	if o.Memory <= 0 {
		o.Memory = memoryDefault
	}
	o.Memory = max(memoryLeast, min(o.Memory, memoryMost))
	if o.Instances <= 0 {
		o.Instances = runtime.GOMAXPROCS(0)
	}
	e := &Engine{folder: cacheFolder(o.Cache), ready: make(chan struct{})}
	go func() {
		defer close(e.ready)
		e.program, e.err = compile(o, e.folder)
	}()
	return e
}

// Kept reports whether compiled code is kept, so that whoever waits until the engine is ready saves the next
// one the time.
func (e *Engine) Kept() bool { return e.folder != "" }

// Ready is closed when compiling has ended, well or not: Wait says which.
func (e *Engine) Ready() <-chan struct{} { return e.ready }

// Wait returns nil when the engine is ready, and an error when it will never be,
// or when the context ends before. What is known already it returns though the
// context has ended.
func (e *Engine) Wait(ctx context.Context) error {
	select {
	case <-e.ready:
		return e.err
	case <-ctx.Done():
	}
	// Of two that are ready a select takes either.
	select {
	case <-e.ready:
		return e.err
	default:
		return fmt.Errorf("while HiGHS was being compiled: %w", ctx.Err())
	}
}

// Solve is SolveContext without an end of time. It waits until the engine is ready.
func (e *Engine) Solve(m *ilp.Model, start []float64, l ilp.Limits) (ilp.Solution, error) {
	return e.SolveContext(context.Background(), m, start, l)
}

// SolveContext minimises the model. When the context ends, by a deadline or
// otherwise, it returns what is known by then, with the limit Time and no error.
//
// Of a start that does not hold, the values of integer columns are kept to see
// whether others for the rest make it hold.
func (e *Engine) SolveContext(ctx context.Context, m *ilp.Model, start []float64, l ilp.Limits) (ilp.Solution, error) {
	known, err := begin(m, start, l)
	if err != nil || known.Status == ilp.Optimal || known.Status == ilp.Infeasible {
		return known, err
	}
	select {
	case <-e.ready:
	case <-ctx.Done():
		known.Limit = ilp.Time
		return known, nil
	}
	if e.err != nil {
		return ilp.Solution{}, e.err
	}
	a, err := e.program.solve(ctx, request{model: m, start: start, limits: l})
	if err != nil {
		return ilp.Solution{}, err
	}
	if a.status == unboundedOrInfeasible || a.status == unbounded {
		return e.feasible(ctx, m, l, a.ticks)
	}
	return settle(m, known, a, l)
}

// begin refuses what is not valid, and returns what is known before any solve:
// the start, or what there is to know of a model without columns.
func begin(m *ilp.Model, start []float64, l ilp.Limits) (ilp.Solution, error) {
	s := ilp.Solution{Objective: math.Inf(1), Bound: math.Inf(-1)}
	if err := m.Validate(); err != nil {
		return ilp.Solution{}, fmt.Errorf("the model is not valid: %w", err)
	}
	if !(l.Gap >= 0) || l.Ticks < 0 {
		return ilp.Solution{}, fmt.Errorf("limits of gap %g and %d ticks: take 0 for none", l.Gap, l.Ticks)
	}
	if start != nil && len(start) != m.Columns() {
		return ilp.Solution{}, fmt.Errorf("a start of %d values for %d columns: take one for each, or nil", len(start), m.Columns())
	}
	if m.Columns() == 0 {
		if _, err := ilp.Check(m, nil); err != nil {
			s.Status, s.Bound = ilp.Infeasible, math.Inf(1)
		} else {
			s.Status, s.Objective, s.Bound = ilp.Optimal, 0, 0
		}
		return s, nil
	}
	if start != nil {
		if values, objective, err := whole(m, start); err == nil {
			s.Status, s.Values, s.Objective = ilp.Feasible, values, objective
		}
	}
	return s, nil
}

// whole returns a copy of the values with those of integer columns rounded to
// whole numbers, and what they cost, or why they do not hold.
func whole(m *ilp.Model, values []float64) ([]float64, float64, error) {
	values = slices.Clone(values)
	for c, kind := range m.Kind {
		if kind == ilp.Integer {
			values[c] = math.Round(values[c])
		}
		values[c] += 0 // Of the two zeros, the one without a sign.
	}
	objective, err := ilp.Check(m, values)
	return values, objective, err
}

func integers(m *ilp.Model) bool { return slices.Contains(m.Kind, ilp.Integer) }

// feasible settles a model of which HiGHS says that it has no values or no
// least cost, and not which: one that has values when nothing costs anything
// has no least cost. (Its numbers are rational, and then a ray of the relaxation
// and one solution make a ray of solutions.)
func (e *Engine) feasible(ctx context.Context, m *ilp.Model, l ilp.Limits, spent int64) (ilp.Solution, error) {
	free := *m
	free.Cost = make([]float64, m.Columns())
	if l.Ticks > 0 {
		l.Ticks = max(1, l.Ticks-spent)
	}
	a, err := e.program.solve(ctx, request{model: &free, limits: l})
	if err != nil {
		return ilp.Solution{}, err
	}
	a.ticks += spent
	s, err := settle(&free, ilp.Solution{Objective: math.Inf(1), Bound: math.Inf(-1)}, a, l)
	if s.Status == ilp.Optimal || s.Status == ilp.Feasible {
		s = ilp.Solution{Status: ilp.Unbounded, Objective: math.Inf(-1), Bound: math.Inf(-1), Ticks: s.Ticks}
	}
	return s, err
}

// settle makes a solution of what was known before and of HiGHS's answer. It
// believes values that hold, and of claims those that agree with them.
func settle(m *ilp.Model, known ilp.Solution, a answer, l ilp.Limits) (ilp.Solution, error) {
	s := known
	s.Ticks, s.Limit = a.ticks, a.limit
	if a.status == infeasible {
		// Where a start holds after all, it does so within tolerances that HiGHS
		// does not share; nothing is proven then.
		if known.Status == ilp.Unknown {
			s.Status, s.Bound = ilp.Infeasible, math.Inf(1)
		}
		return s, nil
	}
	// A bound that says nothing is none.
	if math.IsNaN(a.bound) || math.IsInf(a.bound, 1) {
		a.bound = math.Inf(-1)
	}
	if a.values == nil {
		s.Bound = min(a.bound, s.Objective)
		return s, nil
	}
	values, objective, err := whole(m, a.values)
	if err != nil {
		return ilp.Solution{}, fmt.Errorf("%w: %w", ErrWrong, err)
	}
	claim := objective
	if a.status == optimal && !integers(m) {
		a.bound = claim
	}
	if objective < s.Objective {
		s.Values, s.Objective = values, objective
	}
	s.Status = ilp.Feasible
	s.Bound = min(a.bound, s.Objective)
	near := ilp.Tolerance * max(1, math.Abs(s.Objective))
	switch {
	case a.status != optimal:
	case claim > s.Objective+near:
		// The start is better than what HiGHS takes for the optimum.
		s.Bound = math.Inf(-1)
	case l.Gap > 0 && s.Objective-s.Bound > near:
		s.Limit = ilp.Gap
	default:
		s.Status = ilp.Optimal
	}
	return s, nil
}

// request is what one solve is asked; the model is valid.
type request struct {
	model  *ilp.Model
	start  []float64
	limits ilp.Limits
}

// answer is what HiGHS says of a request.
type answer struct {
	status modelStatus
	values []float64 // nil unless HiGHS says that they hold
	bound  float64   // of models with integer columns
	ticks  int64
	limit  ilp.Limit // that made HiGHS stop
}

// modelStatus has the values of HiGHS's C interface.
type modelStatus int32

const (
	notSet                modelStatus = 0
	postsolveError        modelStatus = 5 // the last of those that say that HiGHS failed
	optimal               modelStatus = 7
	infeasible            modelStatus = 8
	unboundedOrInfeasible modelStatus = 9
	unbounded             modelStatus = 10
)
