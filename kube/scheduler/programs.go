package scheduler

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/ilp"
	"fairlead.dev/fairlead/kube/metrics"
	"fairlead.dev/fairlead/kube/world"
	"fairlead.dev/fairlead/recording"
)

// This file gives lanes beside the core a solver of integer programs, by which they make better what their search has left.
//
// It is begun with the first constraint that counts, as it takes seconds to be compiled, and memory from then on. The core hears by an event that it is ready, so that recordings have it, and
// is without it until then, or for good where it does not start. The solver is asked with limits in ticks, so that what it answers is the same on any machine. Where it fails all the same, as
// it crashed, ran out of memory, or a round has taken too long for the machine, it is given up for the rest of the round, which keeps what was found by then; the recording says where. It then
// backs off, for longer each time, in which rounds go by their search.

// Programs is a solver of integer programs that takes a while to become ready, as that of package ilp/highs.
type Programs interface {
	// Ready is closed when it is, or never will be, as Wait says.
	Ready() <-chan struct{}
	Wait(ctx context.Context) error
	// SolveContext is as of ilp.Solver. When the context ends it returns soon, with the limit ilp.Time.
	SolveContext(ctx context.Context, m *ilp.Model, start []float64, l ilp.Limits) (ilp.Solution, error)
}

// programsAtMost is how long after it has first asked the solver a round has no use for it any more. By its limits in ticks it takes a few seconds.
const programsAtMost = 30 * time.Second

// backoffOfPrograms is how long the solver is not asked once it has failed, again and again.
func backoffOfPrograms() world.Backoff {
	return world.Backoff{Initial: cluster.Minute, Max: cluster.Hour}
}

// solving is the solver, and who asks it. It belongs to the loop, and outlives its panics.
type solving struct {
	solver Programs          // nil before the first constraint counts
	failed bool              // to start; it is not begun again
	told   bool              // the present core knows that it is ready
	lanes  []string          // of the present core, by name
	askers map[string]*asker // by lane
	faults int               // in a row
	until  cluster.Time      // it backs off
}

// anew begins for a core that knows of nothing yet.
func (x *solving) anew() {
	x.told, x.lanes, x.askers = false, nil, map[string]*asker{}
}

// asks is what the policy of a lane asks.
func (x *solving) asks(lane string) ilp.Solver {
	if x.askers == nil {
		x.anew()
	}
	a := &asker{answers: &recording.Answers{}}
	x.askers[lane] = a
	return a
}

// begin begins the solver, as a constraint counts, where some lane has a use for it.
func (x *solving) begin(ctx context.Context, s *Scheduler) {
	if x.solver != nil || x.failed || s.Programs == nil || !s.solvesBeside() {
		return
	}
	klog.FromContext(ctx).Info("starting the solver of integer programs, as a constraint counts")
	solver, inbox := s.Programs(), s.inbox
	x.solver = solver
	go func() {
		select {
		case <-solver.Ready():
			inbox.put(func() {}) // so that the loop tells the core
		case <-ctx.Done():
		}
	}()
}

// solvesBeside reports whether a lane beside the core has a use for integer programs, and no other has: what the core is told counts for all lanes, in a replay, too.
func (o *Options) solvesBeside() bool {
	lanes, err := o.lanes()
	beside := false
	for i := range lanes {
		info, unknown := o.known().Find(lanes[i].Policy)
		if unknown != nil || info.Programs && !lanes[i].Beside {
			return false
		}
		beside = beside || lanes[i].Beside
	}
	return err == nil && beside
}

// news adds to what happened that the solver is ready, of which the core has yet to hear.
func (x *solving) news(o *Options, happened []cluster.Event) []cluster.Event {
	if x.solver == nil || x.told {
		return happened
	}
	select {
	case <-x.solver.Ready():
	default:
		return happened
	}
	if err := x.solver.Wait(context.Background()); err != nil {
		klog.Background().Error(err, "the solver of integer programs does not start; pods that constraints bind are placed by search alone")
		o.Metrics.Programs.Failed(metrics.NotStarted)
		x.solver, x.failed = nil, true
		return happened
	}
	o.Metrics.Programs.Ready()
	x.told = true
	return append(slices.Clip(happened), cluster.SolverReady{})
}

// asker asks the solver for the policy of a lane, in one round at a time. It belongs to who runs that.
type asker struct {
	answers *recording.Answers
	ask     func(*ilp.Model, []float64, ilp.Limits) (ilp.Solution, error) // in the present round
	solved  int                                                           // models, in this round
	failure error                                                         // for which the solver was given up in this round
}

var (
	errSlow       = errors.New("the round took too long for integer programs")
	errMemory     = errors.New("integer programs need more memory than they may have")
	errBackingOff = errors.New("the solver backs off, as it has failed before")
)

// round is the lane's asker, for a round that begins; nil if the lane has none.
func (x *solving) round(ctx context.Context, s *Scheduler, lane int) *asker {
	a := x.askers[x.lanes[lane]]
	if a == nil {
		return nil
	}
	solver, clock := x.solver, s.Clock // which is not there until it is ready, and nobody asks before that
	a.solved, a.failure = 0, nil
	var until time.Time // from when it is first asked on, as the search may have taken its time before
	a.ask = func(m *ilp.Model, start []float64, l ilp.Limits) (ilp.Solution, error) {
		if until.IsZero() {
			until = clock.Now().Add(programsAtMost)
		}
		within, end := context.WithDeadline(ctx, until)
		defer end()
		return solver.SolveContext(within, m, start, l)
	}
	if s.now() < x.until {
		a.ask = func(*ilp.Model, []float64, ilp.Limits) (ilp.Solution, error) { return ilp.Solution{}, errBackingOff }
	}
	return a
}

// Solve asks the solver, unless it was given up.
func (a *asker) Solve(m *ilp.Model, start []float64, l ilp.Limits) (s ilp.Solution, err error) {
	if !a.answers.Ask() {
		return ilp.Solution{}, ilp.ErrGivenUp
	}
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("it panicked: %v\n%s", cause, debug.Stack())
		}
		if err != nil {
			a.failure = err
			a.answers.GiveUp()
			s = ilp.Solution{}
			return
		}
		a.solved++
	}()
	s, err = a.ask(m, start, l)
	switch {
	case err != nil:
	case s.Limit == ilp.Time:
		err = errSlow
	case s.Limit == ilp.Memory:
		err = errMemory
	}
	return s, err
}

// ended takes in how the solver did in a round whose asker that was; nil if it had none.
func (x *solving) ended(ctx context.Context, s *Scheduler, a *asker) {
	if a == nil {
		return
	}
	s.Metrics.Programs.Solved(a.solved)
	switch {
	case a.failure == nil && a.solved > 0:
		x.faults = 0
		return
	case a.failure == nil || errors.Is(a.failure, errBackingOff):
		return
	}
	x.faults++
	pause := backoffOfPrograms().After(x.faults)
	x.until = s.now() + pause
	reason := metrics.Crashed
	switch {
	case errors.Is(a.failure, errSlow):
		reason = metrics.TooSlow
	case errors.Is(a.failure, errMemory):
		reason = metrics.OutOfMemory
	}
	s.Metrics.Programs.Failed(reason)
	klog.FromContext(ctx).Error(a.failure, "integer programs failed; pods that constraints bind are placed by search alone for a while", "for", time.Duration(pause)*time.Microsecond, "failuresInARow", x.faults)
}
