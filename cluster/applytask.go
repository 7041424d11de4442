package cluster

import (
	"cmp"
	"fmt"
)

// This file applies the events of tasks. A run that is not the task's current
// one is stale; one exception is a run that was given up and began after all:
// a waiting or gated task takes it back, any other leaves it as an orphan that
// takes room until it is gone.

func (s *State) taskSubmitted(e TaskSubmitted) error {
	if err := s.checkRow(Tasks, "task", uint32(e.Task)); err != nil {
		return err
	}
	if int(e.Task) < len(s.task) && s.task[e.Task].Phase != Absent {
		return fmt.Errorf("task row %d is in use by seq %d", e.Task, s.task[e.Task].Seq)
	}
	if int(e.Job) >= len(s.job) || !s.job[e.Job].Live {
		return fmt.Errorf("task row %d: job row %d holds no job", e.Task, e.Job)
	}
	if int(e.Shape) >= len(s.shape) || !s.shape[e.Shape].live {
		return fmt.Errorf("task row %d: shape row %d holds no shape", e.Task, e.Shape)
	}
	if !s.ClassLive(e.Class) {
		return fmt.Errorf("task row %d: class row %d of %d holds no class", e.Task, e.Class, len(s.classes.rows))
	}
	if err := cmp.Or(checkInput(e.Input), checkLasts(e.Lasts), checkAccount(e.Account, s.now)); err != nil {
		return fmt.Errorf("task row %d: %w", e.Task, err)
	}
	s.log.made[Tasks]++
	s.task = grown(s.task, int(e.Task))
	s.setBrought(e.Task, brought{e.Input, e.Lasts})
	last := s.task[e.Task].Attempt
	s.task[e.Task] = Task{
		Seq: e.Seq, Job: e.Job, Shape: e.Shape, Class: e.Class, Priority: e.Priority,
		Attempt: last, Base: last, Node: NoNode, Next: NoNode,
		Account: Account{Submitted: s.now, Since: s.now, FirstRun: Never},
	}
	if e.Account != nil {
		s.task[e.Task].Account = *e.Account // its phase counts from now on
	}
	s.job[e.Job].Tasks++
	joinGang(s, e.Task)
	s.job[e.Job].apart = s.job[e.Job].apart || s.shape[e.Shape].PerNode > 0
	s.shape[e.Shape].tasks++
	s.log.note(Jobs, uint32(e.Job))
	phase := Waiting
	if e.Gated {
		phase = Gated
	}
	s.setPhase(e.Task, phase)
	s.noteTask(e.Task)
	return nil
}

// current returns the task if it is still the one that seq names.
func (s *State) current(t TaskID, seq Seq) (*Task, error) {
	if int(t) >= len(s.task) || s.task[t].Phase == Absent || s.task[t].Seq != seq {
		return nil, ErrStale
	}
	return &s.task[t], nil
}

// running returns the task if the attempt is its current run.
func (s *State) running(t TaskID, attempt uint32) (*Task, error) {
	if int(t) >= len(s.task) || !s.task[t].Placed() || s.task[t].Attempt != attempt {
		return nil, ErrStale
	}
	return &s.task[t], nil
}

func (s *State) taskUngated(e TaskUngated) error {
	task, err := s.current(e.Task, e.Seq)
	if err != nil {
		return err
	}
	if task.Phase != Gated || task.Told == ToEnd {
		return ErrStale
	}
	if e.Waited < 0 {
		return fmt.Errorf("task row %d has waited for %v", e.Task, e.Waited)
	}
	s.setPhase(e.Task, Waiting)
	a := &s.task[e.Task].Account
	a.Waiting += min(e.Waited, s.now-a.Submitted-a.Age()) // of time that is counted already none is counted twice
	s.noteTask(e.Task)
	return nil
}

func (s *State) taskGated(e TaskGated) error {
	task, err := s.current(e.Task, e.Seq)
	if err != nil {
		return err
	}
	switch task.Phase {
	case Waiting:
	case Reserved: // nobody was told of it, so that nobody will report its end
		s.leaveNode(e.Task)
	case Absent, Gated, Starting, Running, Leaving, phases:
		return ErrStale
	}
	s.setPhase(e.Task, Gated)
	s.noteTask(e.Task)
	return nil
}

func (s *State) taskReshaped(e TaskReshaped) error {
	task, err := s.current(e.Task, e.Seq)
	if err != nil {
		return err
	}
	if int(e.Shape) >= len(s.shape) || !s.shape[e.Shape].live {
		return fmt.Errorf("task row %d: shape row %d holds no shape", e.Task, e.Shape)
	}
	before, leaves := *task, task.Phase == Leaving
	if task.Phase == Reserved {
		noteUnkept(s, e.Task) // it may come to be of fewer constraints, or less important
	}
	s.shape[task.Shape].tasks--
	s.shape[e.Shape].tasks++
	var grant, next Vector
	if n := before.Node; n != NoNode {
		grant, task.Devices = s.refit(n, s.roomOn(e.Task, n), e.Shape, leaves)
	}
	if n := before.Next; n != NoNode {
		next, task.NextDevices = s.refit(n, s.roomOn(e.Task, n), e.Shape, false)
	}
	task.give(grant, next)
	task.Shape, task.Priority = e.Shape, e.Priority
	if job := &s.job[task.Job]; s.shape[e.Shape].PerNode > 0 && !job.apart {
		job.apart = true
		s.log.note(Jobs, uint32(task.Job))
	}
	if task.Phase == Reserved && !s.reservationFeasible(e.Task, task.Node) {
		s.leaveNode(e.Task)
	}
	if task.Next != NoNode && !s.reservationFeasible(e.Task, task.Next) {
		s.dropNext(e.Task)
	}
	s.noteTask(e.Task)
	return nil
}

// refit lets a run that took the room take what the shape allows, on the same
// devices if they are as many, and returns what it takes then. Leaves says that
// the run is leaving.
func (s *State) refit(n NodeID, took room, id ShapeID, leaves bool) (Vector, DeviceSet) {
	s.take(n, took, -1)
	if leaves {
		s.leave(n, took, -1)
	}
	grant := s.intoRange(id, took.demand)
	takes := room{s.grantOr(id, grant), s.foundDevices(id, n, took.devices)}
	s.take(n, takes, 1)
	if leaves {
		s.leave(n, takes, 1)
	}
	s.noteNode(n)
	return grant, takes.devices
}

// dropNext gives up the room that a leaving task holds for its next run.
func (s *State) dropNext(t TaskID) {
	if task := &s.task[t]; task.Next != NoNode {
		s.vacate(t, task.Next)
		task.Next, task.NextDevices = NoNode, 0
		task.give(task.Grant(), nil)
	}
}

func (s *State) taskFound(e TaskFound) error {
	task, err := s.current(e.Task, e.Seq)
	if err != nil {
		return err
	}
	if task.Phase != Waiting && task.Phase != Gated {
		return fmt.Errorf("task row %d was found on node row %d while %s", e.Task, e.Node, task.Phase)
	}
	if !s.NodeLive(e.Node) {
		return fmt.Errorf("task row %d was found on node row %d, which holds no node", e.Task, e.Node)
	}
	if err := s.checkGrant(e.Grant); err != nil {
		return fmt.Errorf("task row %d was found: %w", e.Task, err)
	}
	task.Attempt++
	s.begin(e.Task, e.Node, Allotment{e.Grant, e.Devices})
	return nil
}

// begin lets a task that takes no room run on a node, whether it fits or not.
func (s *State) begin(t TaskID, n NodeID, has Allotment) {
	task := &s.task[t]
	task.Node, task.Devices = n, s.foundDevices(task.Shape, n, has.Devices)
	task.give(s.intoRange(task.Shape, has.Grant), nil)
	task.Refused = false
	task.Began = true
	s.occupy(t, n)
	if task.Told == ToEnd {
		s.sendOff(t)
	} else {
		s.setPhase(t, Running)
		lasts(s, t)
	}
	s.noteTask(t)
}

func (s *State) taskStarted(e TaskStarted) error {
	if int(e.Task) >= len(s.task) {
		return ErrStale
	}
	task := &s.task[e.Task]
	if task.Attempt == e.Attempt && task.Phase == Starting && task.Node == e.Node {
		task.Began = true
		s.setPhase(e.Task, Running)
		lasts(s, e.Task)
		s.noteTask(e.Task)
		return nil
	}
	if task.Attempt == e.Attempt && task.Placed() {
		return s.startedAgain(e)
	}
	if !s.NodeLive(e.Node) {
		return ErrStale
	}
	if err := s.checkGrant(e.Grant); err != nil {
		return fmt.Errorf("task row %d began: %w", e.Task, err)
	}
	if (task.Phase == Waiting || task.Phase == Gated) && task.Attempt == e.Attempt && task.Refused {
		s.begin(e.Task, e.Node, Allotment{e.Grant, e.Devices}) // given up, and happened after all
		return nil
	}
	if task.Phase == Absent || e.Attempt <= task.Base || e.Attempt > task.Attempt {
		return ErrOrphan // nothing is known of its demand any more
	}
	return s.addOrphan(e)
}

// startedAgain takes in the beginning of a run that is known, and perhaps was told
// to leave before anybody knew whether it had begun.
func (s *State) startedAgain(e TaskStarted) error {
	task := &s.task[e.Task]
	if task.Phase != Leaving || task.Began || task.Node != e.Node {
		return ErrStale
	}
	task.Began = true
	s.noteTask(e.Task)
	return nil
}

// addOrphan takes room for a run whose task has moved on.
func (s *State) addOrphan(e TaskStarted) error {
	key := run{e.Task, e.Attempt}
	if _, known := s.orphans[key]; known {
		return ErrStale
	}
	task := &s.task[e.Task]
	grant := s.intoRange(task.Shape, e.Grant)
	r := room{s.grantOr(task.Shape, grant), s.foundDevices(task.Shape, e.Node, e.Devices)}
	s.orphans[key] = orphan{e.Node, r, task.Job, s.shape[task.Shape].PerNode}
	s.take(e.Node, r, 1)
	s.leave(e.Node, r, 1)
	s.noteNode(e.Node)
	return ErrOrphan
}

func (s *State) bindRefused(e BindRefused) error {
	task, err := s.running(e.Task, e.Attempt)
	if err != nil {
		return err
	}
	if task.Phase != Starting && task.Phase != Leaving || task.Began {
		return ErrStale
	}
	s.leaveNode(e.Task)
	task.Refused = !task.Placed()
	return nil
}

func (s *State) taskLeft(e TaskLeft) error {
	key := run{e.Task, e.Attempt}
	if o, isOrphan := s.orphans[key]; isOrphan {
		delete(s.orphans, key)
		s.take(o.node, o.room, -1)
		s.leave(o.node, o.room, -1)
		s.noteNode(o.node)
		return nil
	}
	task, err := s.running(e.Task, e.Attempt)
	if err != nil {
		return s.forgo(e, err)
	}
	if task.Phase == Reserved {
		return ErrStale // this run has not been sent out
	}
	s.leaveNode(e.Task)
	return nil
}

// forgo notes that a refused run is over, if it is one: it began and left, and
// the late report that it began must not bring it back.
func (s *State) forgo(e TaskLeft, stale error) error {
	if int(e.Task) >= len(s.task) || !s.task[e.Task].Refused || s.task[e.Task].Attempt != e.Attempt {
		return stale
	}
	s.task[e.Task].Refused = false
	s.noteTask(e.Task)
	return nil
}

func (s *State) evictRefused(e EvictRefused) error {
	task, err := s.running(e.Task, e.Attempt)
	if err != nil {
		return err
	}
	if task.Phase != Leaving || task.Told == ToEnd {
		return ErrStale
	}
	s.dropNext(e.Task)
	s.leave(task.Node, s.roomOf(e.Task), -1)
	s.noteNode(task.Node)
	task.Began = true
	s.setPhase(e.Task, Running)
	s.noteTask(e.Task)
	return nil
}

// leaveNode ends the task's run. The task goes on to the node where it holds
// room, or waits.
func (s *State) leaveNode(t TaskID) {
	task := &s.task[t]
	if task.Phase == Leaving {
		s.leave(task.Node, s.roomOf(t), -1)
	}
	if task.Phase == Reserved {
		s.node[task.Node].reserved--
		task.Attempt-- // nobody was told of this run
		noteUnkept(s, t)
	}
	s.vacate(t, task.Node)
	task.Node, task.Next = task.Next, NoNode
	task.setRare(rare{grant: task.nextGrant()}) // it was the run that was protected
	s.protected.drop(t)
	switch {
	case task.Told == ToEnd:
		s.setPhase(t, Gated)
	case task.Node == NoNode:
		s.setPhase(t, Waiting)
	default:
		task.Attempt++
		task.Began = false
		task.Devices, task.NextDevices = task.NextDevices, 0
		s.node[task.Node].reserved++
		s.setPhase(t, Reserved)
		s.noteNode(task.Node)
	}
	s.noteTask(t)
}

func (s *State) taskEnded(e TaskEnded) error {
	task, err := s.current(e.Task, e.Seq)
	if err != nil {
		return err
	}
	s.dropNext(e.Task)
	if task.Placed() {
		s.leaveNode(e.Task)
	}
	s.setPhase(e.Task, Absent)
	task.Told = NotTold
	s.setBrought(e.Task, brought{})
	s.job[task.Job].Tasks--
	leaveGang(s, e.Task, e.Finished)
	s.shape[task.Shape].tasks--
	s.log.note(Jobs, uint32(task.Job))
	s.noteTask(e.Task)
	// The next task of this row must not be mistaken for this one, not even
	// by an action that was planned while this one waited.
	task.Attempt++
	task.Base = task.Attempt
	return nil
}
