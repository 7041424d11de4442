package cluster

import "math"

// This file and grant.go are the only places where a decision changes an allocation. Place
// and Evict check everything against the state as it is, and refuse rather
// than repair. Between Begin and End they are a trial, which leaves no trace.

// Code says what kind of thing refuses.
type Code uint8

// Why a task cannot be placed on a node, or evicted from it.
const (
	Allowed     Code = iota
	NotWaiting       // the task is gone, gated, or placed already
	NodeGone         // the node is lost
	NotEligible      // the shape's own filters do not admit the node
	NoRoom           // some kind does not fit
	NoDevice         // the sum fits, but too few devices have enough left
	NotApart         // as many tasks of the job as may be are there already, or the task itself
	NotRunning       // there is no run to evict
	NotOurs          // the job is somebody else's
	Outdated         // the task has moved on since the plan was made
	NotInRange       // the shape does not allow the grant
	Violates         // a hard constraint would be violated more than it is
	Protected        // the run is not to be evicted yet
	NotWhole         // fewer of its gang would have a place than are to have one
	codes
)

// String names the code in a word or two.
func (c Code) String() string {
	return [codes]string{"allowed", "not waiting", "node gone", "not eligible", "no room", "no device", "not apart", "not running", "not ours", "outdated", "not in range", "violates", "protected", "not whole"}[c]
}

// Refusal says why one task cannot be placed on one node. The zero value
// means that it can.
type Refusal struct {
	Code Code
	Kind int // of NoRoom, NoDevice and NotInRange: the first kind that does not fit
	// Need and Have are, of NoRoom, what is asked and what is left for it; of
	// NoDevice, how many devices; of NotInRange, what is asked and the bound that it
	// misses, both 0 for a grant that does not measure the cluster's kinds; of
	// Protected, the moment until which, and now; of NotWhole, how many of a gang must have a place, and how
	// many would.
	Need, Have int64
	// Constraint is, of Violates, which one. Kind is the number of its bound then, of
	// all alternatives one after the other, Have what a subject would count, and Need
	// the Min or Max that this misses. Of several actions at once, Kind is Together,
	// Have how many subjects would be violated and Need how many are. Of a node that is in no set over which who comes would be spread,
	// Have is InNoSet.
	Constraint ConstraintID
	// Kept says, of Violates, that somebody for whom a place is kept would not be let in any more beside the task; Have is what that one would count.
	Kept bool
}

// InNoSet is the Have of a Refusal where there is no set to count in.
const InNoSet = -1

// Together is the Kind of a Refusal that is for the sake of no single bound.
const Together = -1

// Refused reports whether r is a refusal.
func (r Refusal) Refused() bool { return r.Code != Allowed }

// Admits reports whether the task could be placed on the node with the least that
// it takes, counting on the room of what is leaving it, and would by itself violate no
// hard constraint.
func (v *View) Admits(t TaskID, n NodeID) Refusal {
	if r := v.takes(t, n); r.Refused() {
		return r
	}
	task := &v.task[t]
	c := coming{view: v, table: v.constraints, n: n, from: task.Node, priority: task.Priority}
	return c.first(v.shape[task.Shape].roles)
}

// Keeps is Admits, but the task may have to wait until somebody has left the node whom, by a constraint that binds who comes, it
// must not meet there.
func Keeps(v *View, t TaskID, n NodeID) Refusal {
	if r := v.takes(t, n); r.Refused() {
		return r
	}
	c := comesTo(v, t, n)
	return c.first(v.shape[v.task[t].Shape].roles)
}

// comesTo is the task as it comes to the node where a place may be kept for it.
func comesTo(v *View, t TaskID, n NodeID) coming {
	task := &v.task[t]
	return coming{view: v, priority: task.Priority, table: v.constraints, n: n, from: task.Node, mayWait: task.Phase == Waiting}
}

// takes is Admits but for constraints.
func (v *View) takes(t TaskID, n NodeID) Refusal {
	if int(t) >= len(v.task) {
		return Refusal{Code: NotWaiting}
	}
	task := &v.task[t]
	if task.Phase != Waiting && (task.Phase != Leaving || task.Next != NoNode) || task.Told == ToEnd {
		return Refusal{Code: NotWaiting}
	}
	if v.job[task.Job].Foreign {
		return Refusal{Code: NotOurs}
	}
	if r := v.admits(task.Shape, n, v.shape[task.Shape].Demand); r.Refused() {
		return r
	}
	if task.Phase == Leaving && task.Node == n || v.Crowded(t, n) {
		return Refusal{Code: NotApart}
	}
	return Refusal{}
}

// AdmitsShape is Admits for any task of the shape, leaving aside which tasks
// of its job are where.
func (v *View) AdmitsShape(id ShapeID, n NodeID) Refusal {
	if r := v.admits(id, n, v.shape[id].Demand); r.Refused() {
		return r
	}
	return v.violates(id, n)
}

// admits is AdmitsShape for a run that takes so much, but for constraints.
func (v *View) admits(id ShapeID, n NodeID, demand Vector) Refusal {
	if !v.NodeLive(n) {
		return Refusal{Code: NodeGone}
	}
	shape := &v.shape[id]
	if !v.Eligible(shape.Eligible, n) {
		return Refusal{Code: NotEligible}
	}
	limit, used, leaving := v.Limit(n), v.Used(n), v.LeavingDemand(n)
	for k, need := range demand {
		if have := limit[k] - used[k] + leaving[k]; need > have && need > 0 {
			return Refusal{Code: NoRoom, Kind: k, Need: need, Have: have}
		}
	}
	return v.RefuseDevices(id, n, Device.LeftLater)
}

// FitsEmpty reports whether the node would admit the shape if it were empty.
func (v *View) FitsEmpty(id ShapeID, n NodeID) bool {
	shape := &v.shape[id]
	return v.NodeLive(n) && v.Eligible(shape.Eligible, n) && shape.Demand.Fits(v.Limit(n)) && !v.RefuseDevices(id, n, Device.WhenEmpty).Refused()
}

// RoomNow reports whether the node admits the shape beside all that takes room,
// not counting on what is leaving, and leaving aside which tasks are where: those of
// its job, and those that constraints count.
func (v *View) RoomNow(id ShapeID, n NodeID) bool {
	if !v.NodeLive(n) || !v.Eligible(v.shape[id].Eligible, n) || !v.roomNow(n, v.shape[id].Demand) {
		return false
	}
	return !v.RefuseDevices(id, n, Device.Left).Refused()
}

// RoomLater is RoomNow, but counts on what is leaving.
func (v *View) RoomLater(id ShapeID, n NodeID) bool {
	return !v.admits(id, n, v.shape[id].Demand).Refused()
}

// Crowded reports whether the node holds as many tasks of the task's job as it
// may, without this one and with those that are leaving. The limit of either side counts.
func (v *View) Crowded(t TaskID, n NodeID) bool {
	task := &v.task[t]
	if !v.job[task.Job].apart && len(v.orphans) == 0 {
		return false // without a look at all who are there
	}
	most, beside := atMost(v.shape[task.Shape].PerNode), int32(0)
	for r, o := range v.orphans { // mostly there is none
		if o.node == n && o.job == task.Job && r.task != t {
			beside++
			most = min(most, atMost(o.most))
		}
	}
	for _, other := range v.node[n].tasks {
		if o := &v.task[other]; o.Job == task.Job && other != t {
			beside++
			most = min(most, atMost(v.shape[o.Shape].PerNode))
		}
	}
	return beside >= most
}

// atMost turns a limit of which 0 is none into a number.
func atMost(perNode int32) int32 {
	if perNode == 0 {
		return math.MaxInt32
	}
	return perNode
}

// Allotment is what a run is given on its node.
type Allotment struct {
	// Grant is how much; nil is the shape's Demand. It is kept, not copied, and
	// must not be changed afterwards.
	Grant Vector
	// Devices are which; of a kind of which it names none, PickDevices chooses.
	Devices DeviceSet
}

// Place is PlaceWith for the least that the task takes.
func (s *State) Place(t TaskID, n NodeID, devices DeviceSet) Refusal {
	return s.PlaceWith(t, n, Allotment{Devices: devices})
}

// PlaceWith chooses a node for a waiting task, or the next node for a leaving
// one. The task starts where the node has the room now; where the room is
// still held by what is leaving, or who leaves must not be met, it is reserved. Constraints are for whoever places to
// hold, as several placements may hold one together, but for those that bind who comes; see Violations.
func (s *State) PlaceWith(t TaskID, n NodeID, gets Allotment) Refusal {
	if r := s.takes(t, n); r.Refused() {
		return r
	}
	task := &s.task[t]
	comes := comesTo(&s.View, t, n)
	if r := comes.arrives(&s.View, task.Shape); r.Refused() {
		return r
	}
	grant, r := s.granted(task.Shape, gets.Grant)
	if !r.Refused() && grant != nil {
		r = s.admits(task.Shape, n, grant)
	}
	if r.Refused() {
		return r
	}
	devices, r := s.chooseDevices(task.Shape, n, gets.Devices)
	if r.Refused() {
		return r
	}
	s.undo.push(t, *task, n)
	if task.Phase == Leaving {
		task.Next, task.NextDevices = n, devices
		task.give(task.Grant(), grant)
		s.occupy(t, n)
		s.noteTask(t)
		return Refusal{}
	}
	task.Attempt++
	task.Refused, task.Began = false, false
	task.Devices = devices
	task.give(grant, nil)
	now := !comes.waits && s.roomNow(n, s.Demand(t)) && s.devicesNow(task.Shape, n, devices)
	task.Node = n
	s.occupy(t, n)
	if now {
		s.setPhase(t, Starting)
	} else {
		s.node[n].reserved++
		s.setPhase(t, Reserved)
	}
	s.noteTask(t)
	return Refusal{}
}

// roomNow reports whether the demand fits beside all that takes room.
func (v *View) roomNow(n NodeID, demand Vector) bool {
	limit, used := v.Limit(n), v.Used(n)
	for k, q := range demand {
		if q > limit[k]-used[k] && q > 0 {
			return false
		}
	}
	return true
}

// Evict tells a run to leave its node. A reserved task merely waits again.
func (s *State) Evict(t TaskID) Refusal {
	if int(t) >= len(s.task) {
		return Refusal{Code: NotRunning}
	}
	task := &s.task[t]
	if task.Phase != Reserved || s.job[task.Job].Foreign {
		if r := leaves(&s.View, t); r.Refused() {
			return r
		}
	}
	switch task.Phase {
	case Reserved:
		entry := s.undo.push(t, *task, NoNode)
		s.node[task.Node].reserved--
		at := s.vacate(t, task.Node)
		if entry != nil {
			entry.at = at
		}
		task.Node, task.rare = NoNode, nil
		task.Attempt-- // nobody was told of this run
		s.setPhase(t, Waiting)
	case Starting, Running:
		s.undo.push(t, *task, NoNode)
		s.leave(task.Node, s.roomOf(t), 1)
		s.noteNode(task.Node)
		s.setPhase(t, Leaving)
		task.Told = ToLeave
	case Absent, Gated, Waiting, Leaving, phases:
		return Refusal{Code: NotRunning}
	}
	s.noteTask(t)
	return Refusal{}
}

// Promote lets a reserved task of the node start, the one that has been so for longest of those who can: what it waited
// for has left, and there is room beside those who were reserved before it and wait on, so that none of them waits longer for it. Who is of a gang starts
// only if that is the given one, which is known to begin as a whole; see GangBegins. Promote lets a task wait again if its room is lost for good, as when an
// eviction was refused, or if the node, or a constraint that binds who comes, does not admit it any more. It returns
// the task, its new phase, and false when there is nothing to do.
func (s *State) Promote(n NodeID, begins JobID) (TaskID, Phase, bool) {
	if !s.NodeLive(n) || s.node[n].reserved == 0 {
		return 0, Absent, false
	}
	left := leftNow(s, n, nil)
	for _, t := range s.node[n].tasks {
		if s.task[t].Phase != Reserved {
			continue
		}
		job := s.task[t].Job
		switch feasible, could := promotion(s, t, left); {
		case !feasible:
			s.leaveNode(t)
		case could && (job == begins || !IsGang(&s.View, job)):
			s.node[n].reserved--
			s.setPhase(t, Starting)
			noteUnkept(s, t)
		default:
			add(left, s.Demand(t), -1)
			continue
		}
		s.noteTask(t)
		s.noteNode(n)
		return t, s.task[t].Phase, true
	}
	return 0, Absent, false
}

// promotion reports of a reserved task whether its room will be its own, and whether it could begin now, where so much of its node is left
// for it.
func promotion(s *State, t TaskID, left Vector) (feasible, could bool) {
	n := s.task[t].Node
	now, later := letIn(&s.View, t, n)
	feasible = later && (now || anyLeaves(&s.View, n)) && s.reservationFeasible(t, n)
	could = now && feasible && s.devicesStand(t, n)
	for k, q := range s.Demand(t) {
		could = could && (q == 0 || q <= left[k])
	}
	return feasible, could
}

// reservationFeasible reports whether the room that the task holds on the node, and that
// others have yet to leave, will be its own. The rules may have changed, or a
// run been found, since it was promised.
func (s *State) reservationFeasible(t TaskID, n NodeID) bool {
	if !s.Eligible(s.shape[s.task[t].Shape].Eligible, n) || s.Crowded(t, n) {
		return false
	}
	limit, used, leaving := s.Limit(n), s.Used(n), s.LeavingDemand(n)
	for k, q := range s.roomOn(t, n).demand {
		if q > 0 && used[k]-leaving[k] > limit[k] {
			return false
		}
	}
	return s.devicesFeasible(n, s.task[t].heldOn(n))
}

// leftNow appends what the node has left beside all that is physically there, which is all but what is reserved. It may be less than nothing.
func leftNow(s *State, n NodeID, to Vector) Vector {
	to = append(to, s.Limit(n)...)
	add(to, s.Used(n), -1)
	for _, t := range s.node[n].tasks {
		if s.task[t].Node != n || s.task[t].Phase == Reserved {
			add(to, s.roomOn(t, n).demand, 1)
		}
	}
	return to
}

// add adds a quantity of each kind, or takes it away.
func add(to, quantities Vector, sign int64) {
	for k, q := range quantities {
		to[k] += sign * q
	}
}
