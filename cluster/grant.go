package cluster

import (
	"fmt"
	"slices"
)

// This file is about tasks whose shape leaves open how much they take: from
// Shape.Demand, the least, to Shape.Max. A run is granted so much when it is placed,
// and Resize changes that while it starts or runs, at once and in place: the world
// is told, and need not answer. Nobody shrinks a run by the way; a promise of room
// to one that grows would have to wait for what leaves, so that growing counts on
// nothing but what is free.

// DemandOn is what the task takes on one of its nodes: the one where it is, or the
// next one.
func (v *View) DemandOn(t TaskID, n NodeID) Vector { return v.roomOn(t, n).demand }

// Grant is what the current run takes, where the shape leaves that open; nil is
// exactly the shape's Demand, and all there is while the task takes no room. It must
// not be changed.
func (t *Task) Grant() Vector {
	if t.rare == nil {
		return nil
	}
	return t.rare.grant
}

// nextGrant is what the task takes on Next, as Grant is of the current run.
func (t *Task) nextGrant() Vector {
	if t.rare == nil {
		return nil
	}
	return t.rare.next
}

// give notes what the task is granted now and on its next node.
func (t *Task) give(now, next Vector) {
	r := uncommon(t)
	r.grant, r.next = now, next
	t.setRare(r)
}

// Resize changes what a starting or running task takes of its node. Nil is the
// shape's Demand. Where it grows, it needs room now.
func (s *State) Resize(t TaskID, grant Vector) Refusal {
	if int(t) >= len(s.task) {
		return Refusal{Code: NotRunning}
	}
	task := &s.task[t]
	if s.job[task.Job].Foreign {
		return Refusal{Code: NotOurs}
	}
	if task.Phase != Starting && task.Phase != Running {
		return Refusal{Code: NotRunning}
	}
	grant, r := s.granted(task.Shape, grant)
	if r.Refused() {
		return r
	}
	n, has := task.Node, s.Demand(t)
	limit, used := s.Limit(n), s.Used(n)
	for k, need := range s.grantOr(task.Shape, grant) {
		if have := limit[k] - used[k] + has[k]; need > has[k] && need > have {
			return Refusal{Code: NoRoom, Kind: k, Need: need, Have: have}
		}
	}
	s.undo.push(t, *task, NoNode)
	s.take(n, s.roomOf(t), -1)
	task.give(grant, nil)
	s.take(n, s.roomOf(t), 1)
	s.noteNode(n)
	s.noteTask(t)
	return Refusal{}
}

// Stop tells a task to end for good. It is not placed any more: one that takes no
// room, or has room reserved, is gated, and one with a run leaves, until TaskEnded
// says that it has ended. It may not be stopped twice, nor in a trial.
func (s *State) Stop(t TaskID) Refusal {
	if s.undo.on {
		panic("cluster: Stop during a trial; undo it first")
	}
	if int(t) >= len(s.task) || s.task[t].Phase == Absent || s.task[t].Told == ToEnd {
		return Refusal{Code: NotRunning}
	}
	task := &s.task[t]
	if s.job[task.Job].Foreign {
		return Refusal{Code: NotOurs}
	}
	s.dropNext(t)
	task.Told = ToEnd
	switch task.Phase {
	case Waiting:
		s.setPhase(t, Gated)
	case Reserved: // nobody was told of it
		s.leaveNode(t)
	case Starting, Running:
		s.sendOff(t)
	case Absent, Gated, Leaving, phases:
	}
	s.noteTask(t)
	return Refusal{}
}

// sendOff lets a task leave the node that it takes room on.
func (s *State) sendOff(t TaskID) {
	n := s.task[t].Node
	s.leave(n, s.roomOf(t), 1)
	s.noteNode(n)
	s.setPhase(t, Leaving)
}

// granted returns the grant as a task of the shape keeps it, nil where it is the
// shape's Demand, or says why the shape does not allow it.
func (s *State) granted(id ShapeID, grant Vector) (Vector, Refusal) {
	shape := &s.shape[id]
	if grant == nil || slices.Equal(grant, shape.Demand) {
		return nil, Refusal{}
	}
	if len(grant) != len(s.kinds) {
		return nil, Refusal{Code: NotInRange}
	}
	for k, q := range grant {
		if least := shape.Demand[k]; q < least {
			return nil, Refusal{Code: NotInRange, Kind: k, Need: q, Have: least}
		}
		if most := shape.most()[k]; q > most {
			return nil, Refusal{Code: NotInRange, Kind: k, Need: q, Have: most}
		}
	}
	return grant, Refusal{}
}

// HasRanges reports whether some shape has one, so that a run could take more than it does, or less.
func HasRanges(v *View) bool { return v.numbers.ranges > 0 }

// most is the largest grant that the shape allows.
func (sh *Shape) most() Vector {
	if sh.Max == nil {
		return sh.Demand
	}
	return sh.Max
}

// grantOr is how much a run of the shape with that grant takes.
func (v *View) grantOr(id ShapeID, grant Vector) Vector {
	if grant == nil {
		return v.shape[id].Demand
	}
	return grant
}

// intoRange is the grant of the shape nearest to what a run takes; nil where that is
// the Demand, or where nobody knows what it takes.
func (s *State) intoRange(id ShapeID, takes Vector) Vector {
	shape := &s.shape[id]
	if takes == nil || shape.Max == nil {
		return nil
	}
	grant := slices.Clone(takes)
	for k, q := range grant {
		grant[k] = min(max(q, shape.Demand[k]), shape.Max[k])
	}
	if slices.Equal(grant, shape.Demand) {
		return nil
	}
	return grant
}

// checkGrant says why a grant that the world reports cannot be one.
func (s *State) checkGrant(grant Vector) error {
	if grant == nil {
		return nil
	}
	return s.checkVector("grant", grant)
}

// checkMax says why the range of a shape is none.
func (s *State) checkMax(spec *Shape) error {
	if spec.Max == nil {
		return nil
	}
	if err := s.checkVector("max", spec.Max); err != nil {
		return err
	}
	for k, most := range spec.Max {
		kind := &s.kinds[k]
		switch least := spec.Demand[k]; {
		case most < least:
			return fmt.Errorf("max of %s is %s, want at least the demand %s", kind.Name, kind.Format(most), kind.Format(least))
		case most != least && kind.Devices:
			return fmt.Errorf("max of %s is %s with a demand of %s, want them equal, as it comes in devices", kind.Name, kind.Format(most), kind.Format(least))
		}
	}
	return nil
}
