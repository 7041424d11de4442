package cluster

import "container/heap"

// This file is about runs that are not to be evicted. Whether a run may be is a question of
// the state, Evictable, which every policy asks and commit holds them to; it is never said
// by a priority. When a protection is over, whoever looks for victims is told by the change
// log that the node has changed.

// rare is what only few tasks have. It is never written to, as a task that is copied shares
// it.
type rare struct {
	grant, next Vector // of the current run, and on the next node; see Task.Grant
	protection  Protection
}

// setRare keeps what only few tasks have.
func (t *Task) setRare(r rare) {
	t.rare = nil
	if r.grant != nil || r.next != nil || r.protection != (Protection{}) {
		kept := r // only what is kept is allocated
		t.rare = &kept
	}
}

// Protection says until when a run is not to be evicted, and why, in words for people.
type Protection struct {
	Until  Time
	Reason string
}

// Protection is what was last said of the task's current run; the zero value where that is
// nothing. It may be over: see State.Evictable.
func (t *Task) Protection() Protection {
	if t.rare == nil {
		return Protection{}
	}
	return t.rare.protection
}

// Evictable says why the task's run cannot be evicted now, leaving constraints aside: see
// Releases. Who has no run that was sent out, or is leaving already, cannot be.
func (v *View) Evictable(t TaskID) Refusal {
	task := &v.task[t]
	switch {
	case task.Phase != Starting && task.Phase != Running:
		return Refusal{Code: NotRunning}
	case v.job[task.Job].Foreign:
		return Refusal{Code: NotOurs}
	case task.rare != nil && task.rare.protection.Until > v.now:
		return Refusal{Code: Protected, Need: int64(task.rare.protection.Until), Have: int64(v.now)}
	}
	return Refusal{}
}

// protectionEnd is when the protection of a task's run ends.
type protectionEnd struct {
	at   Time
	task TaskID
}

// protections are the ends that are to come, one at most of a task: a heap, the first to end
// at the root. It is found by the task where its protection is replaced, or ends with the run.
type protections struct {
	ends []protectionEnd
	at   map[TaskID]int // where in ends that of the task is
}

func (p *protections) Len() int { return len(p.ends) }

func (p *protections) Less(i, j int) bool {
	a, b := p.ends[i], p.ends[j]
	return a.at < b.at || a.at == b.at && a.task < b.task
}

func (p *protections) Swap(i, j int) {
	p.ends[i], p.ends[j] = p.ends[j], p.ends[i]
	p.at[p.ends[i].task], p.at[p.ends[j].task] = i, j
}

// Push adds an end as the last; it is for package heap.
func (p *protections) Push(end any) {
	e := end.(protectionEnd)
	p.at[e.task] = len(p.ends)
	p.ends = append(p.ends, e)
}

// Pop removes the last end; it is for package heap.
func (p *protections) Pop() any {
	last := len(p.ends) - 1
	end := p.ends[last]
	p.ends = p.ends[:last]
	delete(p.at, end.task)
	return end
}

// add says when the protection of the task's run ends; it has no end yet.
func (p *protections) add(t TaskID, at Time) {
	if p.at == nil {
		p.at = map[TaskID]int{}
	}
	heap.Push(p, protectionEnd{at, t})
}

// drop forgets the end of the task's protection, if it has one.
func (p *protections) drop(t TaskID) {
	if i, ok := p.at[t]; ok {
		heap.Remove(p, i)
	}
}

func (s *State) taskProtected(e TaskProtected) error {
	task, err := s.running(e.Task, e.Attempt)
	if err != nil {
		return err
	}
	if task.Phase == Reserved {
		return ErrStale // this run has not been sent out
	}
	r := rare{grant: task.Grant(), next: task.nextGrant()}
	s.protected.drop(e.Task)
	if e.Until > s.now {
		r.protection = Protection{Until: e.Until, Reason: e.Reason}
		if e.Until != Never {
			s.protected.add(e.Task, e.Until)
		}
	}
	task.setRare(r)
	s.noteNode(task.Node)
	s.noteTask(e.Task)
	return nil
}

// unprotect notes the nodes of runs whose protection is over by now.
func (s *State) unprotect() {
	for s.NextUnprotected() <= s.now {
		t := s.protected.ends[0].task
		s.protected.drop(t)
		task := &s.task[t]
		task.setRare(rare{grant: task.Grant(), next: task.nextGrant()})
		s.noteNode(task.Node)
		s.noteTask(t)
	}
}

// NextUnprotected is the first moment to come at which some run is not protected any more;
// Never if there is none.
func (s *State) NextUnprotected() Time {
	if len(s.protected.ends) == 0 {
		return Never
	}
	return s.protected.ends[0].at
}

func (s *State) taskLeaving(e TaskLeaving) error {
	task, err := s.running(e.Task, e.Attempt)
	if err != nil {
		return err
	}
	if task.Phase != Starting && task.Phase != Running {
		return ErrStale
	}
	s.sendOff(e.Task)
	s.noteTask(e.Task)
	return nil
}
