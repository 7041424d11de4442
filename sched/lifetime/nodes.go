package lifetime

import (
	"cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/heap"
	"fairlead.dev/fairlead/sched"
)

// This file is how long nodes will be in use: until the last of their tasks is thought to leave, as of now. A node is looked at when
// it has changed; when a run on it begins to work, which is later than was thought when it was placed; and when so much time has gone by
// that what is left stands in another bin, or is over. So what is said of a node in bins is true until the next of these moments, and
// may stand in an index.
//
// Cost: a look asks the predictor once for each task of the node.

// Nodes is how long nodes will be in use. It is made of a predictor alone.
type Nodes struct {
	By Predictor
	// Watch is called when a node was looked at, and says when that is to be at the latest the next time, and whether the node now is
	// another one to who watches, though it has not changed; it may be nil.
	Watch func(s *cluster.View, n cluster.NodeID) (again cluster.Time, another bool)

	node  []use
	due   heap.Heap[dueNode]
	round uint32 // of Learn
}

// use is what is thought of a node.
type use struct {
	tasks int
	until cluster.Time // when the last task leaves; the moment of the look if there is none
	left  int          // the bin of the time until then
	look  cluster.Time // when it is to be looked at again; Never if not before it has changed
	noted cluster.Time // the moment at which it stands in due; Never if it does not
	round uint32       // of the last look
}

// dueNode is a node that is to be looked at again.
type dueNode struct {
	at   cluster.Time
	node cluster.NodeID
}

// Before orders by time, then by row.
func (d dueNode) Before(o dueNode) bool {
	return cmp.Or(cmp.Compare(d.at, o.at), cmp.Compare(d.node, o.node)) < 0
}

// Learn takes in what changed, and notes nodes of which something else is thought although they have not changed.
func (k *Nodes) Learn(s *cluster.View, c *sched.Changed, note func(cluster.NodeID)) {
	if c.All {
		k.node, k.due = nil, nil
	}
	k.By.Learn(s, c)
	k.round++
	for len(k.node) < s.NodeRows() {
		k.node = append(k.node, use{look: cluster.Never, noted: cluster.Never})
	}
	for _, n := range c.Nodes {
		k.Look(s, n)
	}
	for _, t := range c.Tasks {
		if n := s.Task(t).Node; n != cluster.NoNode && k.node[n].round != k.round {
			k.lookAgain(s, n, note)
		}
	}
	for len(k.due) > 0 && k.due[0].at <= s.Now() {
		d := k.due.Pop()
		h := &k.node[d.node]
		if h.noted != d.at {
			continue // it stands there again
		}
		h.noted = cluster.Never
		if h.look <= s.Now() {
			k.lookAgain(s, d.node, note)
		} else {
			k.enter(d.node)
		}
	}
}

// lookAgain looks at a node that has not changed, and notes it if something else is thought of it.
func (k *Nodes) lookAgain(s *cluster.View, n cluster.NodeID, note func(cluster.NodeID)) {
	left := k.node[n].left
	if another := k.Look(s, n); another || k.node[n].left != left {
		note(n)
	}
}

// Look thinks anew of a node. Whoever places a task calls it. It returns what Watch does.
func (k *Nodes) Look(s *cluster.View, n cluster.NodeID) (another bool) {
	h := &k.node[n]
	h.tasks, h.until, h.round = 0, s.Now(), k.round
	if s.NodeLive(n) {
		for _, t := range s.TasksOn(n) {
			if task := s.Task(t); task.Phase != cluster.Leaving || task.Next == n {
				h.tasks++
				h.until = max(h.until, Later(s.Now(), k.By.Remaining(s, t)))
			}
		}
	}
	h.left, h.look = Bin(h.until-s.Now()), cluster.Never
	switch {
	case h.tasks == 0 || h.until == cluster.Never:
	case h.left == 0:
		h.look = s.Now() + Start(1)
	default: // it leaves the bin when less is left than there is in it
		h.look = h.until - Start(h.left) + 1
	}
	if k.Watch != nil {
		var again cluster.Time
		again, another = k.Watch(s, n)
		h.look = min(h.look, again)
	}
	k.enter(n)
	return another
}

// enter has the node stand in the line of those that are due, unless it stands there early enough.
func (k *Nodes) enter(n cluster.NodeID) {
	if h := &k.node[n]; h.look < h.noted {
		h.noted = h.look
		k.due.Push(dueNode{h.look, n})
	}
}

// Tasks is how many tasks are on the node that are not told to leave it.
func (k *Nodes) Tasks(n cluster.NodeID) int { return k.node[n].tasks }

// Left is how much longer the node will be in use, as of its last look.
func (k *Nodes) Left(s *cluster.View, n cluster.NodeID) cluster.Time {
	return max(k.node[n].until-s.Now(), 0)
}

// Extends is by how much a task that stays for so many bins would have the node be in use for longer, as a bin; of an empty node for all
// the time that it stays.
func (k *Nodes) Extends(stay int, n cluster.NodeID) int {
	switch h := &k.node[n]; {
	case h.tasks == 0:
		return stay
	case stay <= h.left:
		return 0
	default:
		return Bin(Start(stay) - Start(h.left))
	}
}

// Later is a moment so much later; never is never.
func Later(now, by cluster.Time) cluster.Time {
	if by >= cluster.Never-now {
		return cluster.Never
	}
	return now + by
}
