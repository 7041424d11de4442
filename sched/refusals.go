package sched

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// Refusals counts what nodes refuse a task for, a node at a time. The zero value is empty.
type Refusals struct {
	rooms    []NoRoom   // by kind, those that are too small last
	pieces   []NoPieces // by kind
	eligible Filtered   // by nobody knows what
	apart    NotApart
	violated []Violates // in order
}

// Causes are those that some node refuses for: room by kind, pieces by kind, eligibility, the
// tasks of its job, constraints.
func (r *Refusals) Causes() []Cause {
	var list []Cause
	add := func(c Cause) {
		if c.Refusing() > 0 {
			list = append(list, c)
		}
	}
	for _, c := range r.rooms {
		add(c)
	}
	for _, c := range r.pieces {
		add(c)
	}
	add(r.eligible)
	add(r.apart)
	for _, c := range r.violated {
		add(c)
	}
	return list
}

// NoRoom counts a node that has so much of the kind, and not what is needed.
func (r *Refusals) NoRoom(kind int, need, have int64, empty bool) {
	now := NoRoom{Kind: kind, Need: need, Most: have, Empty: empty}
	at, found := slices.BinarySearchFunc(r.rooms, now, NoRoom.compare)
	if !found {
		r.rooms = slices.Insert(r.rooms, at, now)
	}
	r.rooms[at].Nodes++
	r.rooms[at].Most = max(r.rooms[at].Most, have)
}

// NoPieces counts a node that has too few devices of a kind for a task with these needs.
func (r *Refusals) NoPieces(needs cluster.DeviceNeeds, refusal cluster.Refusal) {
	need := needs[slices.IndexFunc(needs, func(need cluster.DeviceNeed) bool { return need.Kind == refusal.Kind })]
	at, found := slices.BinarySearchFunc(r.pieces, refusal.Kind, func(c NoPieces, kind int) int { return c.Need.Kind - kind })
	if !found {
		r.pieces = slices.Insert(r.pieces, at, NoPieces{})
	}
	c := &r.pieces[at]
	c.Nodes, c.Need, c.Most = c.Nodes+1, need, max(c.Most, int(refusal.Have))
}

// NotEligible counts a node that the task's own filters keep it off.
func (r *Refusals) NotEligible() { r.eligible.Nodes++ }

// NotApart counts a node that holds as many tasks of the job as it may.
func (r *Refusals) NotApart() { r.apart.Nodes++ }

// noRoom counts a node that has too little left for the demand: under the kind of which it has too
// little even when it is empty, and else under the one of which most is missing, as part of what is
// asked for. So a node without devices is no node that lacks cores.
func (r *Refusals) noRoom(s *cluster.View, demand cluster.Vector, n cluster.NodeID) {
	limit, used, leaving := s.Limit(n), s.Used(n), s.LeavingDemand(n)
	scarcest, most, empty := 0, 0.0, false
	for k, need := range demand {
		if need == 0 {
			continue
		}
		tooSmall, has := need > limit[k], limit[k]-used[k]+leaving[k]
		if tooSmall {
			has = limit[k]
		}
		missing := float64(need-has) / float64(need)
		if missing > 0 && (tooSmall && !empty || tooSmall == empty && missing > most) {
			scarcest, most, empty = k, missing, tooSmall
		}
	}
	has := limit[scarcest]
	if !empty {
		has += leaving[scarcest] - used[scarcest]
	}
	r.NoRoom(scarcest, demand[scarcest], has, empty)
}

// violates counts a node that refuses the task for a constraint.
func (r *Refusals) violates(s *cluster.View, refusal cluster.Refusal) {
	now := Violates{
		Constraint: refusal.Constraint, Bound: refusal.Kind, Name: s.Constraint(refusal.Constraint).Name,
		Most: refusal.Have > refusal.Need, Limit: refusal.Need, Count: refusal.Have, Kept: refusal.Kept,
	}
	at, found := slices.BinarySearchFunc(r.violated, now, Violates.compare)
	if !found {
		r.violated = slices.Insert(r.violated, at, now)
	}
	v := &r.violated[at]
	v.Nodes++
	if now.Most {
		v.Count = min(v.Count, now.Count)
	} else {
		v.Count = max(v.Count, now.Count)
	}
}

// count notes why the node refuses the task, and reports whether it does.
func (r *Refusals) count(s *cluster.View, t cluster.TaskID, n cluster.NodeID) bool {
	task := s.Task(t)
	shape := s.Shape(task.Shape)
	// Where the task is not to stand beside another of its job, room that comes free is of
	// no use to it: that is the reason, also on a node that is full. To ask costs a look at
	// all tasks of the node, and is left to where there is room for a task that has no such
	// limit itself.
	if shape.PerNode > 0 && task.Phase == cluster.Waiting && s.Eligible(shape.Eligible, n) && s.Crowded(t, n) {
		r.NotApart()
		return true
	}
	refusal := s.AdmitsShape(task.Shape, n)
	switch refusal.Code {
	case cluster.Allowed:
		if task.Phase != cluster.Waiting || s.Admits(t, n).Code != cluster.NotApart {
			return false
		}
		r.NotApart()
	case cluster.NoRoom:
		r.noRoom(s, shape.Demand, n)
	case cluster.NoDevice:
		r.NoPieces(s.DeviceNeeds(task.Shape), refusal)
	case cluster.Violates:
		r.violates(s, refusal)
	default:
		r.NotEligible()
	}
	return true
}

// measureEmpty counts by what nodes hold when empty, for a task that fits on none, or on too
// few for its copies. Nodes that could hold it then are not counted.
func measureEmpty(s *cluster.View, id cluster.ShapeID) Refusals {
	var r Refusals
	shape := s.Shape(id)
	for n := range cluster.NodeID(s.NodeRows()) {
		if !s.NodeLive(n) {
			continue
		}
		if !s.Eligible(shape.Eligible, n) {
			r.NotEligible()
			continue
		}
		if !shape.Demand.Fits(s.Limit(n)) {
			r.noRoom(s, shape.Demand, n)
			continue
		}
		if refusal := s.RefuseDevices(id, n, cluster.Device.WhenEmpty); refusal.Refused() {
			r.NoPieces(s.DeviceNeeds(id), refusal)
		}
	}
	return r
}

// Filters is what a world knows of the sets that it defines: which of a shape's own filters
// keep it off a node that is in its set no more, or never was; at least one, the one to name
// first. Nodes is of no meaning.
type Filters func(set cluster.SetID, n cluster.NodeID) []Filtered

// mostNamed is how many filters a reason names at most: where each node has a taint of its own,
// a sentence that names all of them is read by nobody.
const mostNamed = 10

// name says which filters keep the task off, in place of how many nodes they are: those first
// that keep it off the most. The nodes of filters beyond mostNamed are counted without a name.
func (f Filters) name(r *Reason, s *cluster.View, t cluster.TaskID) {
	at := slices.IndexFunc(r.Causes, func(c Cause) bool { by, is := c.(Filtered); return is && by.Mechanism == "" })
	if at < 0 {
		return
	}
	var named []Filtered
	places := map[Filtered]int{} // in named
	left, set := r.Causes[at].Refusing(), s.Shape(s.Task(t).Shape).Eligible
	for n := range cluster.NodeID(s.NodeRows()) {
		if left == 0 || !s.NodeLive(n) || s.Eligible(set, n) {
			continue
		}
		by := f(set, n)[0]
		by.Nodes = 0
		place, known := places[by]
		if !known {
			place, named = len(named), append(named, by)
			places[by] = place
		}
		named[place].Nodes++
		left--
	}
	slices.SortStableFunc(named, func(a, b Filtered) int { return b.Nodes - a.Nodes })
	for _, c := range named[min(mostNamed, len(named)):] {
		left += c.Nodes
	}
	causes := make([]Cause, 0, mostNamed+1)
	for _, c := range named[:min(mostNamed, len(named))] {
		causes = append(causes, c)
	}
	if left > 0 { // those, or whom another task of its gang may not follow there
		causes = append(causes, Filtered{OnNodes: OnNodes{left}})
	}
	r.Causes = slices.Replace(r.Causes, at, at+1, causes...)
}
