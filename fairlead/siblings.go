package fairlead

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sched/worth"
)

// This file keeps the tasks of a service apart, so that one node that is lost does not take many of them. Each task of the same
// service and size that stands on a node, or is to come there, makes it dearer for the next one by the room of one task in
// the mean, and so do those in the zone beyond those in the zone with the fewest: replicas go to different nodes and zones where these are
// about as good, and together where others would lose much more by it.
//
// Prices of room are in an index by shape. Most of its nodes hold no sibling; those that do are left out while the best of the others is
// looked for, and are looked at themselves only if one of them could be cheaper all the same. Where there are zones all are looked at that could be
// cheaper than the best so far (finding.cheapest).

const (
	// siblingPrice is for each sibling on the node.
	siblingPrice = worth.One
	// zonePrice is for the cube of how many siblings are in the zone beyond the fewest, where a task comes: one more or less is worth less than
	// what a pod prefers, and two as much as any room. (By the number alone a service of fifteen stood in two zones of three, as the third one
	// had nodes that others want.) Who runs moves for the number alone, heldPrice, so that moving ends.
	zonePrice = 2 * worth.One
	heldPrice = worth.One
	// mostSiblings is how many tasks a job may have for that to count: of more of them each node has some in the end.
	mostSiblings = 256
)

// siblings are the tasks of each service.
type siblings struct {
	off   bool
	jobs  [][]cluster.TaskID // by job row
	tasks []member           // by task row
	zones book.Zones
	// Scratch, of the task that was asked for last:
	nodes  []withSiblings // by row
	inZone []int64        // by zone: how many are there beyond the fewest; none where zones do not count
	were   []int64
}

// member is where a task stands in the list of its job.
type member struct {
	job cluster.JobID
	at  int32 // counted from 1; 0 is nowhere
}

// withSiblings is a node with so many siblings of a task.
type withSiblings struct {
	node  cluster.NodeID
	count int64
}

// learn takes in what changed.
func (b *siblings) learn(s *cluster.View, c *sched.Changed) {
	if b.off {
		return
	}
	if c.All {
		*b = siblings{}
	}
	b.zones.Learn(s, c.Nodes)
	for _, t := range c.Gone {
		b.leave(t)
	}
	for _, t := range c.Tasks {
		b.join(s, t)
	}
	for _, t := range c.Gangs {
		b.join(s, t)
	}
}

// join puts a task into the list of its job, if that is a service.
func (b *siblings) join(s *cluster.View, t cluster.TaskID) {
	job := s.Task(t).Job
	b.tasks = book.Grown(b.tasks, t, member{})
	if m := b.tasks[t]; m.at > 0 && m.job == job {
		return
	}
	if b.leave(t); !s.Job(job).Service {
		return
	}
	b.jobs = book.Grown(b.jobs, job, nil)
	b.jobs[job] = append(b.jobs[job], t)
	b.tasks[t] = member{job, int32(len(b.jobs[job]))}
}

// leave takes a task out of the list of its job.
func (b *siblings) leave(t cluster.TaskID) {
	if int(t) >= len(b.tasks) || b.tasks[t].at == 0 {
		return
	}
	m := b.tasks[t]
	list := b.jobs[m.job]
	last := list[len(list)-1]
	list[m.at-1] = last
	b.tasks[last].at = m.at
	b.jobs[m.job], b.tasks[t] = list[:len(list)-1], member{}
}

// has reports whether others of the task's job count for it.
func (b *siblings) has(t cluster.TaskID) bool {
	if int(t) >= len(b.tasks) || b.tasks[t].at == 0 {
		return false
	}
	tasks := len(b.jobs[b.tasks[t].job])
	return tasks > 1 && tasks <= mostSiblings
}

// locate finds the nodes that hold siblings of the task, or are to hold them.
func (b *siblings) locate(s *cluster.View, t cluster.TaskID) {
	b.nodes, b.inZone = b.nodes[:0], b.inZone[:0]
	if !b.has(t) {
		return
	}
	job := b.tasks[t].job // as of the last round: who asks between rounds may meet others in these rows
	for _, other := range b.jobs[job] {
		same := other != t && s.Task(other).Job == job && s.Task(t).Job == job
		if n := standsOn(s, other); same && n != cluster.NoNode && alike(s, t, other) {
			b.nodes = append(b.nodes, withSiblings{n, 1})
		}
	}
	slices.SortFunc(b.nodes, func(x, y withSiblings) int { return cmp.Compare(x.node, y.node) })
	kept := b.nodes[:0]
	for _, one := range b.nodes {
		if last := len(kept) - 1; last >= 0 && kept[last].node == one.node {
			kept[last].count++
		} else {
			kept = append(kept, one)
		}
	}
	b.nodes = kept
	b.locateZones()
}

// locateZones counts those who were found by zone. All nodes that are in none count as one.
func (b *siblings) locateZones() {
	zones, last := 0, b.zones.Numbers()
	for zone := range last {
		if b.zones.Has(zone) {
			zones++
		}
	}
	if zones < 2 || len(b.nodes) == 0 {
		return
	}
	b.inZone = append(b.inZone, make([]int64, last)...)
	for _, one := range b.nodes {
		b.inZone[b.zones.Of(one.node)] += one.count
	}
	least := int64(mostSiblings)
	for zone := range last {
		if b.zones.Has(zone) {
			least = min(least, b.inZone[zone])
		}
	}
	for zone := range b.inZone {
		b.inZone[zone] -= least
	}
}

// standsOn is the node of a task that does not leave, or that it is to come to; NoNode if there is none.
func standsOn(s *cluster.View, t cluster.TaskID) cluster.NodeID {
	switch task := s.Task(t); {
	case task.Phase == cluster.Absent:
		return cluster.NoNode
	case task.Next != cluster.NoNode:
		return task.Next
	case task.Placed() && task.Phase != cluster.Leaving:
		return task.Node
	}
	return cluster.NoNode
}

// alike reports whether two tasks of a service ask for the same, so that either pays as much for the other. On Kubernetes the shape of one that
// waits may name other nodes than that of one that runs.
func alike(s *cluster.View, a, b cluster.TaskID) bool {
	return slices.Equal(s.Shape(s.Task(a).Shape).Demand, s.Shape(s.Task(b).Shape).Demand)
}

// price is what the task that was located last pays on the node for its siblings there, and in its zone.
func (b *siblings) price(n cluster.NodeID) worth.Price { return b.ofNode(n) + b.ofZone(n) }

// held is the price for a task that runs there, or is to be moved there.
func (b *siblings) held(n cluster.NodeID) worth.Price { return b.ofNode(n) + heldPrice*b.beyond(n) }

// ofZone is what the task pays for those in the node's zone.
func (b *siblings) ofZone(n cluster.NodeID) worth.Price { return zonePrice * cube(b.beyond(n)) }

func cube(n int64) int64 { return n * n * n }

// beyond is how many siblings are in the node's zone beyond those in the zone with the fewest.
func (b *siblings) beyond(n cluster.NodeID) int64 {
	if len(b.inZone) == 0 {
		return 0
	}
	return b.inZone[b.zones.Of(n)]
}

// ofNode is what the task pays for those on the node.
func (b *siblings) ofNode(n cluster.NodeID) worth.Price {
	at, found := slices.BinarySearchFunc(b.nodes, n, func(one withSiblings, n cluster.NodeID) int { return cmp.Compare(one.node, n) })
	if !found {
		return 0
	}
	return siblingPrice * b.nodes[at].count
}

// among counts the siblings of the task among others.
func (b *siblings) among(s *cluster.View, t cluster.TaskID, list []cluster.TaskID) (count int64) {
	if !b.has(t) {
		return 0
	}
	for _, other := range list {
		if other != t && s.Task(other).Job == s.Task(t).Job && alike(s, t, other) {
			count++
		}
	}
	return count
}

// apart is for a task with siblings, where zones do not count.
func (p finding) apart() (n cluster.NodeID, ok, beside bool) {
	b, order, x := &p.surcharges.siblings, &p.table.Order, p.x
	best := x.Most()
	b.were = b.were[:0]
	for _, one := range b.nodes {
		rank := order.Rank[one.node]
		b.were = append(b.were, x.Leaves()[rank])
		x.Set(int(rank), book.None)
	}
	n, ok, beside = p.first()
	for i, one := range b.nodes {
		x.Set(int(order.Rank[one.node]), b.were[i])
	}
	p.table.Ticks += int64(len(b.nodes))
	least, with := beyond, false // with says that the node has siblings: among equals it comes after one that has none
	if ok {
		least = -x.Leaves()[order.Rank[n]]
	}
	if ok && least <= siblingPrice-best {
		return n, ok, beside // no node with siblings is cheaper
	}
	for i, one := range b.nodes {
		price := siblingPrice*one.count - b.were[i]
		if b.were[i] == book.None || price > least || price == least && (!with || order.Rank[one.node] > order.Rank[n]) {
			continue
		}
		refusal := p.s.Admits(p.task, one.node)
		beside = beside || refusal.Code == cluster.NotApart
		if !refusal.Refused() && !p.claims.keepsOff(one.node, p.task, p.own) {
			n, ok, least, with = one.node, true, price, true
		}
	}
	return n, ok, beside
}
