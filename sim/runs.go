package sim

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file plays runs: what the world makes of decisions, and what it tells
// the core of them.

// carryOut carries out decisions. It is also where the checkers stand: a decision
// that the world cannot honour is an error of the core.
func (s *simulation) carryOut(decisions []sched.Decision) error {
	for _, d := range decisions {
		t := &s.tasks.list[d.Task]
		if t.seq != d.Seq {
			if d.Kind == sched.Place || d.Kind == sched.Evict {
				s.emit(cluster.TaskLeft{Task: d.Task, Attempt: d.Attempt}) // ended meanwhile
			}
			continue
		}
		s.output.decision(s.now, d, t, &s.nodes)
		switch d.Kind {
		case sched.Place:
			if err := s.check(d); err != nil {
				return fmt.Errorf("at %v: %w", s.now, err)
			}
			s.allocate(d)
		case sched.Evict:
			s.evict(d)
		case sched.Resize:
			if err := s.resize(d); err != nil {
				return fmt.Errorf("at %v: %w", s.now, err)
			}
		case sched.End:
			s.supersede(d.Task)
		}
	}
	return nil
}

// check refuses to believe the core: it compares a placement with what is
// physically there.
func (s *simulation) check(d sched.Decision) error {
	t := &s.tasks.list[d.Task]
	n := &s.nodes.list[d.Node]
	if t.phase != idle {
		return fmt.Errorf("checker: %s is placed on node %s while it has a run on %s", t.called(), n.name, s.nodes.list[t.node].name)
	}
	if !n.live {
		return fmt.Errorf("checker: %s is placed on node %s, which is lost", t.called(), n.name)
	}
	if err := s.checkGrant(t, d.Grant); err != nil {
		return err
	}
	if err := s.nodes.overBy(d.Node, room{t.with(d.Grant), d.Devices}); err != nil {
		return fmt.Errorf("checker: %s is placed where it does not fit: %w", t.called(), err)
	}
	wanted := admission{requirements: t.requirements}
	if !s.nodes.meets(d.Node, wanted) {
		return fmt.Errorf("checker: %s is placed on node %s, which does not meet its requirements", t.called(), n.name)
	}
	if wanted.tier = s.tasks.classes.Classes[t.service].Tier; !s.nodes.meets(d.Node, wanted) {
		return fmt.Errorf("checker: %s is placed on node %s of tier %d, and its class %s was promised tier %d", t.called(), n.name, n.tier, s.tasks.classes.Classes[t.service].Name, wanted.tier)
	}
	if err := s.checkApart(d); err != nil {
		return err
	}
	return s.checkMost(d)
}

// checkApart refuses a placement beside as many tasks of the job as may be.
func (s *simulation) checkApart(d sched.Decision) error {
	t, n := &s.tasks.list[d.Task], &s.nodes.list[d.Node]
	beside, most := int32(0), t.perNode
	for _, other := range n.runs {
		o := &s.tasks.list[other]
		if o.job != t.job || other == d.Task {
			continue
		}
		beside++
		if o.perNode > 0 && (most == 0 || o.perNode < most) {
			most = o.perNode
		}
		if most > 0 && beside >= most {
			return fmt.Errorf("checker: %s is placed on node %s beside %s: the node may hold at most %d of its job", t.called(), n.name, o.called(), most)
		}
	}
	return nil
}

// allocate starts the run that the decision names.
func (s *simulation) allocate(d sched.Decision) {
	t := &s.tasks.list[d.Task]
	t.phase, t.node, t.devices, t.grant, t.attempt, t.silent = beginning, d.Node, d.Devices, d.Grant, d.Attempt, false
	t.runs++
	s.nodes.arrive(d.Task, d.Node, t.takes())
	ready := s.effectiveAt() + s.overhead(t)
	set := timer{at: ready, kind: runBegins, task: d.Task, attempt: d.Attempt, node: d.Node}
	switch faults := &s.cfg.World.Faults; {
	case s.dice.falls(faults.BindLate):
		late := set
		late.at = ready + s.dice.about(max(faults.Grace, cluster.Second))
		s.kernel.set(late)
		s.tasks.given[run{d.Task, d.Attempt}] = given{t.seq, t.takes()}
		set.kind = runRefused
	case s.dice.falls(faults.BindRefused):
		set.kind = runRefused
	case ready == s.now:
		s.begin(set)
		return
	}
	s.kernel.set(set)
}

// overhead draws how long the allocation takes.
func (s *simulation) overhead(t *task) cluster.Time {
	o := &s.cfg.World.Overheads
	if len(o.Hot) == 0 && len(o.Cold) == 0 {
		return 0
	}
	if slices.Contains(t.warm, t.node) {
		return s.dice.sample(o.Hot)
	}
	first := len(t.warm) == 0
	t.warm = append(t.warm, t.node)
	if first && len(o.First) > 0 {
		return s.dice.sample(o.First)
	}
	return s.dice.sample(o.Cold)
}

// begin lets an allocation that is ready work. One that was given up begins
// all the same, as an orphan beside whatever the task does by now.
func (s *simulation) begin(r timer) {
	t := &s.tasks.list[r.task]
	if t.phase == beginning && t.attempt == r.attempt {
		s.work(r.task)
		s.fetch(r.task)
		t.silent = s.report(cluster.TaskStarted{Task: r.task, Attempt: r.attempt, Node: r.node, Devices: t.devices, Grant: t.grant})
		return
	}
	key := run{r.task, r.attempt}
	was := s.tasks.given[key]
	delete(s.tasks.given, key)
	if t.seq == 0 || was.seq != t.seq || !s.nodes.list[r.node].live {
		return
	}
	s.nodes.arrive(r.task, r.node, was.room)
	t.orphans = append(t.orphans, orphan{r.attempt, r.node, was.room})
	s.emit(cluster.TaskStarted{Task: r.task, Attempt: r.attempt, Node: r.node, Devices: was.devices, Grant: was.demand})
}

// adopt makes an orphan the task's run if the core, which was just told of it,
// takes it for that. Otherwise the core has said that it must leave.
func (s *simulation) adopt(started cluster.TaskStarted, row *cluster.Task) {
	t := &s.tasks.list[started.Task]
	at := slices.IndexFunc(t.orphans, func(o orphan) bool { return o.attempt == started.Attempt && o.node == started.Node })
	if at < 0 || row.Seq != t.seq || row.Attempt != started.Attempt || row.Phase != cluster.Running || t.phase != idle {
		return
	}
	t.node, t.devices, t.grant, t.attempt = started.Node, t.orphans[at].devices, t.orphans[at].demand, started.Attempt
	t.orphans = slices.Delete(t.orphans, at, at+1)
	s.work(started.Task)
	s.fetch(started.Task)
}

// work sets the end of a run that begins to work now.
func (s *simulation) work(row cluster.TaskID) {
	t := &s.tasks.list[row]
	t.phase, t.kept = working, t.done
	s.begins(t)
	s.aim(row)
}

// refuse reports that an allocation failed.
func (s *simulation) refuse(r timer) {
	t := &s.tasks.list[r.task]
	if t.phase != beginning || t.attempt != r.attempt {
		return
	}
	s.stop(r.task)
	s.report(cluster.BindRefused{Task: r.task, Attempt: r.attempt})
}

// evict tells a run to go. One that is not there has gone already; an orphan
// cannot refuse.
func (s *simulation) evict(d sched.Decision) {
	t := &s.tasks.list[d.Task]
	faults := &s.cfg.World.Faults
	own := t.attempt == d.Attempt && t.phase == working
	orphaned := slices.ContainsFunc(t.orphans, func(o orphan) bool { return o.attempt == d.Attempt })
	switch {
	case own && s.dice.falls(faults.EvictRefused):
		s.report(cluster.EvictRefused{Task: d.Task, Attempt: d.Attempt})
	case (own || orphaned) && s.dice.falls(faults.EvictLate):
		if own {
			t.phase = leavingNow
			s.rests(t)
		}
		s.kernel.set(timer{at: s.effectiveAt() + s.dice.about(max(faults.Grace, cluster.Second)), kind: runLeaves, task: d.Task, attempt: d.Attempt})
	case s.effectiveAt() > s.now:
		s.kernel.set(timer{at: s.effectiveAt(), kind: runLeaves, task: d.Task, attempt: d.Attempt})
	default:
		s.leave(d.Task, d.Attempt)
	}
}

// effectiveAt is when decisions that come out now take effect in the world.
func (s *simulation) effectiveAt() cluster.Time { return max(s.now, s.planner.effective) }

// leave ends a run whose task goes on, and tells the core.
func (s *simulation) leave(row cluster.TaskID, attempt uint32) {
	t := &s.tasks.list[row]
	if t.attempt == attempt && t.phase != idle {
		s.stats.evicted(s.core.View().Task(row))
		s.stop(row)
	} else {
		s.removeOrphans(row, func(o orphan) bool { return o.attempt == attempt })
	}
	delete(s.tasks.given, run{row, attempt}) // what was told to leave does not begin any more
	s.report(cluster.TaskLeft{Task: row, Attempt: attempt})
}

// removeOrphans removes the orphans of a task that match.
func (s *simulation) removeOrphans(row cluster.TaskID, match func(orphan) bool) {
	t := &s.tasks.list[row]
	t.orphans = slices.DeleteFunc(t.orphans, func(o orphan) bool {
		if match(o) {
			s.nodes.depart(row, o.node, o.room)
			return true
		}
		return false
	})
}

// stop takes a run from its node, keeping its work if the world does.
func (s *simulation) stop(row cluster.TaskID) {
	t := &s.tasks.list[row]
	if t.phase == working {
		s.rests(t)
	}
	switch {
	case t.phase < working:
	case s.cfg.World.KeepWork:
		s.progress(t)
	default:
		t.done = t.kept
	}
	s.nodes.depart(row, t.node, t.takes())
	t.phase, t.node, t.grant = idle, cluster.NoNode, nil
}

// finish ends a task for good: by its own work, because its user says so, or as
// another copy of it has finished.
func (s *simulation) finish(row cluster.TaskID, why cause) {
	t := &s.tasks.list[row]
	if t.silent && t.phase >= working {
		s.emit(cluster.TaskStarted{Task: row, Attempt: t.attempt, Node: t.node, Devices: t.devices, Grant: t.grant})
	}
	if t.phase != idle {
		s.stop(row)
	}
	for _, o := range t.orphans {
		s.emit(cluster.TaskLeft{Task: row, Attempt: o.attempt})
	}
	s.removeOrphans(row, func(orphan) bool { return true })
	s.emit(cluster.TaskEnded{Task: row, Seq: t.seq, Finished: why == byItself && !t.fails})
	s.ended = append(s.ended, ending{row, why})
}

// run names one run of one task.
type run struct {
	task    cluster.TaskID
	attempt uint32
}

// ending is a task that ended since the core was last told.
type ending struct {
	task cluster.TaskID
	why  cause
}

// cause is why a task ended.
type cause uint8

const (
	byItself   cause = iota // it has done its work, or failed
	killed                  // its user ended it
	superseded              // another copy of it has finished
)

// report emits an outcome to the core: now, or late, and now and then twice. It
// reports whether the core does not know yet.
func (s *simulation) report(e cluster.Event) (late bool) {
	faults := &s.cfg.World.Faults
	if s.dice.falls(faults.Twice) {
		s.kernel.set(timer{at: s.now + s.dice.about(cluster.Minute), kind: reported, report: e})
	}
	if s.dice.falls(faults.Late) {
		s.kernel.set(timer{at: s.now + s.dice.about(max(faults.Grace, cluster.Second)), kind: reported, report: e})
		return true
	}
	s.emit(e)
	return false
}

func (s *simulation) emit(e cluster.Event) { s.in = append(s.in, e) }
