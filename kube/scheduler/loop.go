package scheduler

import (
	"context"
	"time"

	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/world"
	"fairlead.dev/fairlead/sched"
)

// queryTime bounds the time that one turn of the loop spends on pods whose
// nodes have to be worked out one full-filter query at a time, so that the others do
// not wait for them.
const queryTime = 20 * time.Millisecond

// loop turns until the context ends.
func (s *Scheduler) loop(ctx context.Context) error {
	timer := s.Clock.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		wake, err := s.turn(ctx)
		if err != nil {
			return err
		}
		wait := min(max(min(wake, s.epochs.shadow.wake())-s.now(), 0), cluster.Hour)
		timer.Reset(time.Duration(wait) * time.Microsecond)
		select {
		case <-ctx.Done():
		case <-s.inbox.wake:
		case <-s.promises.changed:
		case answer := <-s.epochs.shadow.asked():
			answer <- s.epochs.shadow.report()
		case <-timer.C():
		}
	}
	return nil
}

// turn takes in what happened, lets the core decide if it may, and sends out
// what it decided. It returns when to turn again although nothing happens.
func (s *Scheduler) turn(ctx context.Context) (cluster.Time, error) {
	defer s.watchdog.watch(s.Clock.Now())()
	s.world.Advance(s.now())
	writeAccounts(s) // before anything happens that the core has not heard of
	takeIn(ctx, s)
	if s.tally.due(s.now()) {
		s.tally.set(s)
		s.epochs.tape.keep(ctx, &s.Metrics.Rounds)
		s.epochs.shadow.due(ctx)
	}
	if s.epochs.mistakes.broken && s.now() < s.epochs.mistakes.until {
		s.world.Take() // all that is known is reported to the next core
		return s.epochs.mistakes.until, nil
	}
	if err := s.renew(ctx); err != nil {
		return 0, err
	}
	if s.makeRoom() <= 0 {
		// An answer to a bind will wake the loop.
		wake := s.observe(ctx)
		if s.epochs.mistakes.broken {
			return wake, nil
		}
		resize(ctx, s)
		s.dismiss(ctx)
		return min(wake, s.world.Wake(), s.aside.wake()), nil
	}
	finishBeside(ctx, s)
	if s.epochs.mistakes.broken {
		return s.now(), nil
	}
	unplaced := s.admit()
	s.explainer.want(s.world.PodGroups().Rearranged())
	wake := s.step(ctx)
	if s.epochs.mistakes.broken {
		return wake, nil
	}
	var held []cluster.TaskID
	beginBeside(ctx, s)
	s.explainer.want(append(unplaced, s.world.Settle(func(t cluster.TaskID) bool {
		reserved, undecided := s.epochs.waitsFor(t, s.now())
		if reserved {
			held = append(held, t)
		}
		return reserved || undecided
	})...))
	resize(ctx, s)
	s.dismiss(ctx)
	s.explainer.nominateHeirs(s, held)
	more := s.explainer.work(s)
	room := s.makeRoom() // what was decided has taken some
	s.subject.handling(nil)
	s.intake.constraints.report()
	wake = min(wake, s.world.Wake(), s.aside.wake(), s.explainer.wake(), s.intake.constraints.wake(), countClasses(s))
	// Who is queued and has no room waits for the answer to a bind, which wakes the loop.
	if more || s.world.Pending() || s.world.Pods().Queued() > 0 && room > 0 {
		wake = s.now()
	}
	return wake, nil
}

// takeIn takes in what happened, and what is due.
func takeIn(ctx context.Context, s *Scheduler) {
	for _, happened := range s.inbox.take() {
		s.subject.handling(nil)
		happened()
	}
	s.recall(ctx)
	s.aside.due()
	s.world.Due()
	s.promise(ctx)
	s.intake.constraints.constrain(ctx)
	s.subject.handling(nil)
}

// makeRoom reports to the world for how many pods there is room, and returns for how
// many binds.
func (s *Scheduler) makeRoom() int {
	binds, preparations := s.binder.room()
	s.world.SetRoom(binds, preparations)
	return binds
}

// admit lets queued pods through to the core, and works out the nodes of pods that
// need more than a node set and a vector.
func (s *Scheduler) admit() []*world.Pod {
	until := s.Clock.Now().Add(queryTime)
	return s.world.Admit(func() bool { return s.Clock.Now().After(until) })
}

// observe reports to the core what happened, without a round. It returns when to turn
// again.
func (s *Scheduler) observe(ctx context.Context) cluster.Time {
	began := s.Clock.Now()
	decisions, err := s.epochs.observe(s.now(), s.world.Take())
	if err != nil {
		return s.epochs.mistakes.complain(ctx, s.now(), err)
	}
	s.carryOut(ctx, decisions, began)
	s.world.Binds().CloseCases()
	return cluster.Never
}

// step reports to the core what happened, lets it decide, and carries that out.
func (s *Scheduler) step(ctx context.Context) cluster.Time {
	began, before := s.Clock.Now(), s.epochs.core.Counts()
	decisions, wake, err := s.epochs.step(s.now(), s.world.Take())
	s.aside.stepped()
	s.tally.rounds(s, &before, began)
	if err != nil {
		return s.epochs.mistakes.complain(ctx, s.now(), err)
	}
	s.carryOut(ctx, decisions, began)
	return wake
}

// carryOut lets upstream's filters have the last word on each placement, and
// sends out the binds of those that pass. Then it takes on what has to leave. What is resized is judged as it will be
// by those who come after it. No job has FirstEnds, so that there is nothing to end. What made the decisions began at that time.
func (s *Scheduler) carryOut(ctx context.Context, decisions []sched.Decision, began time.Time) {
	var gangs world.Gangs
	var sent []*world.Pod
	for _, d := range decisions {
		if d.Kind == sched.Resize {
			world.SizesOf(s.world).Resize(d)
		}
		if d.Kind != sched.Place {
			continue
		}
		p, status := s.world.Binds().Judge(ctx, d)
		if gangs.Hold(s.epochs.core.View(), d, p, status.IsSuccess()) {
			continue // until all of the gang have been judged
		}
		if !status.IsSuccess() {
			if status.Code() != fwk.Pending { // which is no refusal
				s.Metrics.Rounds.LastWordRefused(status.Plugin())
			}
			klog.FromContext(ctx).V(2).Info("upstream's filters refused a placement",
				"pod", klog.KObj(p.Object()), "plugin", status.Plugin(), "reason", status.Message())
			if p.Stage == world.BackingOff {
				s.explainer.refused(s, p, status)
			}
			continue
		}
		s.binder.bind(ctx, p, nil)
		s.explainer.reportGroup(s, p, "")
		sent = append(sent, p)
	}
	sent = append(sent, s.bindGangs(ctx, &gangs)...)
	s.subject.handling(nil)
	countPlaced(s, sent, began)
	countPreemptions(s, decisions, began)
	s.leave(decisions)
	s.Metrics.Evictions.WithoutPlacement(s.epochs.core.Counts().WithoutPlacement)
	s.world.Exits().Storm().LeftForNobody(s.epochs.core.Counts().WithoutPlacement, s.now())
	if notesOf(s) != nil && len(decisions) > 0 {
		reportCarriedOut(ctx, s)
	}
}
