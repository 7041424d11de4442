package flow

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/sched/book"
)

// This file is the waiting lines: in each task group the tasks of each job, the dearest to
// leave waiting first; and for each job the unscheduled node where those go that get no
// place.

// share is the tasks of one job in a task group: what may flow from the task group to the
// job's unscheduled node, the cheapest to leave waiting first.
type share struct {
	taskGroup int32
	job       cluster.JobID
	arc       mcmf.Arc
	stale     bool       // the arc is not what levels say
	levels    []Step     // units by price, ascending
	waiting   book.Queue // the dearest to leave waiting first: by the negative of that price
}

// shares is the table of all shares.
type shares struct {
	graph   *graph
	list    []share
	rowOf   map[shareID]int32
	free    cluster.Rows
	stale   []int32
	jobs    map[cluster.JobID]*unscheduled
	tickets book.Tickets
}

type shareID struct {
	taskGroup int32
	job       cluster.JobID
}

// unscheduled is where the tasks of a job go that get no place.
type unscheduled struct {
	node   mcmf.Node
	shares int
}

// of finds the share of a job in a task group, or makes it, and says whether it did.
func (z *shares) of(id shareID, taskGroup mcmf.Node) (row int32, fresh bool) {
	if row, ok := z.rowOf[id]; ok {
		return row, false
	}
	row = take(&z.free, &z.list)
	sh := &z.list[row]
	*sh = share{taskGroup: id.taskGroup, job: id.job, levels: sh.levels[:0], waiting: sh.waiting}
	sh.arc = z.graph.AddArc(taskGroup, z.unscheduled(id.job), 0, 0, 0)
	z.rowOf[id] = row
	return row, true
}

// unscheduled is the node of a job, for one more share.
func (z *shares) unscheduled(j cluster.JobID) mcmf.Node {
	u := z.jobs[j]
	if u == nil {
		u = &unscheduled{node: z.graph.node()}
		z.graph.AddArc(u.node, z.graph.sink, 0, unlimited, 0)
		z.jobs[j] = u
	}
	u.shares++
	return u.node
}

// drop forgets a share, and the unscheduled node of its job with the last.
func (z *shares) drop(row int32) {
	sh := &z.list[row]
	z.graph.RemoveArc(sh.arc)
	u := z.jobs[sh.job]
	if u.shares--; u.shares == 0 {
		z.graph.RemoveNode(u.node)
		delete(z.jobs, sh.job)
	}
	delete(z.rowOf, shareID{sh.taskGroup, sh.job})
	sh.taskGroup = -1
	z.free.Give(uint32(row))
}

// line lets a task wait in a share.
func (z *shares) line(row int32, t cluster.TaskID, seq cluster.Seq, wait Cost) {
	z.tickets.Enter(&z.list[row].waiting, t, book.Place{Key: -wait, Seq: seq})
}

// first is the waiting task of the share that is the dearest to leave waiting.
func (z *shares) first(row int32) (book.Entry, bool) { return z.tickets.First(&z.list[row].waiting) }

// count adds units to those of the share that pay so much for waiting, or takes them away.
func (z *shares) count(row int32, price Cost, units int64) {
	sh := &z.list[row]
	sh.levels = counted(sh.levels, price, units)
	if !sh.stale {
		sh.stale = true
		z.stale = append(z.stale, row)
	}
}

// counted is a list of units by cost, ascending, with so many more at that cost, or fewer.
func counted(list []Step, cost Cost, units int64) []Step {
	at, found := slices.BinarySearchFunc(list, cost, func(l Step, c Cost) int { return cmp.Compare(l.Cost, c) })
	if !found {
		list = slices.Insert(list, at, Step{Cost: cost})
	}
	if list[at].Capacity += units; list[at].Capacity == 0 {
		list = slices.Delete(list, at, at+1)
	}
	return list
}

// update puts down what it costs to leave tasks waiting, where that changed.
func (z *shares) update() {
	for _, row := range z.stale {
		sh := &z.list[row]
		sh.stale = false
		if sh.taskGroup >= 0 {
			z.graph.setSteps(sh.arc, sh.levels)
		}
	}
	z.stale = z.stale[:0]
}

// units is how many there are in a share.
func (sh *share) units() (sum int64) {
	for _, l := range sh.levels {
		sum += l.Capacity
	}
	return sum
}
