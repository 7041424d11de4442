package sim

import (
	"fmt"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/wide"
	"fairlead.dev/fairlead/sched"
)

// This file plays tasks that take more or less of a node as they are granted. Such
// a task works faster with more: its work is a time with one unit of the first kind
// in which its demand is a range, and with r units it takes an r-th of that time
// (PLT = SLT / r, Euro-Par WS 2018, §3). Effort is that kind's quantity × µs, as an
// exact integer, so that nothing is lost or won where a run is resized half-way. Of a
// task whose demand is fixed, a µs is a µs.

// with is what the task takes with the grant.
func (t *task) with(grant cluster.Vector) cluster.Vector {
	if grant != nil {
		return grant
	}
	return t.demand
}

// takes is what the present run takes.
func (t *task) takes() room { return room{t.with(t.grant), t.devices} }

// rate is the effort of the present run in a µs, and how much of it is one unit of work.
func (s *simulation) rate(t *task) (amount, unit int64) {
	for k := range t.most {
		if t.most[k] != t.demand[k] {
			return t.takes().demand[k], max(s.nodes.kinds[k].PerUnit, 1)
		}
	}
	return 1, 1
}

// progress adds what the present run has done since it began to work as it does now.
func (s *simulation) progress(t *task) {
	amount, _ := s.rate(t)
	t.done = t.done.Plus(wide.Product(amount, int64(s.now-t.began)))
}

// aim sets the end of a run that works from now on with what it takes now.
func (s *simulation) aim(row cluster.TaskID) {
	t := &s.tasks.list[row]
	t.began, t.ends = s.now, cluster.Never
	amount, unit := s.rate(t)
	if t.work == cluster.Never || amount == 0 {
		return
	}
	if left := cluster.Time(wide.Product(unit, int64(t.work)).Minus(t.done).OverUp(amount)); left < cluster.Never-s.now {
		t.ends = s.now + left
		s.kernel.set(timer{at: t.ends, kind: runEnds, task: row, attempt: t.attempt, elastic: t.most != nil})
	}
}

// due reports whether the run ends at the timer's time.
func (b *tasks) due(t timer) bool {
	row := &b.list[t.task]
	return row.seq != 0 && row.phase >= working && row.attempt == t.attempt && row.ends == t.at
}

// forget drops timers that come next and are of no use, as a run will end at another
// time: nothing happens then, and time need not go on until there.
func (s *simulation) forget() {
	for len(s.kernel.timers) > 0 {
		t := s.kernel.timers[0]
		if t.kind != runEnds || !t.elastic || s.tasks.due(t) {
			return
		}
		s.kernel.pop()
	}
}

// checkGrant refuses a grant that the task's demand does not allow.
func (s *simulation) checkGrant(t *task, grant cluster.Vector) error {
	if grant == nil {
		return nil
	}
	most := t.most
	if most == nil {
		most = t.demand
	}
	for k, q := range grant {
		if kind := s.nodes.kinds[k]; q < t.demand[k] || q > most[k] {
			return fmt.Errorf("checker: %s is granted %s of %s, outside its range of %s to %s", t.called(), kind.Format(q), kind.Name, kind.Format(t.demand[k]), kind.Format(most[k]))
		}
	}
	return nil
}

// resize gives a run more or less, at once: what it takes more has to be free. A run
// that the core believes to be there may be gone; it will hear of that.
func (s *simulation) resize(d sched.Decision) error {
	t := &s.tasks.list[d.Task]
	if err := s.checkGrant(t, d.Grant); err != nil {
		return err
	}
	mark := run{d.Task, d.Attempt}
	if late, given := s.tasks.given[mark]; given {
		late.demand = t.with(d.Grant)
		s.tasks.given[mark] = late
	}
	if t.attempt != d.Attempt || t.phase != beginning && t.phase != working {
		return nil
	}
	had, takes := t.takes().demand, t.with(d.Grant)
	more := make(cluster.Vector, len(takes))
	for k, q := range takes {
		more[k] = max(q-had[k], 0)
	}
	if err := s.nodes.overBy(t.node, room{demand: more}); err != nil {
		return fmt.Errorf("checker: %s is resized where it does not fit: %w", t.called(), err)
	}
	s.nodes.refit(t.node, had, takes)
	if t.phase == beginning {
		t.grant = d.Grant
		return nil
	}
	s.progress(t)
	s.rests(t)
	t.grant = d.Grant
	s.begins(t)
	s.aim(d.Task)
	return nil
}

// refit notes that a run takes so much of the node now.
func (b *nodes) refit(row cluster.NodeID, had, takes cluster.Vector) {
	present := b.list[row].present
	for k := range present {
		present[k] += takes[k] - had[k]
	}
}
