package cluster

import "slices"

// undoLog remembers what a trial changed, newest last.
type undoLog struct {
	on      bool
	entries []undoEntry
}

// undoEntry holds a task as it was before Place, Evict or Resize.
type undoEntry struct {
	task   TaskID
	before Task
	placed NodeID // Place: the node it was placed on
	at     int    // Evict of a reserved task: where it stood in its node's list
}

// push remembers the task during a trial, and returns the entry.
func (u *undoLog) push(t TaskID, before Task, placed NodeID) *undoEntry {
	if !u.on {
		return nil
	}
	u.entries = append(u.entries, undoEntry{task: t, before: before, placed: placed})
	return &u.entries[len(u.entries)-1]
}

// NoLane is no lane: nobody in particular asks.
const NoLane = -1

// Begin starts a trial for a lane, or for NoLane: until End or Keep, Place, Evict and Resize can
// be undone, the change log stays silent, and no event may be applied.
func (s *State) Begin(lane int) {
	if s.undo.on {
		panic("cluster: a trial is under way already")
	}
	s.undo.on, s.asked.by = true, uint8(lane+1)
}

// Mark is a point of the trial to which Rollback can return.
func (s *State) Mark() int { return len(s.undo.entries) }

// Rollback undoes everything since the mark, newest first.
func (s *State) Rollback(mark int) {
	for i := len(s.undo.entries) - 1; i >= mark; i-- {
		s.revert(&s.undo.entries[i])
	}
	s.undo.entries = s.undo.entries[:mark]
}

// Keep ends the trial with all that it changed, and notes it in the log.
func (s *State) Keep() {
	for _, e := range s.undo.entries {
		s.log.note(Tasks, uint32(e.task))
		s.noteCounts(s.task[e.task].Shape)
		if e.before.Phase == Reserved {
			noteUnkept(s, e.task)
		}
		for _, n := range []NodeID{e.before.Node, e.placed} {
			if n != NoNode {
				s.log.note(Nodes, uint32(n))
			}
		}
	}
	s.guards.settle(&s.log)
	s.undo.entries = s.undo.entries[:0]
	s.undo.on = false
}

// End ends the trial and undoes all of it.
func (s *State) End() {
	s.Rollback(0)
	s.guards.settle(&s.log) // as it was: nothing is noted
	s.undo.on = false
}

func (s *State) revert(e *undoEntry) {
	task := &s.task[e.task]
	s.numbers.phase[task.Phase]--
	s.numbers.phase[e.before.Phase]++
	switch {
	case e.placed != NoNode:
		if task.Phase == Reserved {
			s.node[e.placed].reserved--
		}
		s.vacate(e.task, e.placed)
	case e.before.Phase == Reserved:
		n := e.before.Node
		*task = e.before
		s.occupy(e.task, n)
		list := s.node[n].tasks
		s.node[n].tasks = slices.Insert(list[:len(list)-1], e.at, e.task)
		s.node[n].reserved++
	case task.Phase == e.before.Phase: // Resize
		s.take(task.Node, s.roomOf(e.task), -1)
		*task = e.before
		s.take(task.Node, s.roomOf(e.task), 1)
	default:
		s.leave(task.Node, s.roomOf(e.task), -1)
	}
	*task = e.before
	s.recount(e.task)
}
