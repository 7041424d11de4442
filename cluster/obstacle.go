package cluster

import (
	"cmp"
	"slices"
)

// This file is what constraints that bind who comes say of a node that somebody leaves, in the way of Kubernetes: who comes may
// have a place kept there at once, beside those whom it must not meet, if they leave that node; it begins when they have left.
// Those who leave other nodes of the set count until they are gone, as nobody waits for them there.

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
	c := coming{table: v.constraints, n: n, from: NoNode}
	for _, r := range v.shape[id].roles {
		if !r.subject || !c.binds(r) {
			continue
		}
		b, later := &c.table.row[r.constraint].bound[r.bound], c.meeting(r, settled)
		here := c.table.here(n, r)
		tooMany := int64(later.others) - b.limit()
		if !b.OverFewest { // nobody waits for those who leave other nodes of the set
			tooMany = int64(c.meeting(r, present).others) - leaving(here) - b.limit()
		}
		switch {
		case b.OverFewest && later.set == outside, tooMany > int64(here[settled].Targets):
			return to, false
		case tooMany > 0:
			to = append(to, Obstacle{r, int32(tooMany)})
		case later.others < b.Min && !b.first(r, later):
			return to, false
		}
	}
	return to, true
}

// binds reports whether the role is in a hard constraint that binds who comes.
func (c *coming) binds(r role) bool {
	spec := c.table.row[r.constraint].spec
	return spec.Hard && spec.Arriving
}

// here is what the tasks of the node add to the bound of the role.
func (t *constraintTable) here(n NodeID, r role) [tenses]Count {
	list := t.tallyOf(n)
	at, found := slices.BinarySearchFunc(list, r, func(e tally, r role) int {
		return cmp.Or(cmp.Compare(e.constraint, r.constraint), cmp.Compare(e.bound, r.bound))
	})
	if !found {
		return [tenses]Count{}
	}
	return list[at].count
}

// leaving is how many targets leave of what was counted.
func leaving(count [tenses]Count) int64 {
	return int64(max(count[present].Targets-count[settled].Targets, 0))
}

// waitsFor reports whether a subject of the bound over the fewest, which meets so many who stay, has to wait on the node for those whom a
// decision made here lets leave it: until the world has heard of it they stay, and are counted.
func waitsFor(v *View, r role, n NodeID, others int32) bool {
	b := &v.constraints.row[r.constraint].bound[r.bound]
	if leaving(v.constraints.here(n, r)) == 0 {
		return false
	}
	o, evicted := Obstacle{role: r}, int64(0)
	for _, t := range v.node[n].tasks {
		if task := &v.task[t]; task.Told == ToLeave && task.Node == n && o.Of(v, task.Shape) {
			evicted++
		}
	}
	return int64(others)+evicted > b.limit()
}

// letIn reports whether the constraints that bind who comes let the task begin on the node where a place is kept for it: now, beside
// all who are there, and once those have left who leave.
func letIn(v *View, t TaskID, n NodeID) (now, later bool) {
	now, later = true, true
	c := coming{table: v.constraints, n: n, from: NoNode}
	for _, r := range v.shape[v.task[t].Shape].roles {
		if !r.subject || !c.binds(r) {
			continue
		}
		b := &c.table.row[r.constraint].bound[r.bound]
		set := c.table.group[b.group].setOf(n)
		others := b.counted(set, settled).Targets
		if r.target && !b.SelfCounted {
			others-- // itself
		}
		if b.OverFewest && waitsFor(v, r, n, others) {
			now = false
		}
		for when := range tenses {
			if b.OverFewest && when == present || b.missesThere(set, b.counted(set, when).Targets, r.target, when) == 0 {
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
