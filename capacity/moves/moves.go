// Package moves plans moves of running tasks from node to node: so that as many nodes as can be have nothing to
// do (Free), that some are emptied (Drain), or that none is fuller than it should be (Level).
//
// A plan is a list of moves to be made one after the other, each begun when the one before has ended. After any
// number of them the cluster is as sound as before: no node is over its limit that was not, no device, eligibility or
// limit per node is broken, no hard constraint has more subjects that violate it, and nobody was moved who may not be. All
// that is held by the state's own checks, those that the scheduler's commit makes. Beside the plan stands a
// bound, proved, that tells how far from the best it could be at most.
//
// # How
//
// Nodes to be emptied are taken one after the other. Their tasks go, the largest first, each to the first node
// that takes it, in an order in which those come first that stay on for sure, and the fullest of the others. A tree
// over that order, which holds the most that is left of each kind below each of its branches (index.go), finds
// the first node with room in about log n steps, so that the whole is near tasks × log nodes. A node that
// is to be switched off is emptied in a trial first: whole or not at all.
package moves

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// May says what may become of a task.
type May uint8

const (
	// Move is to another node, when that has room.
	Move May = iota
	// Stay is where the task is: its node stays on.
	Stay
	// Go is with the node: the task is its node's own, as a DaemonSet's pods are, and keeps it from nothing.
	Go
)

// Problem is the cluster in which tasks are to move.
type Problem struct {
	View *cluster.View
	// May says what may become of a task that takes room; nil lets all move. Who cannot be evicted stays, whatever it says.
	May func(cluster.TaskID) May
}

// One is one task's move.
type One struct {
	Task     cluster.TaskID
	From, To cluster.NodeID
}

// Plan is a list of moves with what comes of them.
type Plan struct {
	// Moves are safe after any number of them.
	Moves []One
	// Done are the nodes that are as they should be at the end, in the order in which they came to be so.
	Done []cluster.NodeID
	// Left are those that are not, and why.
	Left []Left
	// Bound is how many nodes would be left by any moves at all, at least.
	Bound int
}

// Gap is how many nodes fewer any other moves could leave at most.
func (p *Plan) Gap() int { return len(p.Left) - p.Bound }

// Left is a node that is not as it should be, as the task cannot leave it.
type Left struct {
	Node cluster.NodeID
	Task cluster.TaskID
	Why  Why
	// Refusal is, of NoPlace, that of the last eligible node with room; the zero value where none has any.
	Refusal cluster.Refusal
}

// Why says why a task does not leave.
type Why uint8

const (
	// Stays says that it may not move.
	Stays Why = iota
	// NoPlace says that no node takes it: no room, or a constraint, or its own filters.
	NoPlace
)

// String says it in words.
func (w Why) String() string { return [...]string{"may not be moved", "no other node takes it"}[w] }

// mover makes moves in a state.
type mover struct {
	trial *sched.Trial
	view  *cluster.View // of the trial
	may   []May         // by task
	share cluster.Vector
	order []cluster.NodeID
	at    []int32 // where each node is in the order; -1 where it is not
	index index
	// refused are shapes of tasks that no target takes, as far as single has asked, with what m.refusal was.
	refused map[cluster.ShapeID]cluster.Refusal
	refusal cluster.Refusal // as in Left, of the latest task that try has moved nowhere
	// tried are the actions of the moves that are tried, two of each.
	tried []sched.Action
	moves []One
}

// whole is all of a limit, in thousandths.
const whole = 1000

// newMover is one whose targets are the nodes of the order, up to so many thousandths of their limits; nil is all of
// them.
func newMover(p *Problem, share cluster.Vector, order func(m *mover) []cluster.NodeID) *mover {
	trial := sched.OnCopy(p.View)
	m := &mover{trial: trial, view: trial.View(), share: share, may: make([]May, p.View.TaskRows()), refused: map[cluster.ShapeID]cluster.Refusal{}}
	for i := range m.may {
		t := cluster.TaskID(i)
		switch {
		case !m.view.Task(t).Placed():
		case p.May != nil && p.May(t) == Go:
			m.may[i] = Go
		case m.view.Evictable(t).Refused() || p.May != nil && p.May(t) == Stay:
			m.may[i] = Stay
		}
	}
	m.order = order(m)
	m.at = make([]int32, m.view.NodeRows())
	for i := range m.at {
		m.at[i] = -1
	}
	for i, n := range m.order {
		m.at[n] = int32(i)
	}
	m.index = newIndex(len(m.order), len(m.view.Kinds()))
	for i, n := range m.order {
		m.room(n, m.index.leaf(i))
	}
	m.index.build()
	return m
}

// room writes what is left of the node for tasks that come.
func (m *mover) room(n cluster.NodeID, to []int64) {
	limit, used, leaving := m.view.Limit(n), m.view.Used(n), m.view.LeavingDemand(n)
	for k := range to {
		to[k] = m.upTo(limit[k], k) - used[k] + leaving[k]
	}
}

// upTo is the part of a limit that is filled.
func (m *mover) upTo(limit int64, kind int) int64 {
	if m.share == nil || m.share[kind] >= whole {
		return limit
	}
	return limit/whole*m.share[kind] + limit%whole*m.share[kind]/whole
}

// refresh brings the index up to date with a node.
func (m *mover) refresh(n cluster.NodeID) {
	if i := m.at[n]; i >= 0 {
		m.room(n, m.index.leaf(int(i)))
		m.index.update(int(i))
	}
}

// close takes the node from the targets.
func (m *mover) close(n cluster.NodeID) {
	if i := m.at[n]; i >= 0 {
		leaf := m.index.leaf(int(i))
		for k := range leaf {
			leaf[k] = closed
		}
		m.index.update(int(i))
	}
}

// holds are the tasks that the node is to be rid of: who may not move first, then the largest.
func (m *mover) holds(n cluster.NodeID) []cluster.TaskID {
	var tasks []cluster.TaskID
	for _, t := range m.view.TasksOn(n) {
		if m.may[t] != Go {
			tasks = append(tasks, t)
		}
	}
	slices.SortStableFunc(tasks, func(a, b cluster.TaskID) int {
		return cmp.Or(cmp.Compare(m.may[b], m.may[a]), cmp.Compare(m.weight(m.view.Demand(b), n), m.weight(m.view.Demand(a), n)), cmp.Compare(m.view.Task(a).Seq, m.view.Task(b).Seq))
	})
	return tasks
}

// weight is the largest part that a demand is of what the node has, of all kinds.
func (m *mover) weight(demand cluster.Vector, n cluster.NodeID) int64 {
	limit, most := m.view.Limit(n), int64(0)
	for k, q := range demand {
		most = max(most, cluster.Fraction(q, limit[k]))
	}
	return most
}

// mostTries is how many eligible nodes with room are asked for one task, of which all but the last refuse it: for
// devices, for tasks of its job or for a constraint.
const mostTries = 2048

// try moves the task to the first target that takes it, in the trial, and leaves that as it is where none does.
func (m *mover) try(t cluster.TaskID) bool {
	task := m.view.Task(t)
	m.refusal = cluster.Refusal{}
	from, attempt, eligible, tries := task.Node, task.Attempt, m.view.Shape(task.Shape).Eligible, 0
	to := m.index.find(m.view.Demand(t), func(i int) found {
		n := m.order[i]
		if n == from || !m.view.Eligible(eligible, n) {
			return next
		}
		if tries++; tries > mostTries {
			return stop
		}
		m.tried = append(m.tried, sched.Action{Kind: sched.Evict, Task: t, Attempt: attempt},
			sched.Action{Kind: sched.Place, Task: t, Attempt: attempt, Node: n, Grant: task.Grant()})
		if r := m.trial.TryTogether(m.tried[len(m.tried)-2:]); r.Refused() {
			m.refusal = r
			m.tried = m.tried[:len(m.tried)-2]
			return next
		}
		return take
	})
	if to < 0 {
		return false
	}
	m.tried[len(m.tried)-1].Devices = m.view.Task(t).NextDevices
	m.refresh(m.order[to])
	return true
}

// undo ends the trial, and leaves nothing of it.
func (m *mover) undo() {
	m.trial.Rollback(0)
	for _, a := range m.tried {
		if a.Kind == sched.Place {
			m.refresh(a.Node)
		}
	}
	m.tried = m.tried[:0]
}

// keep makes the moves that were tried, one after the other, as the world will.
func (m *mover) keep() {
	for i := 0; i < len(m.tried); i += 2 {
		place := m.tried[i+1]
		m.moves = append(m.moves, One{place.Task, m.view.Task(place.Task).Node, place.Node})
	}
	if err := m.trial.Carry(m.tried); err != nil {
		panic("moves: a move that was tried is refused: " + err.Error())
	}
	for _, a := range m.tried {
		if a.Kind == sched.Place {
			m.refresh(a.Node)
		}
	}
	m.tried = m.tried[:0]
}
