package cluster

import (
	"maps"
	"slices"
)

// State is the writer around a View: events and decisions change it. It has one owner and
// one writer; copies of it are brought up to date row by row (CopyRows).
type State struct {
	View

	undo      undoLog
	protected protections // of the runs that events protect; a copy has none
}

// Totals are sums over the live nodes.
type Totals struct {
	Nodes          int
	Capacity, Used Vector
	// Free is what Used leaves of the nodes' limits: of a node that holds more than its limit nothing is left. So all that is
	// placed anywhere without counting on what is leaving takes no more than this, and all that does no more than this and Leaving.
	Free, Leaving Vector
}

// newTotals are those of no node.
func newTotals(kinds int) Totals {
	return Totals{Capacity: make(Vector, kinds), Used: make(Vector, kinds), Free: make(Vector, kinds), Leaving: make(Vector, kinds)}
}

// add adds sign times a node.
func (t *Totals) add(v *View, n NodeID, sign int) {
	t.Nodes += sign
	for k := range v.kinds {
		t.Capacity[k] += int64(sign) * v.Capacity(n)[k]
		t.Used[k] += int64(sign) * v.Used(n)[k]
		t.Free[k] += int64(sign) * max(v.Limit(n)[k]-v.Used(n)[k], 0)
		t.Leaving[k] += int64(sign) * v.LeavingDemand(n)[k]
	}
}

// nodeRow is what is known of a node besides its vectors.
type nodeRow struct {
	reserved int32 // how many of tasks are reserved
	spec     NodeSpec
	tasks    []TaskID // that take room here, in the order in which they came
	device   []Device // by place: those it has, and those it had
}

type shapeRow struct {
	Shape
	live  bool
	tasks int32
	needs DeviceNeeds
	roles []role // in the order of constraints and bounds; never written to

	coming bool // room is, for those who wait
}

// setRow is a set of nodes, a bit for each row.
type setRow struct {
	live  bool
	nodes []uint64
}

// holds reports whether the node is in the set.
func (r *setRow) holds(n NodeID) bool {
	return int(n>>6) < len(r.nodes) && r.nodes[n>>6]&(1<<(n&63)) != 0
}

// run names one run of one task.
type run struct {
	task    TaskID
	attempt uint32
}

// orphan is a run that exists although its task has moved on: a bind that was
// given up and happened after all. It takes room until it is gone.
type orphan struct {
	node NodeID
	room
	job  JobID
	most int32 // of its shape: PerNode
}

// room is what one run takes on a node.
type room struct {
	demand  Vector
	devices DeviceSet
}

// NewState returns an empty cluster that measures these kinds and begins with these
// classes, which events may change. With no classes there is one, without a name.
func NewState(kinds []Kind, classes []Class) *State {
	if err := CheckKinds(kinds); err != nil {
		panic("cluster: " + err.Error())
	}
	if err := CheckClasses(classes); err != nil {
		panic("cluster: " + err.Error())
	}
	if len(classes) == 0 {
		classes = []Class{{}}
	}
	s := &State{View: View{
		kinds:   slices.Clone(kinds),
		devices: DeviceKinds(kinds),
		set:     make([]setRow, 1),
		orphans: map[run]orphan{},
		total:   newTotals(len(kinds)),
	}}
	for i, class := range classes {
		s.classes.set(ClassID(i), class, true)
	}
	return s
}

// Kinds are the cluster's resources, in the order of its vectors.
func (v *View) Kinds() []Kind { return v.kinds }

// Classes are the classes of tasks, by row, until the next change. A row that holds no
// class promises nothing, and no task has it.
func (v *View) Classes() []Class { return v.classes.rows }

// ClassLive reports whether the row holds a class.
func (v *View) ClassLive(id ClassID) bool { return int(id) < len(v.classes.live) && v.classes.live[id] }

// Now is the time of the latest event.
func (v *View) Now() Time { return v.now }

// SolverReady reports whether the solver of integer programs may be asked.
func (v *View) SolverReady() bool { return v.asked.solver }

// Totals are sums over the live nodes. They are valid until the next change.
func (v *View) Totals() Totals { return v.total }

// NodeRows is one more than the largest node row in use so far.
func (v *View) NodeRows() int { return len(v.node) }

// TaskRows is one more than the largest task row in use so far.
func (v *View) TaskRows() int { return len(v.task) }

// JobRows is one more than the largest job row in use so far.
func (v *View) JobRows() int { return len(v.job) }

// ShapeRows is one more than the largest shape row in use so far.
func (v *View) ShapeRows() int { return len(v.shape) }

// NodeLive reports whether the row holds a node.
func (v *View) NodeLive(n NodeID) bool { return int(n) < len(v.live) && v.live[n] }

// NodeSpec returns what the world said of the node.
func (v *View) NodeSpec(n NodeID) *NodeSpec { return &v.node[n].spec }

// Capacity is what the node physically has.
func (v *View) Capacity(n NodeID) Vector { return v.vector(v.capacity, n) }

// Limit is up to where demand is placed on the node.
func (v *View) Limit(n NodeID) Vector { return v.vector(v.limit, n) }

// Used is the demand of everything that takes room on the node.
func (v *View) Used(n NodeID) Vector { return v.vector(v.used, n) }

// LeavingDemand is the part of Used that was told to leave. A placement may
// count on it, and is then reserved until it has left.
func (v *View) LeavingDemand(n NodeID) Vector { return v.vector(v.leaving, n) }

// Usage is what was last measured on the node to be in use, which may be less or
// more than Used and than Capacity; nil if nobody ever reported any.
func (v *View) Usage(n NodeID) Vector {
	if int(n) >= len(v.usage) || len(v.usage[n]) == 0 {
		return nil
	}
	return v.usage[n]
}

// setUsage notes what is in use on the node; nil that nobody knows.
func (s *State) setUsage(n NodeID, usage Vector) {
	if usage != nil {
		s.usage = grown(s.usage, int(n))
	}
	if int(n) < len(s.usage) {
		s.usage[n] = append(s.usage[n][:0], usage...)
	}
}

func (v *View) vector(table []int64, n NodeID) Vector {
	k := len(v.kinds)
	return table[int(n)*k : int(n)*k+k : int(n)*k+k]
}

// TasksOn lists the tasks that take room on the node, in the order in which
// they came. A task that moves is listed on both of its nodes.
func (v *View) TasksOn(n NodeID) []TaskID { return v.node[n].tasks }

// Task returns the task in the row; its Phase is Absent if there is none.
func (v *View) Task(t TaskID) *Task { return &v.task[t] }

// Job returns the job in the row.
func (v *View) Job(j JobID) *Job { return &v.job[j] }

// Shape returns the shape in the row.
func (v *View) Shape(id ShapeID) *Shape { return &v.shape[id].Shape }

// Demand returns what the task takes of its node; where it takes room on none, the
// least that it asks for.
func (v *View) Demand(t TaskID) Vector {
	task := &v.task[t]
	if grant := task.Grant(); grant != nil {
		return grant
	}
	return v.shape[task.Shape].Demand
}

// numbers are how many tasks are in each phase, and how many shapes have a range.
type numbers struct {
	phase  [phases]int
	ranges int
}

// ofShape counts a shape, or with -1 does not count it any more.
func (n *numbers) ofShape(row *shapeRow, sign int) {
	if row.Max != nil {
		n.ranges += sign
	}
}

// InPhase counts the tasks in the phase.
func (v *View) InPhase(p Phase) int { return v.numbers.phase[p] }

// Eligible reports whether the set holds the node.
func (v *View) Eligible(id SetID, n NodeID) bool {
	return id == AllNodes || v.set[id].holds(n)
}

// Beside counts the other tasks of the job that take room on the node.
func (v *View) Beside(j JobID, n NodeID, but TaskID) int {
	count := 0
	for r, o := range v.orphans { // mostly there is none
		if o.node == n && o.job == j && r.task != but {
			count++
		}
	}
	for _, other := range v.node[n].tasks {
		if other != but && v.task[other].Job == j {
			count++
		}
	}
	return count
}

// Overfull reports whether the node holds more than its limit in some kind,
// as a node does that shrank, or that was found so.
func (v *View) Overfull(n NodeID) bool {
	_, over := v.DeviceOver(n)
	return over || !v.Used(n).Fits(v.Limit(n))
}

// setPhase moves a task to another phase, and its account with it.
func (s *State) setPhase(t TaskID, p Phase) {
	row := &s.task[t]
	s.numbers.phase[row.Phase]--
	s.numbers.phase[p]++
	advance(&row.Account, s.now, row.Phase)
	if p == Running && row.Account.FirstRun == Never {
		row.Account.FirstRun = s.now
	}
	row.Phase = p
	if row.Told == ToLeave {
		row.Told = NotTold
	}
}

// add adds sign times the demand to the node's row of a table.
func (v *View) add(table []int64, n NodeID, demand Vector, sign int64) {
	row := v.vector(table, n)
	for k, q := range demand {
		row[k] += sign * q
	}
}

// take adds sign times the room to what is used on the node.
func (s *State) take(n NodeID, r room, sign int64) {
	used, limit := s.Used(n), s.Limit(n)
	for k, q := range r.demand {
		before := max(limit[k]-used[k], 0)
		used[k] += sign * q
		s.total.Used[k] += sign * q
		s.total.Free[k] += max(limit[k]-used[k], 0) - before
	}
	s.holdDevices(n, r, sign)
}

// leave adds sign times the room to what is leaving the node.
func (s *State) leave(n NodeID, r room, sign int64) {
	s.add(s.leaving, n, r.demand, sign)
	for k, q := range r.demand {
		s.total.Leaving[k] += sign * q
	}
	s.leaveDevices(n, r, sign)
}

// roomOf is what the task's current run takes.
func (v *View) roomOf(t TaskID) room { return room{v.Demand(t), v.task[t].Devices} }

// roomOn is what the task takes on one of its nodes.
func (v *View) roomOn(t TaskID, n NodeID) room {
	task := &v.task[t]
	if task.Node == n {
		return v.roomOf(t)
	}
	return room{v.grantOr(task.Shape, task.nextGrant()), task.NextDevices}
}

// occupy lists the task on one of its nodes and takes its room there.
func (s *State) occupy(t TaskID, n NodeID) {
	s.take(n, s.roomOn(t, n), 1)
	s.node[n].tasks = append(s.node[n].tasks, t)
	s.noteNode(n)
}

// vacate is the inverse of occupy. It keeps the order of the other tasks and
// returns where the task stood.
func (s *State) vacate(t TaskID, n NodeID) int {
	s.take(n, s.roomOn(t, n), -1)
	at := len(s.node[n].tasks) - 1 // where a trial that is undone finds it
	for s.node[n].tasks[at] != t {
		at--
	}
	s.node[n].tasks = slices.Delete(s.node[n].tasks, at, at+1)
	s.noteNode(n)
	return at
}

// grown returns rows long enough for row i. It doubles, as tables grow row by row: growing by a quarter copies each row five times.
func grown[T any](rows []T, i int) []T {
	if i < len(rows) {
		return rows
	}
	old := len(rows)
	if i >= cap(rows) {
		rows = slices.Grow(rows, max(i+1-old, old))
	}
	rows = rows[:i+1]
	clear(rows[old:]) // a list that was longer once
	return rows
}

func (s *State) noteNode(n NodeID) {
	if !s.undo.on {
		s.log.note(Nodes, uint32(n))
	}
}

// noteTask ends each change of a task.
func (s *State) noteTask(t TaskID) {
	s.recount(t)
	if !s.undo.on {
		s.log.note(Tasks, uint32(t))
		s.guards.settle(&s.log)
	}
}

// noteTaskAndNodes is noteTask, with the nodes where it takes room.
func noteTaskAndNodes(s *State, t TaskID) {
	s.noteTask(t)
	for _, n := range [2]NodeID{s.task[t].Node, s.task[t].Next} {
		if n != NoNode {
			s.noteNode(n)
		}
	}
}

// CopyRows makes the rows of s that are touched equal to those of from. Both must measure the
// same kinds. The change log is not copied.
func (s *State) CopyRows(from *View, touches []Touch) {
	for _, touch := range touches {
		s.copyRow(from, touch)
	}
	s.guards.settleCopied()
	s.copyConstraints(from, touches) // once the nodes' parts of the counts are known
	s.now = from.now
}

func (s *State) copyRow(from *View, touch Touch) {
	row := int(touch.Row)
	switch touch.Table {
	case Nodes:
		s.copyNode(from, NodeID(row))
	case Tasks:
		s.task = grown(s.task, row)
		s.tally(TaskID(row), -1)
		s.task[row] = from.task[row]
		s.setBrought(TaskID(row), said(from, TaskID(row)))
		s.tally(TaskID(row), 1)
		s.copyStance(from, TaskID(row))
		s.guards.recount(TaskID(row), &s.task[row])
	case Jobs:
		s.job = grown(s.job, row)
		s.job[row] = from.job[row]
		s.job[row].members = slices.Clone(from.job[row].members)
	case Shapes:
		s.shape = grown(s.shape, row)
		own := s.shape[row].tasks
		s.numbers.ofShape(&s.shape[row], -1)
		s.shape[row] = from.shape[row]
		s.numbers.ofShape(&s.shape[row], 1)
		s.shape[row].tasks = own
		if s.constraints != nil {
			s.constraints.index = nil
		}
	case Sets:
		s.set = grown(s.set, row)
		s.set[row].live = from.set[row].live
		s.set[row].nodes = append(s.set[row].nodes[:0], from.set[row].nodes...)
	case Classes:
		s.classes.set(ClassID(row), from.classes.rows[row], from.classes.live[row])
	case Constraints: // copyConstraints copies them
	case Guarding:
		s.guards.count(guardStance{budgets: []BudgetID{BudgetID(row)}}, 0)
		s.guards.row[row].spare = from.guards.row[row].spare
	case Coming:
		s.shape[row].coming = from.shape[row].coming
	case Tables:
		panic("cluster: Tables is not a table")
	}
}

// copyNode is copyRow for a node.
func (s *State) copyNode(from *View, n NodeID) {
	s.growNodes(int(n))
	if s.live[n] {
		s.total.add(&s.View, n, -1)
	}
	tasks := append(s.node[n].tasks[:0], from.node[n].tasks...)
	devices := append(s.node[n].device[:0], from.node[n].device...)
	s.node[n], s.live[n] = from.node[n], from.live[n]
	s.node[n].tasks, s.node[n].device = tasks, devices
	copy(s.Capacity(n), from.Capacity(n))
	copy(s.Limit(n), from.Limit(n))
	copy(s.Used(n), from.Used(n))
	copy(s.LeavingDemand(n), from.LeavingDemand(n))
	s.setUsage(n, from.Usage(n))
	if s.live[n] {
		s.total.add(&s.View, n, 1)
	}
	maps.DeleteFunc(s.orphans, func(_ run, o orphan) bool { return o.node == n })
	for r, o := range from.orphans {
		if o.node == n {
			s.orphans[r] = o
		}
	}
	s.copyTally(from, n)
}

// CopyRest takes over what is in no row: the time, and whether the solver is ready.
func (s *State) CopyRest(from *View) { s.now, s.asked.solver = from.now, from.asked.solver }

// tally adds sign times the task to the counts that copyRow does not copy,
// because they change without a note in the log.
func (s *State) tally(t TaskID, sign int) {
	task := &s.task[t]
	s.numbers.phase[task.Phase] += sign
	if task.Phase != Absent {
		s.shape = grown(s.shape, int(task.Shape))
		s.shape[task.Shape].tasks += int32(sign)
	}
}

// CopyAll makes s equal to from, row by row.
func (s *State) CopyAll(from *View) {
	var touches []Touch
	for table, rows := range [Tables]int{Nodes: len(from.node), Tasks: len(from.task), Jobs: len(from.job), Shapes: len(from.shape), Sets: len(from.set), Classes: len(from.classes.rows), Constraints: from.ConstraintRows(), Guarding: len(from.guards.row)} {
		for row := range rows {
			touches = append(touches, Touch{Table: Table(table), Row: uint32(row)})
		}
	}
	s.CopyRows(from, touches)
	s.CopyRest(from)
}

func (s *State) growNodes(row int) {
	if row < len(s.node) {
		return
	}
	s.node = grown(s.node, row)
	s.live = grown(s.live, row)
	last := len(s.node)*len(s.kinds) - 1
	s.capacity = grown(s.capacity, last)
	s.limit = grown(s.limit, last)
	s.used = grown(s.used, last)
	s.leaving = grown(s.leaving, last)
}

// Advance says that it is now the given moment, although nothing happened.
// Time does not go backwards.
func (s *State) Advance(now Time) {
	s.now = max(s.now, now)
	s.unprotect()
}
