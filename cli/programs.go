package cli

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"fairlead.dev/fairlead/ilp"
	"fairlead.dev/fairlead/ilp/highs"
)

// This file gives policies the solver of integer programs. It is ready before a run begins, and
// limited by ticks alone, so that a run decides the same on every machine.

// reporting is a solver that says once what went wrong with it; whoever asks it goes on without.
type reporting struct {
	solver *highs.Engine
	to     io.Writer
	once   sync.Once
}

// Solve asks the solver, and reports what goes wrong with it.
func (t *reporting) Solve(m *ilp.Model, start []float64, l ilp.Limits) (ilp.Solution, error) {
	s, err := t.solver.Solve(m, start, l)
	trouble := err
	if s.Limit == ilp.Memory {
		trouble = errMemory
	}
	if trouble != nil {
		t.once.Do(func() { fmt.Fprintf(t.to, "fairlead: note: %v; plans are what the search finds\n", trouble) })
	}
	return s, err
}

// compile has the solver ready if a policy has a use for it; it prints that the run has to wait. A run
// without it is one of the policies' own search.
func (s *simulation) compile(ctx context.Context, stderr io.Writer) {
	if !s.Programs() {
		return
	}
	engine := highs.Start(highs.Options{})
	select {
	case <-engine.Ready():
	case <-time.After(time.Second):
		fmt.Fprintln(stderr, "fairlead: waiting for HiGHS to be compiled, which takes some seconds the first time on a machine")
	}
	if err := engine.Wait(ctx); err != nil {
		if ctx.Err() == nil {
			fmt.Fprintf(stderr, "fairlead: note: %v; plans are what the search finds\n", err)
		}
		return
	}
	s.programs = &reporting{solver: engine, to: stderr}
}

// lazily is the solver for replays, which begins to be compiled when it is asked: recordings
// in which nothing asked it are replayed without.
type lazily struct{ engine func() *highs.Engine }

func newLazily() lazily {
	return lazily{sync.OnceValue(func() *highs.Engine { return highs.Start(highs.Options{}) })}
}

// Solve asks the solver, which it starts the first time.
func (z lazily) Solve(m *ilp.Model, start []float64, l ilp.Limits) (ilp.Solution, error) {
	return z.engine().Solve(m, start, l)
}
