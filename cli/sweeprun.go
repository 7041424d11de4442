package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"fairlead.dev/fairlead/ilp"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sweep"
)

// This file does the runs of a sweep, as far as they are not kept.

// sweeper does the runs of a shard of a list.
type sweeper struct {
	known    policies.List
	list     *sweep.List
	store    sweep.Store
	dir      string // what messages call the store
	shard    sweep.Shard
	why      string // why that shard
	parallel int
	table    string // the file of the set as a table; empty for none
	programs ilp.Solver
	notes    *notePrinter
}

// damaged says of a file that it is not as it was written.
func damaged(stderr io.Writer) func(error) {
	return func(err error) { fmt.Fprintf(stderr, "fairlead: %v; the run counts as one that was not done\n", err) }
}

// run does what is not done yet, and ends with the set where all runs are done here.
func (w *sweeper) run(ctx context.Context, stdout, stderr io.Writer) error {
	if folder, is := w.store.(sweep.Folder); is {
		if err := folder.Clean(); err != nil {
			return err
		}
	}
	if err := w.keepList(ctx, stderr); err != nil {
		return err
	}
	todo, err := w.list.Todo(ctx, w.store, w.shard, damaged(stderr))
	if err != nil {
		return err
	}
	all := 0
	for i := range w.list.Runs {
		if w.shard.Has(i) {
			all++
		}
	}
	w.announce(stderr, all, all-len(todo))
	done, err := w.do(ctx, todo, all, stderr)
	if ctx.Err() != nil && errors.Is(err, errInterrupted) {
		return fmt.Errorf("%w; %d of %s are kept in %s, and the same command does the others", errInterrupted, all-len(todo)+done, report.Count(all, "run"), w.dir)
	}
	if err != nil {
		return fmt.Errorf("%w\n%d of %s are kept in %s, and the same command does the others", err, all-len(todo)+done, report.Count(all, "run"), w.dir)
	}
	if w.shard.Of > 1 {
		fmt.Fprintf(stderr, "fairlead: shard %s is done; when all are: fairlead sweep merge %s\n", w.shard, w.dir)
		return nil
	}
	if err := writeSet(ctx, w.list, []sweep.Store{w.store}, w.store, stderr); err != nil {
		return err
	}
	if err := writeTable(ctx, w.store, w.table); err != nil {
		return err
	}
	return printSet(ctx, w.store, w.dir, stdout)
}

// keepList keeps the list of runs, and says where the folder had another one.
func (w *sweeper) keepList(ctx context.Context, stderr io.Writer) error {
	text, err := w.list.Encode()
	if err != nil {
		return err
	}
	was, err := sweep.ReadFile(ctx, w.store, sweep.ListFile)
	switch {
	case err == nil && bytes.Equal(was, text):
		return nil
	case err == nil:
		if old, err := sweep.DecodeList(sweep.ListFile, was); err == nil {
			fmt.Fprintf(stderr, "fairlead: %s has another list of runs (%s); what is the same is not done again\n", w.dir, old.Differs(w.list))
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return w.store.Write(ctx, sweep.ListFile, func(to io.Writer) error {
		_, err := to.Write(text)
		return err
	})
}

// announce says what is about to happen.
func (w *sweeper) announce(stderr io.Writer, all, done int) {
	switch {
	case w.shard.Of > 1:
		fmt.Fprintf(stderr, "fairlead: shard %s, by %s: %d of %s", w.shard, w.why, all, report.Count(len(w.list.Runs), "run"))
	case w.why != "":
		fmt.Fprintf(stderr, "fairlead: %s\n", w.why)
		fallthrough
	default:
		fmt.Fprintf(stderr, "fairlead: %s", report.Count(all, "run"))
	}
	if done > 0 {
		fmt.Fprintf(stderr, ", of which %d are done already", done)
	}
	fmt.Fprintf(stderr, "; %d at a time\n", w.parallel)
}

// do does the runs, several at a time, and returns how many are kept. A run that fails does not keep others from being
// done; what cannot be kept does.
func (w *sweeper) do(ctx context.Context, todo []int, all int, stderr io.Writer) (done int, err error) {
	if err := w.compile(ctx, todo, stderr); err != nil {
		return 0, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	p := &sweepProgress{bar: newBar(stderr, len(todo)), stderr: stderr, begun: time.Now(), failed: failedRuns{said: map[string]int{}}}
	p.bar.counted = all
	p.said = p.begun
	slots := make(chan struct{}, w.parallel)
	var group sync.WaitGroup
	for place, i := range todo {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		group.Go(func() {
			defer func() { <-slots }()
			run := &w.list.Runs[i]
			err := w.one(ctx, run, func(now sim.Progress) { p.bar.note(place, run.Policy, now) }, stderr)
			if _, is := errors.AsType[notKeptError](err); is {
				stop(err)
			}
			p.ended(place, run, err)
		})
	}
	group.Wait()
	p.bar.close()
	if notKept, is := errors.AsType[notKeptError](context.Cause(ctx)); is {
		return p.done, notKept
	}
	if ctx.Err() != nil {
		return p.done, errInterrupted
	}
	return p.done, p.failed.err()
}

// compile has the solver of integer programs ready if a run has a use for it.
func (w *sweeper) compile(ctx context.Context, todo []int, stderr io.Writer) error {
	for _, i := range todo {
		plan, err := w.list.Runs[i].Spec.Plan(w.known)
		if err != nil {
			return err
		}
		if plan.Programs() {
			s := &simulation{Plan: plan}
			s.compile(ctx, stderr)
			w.programs = s.programs
			return nil
		}
	}
	return nil
}

// notKeptError is about a result that could not be kept. No other one can be, then.
type notKeptError struct{ err error }

func (e notKeptError) Error() string { return e.err.Error() }
func (e notKeptError) Unwrap() error { return e.err }

// one does a run and keeps what came of it, unless it was interrupted.
func (w *sweeper) one(ctx context.Context, run *sweep.Run, progress func(sim.Progress), stderr io.Writer) error {
	plan, err := run.Spec.Plan(w.known)
	if err != nil {
		return err
	}
	s := &simulation{Plan: plan, programs: w.programs, notes: w.notes, wholeOnly: true}
	j := &job{Run: plan.Runs()[0]}
	begun := time.Now()
	j.result, j.err = s.runOne(ctx, j, progress, nil, stderr)
	if err := j.whole(); err != nil {
		return err
	}
	// A run that has ended is kept, whatever else is to stop.
	if err := w.list.Keep(context.WithoutCancel(ctx), w.store, run, &j.result, time.Since(begun).Seconds()); err != nil {
		return notKeptError{fmt.Errorf("cannot keep what came of %s: %w", run, err)}
	}
	return nil
}

// sweepProgress counts what becomes of runs, for the bar, and for a line now and then where there is no terminal.
type sweepProgress struct {
	bar    *bar
	stderr io.Writer
	begun  time.Time

	mutex  sync.Mutex
	said   time.Time
	over   int
	done   int
	failed failedRuns
}

// reportEvery is how long a log stands before it has another line.
const reportEvery = 30 * time.Second

// ended takes in how a run ended.
func (p *sweepProgress) ended(place int, run *sweep.Run, err error) {
	p.bar.done(place)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.over++
	switch {
	case err == nil:
		p.done++
	case !errors.Is(err, errInterrupted):
		p.failed.add(run, err)
	}
	if p.bar.out != nil || time.Since(p.said) < reportEvery {
		return
	}
	p.said = time.Now()
	all := len(p.bar.runs)
	left := time.Duration(float64(time.Since(p.begun)) / float64(p.over) * float64(all-p.over)).Round(time.Second)
	fmt.Fprintf(p.stderr, "fairlead: %d of %d runs, about %s left\n", p.bar.counted-all+p.over, p.bar.counted, left)
}

// failedRuns are runs that failed; the same cause is said once.
type failedRuns struct {
	said map[string]int
	errs []error
}

func (f *failedRuns) add(run *sweep.Run, err error) {
	if f.said[err.Error()]++; f.said[err.Error()] == 1 {
		f.errs = append(f.errs, fmt.Errorf("%s: %w", run, err))
	}
}

func (f *failedRuns) err() error { return errors.Join(f.errs...) }
