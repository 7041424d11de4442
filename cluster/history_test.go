package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// This file turns bytes into a history of a state: events, sensible ones and
// nonsense, beside placements, evictions and trials. After each step it holds
// the state to everything that must be true of it. FuzzApply and the seeded
// TestHistories read the same histories.

// history is a state, the bytes that drive it, and what an independent and
// slow bookkeeper knows of it.
type history struct {
	data []byte
	// calm leaves out whatever puts a run onto a node without asking: found
	// and late runs, and nodes that change. Then no limit is ever broken.
	calm bool
	// kept leaves out refused evictions as well. Then no promise is broken:
	// what stays of a node's tasks fits, and so does what was promised room.
	kept bool

	s                *State
	mirror           *State // follows by CopyRows
	read             uint64 // log position up to which the mirror is true
	seq              Seq
	phase            []Phase          // of each task row before the step
	seqs             []Seq            // of each task row before the step
	spent            map[Seq]*Account // by brute force
	waited           TaskUngated      // of the last step, as far as its time is not in that
	pasts            map[Seq]*Account // of tasks that are not new
	ran              map[string]int   // events that were accepted, by type
	placed, promised int              // placements that were accepted, those that have to wait for room
	resized, granted int              // grants that were changed, placements that were granted more than they ask for
	stopped          int
	gangs            int                 // how often some of a gang who waited for others began
	violates         map[bool]int        // what was predicted to violate nothing, or something
	spared           map[[2]uint32]int32 // by node and budget, how many runs could leave
	guarded          int                 // of these, in all looks
	softly           int                 // placements that made a difference to soft constraints
	late             int                 // placements that constraints refuse which bind who comes
	waits            int                 // those that may be kept until somebody has left
	disturbing       int                 // those that would keep somebody off for whom a place is kept on another node of the set
	gone             NodeID              // whoever leaves it counts as gone; mostly NoNode
}

const (
	historyNodes, historyTasks, historyJobs, historyShapes, historySets = 4, 16, 3, 5, 4
	historyConstraints                                                  = 4
)

func historyKinds() []Kind {
	return []Kind{{Name: "cpu", Unit: "cores", PerUnit: 1}, {Name: "memory"}, {Name: "gpu", PerUnit: 4, Devices: true}}
}

// kindsOf are those of a history: in one of four a second kind comes in devices.
func kindsOf(data []byte) []Kind {
	kinds := historyKinds()
	if len(data) > 0 && data[0]&12 == 12 {
		kinds = append(kinds, Kind{Name: "nic", PerUnit: 2, Devices: true})
	}
	return kinds
}

// wide is the vector with so much more of the second kind of devices, if there is one.
func (h *history) wide(v Vector, nic func() int64) Vector {
	if len(h.s.kinds) > len(historyKinds()) && v != nil {
		return append(v, nic())
	}
	return v
}

// fixed is an amount for wide.
func fixed(q int64) func() int64 { return func() int64 { return q } }

// playHistory runs the history that the bytes encode, and returns the first
// thing that is wrong with it. The plant hook, if any, sees the state after
// each step and may break it.
func playHistory(data []byte, plant func(*State)) (*history, error) {
	h := &history{
		data: data, spent: map[Seq]*Account{}, pasts: map[Seq]*Account{}, ran: map[string]int{}, violates: map[bool]int{},
		s:      NewState(kindsOf(data), historyClasses()),
		mirror: NewState(kindsOf(data), historyClasses()),
		gone:   NoNode,
	}
	mode := h.byte()
	h.calm, h.kept = mode&1 != 0, mode&3 == 3
	h.found()
	for step := 0; len(h.data) > 0; step++ {
		what, err := h.step()
		if err == nil {
			err = h.guard()
		}
		if plant != nil {
			plant(h.s)
		}
		if err == nil {
			err = h.check()
		}
		if err != nil {
			return h, fmt.Errorf("step %d, %s: %w\n%s", step, what, err, h.s.Picture())
		}
	}
	return h, nil
}

func (h *history) byte() byte {
	if len(h.data) == 0 {
		return 0
	}
	b := h.data[0]
	h.data = h.data[1:]
	return b
}

// row picks a row below n, and now and then one that is out of all bounds.
func (h *history) row(n int) uint32 {
	b := h.byte()
	switch {
	case b == 255:
		return maxRow + uint32(h.byte())
	case b >= 250:
		return uint32(n) + uint32(b-250)*9
	}
	return uint32(int(b) % n)
}

func (h *history) task() TaskID   { return TaskID(h.row(historyTasks)) }
func (h *history) node() NodeID   { return NodeID(h.row(historyNodes)) }
func (h *history) job() JobID     { return JobID(h.row(historyJobs)) }
func (h *history) set() SetID     { return SetID(h.row(historySets)) }
func (h *history) shape() ShapeID { return ShapeID(h.row(historyShapes)) }

// pick picks a task for which is holds, or sometimes any row at all.
func (h *history) pick(is func(*Task) bool) TaskID {
	t := h.task()
	if h.byte() < 20 {
		return t
	}
	for range h.s.TaskRows() {
		if t++; int(t) >= h.s.TaskRows() {
			t = 0
		}
		if is(h.s.Task(t)) {
			break
		}
	}
	return t
}

// perNode picks a limit of tasks a node, 0 for none, and now and then one that is wrong.
func (h *history) perNode() int32 {
	if b := h.byte(); b < 250 {
		return int32(b % 4)
	}
	return -1
}

func (h *history) placeable() TaskID {
	return h.pick(func(t *Task) bool {
		return (t.Phase == Waiting || t.Phase == Leaving && t.Next == NoNode) && !h.s.Job(t.Job).Foreign
	})
}

func (h *history) evictable() TaskID {
	return h.pick(func(t *Task) bool { return t.Placed() && t.Phase != Leaving })
}

// vector picks quantities up to most, and now and then a vector that is wrong.
// It ends in amounts of the kinds that come in devices, of 4 and of 2.
func (h *history) vector(most int, gpu ...int64) Vector {
	switch h.byte() {
	case 255:
		return Vector{1}
	case 254:
		return h.wide(Vector{1, -1, 0}, fixed(0))
	case 253:
		return h.wide(Vector{1, MaxQuantity + 1, 0}, fixed(0))
	}
	v := Vector{int64(h.byte()) % int64(most), int64(h.byte()) % int64(most), gpu[int(h.byte())%len(gpu)]}
	return h.wide(v, func() int64 { return []int64{0, 0, 2, 1, 4, 2, 6, 3}[h.byte()%8] })
}

// devices makes a set up: mostly none, which leaves the choice to the state.
func (h *history) devices() DeviceSet {
	if b := h.byte(); b < 60 {
		if set := DeviceSet(b % 16); len(h.s.devices) < 2 || b%3 > 0 {
			return set
		}
		return DeviceSet(b%4) | DeviceSet(b/8%4)<<32
	}
	return 0
}

func (h *history) spec() NodeSpec {
	spec := NodeSpec{Name: fmt.Sprintf("n%d", h.byte()%10), Capacity: h.vector(16, 0, 4, 8, 12, 12, 5), Groups: h.groups()}
	if h.byte()%4 == 0 {
		spec.Overcommit = h.wide(Vector{1500, 999, 1300}, fixed(1500))
	}
	return spec
}

// found makes a cluster in which something can happen.
func (h *history) found() {
	for n := range NodeID(historyNodes) {
		h.must(NodeAdded{Node: n, Spec: NodeSpec{Name: fmt.Sprintf("m%d", n), Capacity: h.wide(Vector{8, 10, 12}, fixed(4)), Groups: rackOf(int(n))}})
	}
	h.must(SetDefined{Set: 1, Nodes: []NodeID{0, 2, 3}})
	for id, demand := range []Vector{{3, 3, 2}, {2, 5, 3}, {4, 3, 0}, {8, 10, 8}} {
		demand = h.wide(demand, fixed(int64(id)%3))
		spec := Shape{Demand: demand, Eligible: SetID(id % 2), PerNode: int32(id % 2), Tags: tagsOf(1 + id)}
		if id < 2 { // more of each kind but the devices
			spec.Max = append(Vector{demand[0] + 3, demand[1] + 2}, demand[2:]...)
		}
		h.must(ShapeDefined{Shape: ShapeID(id), Spec: spec})
	}
	how, loose := h.byte(), int32(0)
	if how&64 != 0 {
		loose = 4
	}
	for c := range ConstraintID(2) {
		h.must(ConstraintDefined{Constraint: c, Spec: Constraint{Name: "founded", Hard: true, Any: [][]Bound{
			{{Subject: tagsOf(1), Target: tagsOf(2), Min: int32(c), Max: 2 + loose, Group: "rack"}},
			{{Subject: tagsOf(2), Target: tagsOf(2), Max: int32(c) + loose, Group: EachNode, SelfCounted: c == 1}},
		}}})
	}
	if how%4 < 2 {
		hard := how%4 == 0
		weight := int64(0)
		if !hard {
			weight = DefaultWeight / 2
		}
		bounds := []Bound{
			{Subject: tagsOf(1 + int(how>>3)%2), Target: tagsOf(1), Max: 1, Group: []string{"rack", EachNode}[how>>4%2], SelfCounted: how&32 == 0, OverFewest: true, LeastSets: int32(h.byte() % 4)},
			{Subject: tagsOf(2), Target: tagsOf(2), Min: 1, Max: Unbounded, Group: []string{EachNode, "rack"}[h.byte()%2], OrFirst: true},
		}
		if hard && how&4 != 0 {
			bounds = append(bounds, Bound{Subject: tagsOf(1), Target: tagsOf(2), Group: EachNode})
		}
		if !hard {
			most := int32(h.byte() % 3)
			bounds = append(bounds, Bound{Subject: tagsOf(1), Target: tagsOf(1 + int(most)%2), Max: most, Group: EachNode, SelfCounted: most > 0})
		}
		h.must(ConstraintDefined{Constraint: 2, Spec: Constraint{Name: "who comes", Hard: hard, Weight: weight, Arriving: true, Any: [][]Bound{bounds}}})
	}
	h.must(JobSubmitted{Job: 0, Name: "a"})
	h.must(JobSubmitted{Job: 1, Name: "b"})
	h.must(JobSubmitted{Job: 2, Name: "f", Foreign: true})
}

func (h *history) must(e Event) {
	if err := h.s.Apply(0, e); err != nil {
		panic(err)
	}
}

// step does the next thing that the bytes encode, and says what.
func (h *history) step() (string, error) {
	h.remember()
	before := h.s.Now()
	var what string
	var err error
	switch op := h.byte(); {
	case op < 100:
		t, n := h.placeable(), h.node()
		var r Refusal
		if r, err = h.place(t, n); err != nil {
			return "place", err
		}
		if !r.Refused() {
			h.placed++
		}
		if !r.Refused() && h.s.Task(t).Phase != Starting {
			h.promised++
		}
		what = fmt.Sprintf("place task row %d on node row %d: %s", t, n, r.Code)
		if !r.Refused() {
			err = h.hold(t)
		}
		err = errors.Join(err, h.settle(n))
	case op < 112:
		t := h.evictable()
		spared := int(t) < h.s.TaskRows() && h.s.Task(t).Protection().Until > h.s.Now()
		r := h.s.Evict(t)
		if spared && !r.Refused() {
			return "evict", fmt.Errorf("task row %d was evicted though it is protected", t)
		}
		what = fmt.Sprintf("evict task row %d: %s", t, r.Code)
	case op < 116:
		what, err = h.trial(op%3 == 0)
	case op < 120:
		t := h.evictable()
		r, wrong := h.resize(t)
		what, err = fmt.Sprintf("resize task row %d: %s", t, r.Code), wrong
		for n := range h.s.NodeRows() {
			err = errors.Join(err, h.settle(NodeID(n)))
		}
	case op < 122:
		what, err = h.stop()
	case op < 124:
		h.s.Touch(h.task(), h.node())
		h.s.Advance(before + Time(h.byte()))
		what = "touch, advance"
	default:
		what, err = h.apply()
	}
	h.account(before)
	return what, err
}

// hold has a task that was placed wait for others of its gang, if it is of one, and places those.
func (h *history) hold(t TaskID) error {
	for _, other := range slices.Clone(GangTasks(&h.s.View, h.s.Task(t).Job)) {
		if h.s.Task(other).Phase == Waiting {
			if _, err := h.place(other, h.node()); err != nil {
				return err
			}
		}
		if h.s.Task(other).Phase == Starting && IsGang(&h.s.View, h.s.Task(t).Job) {
			Hold(h.s, other)
		}
	}
	return nil
}

// settle promotes on a node until there is nothing left to promote, and has the gangs that are reserved there begin, or give their places up, as the
// core does whenever a node was touched.
func (h *history) settle(n NodeID) error {
	if err := h.promote(n, NoJob); err != nil || !h.s.NodeLive(n) {
		return err
	}
	for _, t := range slices.Clone(h.s.TasksOn(n)) {
		if h.s.Task(t).Phase != Reserved {
			continue
		}
		if err := h.settleGang(h.s.Task(t).Job); err != nil {
			return err
		}
	}
	return nil
}

// settleGang has a gang begin if it can. It must not do so in part.
func (h *history) settleGang(j JobID) error {
	GiveUpGang(h.s, j)
	if !IsGang(&h.s.View, j) || gangReserved(&h.s.View, j) == 0 || !GangBegins(h.s, j) {
		return nil
	}
	for _, t := range GangTasks(&h.s.View, j) {
		if task := h.s.Task(t); task.Phase == Reserved {
			if err := h.promote(task.Node, j); err != nil {
				return err
			}
		}
	}
	if has, waits := GangHas(&h.s.View, j), gangReserved(&h.s.View, j); has-waits < min(has, int(h.s.Job(j).Gang)) {
		return fmt.Errorf("job row %d, a gang of %d, begins in part: %d have a place, and %d of these wait", j, h.s.Job(j).Gang, has, waits)
	}
	h.gangs++
	return nil
}

// promote promotes on a node until there is nothing left to promote, and of gangs those of one.
func (h *history) promote(n NodeID, begins JobID) error {
	for range historyTasks + 1 {
		t, phase, ok := h.s.Promote(n, begins)
		if !ok {
			return nil
		}
		if phase == Starting && h.standsBeside(t) {
			return fmt.Errorf("task row %d begins on node row %d, where it must not", t, n)
		}
	}
	return fmt.Errorf("node row %d promotes without end", n)
}

// apply applies an event. One that is refused must change nothing.
func (h *history) apply() (string, error) {
	e := h.event()
	if e == nil {
		return "nothing", nil
	}
	at := h.s.Now() + Time(h.byte()) - 20
	h.s.Advance(at)
	before := dump(h.s)
	err := h.s.Apply(at, e)
	what := fmt.Sprintf("%T%+v: %v", e, e, err)
	switch {
	case err == nil:
		h.ran[fmt.Sprintf("%T", e)]++
		if ungated, is := e.(TaskUngated); is {
			h.waited = ungated
		}
	case errors.Is(err, ErrOrphan) && h.calm:
		return what, errors.New("an orphan in a calm history")
	case errors.Is(err, ErrOrphan):
	case dump(h.s) != before:
		return what, fmt.Errorf("refused, and changed the state from\n%s to\n%s", before, dump(h.s))
	}
	for n := range h.s.NodeRows() {
		if err := h.settle(NodeID(n)); err != nil {
			return what, err
		}
	}
	return what, nil
}

// event makes the next event up.
func (h *history) event() Event {
	switch op := h.byte(); {
	case op < 8:
		return NodeAdded{Node: h.node(), Spec: h.spec()}
	case op < 11:
		return NodeLost{Node: h.node()}
	case op < 20:
		if h.calm {
			return nil
		}
		return NodeChanged{Node: h.node(), Spec: h.spec()}
	case op < 21:
		return UsageReported{Node: h.node(), Usage: h.vector(16, 0, 3, 40)}
	case op < 24:
		return SetDefined{Set: h.set(), Nodes: []NodeID{h.node(), h.node()}}
	case op < 28:
		return EligibilityChanged{Set: h.set(), Node: h.node(), Eligible: h.byte()%2 == 0}
	case op < 32:
		spec := Shape{Demand: h.vector(6, 0, 0, 1, 2, 3, 4, 8, 5), Eligible: h.set(), PerNode: h.perNode(), Tags: tagsOf(int(h.byte()))}
		if spec.Eligible%2 == 1 {
			spec.Prefers = []Preference{{Set: spec.Eligible, Weight: int32(spec.Eligible)*50 - 100}}
		}
		if spec.PerNode%2 == 0 {
			spec.Max = h.upTo(spec.Demand)
		}
		return ShapeDefined{Shape: h.shape(), Spec: spec}
	case op < 33:
		if row := h.shape(); h.byte()%2 == 0 {
			return RoomComing{Shape: row, Coming: h.byte()%2 == 0}
		} else {
			return ShapeForgotten{Shape: row}
		}
	case op < 35:
		return SetForgotten{Set: h.set()}
	case op < 38:
		e := JobSubmitted{Job: h.job(), Name: "j", Foreign: h.byte()%4 == 0}
		b := h.byte()
		e.Together, e.Gang, e.FirstEnds = b%4 == 0, int32(b>>4%4), h.byte()%8 == 0
		return e
	case op < 39:
		if b := h.byte(); b%4 > 0 {
			return JobChanged{Job: h.job(), Disruption: Disruption(b % 8 / 3), Gang: int32(b >> 4 % 4)}
		}
		return JobForgotten{Job: h.job()}
	case op < 42:
		return ConstraintDefined{Constraint: h.constraint(), Spec: h.constraintSpec()}
	case op < 44:
		return ConstraintForgotten{Constraint: h.constraint()}
	case op < 90:
		h.seq++
		how := h.byte()
		e := TaskSubmitted{Task: h.task(), Seq: h.seq, Job: h.job(), Shape: h.shape(), Class: ClassID(h.byte() % 5), Gated: how%8 == 0, Input: h.input(int(how%16) - 13), Lasts: Time(max(int(how)-100, -1)) / 2}
		if how > 200 {
			e.Account = h.past()
		}
		return e
	}
	return h.taskEvent()
}

// past makes up how a task has spent its time before, and now and then what cannot be.
func (h *history) past() *Account {
	now := h.s.Now()
	a := &Account{Submitted: now - Time(h.byte()), FirstRun: now, Waiting: Time(h.byte() % 64), Overhead: Time(h.byte() % 16), Restarting: Time(h.byte() % 8), Running: Time(h.byte() % 64)}
	if a.Restarting == 0 {
		a.FirstRun, a.Running = Never, 0
	}
	h.pasts[h.seq] = a
	return a
}

// input makes blocks up, and now and then what nobody can read.
func (h *history) input(count int) []Block {
	var blocks []Block
	for range count {
		how := h.byte()
		b := Block{Bytes: int64(how) - 1, Replicas: [3]NodeID{h.node(), NoNode, NoNode}}
		if how%8 == 0 {
			b.Replicas[2] = h.node()
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// taskEvent makes up an event about a task's life. It names the current run
// more often than not.
func (h *history) taskEvent() Event {
	op, t := h.byte(), h.task()
	var now Task
	if int(t) < h.s.TaskRows() {
		now = *h.s.Task(t)
	}
	seq, attempt, node := now.Seq, now.Attempt, now.Node
	if h.byte() < 60 && !h.calm {
		attempt += uint32(h.byte()%5) - 2
		node = h.node()
	}
	if h.byte() < 10 {
		seq = Seq(h.byte())
	}
	switch {
	case op < 10:
		return TaskUngated{Task: t, Seq: seq, Waited: Time(seq % 64)}
	case op < 18:
		return TaskGated{Task: t, Seq: seq}
	case op < 34:
		if h.calm && now.Placed() && now.Phase != Reserved {
			return nil // it would take room without asking
		}
		return TaskReshaped{Task: t, Seq: seq, Shape: h.shape(), Priority: int32(h.byte() % 3)}
	case op < 44:
		if h.calm {
			return nil
		}
		return TaskFound{Task: t, Seq: seq, Node: h.node(), Devices: h.devices(), Grant: h.reported()}
	case op < 110:
		if h.calm && !now.Placed() {
			return nil
		}
		return TaskStarted{Task: t, Attempt: attempt, Node: node, Devices: h.devices(), Grant: h.reported()}
	case op < 140:
		return BindRefused{Task: t, Attempt: attempt}
	case op < 180:
		return TaskLeft{Task: t, Attempt: attempt}
	case op < 192:
		if h.kept {
			return nil
		}
		return EvictRefused{Task: t, Attempt: attempt}
	case op < 200:
		return TaskProtected{Task: t, Attempt: attempt, Until: h.s.Now() + Time(h.byte()%4)*Second, Reason: "spared"}
	case op < 215:
		return TaskLeaving{Task: t, Attempt: attempt}
	}
	return TaskEnded{Task: t, Seq: seq}
}

// guard lets a budget, or which budgets guard a run, change now and then. It takes none of the bytes, so that what they encode besides
// stays what it was.
func (h *history) guard() error {
	chance := rand.New(rand.NewPCG(uint64(len(h.data)), uint64(len(h.s.task))))
	var e Event
	switch chance.IntN(8) {
	case 0:
		e = BudgetChanged{Budget: BudgetID(chance.IntN(3)), Spare: int32(chance.IntN(5)) - 1}
	case 1, 2:
		if len(h.s.task) == 0 {
			return nil
		}
		t := TaskID(chance.IntN(len(h.s.task)))
		guarded := TaskGuarded{Task: t, Attempt: h.s.Task(t).Attempt + uint32(chance.IntN(9)/8)}
		for b := range BudgetID(3) {
			if chance.IntN(2) == 0 {
				guarded.Budgets = append(guarded.Budgets, b)
			}
		}
		if chance.IntN(16) == 0 {
			guarded.Budgets = []BudgetID{2, 1}
		}
		e = guarded
	default:
		return nil
	}
	before := dump(h.s)
	if err := h.s.Apply(h.s.Now(), e); err == nil {
		h.ran[fmt.Sprintf("%T", e)]++
	} else if got := dump(h.s); got != before {
		return fmt.Errorf("%T was refused (%w), and left\n%s, not\n%s", e, err, got, before)
	}
	return nil
}

// trial tries placements and evictions, takes some back, and then keeps the
// rest or undoes all of it. What is undone must leave no trace.
func (h *history) trial(keep bool) (string, error) {
	before, log := dump(h.s), h.s.LogEnd()
	h.s.Begin(NoLane)
	var marks []int
	var seen []string
	for range h.byte() % 24 {
		switch op := h.byte(); {
		case op < 110:
			if _, err := h.place(h.placeable(), h.node()); err != nil {
				return "trial", err
			}
		case op < 150:
			if _, err := h.resize(h.evictable()); err != nil {
				return "trial", err
			}
		case op < 180:
			h.s.Evict(h.evictable())
		case op < 215:
			marks, seen = append(marks, h.s.Mark()), append(seen, dump(h.s))
		case len(marks) > 0:
			last := len(marks) - 1
			h.s.Rollback(marks[last])
			if got := dump(h.s); got != seen[last] {
				return "roll back", fmt.Errorf("rolled back to\n%s, not to\n%s", got, seen[last])
			}
			marks, seen = marks[:last], seen[:last]
		}
	}
	if h.s.LogEnd() != log {
		return "trial", errors.New("a trial wrote to the change log")
	}
	if keep {
		h.s.Keep()
		return "trial, kept", nil
	}
	h.s.End()
	if got := dump(h.s); got != before {
		return "trial, undone", fmt.Errorf("undone to\n%s, not to\n%s", got, before)
	}
	if h.s.LogEnd() != log {
		return "trial, undone", errors.New("an undone trial wrote to the change log")
	}
	return "trial, undone", nil
}

// historyBytes draws a history at random.
func historyBytes(seed uint64, length int) []byte {
	source := rand.New(rand.NewPCG(seed, 0xca11))
	data := make([]byte, length)
	for i := range data {
		data[i] = byte(source.Uint32())
	}
	return data
}

func TestHistories(t *testing.T) {
	seeds := uint64(60)
	if os.Getenv("FAIRLEAD_LONG") != "" {
		seeds = 1_000
	}
	ran, placed, promised := map[string]int{}, 0, 0
	resized, granted, stopped := 0, 0, 0
	violates, softly, late, waits, guarded, gangs := map[bool]int{}, 0, 0, 0, 0, 0
	for seed := range seeds {
		data := historyBytes(seed, 4000)
		data[0] = byte(seed) // every mode in turn
		h, err := playHistory(data, nil)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for e, n := range h.ran {
			ran[e] += n
			ran["any"] += n
		}
		placed += h.placed
		promised += h.promised
		resized, granted, stopped = resized+h.resized, granted+h.granted, stopped+h.stopped
		violates[false], violates[true] = violates[false]+h.violates[false], violates[true]+h.violates[true]
		softly += h.softly
		late, waits, gangs = late+h.late, waits+h.waits, gangs+h.gangs
		guarded += h.guarded
	}
	if gangs == 0 {
		t.Error("nobody of a gang began who waited for others")
	}
	if guarded < int(seeds) {
		t.Errorf("runs of %d nodes were guarded by budgets", guarded)
	}
	if waits < int(seeds)/8 {
		t.Errorf("%d placements may be kept until somebody has left", waits)
	}
	if late < int(seeds)/2 {
		t.Errorf("%d placements were refused for constraints that bind who comes", late)
	}
	if softly < int(seeds)/2 {
		t.Errorf("%d placements made a difference to soft constraints", softly)
	}
	if min(violates[false], violates[true]) < int(seeds)/2 {
		t.Errorf("of what was looked at, %d violated nothing and %d something", violates[false], violates[true])
	}
	if per := ran["any"] / int(seeds); per < 40 {
		t.Errorf("only %d accepted events a history made sense; the histories are nonsense", per)
	}
	for _, e := range []Event{
		NodeAdded{},
		NodeChanged{},
		NodeLost{},
		UsageReported{},
		SetDefined{},
		SetForgotten{},
		EligibilityChanged{},
		ShapeDefined{},
		ShapeForgotten{},
		RoomComing{},
		ConstraintDefined{},
		ConstraintForgotten{},
		JobSubmitted{},
		JobChanged{},
		JobForgotten{},
		TaskSubmitted{},
		TaskUngated{},
		TaskGated{},
		TaskReshaped{},
		TaskFound{},
		TaskStarted{},
		BindRefused{},
		TaskLeft{},
		EvictRefused{},
		TaskProtected{},
		BudgetChanged{},
		TaskGuarded{},
		TaskLeaving{},
		TaskEnded{},
	} {
		if name := fmt.Sprintf("%T", e); ran[name] < 3 {
			t.Errorf("only %d %s were accepted", ran[name], name)
		}
	}
	if min(resized, granted, stopped) < int(seeds) {
		t.Errorf("only %d grants were changed, %d given and %d tasks stopped", resized, granted, stopped)
	}
	if promised < int(seeds) {
		t.Errorf("only %d placements had to wait for room; the nodes are too large", promised)
	}
	if per := placed / int(seeds); per < 12 {
		t.Errorf("only %d placements a history; the histories are idle", per)
	}
}

// FuzzApply looks for a history that the checks of playHistory refuse, or that
// panics.
func FuzzApply(f *testing.F) {
	for seed := range uint64(8) {
		data := historyBytes(seed, 400)
		data[0] = byte(seed)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4000 {
			t.Skip("long histories only repeat themselves")
		}
		if _, err := playHistory(data, nil); err != nil {
			t.Error(err)
		}
	})
}
