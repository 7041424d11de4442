package flow

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// network is the graph with what its parts stand for, each part above those that it goes
// by: tasks are members of task groups, whose requests rank what nodes offer; each
// node's port has slots, and tenants.
type network struct {
	graph   graph
	answers answers
	journal journal
	turn    turn
	tenants tenants
	ports   ports
	stays   stays
	ranking ranking
	shares  shares
	supply  supply
	members members
	slots   slots
	columns columns
	tried   []sched.Action // scratch
	// stop is Options.Stop, or nil.
	stop func() bool
}

func newNetwork(m Model, moves bool, e *effort) *network {
	w := &network{graph: newGraph(), answers: newAnswers(m, moves, e), turn: turn{effort: e}}
	w.tenants = tenants{members: &w.members, journal: &w.journal}
	w.tenants.Rule = w.tenants.rank
	w.ports = ports{graph: &w.graph, answers: &w.answers, turn: &w.turn, tenants: &w.tenants}
	w.stays = stays{graph: &w.graph, journal: &w.journal, turn: &w.turn, ports: &w.ports, rowOf: map[stayID]int32{}}
	w.ranking = ranking{graph: &w.graph, answers: &w.answers, journal: &w.journal, ports: &w.ports, rowOf: map[requestID]int32{}}
	w.shares = shares{graph: &w.graph, rowOf: map[shareID]int32{}, jobs: map[cluster.JobID]*unscheduled{}}
	w.supply = supply{
		graph: &w.graph, answers: &w.answers, turn: &w.turn, ports: &w.ports, ranking: &w.ranking, shares: &w.shares,
		rowOf: map[taskGroupID]int32{},
	}
	w.members = members{answers: &w.answers, supply: &w.supply, stays: &w.stays, tenants: &w.tenants}
	w.slots = slots{journal: &w.journal, turn: &w.turn, tenants: &w.tenants, ports: &w.ports, stays: &w.stays, supply: &w.supply}
	w.columns = columns{ranking: &w.ranking, slots: &w.slots}
	return w
}

// learn takes in what changed.
func (w *network) learn(s *cluster.View, c *sched.Changed) {
	for _, t := range c.Gone {
		w.members.leave(t)
	}
	if len(c.Shapes) > 0 {
		w.members.leaveShapes(c)
		w.supply.settle() // so that nothing is kept of task groups that are gone
	}
	for _, shape := range c.Shapes {
		w.ranking.forgetShape(shape)
		w.tenants.forgetShape(shape)
	}
	for _, shape := range c.Constrained {
		w.ranking.reconsider(shape)
		w.supply.reconsider(shape)
	}
	for _, n := range c.Nodes {
		w.note(n)
	}
	for _, m := range c.Members {
		w.note(m.Node)
	}
	for _, t := range c.Tasks {
		if n := s.Task(t).Node; n != cluster.NoNode {
			w.tenants.Forget(n) // it may take another part of the node than it did
		}
		w.members.update(s, t)
	}
}

// note notes that a node changed, so that its price may have.
func (w *network) note(n cluster.NodeID) {
	w.ports.node(n)
	w.journal.reprice(n)
}

// update makes the graph what the state and the model say it is.
func (w *network) update(s *cluster.View) {
	w.supply.settle()
	w.supply.ask(w.stays.any())
	w.slots.update(s)
	for _, q := range w.turn.asking {
		if w.stopped() {
			break // the others remember how far they have read the journal
		}
		w.ranking.catchUp(s, q)
	}
	w.shares.update()
	w.journal.Cut()
	w.ranking.forget()
}

// stopped reports whether nobody wants a plan any more.
func (w *network) stopped() bool { return w.stop != nil && w.stop() }

// fresh reports whether the arcs of all requests that ask are true: a port that was
// given more slots since they were looked at has arcs that let through too few.
func (w *network) fresh() bool {
	end := w.journal.End()
	return !slices.ContainsFunc(w.turn.asking, func(q int32) bool { return w.ranking.requests[q].seen != end })
}

// noteTask notes the node that a task takes room on.
func (w *network) noteTask(s *cluster.View, t cluster.TaskID) {
	if n := s.Task(t).Node; n != cluster.NoNode {
		w.note(n)
	}
}

// group is the task group of a row.
func (w *network) group(row int32) *taskGroup { return &w.supply.groups[row] }

// request is the request of a row.
func (w *network) request(row int32) *request { return &w.ranking.requests[row] }

// room is how many units of a request a node may take.
func (w *network) room(s *cluster.View, request int32, n cluster.NodeID) int64 {
	return w.ports.room(s, w.ranking.requests[request].id, n)
}
