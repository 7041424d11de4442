package scheduler

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/metrics"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/shadow"
)

// This file runs the rounds of lanes beside the core: each on a goroutine and a view of its own, while the loop goes on. What it has planned is committed by the loop, as far as that still holds.

// besideRounds are such rounds; it belongs to the loop, but for the group.
type besideRounds struct {
	finished []besideRound
	binding  bool // what is carried out at this moment was planned by one
	running  sync.WaitGroup
}

// besideRound is one that has planned.
type besideRound struct {
	core  *recording.Recorder // that it is of
	round *recording.Round
	began time.Time
	asker *asker      // of its lane; nil if that asks for no integer programs
	tried []types.UID // pods of which it is searched whose fault a panic was
}

// undecidedFor is how long a pod may wait for a lane beside the core before it is said why it waits: else nobody heard of it while others come all the time.
const undecidedFor = 30 * cluster.Second

// besideTicks is the effort of a round for so many pods that wait. A search that finds no places without violations goes on for as long as it may, on a processor that all others want as well. Four hundred pods that wait for 500 nodes took
// 40,000 ticks each in the longest of 280 runs (M2 in docs/bench/medea.md), and mostly less than a tenth of that. The policy has a limit of its own, which holds for many pods, and where none wait.
func besideTicks(waits int) int64 {
	const each, least = 100_000, 2_000_000
	if waits == 0 {
		return 0
	}
	return max(int64(waits)*each, least)
}

// beginBeside begins the rounds that are due.
func beginBeside(ctx context.Context, s *Scheduler) {
	core := s.epochs.core
	for {
		lane, waits, due := core.DueBeside(s.now())
		if !due {
			return
		}
		now := s.now()
		of := besideRound{core, core.Begin(lane, now), s.Clock.Now(), s.epochs.programs.round(ctx, s, lane), triedBeside(s.aside)}
		if of.asker != nil {
			of.round.Answers = of.asker.answers
		}
		s.epochs.shadow.follow(core, shadow.Call{At: now})
		inbox := s.inbox
		s.epochs.beside.running.Go(func() {
			defer func() {
				if cause := recover(); cause != nil { // it is the loop's to survive it
					stack := debug.Stack()
					inbox.put(func() {
						if of.core != s.epochs.core {
							return // what it was of has ended
						}
						s.subject.deciding = true
						panic(fmt.Sprintf("%v, in a round beside the core\n%s", cause, stack))
					})
				}
			}()
			of.round.Run(besideTicks(waits))
			inbox.put(func() { s.epochs.beside.finished = append(s.epochs.beside.finished, of) })
		})
	}
}

// finishBeside carries out what the rounds have planned that have ended since the last call, of the present core.
func finishBeside(ctx context.Context, s *Scheduler) {
	finished := s.epochs.beside.finished
	s.epochs.beside.finished = nil
	for _, f := range finished {
		if f.core != s.epochs.core || s.epochs.mistakes.broken {
			continue
		}
		s.observe(ctx) // so that the core knows of whom the world has let go
		if s.epochs.mistakes.broken {
			return
		}
		s.subject.deciding = true
		before := f.core.Counts()
		now := s.now()
		decisions := f.core.Finish(f.round, now, nil)
		s.subject.deciding = false
		s.epochs.shadow.follow(f.core, shadow.Call{At: now, Out: decisions})
		s.tally.rounds(s, &before, f.began)
		if err := f.round.Err(); err != nil {
			s.epochs.mistakes.complain(ctx, s.now(), err)
			return
		}
		for _, uid := range f.tried { // which have been in a round without a panic
			s.aside.passed[uid] = true
		}
		s.epochs.beside.carryOut(func() { s.carryOut(ctx, decisions, f.began) })
		f.report(ctx, s, decisions)
	}
}

// carryOut has what is done known as planned by such a round.
func (b *besideRounds) carryOut(do func()) {
	b.binding = true
	defer func() { b.binding = false }()
	do()
}

// report says by what the round's pods were placed, and how good that is, in metrics, and to those whose binds are on their way.
func (f *besideRound) report(ctx context.Context, s *Scheduler, decisions []sched.Decision) {
	solved := f.round.Solved()
	if solved.By == sched.NoMethod {
		return // nobody was to be placed
	}
	s.epochs.programs.ended(ctx, s, f.asker)
	s.Metrics.Programs.Planned(metrics.Planned{
		By: methodLabel(solved.By), Bounded: solved.Bounded, Optimal: solved.Optimal(), Gap: float64(solved.Gap()) / violation,
	})
	how := howPlaced(solved)
	klog.FromContext(ctx).V(2).Info("planned for pods that constraints bind", "how", how, "decisions", len(decisions), "cost", solved.Cost, "bound", solved.Bound)
	for _, d := range decisions {
		if d.Kind != sched.Place {
			continue
		}
		if bind := s.binder.flights[s.world.Of(d.Task)]; bind != nil {
			bind.how = how
		}
	}
}

// violation is what one of a constraint of weight 1 costs in plans.
const violation = 1000

// howPlaced says by what a pod was placed, and whether that is the best. By how much it may not be is a sum over pods of all namespaces, and nobody's in particular.
func howPlaced(solved sched.Solved) string {
	how := "together with others that constraints bind, by " + solved.By.String()
	if solved.Optimal() {
		how += "; it is proven that no placement of all these is better"
	}
	return how
}

// methodLabel is how metrics call a method.
func methodLabel(by sched.Method) string {
	if by == sched.Programs {
		return "programs"
	}
	return "search"
}

// awaitBeside waits until the rounds have ended that are under way, or for as long as that.
func awaitBeside(s *Scheduler, atMost time.Duration) {
	ended := make(chan struct{})
	go func() {
		s.epochs.beside.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-s.Clock.After(atMost):
	}
}

// waitsFor reports whether the task is in the hands of the core for good reason: room is being made for it, or a lane beside the core has yet to look at it.
func (e *epochs) waitsFor(t cluster.TaskID, now cluster.Time) (reserved, undecided bool) {
	if e.reserved(t) {
		return true, false
	}
	return false, now-e.core.View().Task(t).Account.Since < undecidedFor && e.core.Undecided(t)
}
