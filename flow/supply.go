package flow

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/sched/book"
)

// taskGroupID is what makes tasks interchangeable. Running tasks that may be moved are
// so only if they are of one job and pay the same, as units have no names.
type taskGroupID struct {
	request    requestID
	key        uint64
	tier       int32
	job        cluster.JobID // of movable tasks; otherwise noJob
	wait, stay Cost          // of movable tasks
	alone      cluster.Seq   // 1 + the task's, if it is a task group of its own
}

// taskGroup is interchangeable tasks.
type taskGroup struct {
	id      taskGroupID
	live    bool
	request int32
	node    mcmf.Node
	units   int64 // what the node gives: tasks that wait, and those that may move
	waiting int32
	shares  []int32 // rows, by job as they came
	stays   []int32 // rows, by node as they came
	outs    []out
	at      int32 // position in supply.lines, or -1
	among   int32 // position among the task groups of its request
	touched bool  // it is in supply.touched
}

// out is an arc that leaves a task group, but for those to unscheduled and stays.
type out struct {
	arc   mcmf.Arc
	group int32          // row; -1 for an arc to a node
	node  cluster.NodeID // of those
	cost  Cost
}

// supply is the table of task groups, with what they give and the arcs that leave them.
type supply struct {
	graph   *graph
	answers *answers
	turn    *turn
	ports   *ports
	ranking *ranking
	shares  *shares

	groups   []taskGroup
	rowOf    map[taskGroupID]int32
	free     cluster.Rows
	lines    []int32   // those with waiting tasks
	tiers    []Step    // how many of these by the negative of their tier
	touched  []int32   // those whose supply may have changed
	isListed bool      // turn.active is true
	idle     []int32   // those that had no units at some time
	prefer   [][]int32 // by node row: those with an arc of their own to the node
}

// group finds a task group, or makes it, of which t is the first task.
func (z *supply) group(s *cluster.View, id taskGroupID, t cluster.TaskID) int32 {
	if row, ok := z.rowOf[id]; ok {
		return row
	}
	row := take(&z.free, &z.groups)
	old := &z.groups[row]
	z.groups[row] = taskGroup{
		id: id, live: true, request: z.ranking.request(id.request), node: z.graph.node(), at: -1,
		shares: old.shares[:0], stays: old.stays[:0], outs: old.outs[:0],
	}
	z.rowOf[id] = row
	c := &z.groups[row]
	z.graph.owner[c.node] = row
	q := &z.ranking.requests[c.request]
	c.among = int32(len(q.taskGroups))
	q.taskGroups = append(q.taskGroups, row)
	z.answers.out(s, t)
	z.putOut(s, row, t)
	return row
}

// share finds the share of a job in a task group, or makes it.
func (z *supply) share(row int32, job cluster.JobID) int32 {
	c := &z.groups[row]
	sh, fresh := z.shares.of(shareID{row, job}, c.node)
	if fresh {
		c.shares = append(c.shares, sh)
	}
	return sh
}

// dropShare forgets a share.
func (z *supply) dropShare(sh int32) {
	c := &z.groups[z.shares.list[sh].taskGroup]
	z.shares.drop(sh)
	c.shares = slices.DeleteFunc(c.shares, func(r int32) bool { return r == sh })
}

// askAgain asks the model again for the arcs that leave a task group, by one of its tasks.
func (z *supply) askAgain(s *cluster.View, row int32, t cluster.TaskID) {
	if z.answers.out(s, t); !z.leavesBy(&z.groups[row]) {
		z.dropOuts(row)
		z.putOut(s, row, t)
	}
}

// leavesBy reports whether the task group has the arcs that were just asked for.
func (z *supply) leavesBy(c *taskGroup) bool {
	return slices.EqualFunc(c.outs, z.answers.arcs.list, func(o out, a outArc) bool {
		same := o.group < 0 || z.ranking.groups[o.group].of == a.aggregator
		return same && o.node == a.node && o.cost == a.cost
	})
}

// putOut gives a task group the arcs that were just asked for.
func (z *supply) putOut(s *cluster.View, row int32, t cluster.TaskID) {
	for _, a := range z.answers.arcs.list {
		if err := z.answers.check(s, t, a); err != nil {
			z.answers.refuse("%w", err)
			continue
		}
		c := &z.groups[row]
		o := out{group: -1, node: a.node, cost: a.cost}
		if a.node == cluster.NoNode {
			o.group = z.ranking.group(s, c.request, a.aggregator)
			o.arc = z.graph.AddArc(c.node, z.ranking.groups[o.group].node, 0, unlimited, a.cost)
			c.outs = append(c.outs, o)
			continue
		}
		z.ports.put(a.node)
		z.prefer = book.Grown(z.prefer, a.node, nil)
		id := c.id.request
		o.arc = z.graph.AddArc(c.node, z.ports.nodes[a.node].port, 0, z.ports.room(s, id, a.node), z.straight(s, id.shape, o))
		z.prefer[a.node] = append(z.prefer[a.node], row)
		c.outs = append(c.outs, o)
	}
}

// dropOuts takes the arcs that leave a task group away.
func (z *supply) dropOuts(row int32) {
	c := &z.groups[row]
	for _, o := range c.outs {
		z.graph.RemoveArc(o.arc)
		if o.group >= 0 {
			continue
		}
		list := z.prefer[o.node]
		at := slices.Index(list, row)
		list[at] = list[len(list)-1]
		z.prefer[o.node] = list[:len(list)-1]
		z.ports.leave(o.node)
	}
	c.outs = c.outs[:0]
}

// drop forgets a task group without units.
func (z *supply) drop(row int32) {
	c := &z.groups[row]
	z.dropOuts(row)
	for len(c.shares) > 0 {
		z.dropShare(c.shares[0])
	}
	z.graph.owner[c.node] = -1
	z.graph.RemoveNode(c.node)
	delete(z.rowOf, c.id)
	c.live = false
	z.free.Give(uint32(row))
	q := &z.ranking.requests[c.request]
	last := q.taskGroups[len(q.taskGroups)-1]
	q.taskGroups[c.among], z.groups[last].among = last, c.among
	if q.taskGroups = q.taskGroups[:len(q.taskGroups)-1]; len(q.taskGroups) == 0 {
		z.ranking.retire(c.request)
	}
}

// updatePreferred opens or closes the arcs that task groups have straight to a node.
func (z *supply) updatePreferred(s *cluster.View, n cluster.NodeID) {
	if int(n) >= len(z.prefer) {
		return
	}
	for _, row := range z.prefer[n] {
		c := &z.groups[row]
		for _, o := range c.outs {
			if o.group < 0 && o.node == n {
				id := c.id.request
				z.graph.SetArc(o.arc, 0, z.ports.room(s, id, n), z.straight(s, id.shape, o))
			}
		}
	}
}

// straight is what an arc straight to a node costs tasks of the shape.
func (z *supply) straight(s *cluster.View, shape cluster.ShapeID, o out) Cost {
	return o.cost + z.answers.unmet(s, shape, o.node) + z.ports.surcharge(s, shape, o.node)
}

// reconsider sees to it that nodes which task groups of a shape prefer are looked at.
func (z *supply) reconsider(shape cluster.ShapeID) {
	for _, q := range z.ranking.of(shape) {
		for _, row := range z.ranking.requests[q].taskGroups {
			for _, o := range z.groups[row].outs {
				if o.group < 0 {
					z.ports.refresh(o.node)
				}
			}
		}
	}
}

// touch notes that the supply of a task group may have changed.
func (z *supply) touch(c int32) {
	if !z.groups[c].touched {
		z.groups[c].touched = true
		z.touched = append(z.touched, c)
	}
}

// settle brings supplies up to date, and drops task groups that have none.
func (z *supply) settle() {
	for _, row := range z.touched {
		c := &z.groups[row]
		c.touched = false
		if !c.live {
			continue
		}
		z.give(c)
		switch {
		case c.waiting > 0 && c.at < 0:
			z.isListed, c.at = false, int32(len(z.lines))
			z.lines, z.tiers = append(z.lines, row), counted(z.tiers, -Cost(c.id.tier), 1)
		case c.waiting == 0 && c.at >= 0:
			z.isListed = false
			last := z.lines[len(z.lines)-1]
			z.lines[c.at] = last
			z.groups[last].at = c.at
			z.lines, c.at = z.lines[:len(z.lines)-1], -1
			z.tiers = counted(z.tiers, -Cost(c.id.tier), -1)
		}
	}
	z.touched = z.touched[:0]
	for _, row := range z.idle {
		if c := &z.groups[row]; c.live && c.units == 0 {
			z.drop(row)
		}
	}
	z.idle = z.idle[:0]
	if !z.isListed {
		z.isListed, z.turn.active = true, z.turn.active[:0]
		for _, row := range z.lines {
			if z.groups[row].id.tier >= z.turn.tier {
				z.turn.active = append(z.turn.active, row)
			}
		}
	}
	z.graph.settle()
}

// give lets a task group give its units, unless its turn is yet to come.
func (z *supply) give(c *taskGroup) {
	units := c.units
	if c.waiting > 0 && c.id.tier < z.turn.tier {
		units = 0
	}
	z.graph.give(c.node, units)
}

// serve lets the task groups of a tier, and of those above it, take part.
func (z *supply) serve(tier int32) {
	if z.turn.tier == tier {
		return
	}
	z.turn.tier, z.isListed = tier, false
	for _, row := range z.lines {
		z.give(&z.groups[row])
	}
}

// ask lists the requests that somebody waits with whose turn it is; where some may move,
// their requests, too.
func (z *supply) ask(moves bool) {
	u, requests := z.turn, z.ranking.requests
	for _, q := range u.asking {
		requests[q].wanted = 0
	}
	u.asking, u.asks = u.asking[:0], u.asks[:0]
	for _, row := range u.active {
		c := &z.groups[row]
		u.asking = append(u.asking, c.request)
		requests[c.request].wanted += int64(c.waiting)
	}
	if moves {
		u.asking = append(u.asking, z.ranking.moving...)
	}
	slices.Sort(u.asking)
	u.asking = slices.Compact(u.asking)
	for _, q := range u.asking {
		u.asks = append(u.asks, requests[q].id)
	}
	u.number++
}

// waits yields how many tasks whose turn it is pay how much for waiting: those of one
// request, or all of them for a row below 0.
func (z *supply) waits(request int32, yield func(c *taskGroup, level Step)) {
	for _, row := range z.turn.active {
		c := &z.groups[row]
		if request >= 0 && c.request != request {
			continue
		}
		for _, sh := range c.shares {
			for _, l := range z.shares.list[sh].levels {
				yield(c, l)
			}
		}
	}
}

// left is what all that wait pay for it; of one tier alone, if that is asked for.
func (z *supply) left(ofTier bool) (sum Cost) {
	z.waits(-1, func(c *taskGroup, l Step) {
		if !ofTier || c.id.tier == z.turn.tier {
			sum += min(max(l.Capacity*l.Cost, -unreached-sum), unreached-sum)
		}
	})
	return sum
}

// line is the waiting tasks of a request, the dearest to leave waiting first.
func (z *supply) line(request int32) []book.Entry {
	var list []book.Entry
	for _, row := range z.turn.active {
		c := &z.groups[row]
		if c.request != request {
			continue
		}
		for _, sh := range c.shares {
			list = z.shares.tickets.All(&z.shares.list[sh].waiting, list)
		}
	}
	slices.SortFunc(list, func(a, b book.Entry) int { return a.Compare(b.Place) })
	return list
}
