package cluster

import (
	"cmp"
	"slices"
)

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
		t.rare = &r
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

// protectionEnd is when the protection of a run ends, unless it was replaced.
type protectionEnd struct {
	at      Time
	task    TaskID
	attempt uint32
}

// protect notes when the protection of a run ends. They are few, and the first to end is the
// last of the list.
func (s *State) protect(end protectionEnd) {
	at, _ := slices.BinarySearchFunc(s.protected, end, func(a, b protectionEnd) int {
		return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(b.task, a.task), cmp.Compare(b.attempt, a.attempt))
	})
	s.protected = slices.Insert(s.protected, at, end)
}

func (s *State) taskProtected(e TaskProtected) error {
	task, err := s.running(e.Task, e.Attempt)
	if err != nil {
		return err
	}
	if task.Phase == Reserved {
		return ErrStale // this run has not been sent out
	}
	r := rare{grant: task.Grant(), next: task.NextGrant()}
	if e.Until > s.now {
		r.protection = Protection{Until: e.Until, Reason: e.Reason}
		if e.Until != Never {
			s.protect(protectionEnd{e.Until, e.Task, e.Attempt})
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
		last := len(s.protected) - 1
		end := s.protected[last]
		s.protected = s.protected[:last]
		task := &s.task[end.task]
		if !task.Placed() || task.Attempt != end.attempt || task.Protection().Until != end.at {
			continue
		}
		task.setRare(rare{grant: task.Grant(), next: task.NextGrant()})
		s.noteNode(task.Node)
		s.noteTask(end.task)
	}
}

// NextUnprotected is the first moment to come at which some run is not protected any more;
// Never if there is none. It may be too early.
func (s *State) NextUnprotected() Time {
	if len(s.protected) == 0 {
		return Never
	}
	return s.protected[len(s.protected)-1].at
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
