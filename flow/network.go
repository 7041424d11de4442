package flow

import (
	"cmp"
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/mcmf"
)

// This file is the graph and what its parts stand for: task groups with what they give
// and the arcs that leave them, unscheduled nodes of jobs, and the journal of nodes that
// changed, from which all that is derived of nodes is brought up to date.

// network is the graph with what its parts stand for.
type network struct {
	model  Model
	tree   Tree   // the model, if it is one
	loaded Loaded // the model, if it is one
	// pinned says that running tasks never move, so that they are not asked about;
	// moves that a running task may be placed on another node at once.
	pinned, moves bool
	// ranks says that the model is a Ranker.
	ranks bool
	// stop is Options.Stop, or nil.
	stop func() bool

	graph *mcmf.Graph
	sink  mcmf.Node
	given int64 // the sum of all supplies

	members []member // by task row
	ticket  uint32
	due     due

	taskGroups    []taskGroup
	taskGroupOf   map[taskGroupID]int32
	freeTaskGroup rows
	lines         []int32 // task groups with waiting tasks
	active        []int32 // those of them whose turn it is
	tier          int32   // from which on it is
	touched       []int32 // task groups whose supply may have changed
	isTouched     []bool
	idle          []int32 // task groups that had no units at some time
	owner         []int32 // task group by its node in the graph, -1 for other nodes

	shares      []share
	shareRow    map[shareID]int32
	freeShare   rows
	staleShares []int32
	jobs        map[cluster.JobID]*unscheduled

	stays    []stay
	stayRow  map[stayID]int32
	freeStay rows

	requests    []request
	requestRow  map[requestID]int32
	freeRequest rows
	cached      []int32 // requests without units, the one that was used least lately first
	groups      []group
	freeGroup   rows

	machines []machine
	present  []cluster.NodeID // machines with a port
	stale    []cluster.NodeID // machines whose port is new
	journal  []cluster.NodeID
	start    uint64     // position of journal[0]
	latest   []uint64   // per node, 1 + its last position in the journal
	priced   []uint64   // per node, 1 + its last position there for more than its room
	synced   uint64     // position up to which ports are true
	asking   []int32    // requests with units, in order of rows: what slots are for
	asked    []int32    // the same when ports were last computed
	portTier int32      // the tier then
	covering []covering // by shape
	turn     uint32     // of findAsking

	tempting []bargain
	arcs     Arcs
	steps    []Step
	free     []Step // scratch of passing
	envelope []int64
	wrong    error // the first thing that the model said and that cannot be
	asks     int64 // questions to the model
	looks    int64 // at rows, beside those
}

// unscheduled is where the tasks of a job go that get no place.
type unscheduled struct {
	node   mcmf.Node
	shares int
}

func newNetwork(m Model, pinned, moves bool) *network {
	w := &network{model: m, pinned: pinned, moves: moves}
	w.tree, _ = m.(Tree)
	w.loaded, _ = m.(Loaded)
	_, w.ranks = m.(Ranker)
	w.graph = mcmf.NewGraph(0, 0)
	w.sink = w.graph.AddNode(0)
	w.taskGroupOf, w.shareRow = map[taskGroupID]int32{}, map[shareID]int32{}
	w.jobs, w.stayRow = map[cluster.JobID]*unscheduled{}, map[stayID]int32{}
	w.requestRow = map[requestID]int32{}
	return w
}

// refuse notes what is wrong with an answer of the model, unless something was
// already.
func (w *network) refuse(format string, args ...any) {
	if w.wrong == nil {
		w.wrong = fmt.Errorf(format, args...)
	}
}

// terms asks the model about a task, and when to ask again.
func (w *network) terms(s *cluster.View, t cluster.TaskID) Terms {
	w.asks++
	terms := w.model.Terms(s, t)
	for _, c := range [2]*Cost{&terms.Wait, &terms.Stay} {
		if err := checkCost(*c); err != nil {
			w.refuse("terms of task %s: %w", s.TaskName(t), err)
			*c = min(max(*c, -MaxCost), MaxCost)
		}
	}
	w.due.book(s, t, terms.Next)
	return terms
}

// node makes a node of the graph.
func (w *network) node() mcmf.Node {
	v := w.graph.AddNode(0)
	for int(v) >= len(w.owner) {
		w.owner = append(w.owner, -1)
	}
	w.owner[v] = -1
	return v
}

func (w *network) unscheduled(j cluster.JobID) mcmf.Node {
	u := w.jobs[j]
	if u == nil {
		u = &unscheduled{node: w.node()}
		w.graph.AddArc(u.node, w.sink, 0, unlimited, 0)
		w.jobs[j] = u
	}
	u.shares++
	return u.node
}

// unlimited is a capacity as good as none: more units than there can be tasks.
const unlimited = 1 << 32

// release lets go of a job's unscheduled node.
func (w *network) release(j cluster.JobID) {
	u := w.jobs[j]
	if u.shares--; u.shares == 0 {
		w.graph.RemoveNode(u.node)
		delete(w.jobs, j)
	}
}

// newTaskGroup makes a task group of which t is the first task.
func (w *network) newTaskGroup(s *cluster.View, id taskGroupID, t cluster.TaskID) int32 {
	row := w.freeTaskGroup.take(len(w.taskGroups))
	if int(row) == len(w.taskGroups) {
		w.taskGroups, w.isTouched = append(w.taskGroups, taskGroup{}), append(w.isTouched, false)
	}
	old := &w.taskGroups[row]
	w.taskGroups[row] = taskGroup{
		id: id, live: true, request: w.requestOf(id.request), node: w.node(), at: -1,
		shares: old.shares[:0], stays: old.stays[:0], outs: old.outs[:0],
	}
	w.taskGroupOf[id] = row
	c := &w.taskGroups[row]
	w.owner[c.node] = row
	w.requests[c.request].taskGroups++
	w.askOut(s, t)
	w.putOut(s, row, t)
	return row
}

// askOut asks the model for the arcs that leave the task group of a task.
func (w *network) askOut(s *cluster.View, t cluster.TaskID) {
	w.arcs.list = w.arcs.list[:0]
	w.asks++
	w.model.Out(s, t, &w.arcs)
}

// askAgain asks the model again about all tasks that take part.
func (w *network) askAgain(s *cluster.View) {
	for t := range w.members {
		if w.members[t].seq != 0 {
			w.updateTask(s, cluster.TaskID(t))
		}
	}
	for row := range w.taskGroups {
		c := &w.taskGroups[row]
		if !c.live || c.units == 0 {
			continue
		}
		t := w.anyOf(c)
		if w.askOut(s, t); !w.leavesBy(c) {
			w.dropOuts(int32(row))
			w.putOut(s, int32(row), t)
		}
	}
}

// anyOf is a task of a task group that has some.
func (w *network) anyOf(c *taskGroup) cluster.TaskID {
	for _, sh := range c.shares {
		if t, ok := w.first(sh); ok {
			return t
		}
	}
	return w.stays[c.stays[0]].tasks[0]
}

// leavesBy reports whether the task group has the arcs that were just asked for.
func (w *network) leavesBy(c *taskGroup) bool {
	return slices.EqualFunc(c.outs, w.arcs.list, func(o out, a outArc) bool {
		same := o.group < 0 || w.groups[o.group].of == a.aggregator
		return same && o.node == a.node && o.cost == a.cost
	})
}

// putOut gives a task group the arcs that were just asked for.
func (w *network) putOut(s *cluster.View, row int32, t cluster.TaskID) {
	for _, a := range w.arcs.list {
		err := checkCost(a.cost)
		switch {
		case err != nil:
			w.refuse("arc of task %s: %w", s.TaskName(t), err)
			continue
		case a.node == cluster.NoNode && a.aggregator == Nowhere:
			w.refuse("arc of task %s: to nowhere", s.TaskName(t))
			continue
		case a.node != cluster.NoNode && int(a.node) >= s.NodeRows():
			w.refuse("arc of task %s: to node %d, want one of the %d that are known", s.TaskName(t), a.node, s.NodeRows())
			continue
		}
		c := &w.taskGroups[row]
		o := out{group: -1, node: a.node, cost: a.cost}
		if a.node == cluster.NoNode {
			o.group = w.groupOf(s, c.request, a.aggregator)
			o.arc = w.graph.AddArc(c.node, w.groups[o.group].node, 0, unlimited, a.cost)
			c.outs = append(c.outs, o)
			continue
		}
		m := w.machine(a.node)
		w.putPort(a.node)
		o.arc = w.graph.AddArc(c.node, m.port, 0, w.room(s, c.request, a.node), a.cost+w.surcharge(s, c.request, a.node))
		m.prefer = append(m.prefer, row)
		c.outs = append(c.outs, o)
	}
}

// dropOuts takes the arcs that leave a task group away.
func (w *network) dropOuts(row int32) {
	c := &w.taskGroups[row]
	for _, o := range c.outs {
		w.graph.RemoveArc(o.arc)
		if o.group >= 0 {
			continue
		}
		m := w.machine(o.node)
		at := slices.Index(m.prefer, row)
		m.prefer[at] = m.prefer[len(m.prefer)-1]
		m.prefer = m.prefer[:len(m.prefer)-1]
		w.leavePort(o.node)
	}
	c.outs = c.outs[:0]
}

// dropTaskGroup forgets a task group without units.
func (w *network) dropTaskGroup(row int32) {
	c := &w.taskGroups[row]
	w.dropOuts(row)
	for len(c.shares) > 0 {
		w.dropShare(c.shares[0])
	}
	w.owner[c.node] = -1
	w.graph.RemoveNode(c.node)
	delete(w.taskGroupOf, c.id)
	q := c.request
	c.live = false
	w.freeTaskGroup.give(row)
	if w.requests[q].taskGroups--; w.requests[q].taskGroups == 0 {
		w.retire(q)
	}
}

// touch notes that the supply of a task group may have changed.
func (w *network) touch(c int32) {
	if !w.isTouched[c] {
		w.isTouched[c] = true
		w.touched = append(w.touched, c)
	}
}

// note notes that a node changed, so that its price may have.
func (w *network) note(n cluster.NodeID) {
	w.noteRoom(n)
	w.priced[n] = w.latest[n]
}

// noteRoom notes that a node has room for more units than before, or for fewer, while
// it is what it was.
func (w *network) noteRoom(n cluster.NodeID) {
	w.machine(n)
	w.journal = append(w.journal, n)
	w.latest[n] = w.start + uint64(len(w.journal))
}

// position is where the journal ends.
func (w *network) position() uint64 { return w.start + uint64(len(w.journal)) }

// trimJournal forgets what is long past. Requests that have not read it are made
// anew.
func (w *network) trimJournal() {
	if keep := 4 * len(w.machines); len(w.journal) > 2*keep {
		cut := len(w.journal) - keep
		w.start += uint64(cut)
		w.journal = append(w.journal[:0], w.journal[cut:]...)
	}
}

// update makes the graph what the state and the model say it is.
func (w *network) update(s *cluster.View) {
	w.settleTaskGroups()
	w.findAsking()
	w.updatePorts(s)
	for _, q := range w.asking {
		if w.stopped() {
			break // the others remember how far they have read the journal
		}
		w.catchUp(s, q)
	}
	for _, row := range w.staleShares {
		w.updateShare(row)
	}
	w.staleShares = w.staleShares[:0]
	w.trimJournal()
	w.forgetRequests()
}

// stopped reports whether nobody wants a plan any more.
func (w *network) stopped() bool { return w.stop != nil && w.stop() }

// settleTaskGroups brings supplies up to date, and drops task groups that have none.
func (w *network) settleTaskGroups() {
	for _, row := range w.touched {
		w.isTouched[row] = false
		c := &w.taskGroups[row]
		if !c.live {
			continue
		}
		w.supply(row)
		switch {
		case c.waiting > 0 && c.at < 0:
			c.at = int32(len(w.lines))
			w.lines = append(w.lines, row)
		case c.waiting == 0 && c.at >= 0:
			last := w.lines[len(w.lines)-1]
			w.lines[c.at] = last
			w.taskGroups[last].at = c.at
			w.lines, c.at = w.lines[:len(w.lines)-1], -1
		}
	}
	w.touched = w.touched[:0]
	for _, row := range w.idle {
		if c := &w.taskGroups[row]; c.live && c.units == 0 {
			w.dropTaskGroup(row)
		}
	}
	w.idle = w.idle[:0]
	w.active = w.active[:0]
	for _, row := range w.lines {
		if w.taskGroups[row].id.tier >= w.tier {
			w.active = append(w.active, row)
		}
	}
	w.graph.SetSupply(w.sink, -w.given)
}

// supply lets a task group give its units, unless its turn is yet to come.
func (w *network) supply(row int32) {
	c := &w.taskGroups[row]
	units := c.units
	if c.waiting > 0 && c.id.tier < w.tier {
		units = 0
	}
	w.given += units - w.graph.Supply(c.node)
	w.graph.SetSupply(c.node, units)
}

// serve lets the task groups of a tier, and of those above it, take part.
func (w *network) serve(tier int32) {
	if w.tier == tier {
		return
	}
	w.tier = tier
	for _, row := range w.lines {
		w.supply(row)
	}
}

// tiers lists those of the tasks that wait, the highest first.
func (w *network) tiers(list []int32) []int32 {
	list = list[:0]
	for _, row := range w.lines {
		list = append(list, w.taskGroups[row].id.tier)
	}
	slices.SortFunc(list, func(a, b int32) int { return cmp.Compare(b, a) })
	return slices.Compact(list)
}

// findAsking lists the requests that somebody waits with, or may move with.
func (w *network) findAsking() {
	for _, q := range w.asking {
		w.requests[q].wanted = 0
	}
	w.asking = w.asking[:0]
	for _, row := range w.active {
		q := w.taskGroups[row].request
		w.asking = append(w.asking, q)
		w.requests[q].wanted += int64(w.taskGroups[row].waiting)
	}
	if w.moves {
		for row := range w.requests {
			if q := &w.requests[row]; q.live && q.running > 0 {
				w.asking = append(w.asking, int32(row))
			}
		}
	}
	slices.Sort(w.asking)
	w.asking = slices.Compact(w.asking)
	w.turn++
}

// updateShare puts down what it costs to leave tasks of a share waiting.
func (w *network) updateShare(row int32) {
	sh := &w.shares[row]
	sh.stale = false
	switch {
	case sh.taskGroup < 0:
	case len(sh.levels) == 1:
		w.graph.SetArc(sh.arc, 0, sh.levels[0].Capacity, sh.levels[0].Cost)
	default:
		w.graph.SetCurve(sh.arc, 0, sh.levels)
	}
}
