package cluster

import "slices"

// This file is what constraints that bind who comes say of a node that somebody leaves, in the way of Kubernetes: who comes may
// have a place kept there at once, beside those whom it must not meet, if they leave that node; it begins when they have left.
// Those who leave other nodes of the set count until they are gone, as nobody waits for them there.
//
// Others who are targets, and no subjects, could come to the set as soon as somebody has left, and keep the task off again, which would have them
// leave as well, and so on. They may not come until it has begun, unless their priority is higher and it was promised nothing: priorities stand
// behind promises.
//
// A bound over the fewest goes by those who stay, and what it lets in changes with all other sets: the fewest fall when a run ends in another one.
// Who comes is let in once enough have left its own set for the fewest of the others, since fewer than those are never too many. Where the node is a set by
// itself, nobody is let in beside who waits who would be in its way if the fewest were none; a set of several nodes would be closed by that, and
// goes by the fewest that there are.

// Obstacle is a bound that keeps who comes off a node, as more of its targets stay in the node's set than may.
type Obstacle struct {
	role role
	// TooMany is of how many of its targets on the node the departure would be enough.
	TooMany int32
}

// Of reports whether a task of the shape is one of those who are too many.
func (o *Obstacle) Of(v *View, id ShapeID) bool {
	return slices.ContainsFunc(v.shape[id].roles, func(r role) bool {
		return r.target && r.constraint == o.role.constraint && r.bound == o.role.bound
	})
}

// Obstacles appends what keeps a task of the shape off the node that departures from it would mend. It is false where
// a constraint that binds who comes keeps the task off whoever departs from there.
func Obstacles(v *View, id ShapeID, n NodeID, to []Obstacle) (list []Obstacle, ok bool) {
	c := coming{view: v, table: v.constraints, n: n, from: NoNode}
	for _, r := range v.shape[id].roles {
		if !r.subject || !c.binds(r) {
			continue
		}
		b, later := &c.table.row[r.constraint].bound[r.bound], c.meeting(r, settled)
		if b.OverFewest && later.set == outside {
			return to, false
		}
		here, others := c.table.here(n, r), int64(later.others)
		if !b.OverFewest {
			others = max(others, int64(c.meeting(r, present).others)-leaving(here)) // nobody waits for those who leave other nodes of the set
		}
		tooMany := others - b.limit()
		switch {
		case tooMany > int64(here[settled].Targets):
			return to, false
		case tooMany > 0:
			to = append(to, Obstacle{r, int32(tooMany)})
		case later.others < b.Min && !b.first(r, later):
			return to, false
		}
	}
	return to, true
}

// Company is a bound by which a task may come to a node only beside some of its targets.
type Company struct {
	role role
	// Spare is how many of its targets on the node may leave. If All leave, they were the last anywhere, and who comes is the first; 0 is never.
	Spare, All int32
}

// Of reports whether a task of the shape is one of those beside whom the other may come.
func (c *Company) Of(v *View, id ShapeID) bool { o := Obstacle{role: c.role}; return o.Of(v, id) }

// Companies appends what a task of the shape needs company by that comes to the node, and has as long as not too many depart from there.
func Companies(v *View, id ShapeID, n NodeID, to []Company) []Company {
	c := coming{view: v, table: v.constraints, n: n, from: NoNode}
	for _, r := range v.shape[id].roles {
		if !r.subject || !c.binds(r) {
			continue
		}
		b, later := &c.table.row[r.constraint].bound[r.bound], c.meeting(r, settled)
		if b.Min == 0 || later.others < b.Min || b.OverFewest {
			continue
		}
		company := Company{role: r, Spare: later.others - b.Min}
		if here := c.table.here(n, r)[settled].Targets; b.OrFirst && r.target && int64(here) == later.everywhere {
			company.All = here
		}
		to = append(to, company)
	}
	return to
}

// binds reports whether the role is in a hard constraint that binds who comes.
func (c *coming) binds(r role) bool {
	spec := c.table.row[r.constraint].spec
	return spec.Hard && spec.Arriving
}

// here is what the tasks of the node add to the bound of the role.
func (t *constraintTable) here(n NodeID, r role) [tenses]Count {
	list := t.tallyOf(n)
	if at, found := r.in(list); found {
		return list[at].count
	}
	return [tenses]Count{}
}

// leaving is how many targets leave of what was counted.
func leaving(count [tenses]Count) int64 {
	return int64(max(count[present].Targets-count[settled].Targets, 0))
}

// alone reports whether the node is a set of the bound by itself.
func (c *coming) alone(b *boundRow) bool {
	g := &c.table.group[b.group]
	set := g.setOf(c.n)
	return set != outside && g.size(set) == 1
}

// waitsFor reports whether a subject of the bound over the fewest, which meets so many who stay, has to wait on the node for those whom a
// decision made here lets leave it: until the world has heard of it they stay, and are counted.
func (c *coming) waitsFor(r role, others int32) bool {
	b := &c.table.row[r.constraint].bound[r.bound]
	if leaving(c.table.here(c.n, r)) == 0 {
		return false
	}
	o, evicted := Obstacle{role: r}, int64(0)
	for _, t := range c.view.node[c.n].tasks {
		if task := &c.view.task[t]; task.Told == ToLeave && task.Node == c.n && o.Of(c.view, task.Shape) {
			evicted++
		}
	}
	return int64(others)+evicted > b.limit()
}

// disturbs refuses a target of a bound a place in the set where one is kept for a subject of no lower priority, or to which something was promised,
// if that would not be let in any more. Of a bound over the fewest that is so on a node that is a set by itself as if
// the fewest were none: they fall when a run ends anywhere.
func (c *coming) disturbs(r role) Refusal {
	b := &c.table.row[r.constraint].bound[r.bound]
	g := &c.table.group[b.group]
	set := g.setOf(c.n)
	if !r.target || set == outside || c.view.InPhase(Reserved) == 0 || c.from != NoNode && g.setOf(c.from) == set {
		return Refusal{}
	}
	if g.size(set) == 1 {
		return c.keepsOff(r, set, c.n)
	}
	targets := b.counted(set, settled).Targets
	if !b.OverFewest {
		targets = max(targets, b.counted(set, present).Targets)
	}
	if b.counted(set, settled).Subjects == 0 || int64(targets)+1 <= b.limit() {
		return Refusal{}
	}
	for n := range c.view.node { // which is seldom come to: who may not stand beside the other, either, was refused before
		if g.setOf(NodeID(n)) != set {
			continue
		}
		if refusal := c.keepsOff(r, set, NodeID(n)); refusal.Refused() {
			return refusal
		}
	}
	return Refusal{}
}

// keepsOff refuses a target of a bound that comes to the set, if by that somebody for whom a place is kept on the node would not be let in.
func (c *coming) keepsOff(r role, set int32, n NodeID) Refusal {
	if c.view.node[n].reserved == 0 {
		return Refusal{}
	}
	b := &c.table.row[r.constraint].bound[r.bound]
	most := b.limit()
	if c.table.group[b.group].size(set) == 1 {
		most = int64(b.Max)
	}
	for _, t := range c.view.node[n].tasks {
		task := &c.view.task[t]
		if task.Phase != Reserved || task.Priority < c.priority && !c.view.Classes()[task.Class].Promises() {
			continue
		}
		for _, own := range c.view.shape[task.Shape].roles {
			if own.constraint != r.constraint || own.bound != r.bound || !own.subject {
				continue
			}
			others := int64(b.counted(set, settled).Targets)
			if !b.OverFewest {
				others = max(others, int64(b.counted(set, present).Targets)-leavingFrom(c.view, n, own)) // it does not wait for those who leave other nodes
			}
			if own.target && !b.SelfCounted {
				others-- // itself
			}
			if others+1 > most && others <= b.limit() {
				return Refusal{Code: Violates, Kind: int(r.bound), Need: most, Have: others + 1, Constraint: r.constraint, Kept: true}
			}
		}
	}
	return Refusal{}
}

// leavingFrom is how many targets leave the node.
func leavingFrom(v *View, n NodeID, r role) (leaving int64) {
	o := Obstacle{role: r}
	for _, t := range v.node[n].tasks {
		if task := &v.task[t]; task.Phase == Leaving && task.Node == n && o.Of(v, task.Shape) {
			leaving++
		}
	}
	return leaving
}

// noteUnkept notes the constraints for whose sake others were kept off for the task, for which no place is kept any more.
func noteUnkept(s *State, t TaskID) {
	if s.constraints == nil {
		return
	}
	for _, r := range s.shape[s.task[t].Shape].roles {
		if row := &s.constraints.row[r.constraint]; r.subject && row.far && row.spec.Arriving {
			s.log.note(Constraints, uint32(r.constraint))
		}
	}
}

// letIn reports whether the constraints that bind who comes let the task begin on
// the node where a place is kept for it: now, beside all who are there, and once those have left who leave. Where nobody leaves for a bound over the
// fewest of a set of several nodes, the fewest may have fallen, and rise again until others have left for room.
func letIn(v *View, t TaskID, n NodeID) (now, later bool) {
	now, later = true, true
	c := coming{view: v, table: v.constraints, n: n, from: NoNode}
	for _, r := range v.shape[v.task[t].Shape].roles {
		if !r.subject || !c.binds(r) {
			continue
		}
		b := &c.table.row[r.constraint].bound[r.bound]
		set := c.table.group[b.group].setOf(n)
		if b.OverFewest {
			others := b.counted(set, settled).Targets
			if r.target && !b.SelfCounted {
				others-- // itself
			}
			late := b.missesThere(set, b.counted(set, settled).Targets, r.target, settled) > 0
			now = now && !late && !c.waitsFor(r, others)
			later = later && (!late || !c.alone(b) && leaving(c.table.here(n, r)) == 0)
			continue
		}
		for when := range tenses {
			if b.missesThere(set, b.counted(set, when).Targets, r.target, when) == 0 {
				continue
			}
			now, later = false, later && when != settled
		}
	}
	return now, later
}

// anyLeaves reports whether somebody leaves the node.
func anyLeaves(v *View, n NodeID) bool {
	return slices.ContainsFunc(v.node[n].tasks, func(t TaskID) bool { return v.task[t].Phase == Leaving && v.task[t].Node == n })
}
