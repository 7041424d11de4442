package cluster

import "slices"

// This file is what constraints that bind who comes say of a node that somebody leaves, in the way of Kubernetes: who comes may
// have a place kept there at once, beside those whom it must not meet, if they leave that node; it begins when they have left.
// Those who leave other nodes of the set count until they are gone, as nobody waits for them there. Nobody leaves for a bound
// over the fewest: others who are targets, and no subjects, could come as soon as somebody has left, and keep the task off again.

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
		if b.OverFewest { // whom departures let in, and whom they do not, changes with all other sets
			if later.set == outside || int64(later.others) > b.limit() {
				return to, false
			}
			continue
		}
		here := c.table.here(n, r)
		others := max(int64(later.others), int64(c.meeting(r, present).others)-leaving(here)) // nobody waits for those who leave other nodes of the set
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

// letIn reports whether the constraints that bind who comes, bounds over the fewest aside, let the task begin on the node where a place
// is kept for it: now, beside all who are there, and once those have left who leave.
func letIn(v *View, t TaskID, n NodeID) (now, later bool) {
	now, later = true, true
	c := coming{table: v.constraints, n: n, from: NoNode}
	for _, r := range v.shape[v.task[t].Shape].roles {
		if !r.subject || !c.binds(r) {
			continue
		}
		b := &c.table.row[r.constraint].bound[r.bound]
		if b.OverFewest { // which changes as others come and go elsewhere: who binds the task looks again
			continue
		}
		set := c.table.group[b.group].setOf(n)
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
