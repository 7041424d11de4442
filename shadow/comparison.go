package shadow

import (
	"slices"
	"time"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// Holds is for how long a decision keeps its room, while the other scheduler does not place the task.
const Holds = cluster.Minute

// Preempted is the Reason of TaskProtected, until cluster.Never, of a run that the other scheduler is about to have leave for another task.
const Preempted = "another scheduler has it leave for a more important pod"

// Call is a call on a core with what came of it.
type Call struct {
	At cluster.Time
	// Snapshot says that it is the first of a new core.
	Snapshot bool
	In       []cluster.Event
	Out      []sched.Decision
	// View is the core's, after the call, and Rounds how many it has made by then.
	View   *cluster.View
	Rounds int64
	// Undecided reports whether a task that waits has yet to be looked at, by a lane beside the core.
	Undecided func(cluster.TaskID) bool
}

// Outcome is a task of the other scheduler that it has placed.
type Outcome struct {
	Task cluster.TaskID
	Same bool // for the node that we had decided, too
	// Difference says how each of the two placed it, and in what that differs where it does.
	Difference
}

// Comparison follows the calls on cores, one core after the other. It belongs to whoever makes them.
type Comparison struct {
	origin time.Time // time 0
	// schedulers are those whose tasks are watched.
	schedulers []string
	begun      bool
	tasks      map[cluster.TaskID]*watched
	gained     map[cluster.TaskID]gain
	all        tally
	day        tally
	rounds     int64   // that the core had made before this call
	fresh      []fresh // who waits and was not looked at
	turn       turn
	last       []kept // the latest last
	view       *cluster.View
	now        cluster.Time
	// Adds adds to a difference what the calls do not say; nil adds nothing.
	Adds func(cluster.TaskID, *Difference)
}

// watched is a task that has come to wait.
type watched struct {
	seq    cluster.Seq
	since  cluster.Time // when it could be placed
	looked bool         // a round has looked at it
	waits  bool         // in the core
	// decided says that there is a decision; of the attempt, but where others are to leave first.
	decided bool
	attempt uint32
	at      cluster.Time // of the call that brought it
	out     cluster.Time // when it could have been carried out: the time of the next call
	taken   cluster.Time // when it was taken back; Never if it was not
	choice  Choice
}

// fresh is a task that no round has looked at.
type fresh struct {
	task cluster.TaskID
	*watched
}

// stands reports whether what was decided is what we would have done, should the other scheduler place the task now.
func (w *watched) stands(now cluster.Time) bool {
	return w.decided && (w.taken == now || w.taken >= w.at+Holds) // Never is later
}

// kept is a difference, and when it was seen.
type kept struct {
	Difference
	at cluster.Time
}

// gain is how much sooner a task would have begun with us.
type gain struct {
	seq cluster.Seq
	by  cluster.Time
}

// turn is what one call brings. Who is in it is looked at when all of it has been applied.
type turn struct {
	placed   []cluster.TaskID // by us
	bound    []cluster.TaskID // by them
	taken    []*watched
	decided  []*watched // which are out when the next call is made
	outcomes []Outcome
}

// New is a comparison that has seen nothing, of the tasks of these schedulers. Times count from the origin.
func New(origin time.Time, schedulers ...string) *Comparison {
	return &Comparison{origin: origin, schedulers: schedulers, tasks: map[cluster.TaskID]*watched{}, gained: map[cluster.TaskID]gain{}}
}

// Follow takes in a call, and returns which tasks the other scheduler has placed by it; that is valid until the next call.
func (c *Comparison) Follow(call *Call) []Outcome {
	if !c.begun {
		c.begun, c.all.since, c.day.since = true, call.At, call.At
	}
	if call.Snapshot {
		clear(c.tasks)
		clear(c.gained)
		c.rounds, c.fresh = 0, nil
	}
	c.view, c.now = call.View, call.At
	for _, w := range c.turn.decided {
		w.out = c.now
		w.choice.Latency = seconds(w.out - w.since)
	}
	c.turn = turn{placed: c.turn.placed[:0], bound: c.turn.bound[:0], taken: c.turn.taken[:0], outcomes: c.turn.outcomes[:0]}
	for _, e := range call.In {
		c.happened(e, call.Snapshot)
	}
	for i := range call.Out {
		c.decided(&call.Out[i])
	}
	c.judge()
	if call.Rounds > c.rounds {
		c.look(call.Undecided)
	}
	c.rounds = call.Rounds
	return c.turn.outcomes
}

// happened takes in an event. What a snapshot finds somewhere was there before.
func (c *Comparison) happened(e cluster.Event, snapshot bool) {
	switch e := e.(type) {
	case cluster.TaskSubmitted:
		if !e.Gated {
			c.waits(e.Task, e.Seq)
		}
	case cluster.TaskUngated:
		c.waits(e.Task, e.Seq)
	case cluster.TaskGated:
		if w := c.of(e.Task, e.Seq); w != nil {
			w.waits = false
		}
	case cluster.BindRefused:
		if w := c.tasks[e.Task]; w != nil && w.decided && w.attempt == e.Attempt && w.taken == cluster.Never {
			w.taken = c.now
			c.turn.taken = append(c.turn.taken, w)
		}
	case cluster.TaskStarted:
		if w := c.tasks[e.Task]; w != nil && w.decided && w.attempt == e.Attempt {
			c.turn.bound = append(c.turn.bound, e.Task)
		}
	case cluster.TaskFound:
		if !snapshot {
			c.turn.bound = append(c.turn.bound, e.Task)
		}
	case cluster.TaskProtected:
		if e.Reason == Preempted && e.Until == cluster.Never && !snapshot {
			c.count(func(t *tally) { t.Theirs.Victims++ })
		}
	case cluster.TaskEnded:
		if c.of(e.Task, e.Seq) != nil {
			delete(c.tasks, e.Task)
		}
		delete(c.gained, e.Task)
	default:
	}
}

// of is the task of the row, if it is still that one; nil else.
func (c *Comparison) of(t cluster.TaskID, seq cluster.Seq) *watched {
	if w := c.tasks[t]; w != nil && w.seq == seq {
		return w
	}
	return nil
}

// waits takes in that a task can be placed. One whose decision was refused has waited on.
func (c *Comparison) waits(t cluster.TaskID, seq cluster.Seq) {
	since := c.now
	if w := c.of(t, seq); w != nil && w.decided && w.taken < w.at+Holds {
		since = w.since
	}
	w := &watched{seq: seq, since: since, waits: true, taken: cluster.Never}
	c.tasks[t] = w
	c.fresh = append(c.fresh, fresh{t, w})
}

// look takes in that a round was made, which has looked at all who wait, but for those who are undecided.
func (c *Comparison) look(undecided func(cluster.TaskID) bool) {
	c.fresh = slices.DeleteFunc(c.fresh, func(f fresh) bool {
		if f.waits && c.tasks[f.task] == f.watched && undecided(f.task) {
			return false
		}
		f.looked = f.waits
		return true
	})
}

// decided takes in a decision of ours.
func (c *Comparison) decided(d *sched.Decision) {
	switch d.Kind {
	case sched.Place:
		c.decide(d.Task, d.Seq, d.Node).attempt = d.Attempt
		c.turn.placed = append(c.turn.placed, d.Task)
	case sched.Evict:
		by, serves := d.Purpose.Serves()
		switch {
		case !serves: // it began although nobody wanted it any more
		case by == d.Task:
			c.count(func(t *tally) { t.Ours.Moves++ })
		default:
			c.preempt(by, d)
		}
	default:
	}
}

// decide notes that we have decided for a task.
func (c *Comparison) decide(t cluster.TaskID, seq cluster.Seq, n cluster.NodeID) *watched {
	w := c.of(t, seq)
	if w == nil {
		w = &watched{seq: seq, since: c.now}
		c.tasks[t] = w
	}
	w.decided, w.attempt, w.at, w.out, w.taken = true, 0, c.now, c.now, cluster.Never
	w.choice = Choice{Node: c.view.NodeSpec(n).Name} // by name, as the row may be another's by the time that it is asked for
	c.turn.decided = append(c.turn.decided, w)
	c.count(func(t *tally) { t.Decided++ })
	return w
}

// preempt notes that somebody is to leave for the task, and for those of its gang that wait for room as well.
func (c *Comparison) preempt(by cluster.TaskID, d *sched.Decision) {
	seq := d.Purpose.Seq
	w := c.of(by, seq)
	if first := w == nil || !w.decided || w.at != c.now; first {
		c.count(func(t *tally) { t.Ours.Preemptors++ })
		w = c.decide(by, seq, d.Node)
		c.reserveGang(by)
	}
	w.choice.Victims++
	c.count(func(t *tally) { t.Ours.Victims++ })
}

// reserveGang notes that the others of the task's gang are given room with it.
func (c *Comparison) reserveGang(by cluster.TaskID) {
	v := c.view
	job := v.Task(by).Job
	if v.Job(job).Gang <= 1 {
		return
	}
	for t, w := range c.tasks {
		if task := v.Task(t); t != by && task.Job == job && task.Seq == w.seq && task.Phase == cluster.Reserved {
			c.decide(t, w.seq, task.Node)
		}
	}
}

// judge looks at what the call has brought, now that all of it is done.
func (c *Comparison) judge() {
	ours, theirs := arrivals{view: c.view}, arrivals{view: c.view, real: true}
	for _, t := range slices.Backward(c.turn.placed) {
		task := c.view.Task(t)
		if w := c.of(t, task.Seq); w != nil && task.Node != cluster.NoNode {
			ours.look(t, &w.choice)
			w.choice.HardViolated, w.choice.SoftViolated = violates(c.view, t, func(cluster.ConstraintID) bool { return false })
		}
	}
	bound := make([]Outcome, len(c.turn.bound))
	for i, t := range slices.Backward(c.turn.bound) {
		if bound[i].Task = t; c.isBound(t) {
			theirs.look(t, &bound[i].Theirs)
		}
	}
	for i := range bound {
		if c.isBound(bound[i].Task) {
			c.bound(&bound[i])
		}
	}
	for _, w := range c.turn.taken {
		if w.decided && w.taken < w.at+Holds {
			c.count(func(t *tally) { t.Refused++ })
		}
	}
}

// isBound reports whether a task that they have placed is there, and one of those that are watched.
func (c *Comparison) isBound(t cluster.TaskID) bool {
	task := c.view.Task(t)
	return task.Phase != cluster.Absent && task.Node != cluster.NoNode && !c.view.Job(task.Job).Foreign
}

// bound compares what became of a task that they have placed.
func (c *Comparison) bound(o *Outcome) {
	task := c.view.Task(o.Task)
	w := c.of(o.Task, task.Seq)
	o.Job, o.Theirs.Node = c.view.Job(task.Job).Name, c.view.NodeSpec(task.Node).Name
	o.Theirs.HardViolated, o.Theirs.SoftViolated = violates(c.view, o.Task, c.concerned)
	if w != nil {
		o.Theirs.Latency = seconds(c.now - w.since)
	}
	switch {
	case w == nil || !w.stands(c.now) && !w.looked:
		o.Kind = Earlier
		c.count(func(t *tally) { t.Bound, t.Earlier = t.Bound+1, t.Earlier+1 })
	case !w.stands(c.now):
		o.Kind = Unplaced
		c.count(func(t *tally) { t.Bound, t.Unplaced = t.Bound+1, t.Unplaced+1 })
	default:
		o.Ours = w.choice
		o.Same = w.choice.Node == o.Theirs.Node
		c.compare(w, o)
	}
	if !o.Same {
		if c.Adds != nil {
			c.Adds(o.Task, &o.Difference)
		}
		c.keep(&o.Difference)
	}
	if w != nil {
		w.decided = false // it is done, and was not taken back
	}
	delete(c.tasks, o.Task)
	c.turn.outcomes = append(c.turn.outcomes, *o)
}

// compare counts a task for which both have decided.
func (c *Comparison) compare(w *watched, o *Outcome) {
	if !o.Same {
		o.Kind = OtherNode
	}
	ours, theirs := w.out-w.since, c.now-w.since
	c.count(func(t *tally) {
		t.Bound++
		if o.Same {
			t.Same++
		} else {
			t.Different++
		}
		t.ours.add(&t.Ours, ours, &o.Ours)
		t.theirs.add(&t.Theirs, theirs, &o.Theirs)
	})
	task := c.view.Task(o.Task)
	if class := &c.view.Classes()[task.Class]; class.Promises() {
		c.gained[o.Task] = gain{task.Seq, c.now - w.out}
	}
}

// keep keeps a difference among the last ones.
func (c *Comparison) keep(d *Difference) {
	if len(c.last) == MostDifferences {
		c.last = slices.Delete(c.last, 0, 1)
	}
	c.last = append(c.last, kept{*d, c.now})
}

// count counts something, in all and of the day.
func (c *Comparison) count(what func(*tally)) {
	what(&c.all)
	what(&c.day)
}

// wall is a moment as the clocks on walls have it.
func (c *Comparison) wall(t cluster.Time) time.Time {
	return c.origin.Add(time.Duration(t) * time.Microsecond).UTC()
}
