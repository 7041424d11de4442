package schedtest

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file is what happens in the world by itself, and how it answers
// decisions.

// fate does the next thing that nobody decided, and sets the one after it.
func (w *world) fate() {
	if w.fates++; w.fates >= span {
		return
	}
	w.post(cluster.Time(w.chance.Int64N(int64(2*cluster.Second))), nil, w.fate)
	if w.hostile {
		promiseAnew(w)
	}
	n := w.nodes[w.chance.IntN(len(w.nodes))]
	switch at := w.chance.IntN(100); {
	case w.quiet:
		w.submitSome()
	case at < 3:
		w.measure(n)
	case at < 5:
		w.constrain(w.chance.IntN(constraintCount))
	case at < 7:
		w.submitCopies()
	case at < 45:
		w.submitSome()
	case at < 60:
		w.endSome()
	case at < 66:
		w.resize(n, w.chance.withCards(w.vector(0, 12, perDevice*w.chance.Int64N(3)), 3))
	case at < 70:
		w.resize(n, n.large)
	case at < 73:
		w.flip(n, w.chance.IntN(setCount))
	case at < 75:
		w.redefine(w.chance.IntN(setCount), w.soon())
	case at < 78:
		w.swapSpare()
	case at < 80:
		w.holdSome()
	case at < 83:
		w.reshapeSome()
		roomComes(w)
	case at < 86:
		w.find(n, w.jobs[w.chance.IntN(2)*w.chance.IntN(len(w.jobs))])
	case !w.hostile:
	case at < 90:
		w.loseNode(n)
	case at < 94:
		w.returnNode(n)
	case at < 97:
		w.crash()
	default:
		w.sendOff()
	}
}

func (w *world) newTask(job *wJob) *wTask {
	t := &wTask{
		row: cluster.TaskID(w.taskRows.Take()), seq: cluster.Seq(len(w.tasks) + 1),
		job: job, shape: cluster.ShapeID(w.chance.IntN(len(w.shapes))),
	}
	w.tasks, job.tasks = append(w.tasks, t), append(job.tasks, t)
	return t
}

// submitted is the event of a new task.
func (w *world) submitted(t *wTask) func() cluster.Event {
	return func() cluster.Event {
		t.sent = true
		if t.job.copies && t.job.finished {
			w.count["late copy"]++
		}
		return cluster.TaskSubmitted{
			Task: t.row, Seq: t.seq, Job: t.job.row, Shape: t.shape, Gated: t.gated, Priority: int32(t.seq) % 3, Class: cluster.ClassID(t.job.row % 4), Input: t.input, Lasts: cluster.Time(t.seq%5) * cluster.Second,
		}
	}
}

// submitSome lets some tasks of a job come; now and then of a new one, where the policy has something to do for it: where it places jobs
// whole, half the time a task that is a job by itself, and where it keeps jobs together, one of a few tasks that want to be.
func (w *world) submitSome() {
	job, tasks := w.jobs[1+w.chance.IntN(len(w.jobs)-1)], 1+w.chance.IntN(4)
	switch {
	case w.atOnce.jobs && w.chance.IntN(2) == 0:
		job, tasks = passingJob(w, "single", false), 1
	case w.atOnce.together && w.chance.IntN(4) == 0:
		job, tasks = passingJob(w, "group", true), 2+w.chance.IntN(2)
	}
	w.submit(job, tasks)
}

// passingJob submits a job of which tasks come once.
func passingJob(w *world, name string, together bool) *wJob {
	job := &wJob{row: w.jobRow(), together: together}
	w.passing = append(w.passing, job)
	user := []string{"even", "odd"}[job.row%2]
	w.post(0, func() cluster.Event {
		return cluster.JobSubmitted{Job: job.row, Name: fmt.Sprintf("%s%d", name, job.row), User: user, Together: together}
	}, nil)
	return job
}

// jobRow is a row that no job has had.
func (w *world) jobRow() cluster.JobID {
	return cluster.JobID(len(w.jobs) + len(w.copied) + len(w.passing) + len(w.atOnce.gangs))
}

func (w *world) submit(job *wJob, tasks int) {
	for range tasks {
		t := w.newTask(job)
		t.gated = w.chance.IntN(10) == 0
		if w.chance.IntN(4) == 0 {
			t.input = w.input()
		}
		w.post(0, w.submitted(t), nil)
		if t.gated {
			w.report(func() cluster.Event { return w.ungated(t) }, nil)
		}
	}
}

// input is a few blocks on nodes that are there or are not.
func (w *world) input() []cluster.Block {
	blocks := make([]cluster.Block, 1+w.chance.IntN(3))
	for i := range blocks {
		b := &blocks[i]
		b.Bytes = w.chance.Int64N(1 << 30)
		for j := range b.Replicas {
			b.Replicas[j] = w.nodes[w.chance.IntN(len(w.nodes))].row
			if w.chance.IntN(4) == 0 || slices.Contains(b.Replicas[:j], b.Replicas[j]) {
				b.Replicas[j] = cluster.NoNode
			}
		}
	}
	w.count["input"]++
	return blocks
}

// measure reports what is in use on a node, perhaps after it was lost.
func (w *world) measure(n *wNode) {
	usage := w.chance.withCards(w.vector(0, 20, perDevice*w.chance.Int64N(3)), 3)
	w.report(func() cluster.Event {
		w.count["usage"]++
		return cluster.UsageReported{Node: n.row, Usage: usage}
	}, nil)
}

// end ends a task for good. Its run is gone at once, the report comes later. One
// that ran may have finished.
func (w *world) end(t *wTask) {
	if t.dead || !t.sent {
		return
	}
	t.dead = true
	finished := slices.ContainsFunc(w.order, func(r *wRun) bool { return r.task == t && r.present && !r.toLeave })
	for _, r := range w.order {
		if r.task != t || r.orphan {
			continue
		}
		r.present = false
		// A bind that is under way may still come true.
		r.binding = r.binding && w.falls(30)
	}
	report := w.report
	if w.quiet { // who has ended and is not known to have may be evicted, and placed elsewhere for nothing
		report = func(event func() cluster.Event, then func()) { w.post(0, event, then) }
	}
	report(func() cluster.Event {
		for _, r := range w.order {
			if r.task == t && !r.orphan {
				r.known = false
				r.present = r.present && !r.reported
			}
		}
		t.job.finished = t.job.finished || finished
		if task, is := known(w, t); is && (finished || task.Account.FirstRun != cluster.Never) {
			t.job.done++
		}
		return cluster.TaskEnded{Task: t.row, Seq: t.seq, Finished: finished}
	}, func() {
		if !t.gone {
			t.gone = true
			w.taskRows.Give(uint32(t.row))
		}
	})
}

// endSome finishes or kills tasks, whatever their phase.
func (w *world) endSome() {
	for range 3 {
		if len(w.tasks) > 0 {
			w.end(w.tasks[w.chance.IntN(len(w.tasks))])
		}
	}
}

func (w *world) addNode(n *wNode, again bool) func() cluster.Event {
	n.present = true
	n.epoch++
	epoch, spec := n.epoch, n.spec
	return func() cluster.Event {
		if n.epoch != epoch || n.known {
			return nil
		}
		n.known = true
		n.limit, n.devices = limitOf(spec)
		if again {
			w.count["node back"]++
			clear(n.sets)
		}
		return cluster.NodeAdded{Node: n.row, Spec: spec}
	}
}

// limitOf is up to where a node is filled, and how many devices of each kind it has.
func limitOf(spec cluster.NodeSpec) (limit cluster.Vector, devices []int) {
	limit = slices.Clone(spec.Capacity)
	for k := range spec.Overcommit {
		limit[k] = limit[k] * spec.Overcommit[k] / 1000
	}
	for k, of := range devicesIn(spec.Capacity) {
		devices = append(devices, int(spec.Capacity[gpu+k]/of.size))
		limit[gpu+k] -= limit[gpu+k] % int64(max(devices[k], 1))
	}
	return limit, devices
}

// deviceLimit is up to where each device of a kind is filled.
func (n *wNode) deviceLimit(k int) int64 { return n.limit[gpu+k] / int64(max(n.devices[k], 1)) }

// loseNode takes a node and all its runs out of the world.
func (w *world) loseNode(n *wNode) {
	if !n.present || !n.known {
		return
	}
	n.present = false
	for _, r := range w.order {
		if r.node == n && r.epoch == n.epoch {
			r.present, r.binding = false, false
		}
	}
	w.report(func() cluster.Event {
		if !n.known || n.present {
			return nil
		}
		n.known = false
		for _, r := range w.order {
			if r.node == n && r.epoch == n.epoch {
				r.known = false
			}
		}
		w.count["node lost"]++
		return cluster.NodeLost{Node: n.row}
	}, nil)
}

func (w *world) returnNode(n *wNode) {
	if n.present || n.known {
		return
	}
	w.post(0, w.addNode(n, true), nil)
}

// resize changes what a node has, and says so later.
func (w *world) resize(n *wNode, capacity cluster.Vector) {
	n.spec.Capacity = capacity
	if w.chance.IntN(4) == 0 {
		n.spec.Groups = w.groups()
	}
	epoch, spec := n.epoch, n.spec
	w.post(w.soon(), func() cluster.Event {
		if !n.known || n.epoch != epoch {
			return nil
		}
		n.limit, n.devices = limitOf(spec)
		return cluster.NodeChanged{Node: n.row, Spec: spec}
	}, nil)
}

// flip changes whether a set holds the node.
func (w *world) flip(n *wNode, set int) {
	epoch := n.epoch
	w.post(w.soon(), func() cluster.Event {
		if !n.known || n.epoch != epoch {
			return nil
		}
		n.sets[set] = !n.sets[set]
		return cluster.EligibilityChanged{Set: cluster.SetID(set + 1), Node: n.row, Eligible: n.sets[set]}
	}, nil)
}

// find lets a task run on a node where nobody here placed it.
func (w *world) find(n *wNode, job *wJob) {
	if !n.present || !n.known {
		return
	}
	t := w.newTask(job)
	var devices cluster.DeviceSet
	for _, of := range devicesIn(w.shapes[t.shape].Demand) {
		devices |= (1<<of.count - 1) << of.first // whether the node has them or not
	}
	w.post(0, w.submitted(t), nil)
	w.post(0, func() cluster.Event {
		if !n.known {
			return nil
		}
		return cluster.TaskFound{Task: t.row, Seq: t.seq, Node: n.row, Devices: devices, Grant: w.shapes[t.shape].Max}
	}, func() {
		task := w.core.View().Task(t.row)
		if task.Seq != t.seq || task.Phase != cluster.Running {
			return
		}
		r := &wRun{id: runID{t.row, task.Attempt}, task: t, shape: w.shapes[t.shape], devices: devices, grant: w.shapes[t.shape].Max, node: n, epoch: n.epoch, present: true, known: true, reported: true}
		w.enter(r)
		w.count["found"]++
		if !w.hostile {
			w.finishLater(r)
		}
	})
}

func (w *world) enter(r *wRun) {
	w.live[r.id] = r
	w.order = append(w.order, r)
}

// crash ends a run while its task is not done.
func (w *world) crash() {
	for _, r := range w.order {
		if r.present && !r.toLeave && !r.task.job.foreign && w.chance.IntN(8) == 0 {
			r.present = false
			w.reportLeft(r)
			return
		}
	}
}

// sendOff lets somebody else tell a run to leave, foreign ones too.
func (w *world) sendOff() {
	for _, r := range w.order {
		if r.present && !r.toLeave && w.chance.IntN(8) == 0 {
			r.toLeave = true
			w.count["sent off"]++
			w.report(func() cluster.Event { return cluster.TaskLeaving{Task: r.id.task, Attempt: r.id.attempt} }, nil)
			w.leaveLater(r)
			return
		}
	}
}

// leaveLater lets a run leave in its time, unless that is taken back.
func (w *world) leaveLater(r *wRun) {
	w.post(w.soon(), nil, func() {
		if r.toLeave {
			r.present = false
			w.reportLeft(r)
		}
	})
}

// takeBack takes back some of the evictions for which nobody waits any more, of runs that
// have yet to leave. The core hears of it later, when things may be otherwise.
func takeBack(w *world) {
	for _, d := range w.core.Ledger().Needless(w.core.View(), func(d sched.Decision) bool {
		r := w.live[runID{d.Task, d.Attempt}]
		return r != nil && r.present && r.toLeave && w.falls(50)
	}, nil) {
		r := w.live[runID{d.Task, d.Attempt}]
		r.toLeave = false
		w.count["taken back"]++
		w.report(func() cluster.Event { return cluster.EvictRefused{Task: d.Task, Attempt: d.Attempt} }, nil)
	}
}

func (w *world) reportLeft(r *wRun) {
	w.report(func() cluster.Event {
		r.known = false
		return cluster.TaskLeft{Task: r.id.task, Attempt: r.id.attempt}
	}, nil)
}

// carryOut checks a decision and sets going what comes of it.
func (w *world) carryOut(d sched.Decision) error {
	id := runID{d.Task, d.Attempt}
	switch d.Kind {
	case sched.Evict:
		return w.carryOutEvict(id)
	case sched.Resize:
		return w.carryOutResize(d)
	case sched.End:
		return w.carryOutEnd(d)
	case sched.Place:
	}
	r, err := w.judge(d)
	if err != nil {
		return err
	}
	w.enter(r)
	if r.grant != nil {
		w.count["granted"]++
	}
	r.binding, r.known = true, true
	switch {
	case r.task.dead || !r.node.present || w.falls(8):
		r.binding = false
		w.reportRefused(r)
	case w.falls(6): // times out, and happens after all
		w.reportRefused(r)
		w.post(w.soon()+w.soon(), nil, func() { w.begin(r) })
	default:
		w.post(w.soon(), nil, func() { w.begin(r) })
	}
	return nil
}

func (w *world) reportRefused(r *wRun) {
	w.report(func() cluster.Event {
		if !r.reported {
			r.refused, r.known = true, false
		}
		return cluster.BindRefused{Task: r.id.task, Attempt: r.id.attempt}
	}, nil)
}

// begin lets a run begin, and reports it.
func (w *world) begin(r *wRun) {
	if !r.binding {
		return
	}
	r.binding, r.present = false, true
	w.report(func() cluster.Event {
		if !r.node.known || r.node.epoch != r.epoch {
			return nil
		}
		r.reported, r.task.gatedNow = true, false
		r.known = r.known || !r.task.gone
		guard(w, r)
		return cluster.TaskStarted{Task: r.id.task, Attempt: r.id.attempt, Node: r.node.row, Devices: r.devices, Grant: r.grant}
	}, func() {
		// Whether anybody wants it is for the core to say; and if nobody does,
		// to say that it must leave.
		task := w.core.View().Task(r.id.task)
		wanted := task.Seq == r.task.seq && task.Placed() && task.Attempt == r.id.attempt
		r.orphan = r.orphan || r.reported && r.present && !wanted
	})
	switch {
	case !w.hostile:
		w.finishLater(r)
	case w.falls(10): // and crashes before anybody knows that it began
		r.present = false
		w.count["short run"]++
		w.reportLeft(r)
	}
}

// finishLater ends the run's task in its time.
func (w *world) finishLater(r *wRun) {
	w.post(cluster.Second+cluster.Time(w.chance.Int64N(int64(30*cluster.Second))), nil, func() {
		switch {
		case !r.present || r.orphan:
		case r.toLeave: // its eviction may yet be refused
			w.finishLater(r)
		default:
			w.end(r.task)
		}
	})
}

// carryOutEvict lets a run leave, in its time, or refuses. A run that is not there
// is answered as one that left, unless its task's end is on its way.
func (w *world) carryOutEvict(id runID) error {
	r := w.live[id]
	if r == nil {
		w.post(w.soon(), func() cluster.Event { return cluster.TaskLeft{Task: id.task, Attempt: id.attempt} }, nil)
		return nil
	}
	if r.protected > w.now && !r.orphan && r.present { // one that is over may yet be an orphan
		return fmt.Errorf("the run is protected until %v", r.protected)
	}
	already := r.toLeave
	r.toLeave = true
	switch {
	case !r.present:
		r.binding = false
		w.reportLeft(r)
	case !already && !r.orphan && !r.task.dead && w.falls(15):
		w.report(func() cluster.Event {
			if !r.present {
				return nil
			}
			r.toLeave = false
			w.count["eviction refused"]++
			return cluster.EvictRefused{Task: id.task, Attempt: id.attempt}
		}, nil)
		w.protect(r)
	default:
		w.leaveLater(r)
	}
	return nil
}

// guard lets a budget guard a run that begins, in some worlds, and another number of its runs be spared. It draws nothing, so that
// the other worlds stay as they are.
func guard(w *world, r *wRun) {
	if w.seed%4 != 2 {
		return
	}
	budget := cluster.BudgetID(r.id.task % 3)
	w.post(cluster.Second, func() cluster.Event { return cluster.BudgetChanged{Budget: budget, Spare: int32(r.id.attempt % 3)} }, nil)
	w.post(cluster.Second, func() cluster.Event {
		return cluster.TaskGuarded{Task: r.id.task, Attempt: r.id.attempt, Budgets: []cluster.BudgetID{budget}}
	}, nil)
}

// protect reports, of a run that stays, until when nobody is to ask again: perhaps for ever,
// perhaps nothing.
func (w *world) protect(r *wRun) {
	until := cluster.Never
	switch w.chance.IntN(3) {
	case 0:
		return
	case 1:
		until = w.now + w.soon() + w.soon()
	}
	w.report(func() cluster.Event {
		if r.known && r.present && !r.orphan {
			r.protected = until
		}
		w.count["protected"]++
		return cluster.TaskProtected{Task: r.id.task, Attempt: r.id.attempt, Until: until, Reason: "its owner said no"}
	}, nil)
}

// calmDown ends the faults: nodes come back as they were, and every run will
// finish in its time.
func (w *world) calmDown() {
	w.hostile, w.views = false, w.seed%4 < 2
	for _, n := range w.nodes {
		if !n.present {
			// Its loss may not have been reported yet.
			w.post(25*cluster.Second, nil, func() { n.spec.Capacity = n.large; w.returnNode(n) })
			continue
		}
		w.post(25*cluster.Second, nil, func() { w.resize(n, n.large) })
	}
	for _, r := range w.order {
		w.finishLater(r)
	}
	for _, t := range w.tasks {
		if t.job.foreign {
			w.post(30*cluster.Second, nil, func() { w.end(t) })
		}
	}
}

// unfinished reports whether a task that fits somewhere has not ended.
func (w *world) unfinished() bool {
	return slices.ContainsFunc(w.tasks, func(t *wTask) bool { return !t.gone && w.fitsSomewhere(t) })
}

// fitsSomewhere reports whether some node that is there would take the task if
// it were empty, with all that has to stand beside it, or the task is on one.
func (w *world) fitsSomewhere(t *wTask) bool {
	if w.atOnce.jobs && w.awaitsOthers(t) {
		return false
	}
	gang := w.gang(t)
	if slices.ContainsFunc(gang, w.barred) {
		return false
	}
	takers, copies := 0, 1
	if w.atOnce.copies && t.job.copies {
		copies = waitingCopies(w, t)
	}
	if nodes, is := short(w, t); is {
		copies = nodes
	}
	for _, n := range w.nodes {
		if copies == 0 {
			break
		}
		if !n.present || !n.known {
			return true // not settled yet
		}
		if w.takes(n, gang) {
			takers++
		}
		if takers >= copies {
			return true
		}
	}
	return slices.ContainsFunc(w.order, func(r *wRun) bool { return r.task == t && (r.present || r.binding) })
}

// waitingCopies counts the copies of a job that wait as this one does, which stand on as many nodes.
func waitingCopies(w *world, t *wTask) (count int) {
	for _, other := range w.tasks {
		if task := w.core.View().Task(other.row); other.job == t.job && !other.gone && task.Seq == other.seq && !task.Placed() {
			count++
		}
	}
	return count
}

// awaitsOthers reports whether the task is one of several of its job that wait while none has a
// place. Whether there is room for all of them is for the tests of a policy that places jobs
// whole to say: nobody has to place those.
func (w *world) awaitsOthers(t *wTask) bool {
	waiting := 0
	for _, other := range w.tasks {
		if other.job != t.job || other.gone {
			continue
		}
		task := w.core.View().Task(other.row)
		if task.Seq == other.seq && task.Placed() {
			return false
		}
		waiting++
	}
	if waiting > 1 {
		w.count["awaits others"]++
	}
	return waiting > 1
}

// gang lists the tasks that stand where this one does: itself, and if the
// policy keeps jobs together, all of such a job.
func (w *world) gang(t *wTask) (gang []*wTask) {
	if !w.atOnce.together || !t.job.together {
		return []*wTask{t}
	}
	gang = make([]*wTask, 0, len(t.job.tasks))
	for _, other := range t.job.tasks {
		if !other.gone {
			gang = append(gang, other)
		}
	}
	return gang
}

// takes reports whether the empty node would take all of the tasks. It is not
// asked how the devices of several tasks could be chosen, nor which of them may
// stand side by side, by themselves or by a constraint: nobody has to place those.
func (w *world) takes(n *wNode, gang []*wTask) bool {
	sum := make(cluster.Vector, len(n.limit))
	for _, t := range gang {
		shape := w.shapes[t.shape]
		if !w.eligible(shape, n) || len(gang) > 1 && (shape.PerNode > 0 || w.core.View().Constrained(t.shape)) {
			return false
		}
		for k, of := range devicesIn(shape.Demand) {
			if of.count > n.devices[k] || of.share > n.deviceLimit(k) || len(gang) > 1 && of.count > 0 {
				return false
			}
		}
		for k, q := range shape.Demand {
			sum[k] += q
		}
	}
	return sum.Fits(n.limit)
}

func (w *world) eligible(shape cluster.Shape, n *wNode) bool {
	return shape.Eligible == cluster.AllNodes || n.sets[shape.Eligible-1]
}

// idle reports whether nothing will ever happen again.
func (w *world) idle() bool { return len(w.mail) == 0 && w.core.Wake(w.now) == cluster.Never }
