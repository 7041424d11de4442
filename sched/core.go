package sched

import (
	"errors"
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// Core turns events into decisions. It has one owner; only Round.Run may run
// beside it.
type Core struct {
	state   *cluster.State
	lanes   []lane
	owner   []uint8 // lane of each job row
	noticed uint64  // change log position up to which causes were looked for
	trimmed uint64  // where the change log ended when it was last trimmed
	// reclassed is the change log position after the last change of a class. Whoever was
	// shown less than that is shown everything: the price of every task of the class may
	// be another one, and classes change seldom.
	reclassed uint64
	counts    Counts
	copies    copies
	ledger    Ledger
	spared    spared
	before    []cluster.Violation // scratch of commit
	asked     []cluster.JobID     // gangs at which notice has yet to look
	filters   Filters             // nil where the world says nothing of its sets
	beside    bool                // some lane is beside the core
	waits     []uint8             // by task row, one more than that lane, if it waits for one
}

const noLane = 255

// Counts are totals since the core was made.
type Counts struct {
	Rounds  int64
	Ticks   int64
	Placed  int64 // accepted placements
	Evicted int64 // accepted evictions
	Resized int64 // accepted changes of a grant
	Ended   int64 // tasks told to end, as a copy of them has finished
	Refused int64 // bundles that commit refused
	Stale   int64 // events that came late or twice
	Orphans int64 // runs that began although their task had moved on
	// WithoutPlacement is how many runs left for a bundle that ended without any
	// of its placements having begun. It is more than 0 only if something else came
	// between: a bind was refused, a node was lost, a task ended before its time.
	WithoutPlacement int64
}

// New returns a core over an empty state, deciding with these lanes.
func New(state *cluster.State, lanes ...Lane) (*Core, error) {
	if len(lanes) == 0 || len(lanes) >= noLane {
		return nil, fmt.Errorf("a core needs 1 to %d lanes, got %d", noLane-1, len(lanes))
	}
	c := &Core{state: state}
	for _, l := range lanes {
		if l.Policy == nil {
			return nil, fmt.Errorf("lane %q has no policy", l.Name)
		}
		if l.When.Heartbeat < 0 || l.When.Watchdog < 0 {
			return nil, fmt.Errorf("lane %q: heartbeat and watchdog must not be negative", l.Name)
		}
		c.lanes, c.beside = append(c.lanes, lane{Lane: l, fresh: true, wake: cluster.Never}), c.beside || l.Beside
	}
	return c, nil
}

// View is the cluster as the core knows it, true until the next call.
func (c *Core) View() *cluster.View { return &c.state.View }

// Counts returns totals since the core was made.
func (c *Core) Counts() Counts {
	counts := c.counts
	counts.WithoutPlacement = c.ledger.unplaced
	return counts
}

// Ledger is what the bundles of the core still wait for, true until the next call.
func (c *Core) Ledger() *Ledger { return &c.ledger }

// Step applies what happened, runs every round that is due but those of lanes beside the core, and appends the
// decisions to out. It returns when it next wants to be called if nothing
// happens; cluster.Never if it does not.
//
// Errors name events that made no sense, and policies that are wrong. Each was left
// out, and the rest was done.
func (c *Core) Step(now cluster.Time, in []cluster.Event, out []Decision) ([]Decision, cluster.Time, error) {
	out, err := c.Observe(now, in, out)
	for i := range c.lanes {
		if c.lanes[i].Beside || c.dueAt(i, now) > now {
			continue
		}
		r := c.begin(i, now, c.state)
		r.Run(0)
		out = c.Finish(r, now, out)
		err = errors.Join(err, r.Err())
	}
	return out, c.Wake(now), err
}

// Observe applies what happened, without starting a round. The decisions it
// appends are those that waited for an event: reserved tasks whose room came
// free, and runs that nobody wants any more.
func (c *Core) Observe(now cluster.Time, in []cluster.Event, out []Decision) ([]Decision, error) {
	var wrong []error
	outside := false
	c.state.Advance(now)
	for _, e := range in {
		idle := endsGated(&c.state.View, e)
		err := c.state.Apply(now, e)
		switch {
		case err == nil:
			if job, ok := e.(cluster.JobSubmitted); ok {
				c.assign(job.Job)
			}
			switch e := e.(type) {
			case cluster.JobChanged: // fewer of it may do
				c.markLanesDirty()
			case cluster.SolverReady:
				wakeBeside(c)
			case cluster.TaskSubmitted:
				if e.Displaced {
					c.ledger.displace(e.Task, e.Seq)
				}
			default:
			}
			c.copies.update(c.state, e)
			outside = outside || !idle && !outcome(&c.ledger, e)
		case errors.Is(err, cluster.ErrOrphan):
			run := e.(cluster.TaskStarted)
			c.counts.Orphans++
			out = append(out, Decision{Kind: Evict, Task: run.Task, Attempt: run.Attempt, Node: run.Node, Seq: c.state.Task(run.Task).Seq})
		case errors.Is(err, cluster.ErrStale):
			c.counts.Stale++
		default:
			wrong = append(wrong, fmt.Errorf("event %T at %v: %w", e, now, err))
		}
		c.ledger.follow(&c.state.View)
	}
	out = c.endCopies(out)
	noticeGrowers(c)
	out = c.notice(out)
	for i := range c.lanes {
		l := &c.lanes[i]
		l.dirty = l.dirty || l.When.IgnoreOutcomes && outside && waiting(c.state)
	}
	if c.state.LogEnd()-c.trimmed > maxLag {
		c.trim()
	}
	return out, errors.Join(wrong...)
}

// outcome reports whether the event is what came of a decision, or says nothing of
// what there is room for. That whom an eviction lets wait is gated meanwhile, since it comes back as
// another pod, is what came of that, and so is the task of a pod that comes while the one before it is ending.
func outcome(l *Ledger, e cluster.Event) bool {
	switch e := e.(type) {
	case cluster.TaskStarted, cluster.TaskLeft, cluster.BindRefused, cluster.EvictRefused, cluster.TaskProtected, cluster.TaskGuarded, cluster.BudgetChanged, cluster.UsageReported:
		return true
	case cluster.TaskSubmitted:
		return e.Displaced
	case cluster.TaskGated:
		return l.displaced(e.Task, e.Seq)
	case cluster.TaskUngated:
		return l.displaced(e.Task, e.Seq)
	default: // comes from outside
		return false
	}
}

// endsGated reports whether the event is about to end a task that is gated: neither takes it room nor does it wait for some.
func endsGated(s *cluster.View, e cluster.Event) bool {
	ended, is := e.(cluster.TaskEnded)
	return is && int64(ended.Task) < int64(s.TaskRows()) && s.Task(ended.Task).Phase == cluster.Gated
}

// assign gives the job to the first lane that owns it.
func (c *Core) assign(j cluster.JobID) {
	for int(j) >= len(c.owner) {
		c.owner = append(c.owner, noLane)
	}
	c.owner[j] = noLane
	job := c.state.Job(j)
	if job.Foreign {
		return
	}
	for i := range c.lanes {
		if owns := c.lanes[i].Owns; owns == nil || owns(job) {
			c.owner[j] = uint8(i)
			return
		}
	}
}

// notice looks at what the events changed: who has cause for a round, but for
// lanes that ignore outcomes, and which reserved tasks may start, or have to give their places up.
func (c *Core) notice(out []Decision) []Decision {
	for c.noticed < c.state.LogEnd() || len(c.asked) > 0 {
		if c.noticed == c.state.LogEnd() {
			out = settleGangs(c, out)
			continue
		}
		touches, ok := c.state.ChangesSince(c.noticed)
		if !ok {
			panic("sched: the change log was trimmed past what the core has read")
		}
		c.noticed++
		out = c.noticeTouch(touches[0], out)
	}
	return out
}

// noticeTouch is notice of one change.
func (c *Core) noticeTouch(touch cluster.Touch, out []Decision) []Decision {
	switch touch.Table {
	case cluster.Nodes:
		return noticeNode(c, cluster.NodeID(touch.Row), out)
	case cluster.Sets:
		if touch.Node != cluster.NoNode {
			return noticeNode(c, touch.Node, out)
		}
	case cluster.Tasks:
		t := c.state.Task(cluster.TaskID(touch.Row))
		countWaiting(c, cluster.TaskID(touch.Row))
		if t.Phase == cluster.Waiting || t.Phase == cluster.Gated || t.Phase == cluster.Absent {
			askGang(c, t.Job) // it has fewer now
		}
		if t.Phase == cluster.Reserved && !cluster.IsGang(&c.state.View, t.Job) {
			out = c.promote(t.Node, cluster.NoJob, out) // it may have been of a gang until now
		}
		if lane := c.ownerOf(t); lane != noLane && t.Phase == cluster.Waiting && !c.lanes[lane].When.IgnoreOutcomes {
			c.lanes[lane].dirty = true
		}
	case cluster.Classes:
		c.reclassed = c.noticed
		c.markLanesDirty()
	case cluster.Coming:
		if !cluster.RoomComes(&c.state.View, cluster.ShapeID(touch.Row)) {
			c.markLanesDirty() // others may be evicted for them again
		}
	case cluster.Constraints:
		c.markLanesDirty()
		wakeBeside(c) // what runs may violate it, and somebody may have to move
	case cluster.Jobs:
		if cluster.IsGang(&c.state.View, cluster.JobID(touch.Row)) {
			c.markLanesDirty()
			askGang(c, cluster.JobID(touch.Row))
		}
	case cluster.Shapes, cluster.Guarding, cluster.Tables:
	}
	return out
}

// noticeNode gives every lane that does not ignore outcomes cause for a round if anybody
// waits, lets reserved tasks of the node start, and asks for the gangs of others.
func noticeNode(c *Core, n cluster.NodeID, out []Decision) []Decision {
	c.markLanesDirty()
	out = c.promote(n, cluster.NoJob, out)
	askGangsOn(c, n)
	return out
}

// noticeGrowers gives lanes that do not ignore outcomes cause for a round where something happened on a node where a run of theirs could take more than it has.
func noticeGrowers(c *Core) {
	if !cluster.HasRanges(&c.state.View) {
		return
	}
	touches, _ := c.state.ChangesSince(c.noticed)
	for _, touch := range touches {
		n := cluster.NodeID(touch.Row)
		if touch.Table != cluster.Nodes || !c.state.NodeLive(n) {
			continue
		}
		for _, t := range c.state.TasksOn(n) {
			task := c.state.Task(t)
			most := c.state.Shape(task.Shape).Max
			if most == nil || task.Node != n || most.Fits(c.state.Demand(t)) {
				continue
			}
			if lane := c.ownerOf(task); lane != noLane && !c.lanes[lane].When.IgnoreOutcomes {
				c.lanes[lane].dirty = true
			}
		}
	}
}

// markLanesDirty gives every lane that does not ignore outcomes cause for a round if anybody waits.
func (c *Core) markLanesDirty() {
	for i := range c.lanes {
		l := &c.lanes[i]
		l.dirty = l.dirty || waiting(c.state) && !l.When.IgnoreOutcomes && (!l.Beside || l.waits > 0)
	}
}

// promote lets reserved tasks of the node start, as far as there is room, but of gangs those of the one that begins.
func (c *Core) promote(n cluster.NodeID, begins cluster.JobID, out []Decision) []Decision {
	for {
		t, phase, ok := c.state.Promote(n, begins)
		if !ok {
			return out
		}
		c.ledger.follow(&c.state.View)
		if phase == cluster.Starting {
			d := c.decision(Place, t)
			d.Purpose = c.ledger.placed(t)
			out = append(out, d)
			c.spared.begins(c, t)
		}
	}
}

func (c *Core) decision(k Kind, t cluster.TaskID) Decision {
	task := c.state.Task(t)
	d := Decision{Kind: k, Task: t, Seq: task.Seq, Attempt: task.Attempt, Node: task.Node, Devices: task.Devices}
	if k == Place || k == Resize {
		d.Grant = task.Grant()
	}
	return d
}

func (c *Core) ownerOf(t *cluster.Task) uint8 {
	if int(t.Job) >= len(c.owner) {
		return noLane
	}
	return c.owner[t.Job]
}

func waiting(s *cluster.State) bool { return s.InPhase(cluster.Waiting) > 0 }

// advance says that it is now the given moment. That some run may be evicted again is a
// cause for rounds.
func (c *Core) advance(now cluster.Time) {
	before := c.state.LogEnd()
	c.state.Advance(now)
	if c.state.LogEnd() != before {
		c.markLanesDirty()
	}
}

// dueAt is when the lane wants its next round.
func (c *Core) dueAt(lane int, now cluster.Time) cluster.Time {
	unprotected := cluster.Never
	if runs := c.state.ProtectedRuns(); len(runs) > 0 {
		unprotected = runs[0].Until
	}
	return c.lanes[lane].dueAt(now, waiting(c.state), unprotected)
}

// Wake is when the next round is due, at the earliest now.
func (c *Core) Wake(now cluster.Time) cluster.Time {
	wake := cluster.Never
	for i := range c.lanes {
		wake = min(wake, c.dueAt(i, now))
	}
	return wake
}

// Due returns a lane whose round is due now, and false if there is none.
func (c *Core) Due(now cluster.Time) (int, bool) {
	for i := range c.lanes {
		if c.dueAt(i, now) <= now {
			return i, true
		}
	}
	return 0, false
}

// Begin starts a round of the lane on a view of its own, which it brings up to
// date. A lane has one round in flight; several lanes may have theirs.
func (c *Core) Begin(lane int, now cluster.Time) *Round {
	c.advance(now)
	l := &c.lanes[lane]
	touches, ok := c.state.ChangesSince(l.copied)
	if l.view == nil || !ok {
		l.view = cluster.NewState(c.state.Kinds(), c.state.Classes())
		l.view.CopyAll(&c.state.View)
	} else {
		r := &l.round
		r.copied = r.copied[:0]
		for _, touch := range touches {
			if r.first(touch) {
				r.copied = append(r.copied, touch)
			}
		}
		r.forget(touches)
		l.view.CopyRows(&c.state.View, r.copied)
	}
	l.view.CopyRest(&c.state.View)
	l.view.Advance(now)
	l.copied = c.state.LogEnd()
	return c.begin(lane, now, l.view)
}

// begin starts a round whose policy sees the given state.
func (c *Core) begin(i int, now cluster.Time, sees *cluster.State) *Round {
	l := &c.lanes[i]
	if l.busy {
		panic(fmt.Sprintf("sched: lane %q has a round in flight", l.Name))
	}
	r := &l.round
	r.lane, r.policy, r.trial.state = i, l.Policy, sees
	own := func(t cluster.TaskID) bool { return c.ownerOf(c.state.Task(t)) == uint8(i) }
	if touches, ok := c.state.ChangesSince(l.shown); ok && !l.fresh && l.shown >= c.reclassed {
		r.gather(l, c.state, touches, own)
	} else {
		r.gatherAll(l, c.state, own)
	}
	l.shown, l.fresh = c.state.LogEnd(), false
	l.busy, l.dirty, l.lastRun, l.wake, l.gathered = true, false, now, cluster.Never, gathering{}
	c.counts.Rounds++
	c.trim()
	return r
}

// maxLag is how far a lane may lag behind the change log before it is shown
// everything instead: a lane without a cause for rounds must not keep the log
// growing.
const maxLag = 1 << 22

// trim drops what every reader of the change log has read.
func (c *Core) trim() {
	c.ledger.follow(&c.state.View)
	end := c.state.LogEnd()
	read := c.noticed
	for i := range c.lanes {
		l := &c.lanes[i]
		if end-l.shown > maxLag {
			l.fresh, l.shown = true, end
		}
		if l.view != nil && end-l.copied > maxLag {
			l.view = nil
		}
		read = min(read, l.shown)
		if l.view != nil {
			read = min(read, l.copied)
		}
	}
	c.state.TrimLog(read)
	c.trimmed = end
}

// retryAfter is how long a lane rests when commit refused all it wanted, so
// that a policy that is wrong does not spin.
const retryAfter = cluster.Second

// Finish commits the round's plan as far as it still holds, and appends the
// decisions to out.
func (c *Core) Finish(r *Round, now cluster.Time, out []Decision) []Decision {
	c.advance(now)
	l := &c.lanes[r.lane]
	l.busy = false
	l.wake = max(r.plan.Wake, now)
	c.counts.Ticks += r.plan.Ticks
	if l.Planned != nil {
		l.Planned(&r.plan)
	}
	refused, out := 0, slices.Grow(out, len(r.plan.actions))
	replanner, replans := l.Policy.(Replanner)
	for i := range r.plan.Bundles() {
		var ok bool
		if out, ok = c.commit(r.lane, &r.plan, i, out); ok {
			continue
		}
		refused++
		if replans {
			out = c.replan(r.lane, replanner, r.plan.Bundle(i), out)
		}
	}
	c.counts.Refused += int64(refused)
	if refused > 0 {
		if refused == r.plan.Bundles() {
			l.wake = min(l.wake, now+retryAfter)
		} else {
			l.dirty = true
		}
	}
	c.noticed = c.state.LogEnd()
	return out
}

// replan lets the policy plan once more for what was refused, and commits that.
func (c *Core) replan(lane int, policy Replanner, refused []Action, out []Decision) []Decision {
	var plan Plan
	plan.Reset()
	c.state.Begin(lane)
	policy.Replan(&Trial{state: c.state}, refused, &plan)
	c.state.End()
	c.counts.Ticks += plan.Ticks
	for i := range plan.Bundles() {
		var ok bool
		if out, ok = c.commit(lane, &plan, i, out); !ok {
			c.counts.Refused++
		}
	}
	return out
}

// commit does a bundle of the plan whole, or not at all. It is the only place that changes
// an allocation, and checks each action against the state as it is now.
func (c *Core) commit(lane int, plan *Plan, i int, out []Decision) ([]Decision, bool) {
	bundle, before, madeRoom, attracts := plan.Bundle(i), len(out), false, false
	c.before = violations(&c.state.View, bundle, c.before[:0])
	c.state.Begin(lane)
	for _, a := range bundle {
		took := had(&c.state.View, a)
		if try(c.state, a).Refused() || !c.may(lane, a) {
			c.giveUp(bundle)
			return out[:before], false
		}
		switch phase := c.state.Task(a.Task).Phase; {
		case a.Kind == Place && phase == cluster.Starting:
			out = append(out, c.decision(Place, a.Task))
		case a.Kind == Evict && phase == cluster.Leaving:
			out = append(out, c.decision(Evict, a.Task))
		case a.Kind == Evict:
			madeRoom = true
		case a.Kind == Resize:
			out = append(out, c.decision(Resize, a.Task))
			madeRoom = madeRoom || !took.Fits(c.state.Demand(a.Task))
		}
	}
	if c.state.Worse(c.before).Refused() || partial(&c.state.View, bundle).Refused() {
		c.giveUp(bundle)
		return out[:before], false
	}
	from := c.state.LogEnd()
	c.state.Keep()
	out = holdGangs(c, bundle, before, out)
	c.ledger.enter(&c.state.View, bundle, out[before:])
	bring(plan.Gain(i), out[before:])
	prove(plan.Fewest(i), out[before:])
	c.spared.bundle(c, lane, bundle)
	for _, a := range bundle {
		switch a.Kind {
		case Place:
			c.counts.Placed++
			attracts = attracts || c.state.Attracts(c.state.Task(a.Task).Shape) || cluster.IsGang(&c.state.View, c.state.Task(a.Task).Job)
		case Evict:
			c.counts.Evicted++
		case Resize:
			c.counts.Resized++
		case End:
		}
	}
	if madeRoom || len(c.asked) > 0 {
		// A reserved task merely waits again, and a run takes less, without an event
		// to say so, and what stood behind may start; or a gang has got what it waited for.
		c.noticed = from
		out = c.notice(out)
	}
	if attracts { // whom nobody may place before this one came: beside it, or as others of its gang
		c.markLanesDirty()
	}
	return out, true
}

// giveUp undoes what was done of a bundle, and has its policy look at it again.
func (c *Core) giveUp(bundle []Action) {
	c.state.End()
	for _, a := range bundle {
		if int(a.Task) < c.state.TaskRows() {
			c.state.Touch(a.Task, a.Node)
		}
	}
}

// had is what the task takes that the action resizes.
func had(s *cluster.View, a Action) cluster.Vector {
	if a.Kind != Resize || int(a.Task) >= s.TaskRows() {
		return nil
	}
	return s.Demand(a.Task)
}

// may reports whether the lane has a say in the action: it places and resizes its
// own tasks alone, and may evict those of other lanes, and foreign ones that yield to it.
func (c *Core) may(lane int, a Action) bool {
	task := c.state.Task(a.Task)
	if owner := c.ownerOf(task); owner != noLane {
		return a.Kind == Evict || int(owner) == lane
	}
	return a.Kind == Evict && task.Phase != cluster.Absent && int(c.state.Job(task.Job).Yields) == lane+1
}

// Everything lists every row that a policy of the lane would be shown if it were
// fresh, for one that is asked and does not decide.
func (c *Core) Everything(i int) *Changed {
	var l lane
	var r Round
	r.gatherAll(&l, c.state, func(t cluster.TaskID) bool { return c.ownerOf(c.state.Task(t)) == uint8(i) })
	return &r.changed
}

// LaneOf returns the lane that the task belongs to, and false if it is foreign.
func (c *Core) LaneOf(t cluster.TaskID) (int, bool) {
	owner := c.ownerOf(c.state.Task(t))
	return int(owner), owner != noLane
}

// SetFilters says who knows which filters keep tasks off nodes.
func (c *Core) SetFilters(f Filters) { c.filters = f }

// Why says why the task is not placed, in the words of its lane's policy.
func (c *Core) Why(t cluster.TaskID) Reason {
	lane := c.ownerOf(c.state.Task(t))
	if lane == noLane || c.lanes[lane].busy && c.lanes[lane].Beside { // its policy may be at work
		return c.Name(Explain(&c.state.View, t), t)
	}
	c.state.Begin(int(lane))
	trial := &Trial{state: c.state}
	r := c.lanes[lane].Policy.Why(trial, t)
	noteGang(trial, &r, t)
	c.state.End()
	noteProtected(&r, &c.state.View, c.state.ProtectedRuns(), t)
	noteEvictsNobody(&r, &c.state.View, t)
	return c.Name(r, t)
}

// Name names in a reason of the task which filters keep it off nodes, as far as the world says, and adds what
// would help.
func (c *Core) Name(r Reason, t cluster.TaskID) Reason {
	if c.filters != nil {
		c.filters.name(&r, &c.state.View, t)
	}
	r.remedy(&c.state.View, t, c.filters)
	r.awaken()
	return r
}
