package cli

import (
	"context"
	"errors"
	"io"
	"sync"

	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim"
)

// This file runs what a command line asks for, several runs at a time.

// runAll runs the jobs, so many at a time, behind a bar, and leaves with each what came of it. Of those that were not
// interrupted ended is called with how they did, from several goroutines; it may be nil.
func (s *simulation) runAll(ctx context.Context, jobs []*job, atOnce int, ended func(int, *job, *sim.Ending), stderr io.Writer) {
	bar := newBar(stderr, len(jobs))
	slots := make(chan struct{}, atOnce)
	var group sync.WaitGroup
	for i, j := range jobs {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			var end sim.Ending
			var finished func(sim.Ending)
			if ended != nil {
				finished = func(e sim.Ending) { end = e }
			}
			j.err = errInterrupted
			if ctx.Err() == nil {
				j.result, j.err = s.runOne(ctx, j, func(p sim.Progress) { bar.note(i, j.Policy.Name, p) }, finished, stderr)
			}
			if errors.Is(j.err, errInterrupted) { // before it began
				j.result, j.err = report.Run{Setup: s.Setup(&j.Run, s.Until(0)), Interrupted: true}, nil
			}
			bar.done(i)
			if ended != nil && j.err == nil && !j.result.Interrupted {
				ended(i, j, &end)
			}
		})
	}
	group.Wait()
	bar.close()
}

// runToEnd runs one job that is of no use when it is interrupted.
func (s *simulation) runToEnd(ctx context.Context, j *job, stderr io.Writer) (sim.Ending, error) {
	var end sim.Ending
	s.runAll(ctx, []*job{j}, 1, func(_ int, _ *job, e *sim.Ending) { end = *e }, stderr)
	return end, j.whole()
}

// whole is an error if the job failed or was interrupted.
func (j *job) whole() error {
	if j.err == nil && j.result.Interrupted {
		return errInterrupted
	}
	return j.err
}
