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
	guards      []BudgetID // of the current run; see guard.go
	promised    Time       // until when the class promised the current run to last, when that began; 0: it did not
}

// uncommon is what only few tasks have, of this one.
func uncommon(t *Task) rare {
	if t.rare == nil {
		return rare{}
	}
	return *t.rare
}

// setRare keeps what only few tasks have.
func (t *Task) setRare(r rare) {
	t.rare = nil
	if r.grant != nil || r.next != nil || r.protection != (Protection{}) || r.guards != nil || r.promised != 0 {
		kept := r // only what is kept is allocated
		t.rare = &kept
	}
}

// Protection says until when a run is not to be evicted, and why, in words for people.
type Protection struct {
	Until  Time
	Reason string
	// But is one more than the lane that may evict it all the same; 0 is none.
	But uint8
}

// Protection is what was last said of the task's current run; the zero value where that is
// nothing. It may be over: see View.Evictable.
func (t *Task) Protection() Protection {
	if t.rare == nil {
		return Protection{}
	}
	return t.rare.protection
}

// Evictable says why the task's run cannot be evicted now by the lane that asks, and nobody else with it, leaving constraints aside: see
// Releases. Who has no run that was sent out, or is leaving already, cannot be.
func (v *View) Evictable(t TaskID) Refusal {
	if v.job[v.task[t].Job].Disruption == DisruptTogether {
		return Refusal{Code: Protected, Need: int64(Never), Have: int64(v.now)}
	}
	return leaves(v, t)
}

// leaves is Evictable of a run that may leave with others.
func leaves(v *View, t TaskID) Refusal {
	task := &v.task[t]
	switch {
	case task.Phase != Starting && task.Phase != Running:
		return Refusal{Code: NotRunning}
	case v.job[task.Job].Foreign && (v.job[task.Job].Yields == 0 || v.job[task.Job].Yields != v.asked.by):
		return Refusal{Code: NotOurs}
	case v.job[task.Job].Disruption == DisruptNever:
		return Refusal{Code: Protected, Need: int64(Never), Have: int64(v.now)}
	case task.rare != nil && task.rare.protection.Until > v.now && (task.rare.protection.But == 0 || task.rare.protection.But != v.asked.by):
		return Refusal{Code: Protected, Need: int64(task.rare.protection.Until), Have: int64(v.now)}
	case task.Phase == Starting && v.classes.rows[task.Class].LeastRun > 0: // it is yet to begin, and then is to last
		return Refusal{Code: Protected, Need: int64(later(v.now, v.classes.rows[task.Class].LeastRun)), Have: int64(v.now)}
	}
	return Refusal{}
}

// later is a moment so much after another; Never where there is none.
func later(at, by Time) Time { return at + min(by, Never-at) }

// lasts protects a run that begins for as long as its class promises. It keeps what was promised then, whatever becomes of the class,
// and is promised no more where it goes on after it was to leave.
func lasts(s *State, t TaskID) {
	task := &s.task[t]
	least := s.classes.rows[task.Class].LeastRun
	if least == 0 {
		return
	}
	until, r, p := later(s.now, least), uncommon(task), task.Protection()
	r.promised = until
	task.setRare(r)
	if p.But == 0 && p.Until >= until {
		return
	}
	protect(s, t, Protection{Until: until, Reason: leastRun(&s.classes.rows[task.Class])})
}

// leastRun is the reason of a run that is to last for people.
func leastRun(class *Class) string {
	return "its class " + class.Name + " promises that a run lasts " + class.LeastRun.String()
}

// protect replaces what is said of the task's run; a protection that is over is none.
func protect(s *State, t TaskID, p Protection) {
	task := &s.task[t]
	r := uncommon(task)
	r.protection = Protection{}
	s.protected.drop(t)
	if p.Until > s.now {
		r.protection = p
		s.protected.add(t, p.Until)
	}
	task.setRare(r)
}

// ProtectedRun is a task whose run is protected, and until when.
type ProtectedRun struct {
	Until Time
	Task  TaskID
}

// protections are the runs that are protected, each once: a heap, the first to end at the
// root. A run is found by its task where its protection is replaced, or ends with the run.
type protections struct {
	runs []ProtectedRun
	at   map[TaskID]int // where in runs that of the task is
}

func (p *protections) Len() int { return len(p.runs) }

func (p *protections) Less(i, j int) bool {
	a, b := p.runs[i], p.runs[j]
	return a.Until < b.Until || a.Until == b.Until && a.Task < b.Task
}

func (p *protections) Swap(i, j int) {
	p.runs[i], p.runs[j] = p.runs[j], p.runs[i]
	p.at[p.runs[i].Task], p.at[p.runs[j].Task] = i, j
}

// Push adds a run as the last; it is for package heap.
func (p *protections) Push(run any) {
	r := run.(ProtectedRun)
	p.at[r.Task] = len(p.runs)
	p.runs = append(p.runs, r)
}

// Pop removes the last run; it is for package heap.
func (p *protections) Pop() any {
	last := len(p.runs) - 1
	run := p.runs[last]
	p.runs = p.runs[:last]
	delete(p.at, run.Task)
	return run
}

// add says until when the task's run is protected; it is not yet.
func (p *protections) add(t TaskID, until Time) {
	if p.at == nil {
		p.at = map[TaskID]int{}
	}
	heap.Push(p, ProtectedRun{until, t})
}

// drop forgets the protection of the task's run, if it has one.
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
	if p := task.Protection(); e.But > 0 && p.But == 0 && p.Until > s.now {
		return nil // nobody may evict it
	}
	p := Protection{Until: e.Until, Reason: e.Reason, But: e.But}
	if until := uncommon(task).promised; until > s.now && until > e.Until { // that holds, whatever else does
		p = Protection{Until: until, Reason: leastRun(&s.classes.rows[task.Class])}
	}
	protect(s, e.Task, p)
	s.noteNode(task.Node)
	s.noteTask(e.Task)
	return nil
}

// unprotect notes the nodes of runs whose protection is over by now.
func (s *State) unprotect() {
	for len(s.protected.runs) > 0 && s.protected.runs[0].Until <= s.now {
		t := s.protected.runs[0].Task
		s.protected.drop(t)
		task := &s.task[t]
		r := uncommon(task)
		r.protection, r.promised = Protection{}, 0 // which ended no later
		task.setRare(r)
		s.noteNode(task.Node)
		s.noteTask(t)
	}
}

// ProtectedRuns are the runs that are protected: the first to end comes first, the others in
// no order. It is to be read before the next event; a copy of the state has none.
func (s *State) ProtectedRuns() []ProtectedRun { return s.protected.runs }

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
