package sched

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// Lane is a policy with the jobs it owns and what starts its rounds. Each job
// belongs to the first lane that owns it; foreign jobs to none.
type Lane struct {
	Name   string
	Owns   func(*cluster.Job) bool // nil owns every job
	Policy Policy
	When   Trigger
	// Beside says that its rounds take long: Step leaves them to who calls Begin and Finish, and runs them beside the core. They begin once nobody has come for a moment.
	Beside bool
	// Planned is shown the plan of each round before it is committed, and keeps nothing of it; nil: nobody is.
	Planned func(*Plan)
}

// Trigger says when a lane's rounds start. A round always wants a cause: a
// task began to wait, room appeared while tasks wait, something happened beside a run that could take more, the watchdog, or the
// time that the last plan named.
type Trigger struct {
	// Heartbeat gathers causes until the next multiple of it; 0 starts a
	// round at once.
	Heartbeat cluster.Time
	// Watchdog starts a round so long after the last one if tasks wait,
	// although nothing happened; 0 is never.
	Watchdog cluster.Time
	// IgnoreOutcomes says that what comes of decisions is no cause: that a run began or
	// left, was refused or stayed. What comes from outside is: a task that comes
	// or goes, a node, a set. Whom an eviction lets wait then waits for the next
	// of these, or for the watchdog.
	IgnoreOutcomes bool
}

// lane is a Lane and where it stands.
type lane struct {
	Lane
	round   Round // reused; busy while in flight
	busy    bool
	dirty   bool         // something happened since the last round
	lastRun cluster.Time // when the last round began
	wake    cluster.Time // when the last plan, or a refusal, asked for a round

	own      []cluster.Seq // per task row, 1 + the seq that the policy was shown there as its own, and withheld
	shown    uint64        // change log position up to which the policy was shown rows
	fresh    bool          // the policy has been shown nothing yet
	waits    int           // of a lane beside the core, how many of its tasks wait
	gathered gathering     // and which of these came since its last round
	view     *cluster.State
	copied   uint64 // change log position up to which the view is true
}

// dueAt is when the lane wants its next round: causes are what it noted itself, and, while
// tasks wait, the watchdog and the moment at which some run may be evicted again.
func (l *lane) dueAt(now cluster.Time, waiting bool, unprotected cluster.Time) cluster.Time {
	if l.busy {
		return cluster.Never
	}
	due := l.wake
	if l.dirty {
		due = min(due, max(now, l.gathered.until()))
	}
	if l.When.Watchdog > 0 && waiting {
		due = min(due, l.lastRun+l.When.Watchdog)
	}
	if waiting && !l.When.IgnoreOutcomes {
		due = min(due, unprotected)
	}
	due = max(due, now)
	if beat := l.When.Heartbeat; beat > 0 && due != cluster.Never {
		due = (due + beat - 1) / beat * beat
	}
	return due
}

// Round is one pass of a lane's policy, from Begin to Finish.
type Round struct {
	lane    int
	trial   Trial
	policy  Policy
	changed Changed
	plan    Plan
	seen    [cluster.Tables][]bool
	copied  []cluster.Touch // scratch
	gangs   []cluster.JobID // scratch: of which some task has changed
}

// Run lets the policy plan. It touches the round's view and policy alone, so
// that it may run on another goroutine while the core goes on. A budget above
// 0 limits the effort in ticks.
func (r *Round) Run(budget int64) {
	r.plan.Reset()
	r.trial.state.Begin(r.lane)
	r.policy.Plan(&r.trial, &r.changed, budget, &r.plan)
	r.trial.state.End()
}

// Ticks is the effort that Run spent.
func (r *Round) Ticks() int64 { return r.plan.Ticks }

// Gap says how much better the plan might be, if the policy knows.
func (r *Round) Gap() Gap { return r.plan.Gap }

// Err is what the policy found to be wrong with itself, or nil.
func (r *Round) Err() error { return r.plan.Err }

// Lane is the index of the round's lane.
func (r *Round) Lane() int { return r.lane }

// gather lists what changed since the round before.
func (r *Round) gather(l *lane, s *cluster.State, touches []cluster.Touch, own func(cluster.TaskID) bool) {
	r.changed.reset()
	recounted := false
	for _, touch := range touches {
		first := r.first(touch)
		if touch.Table == cluster.Sets && touch.Node != cluster.NoNode {
			r.changed.Members = append(r.changed.Members, Member{cluster.SetID(touch.Row), touch.Node})
		}
		if !first {
			continue
		}
		switch touch.Table {
		case cluster.Nodes:
			r.changed.Nodes = append(r.changed.Nodes, cluster.NodeID(touch.Row))
		case cluster.Tasks:
			r.showTask(l, s, cluster.TaskID(touch.Row), own)
		case cluster.Shapes:
			r.changed.Shapes = append(r.changed.Shapes, cluster.ShapeID(touch.Row))
		case cluster.Constraints:
			recounted = true
			r.constrained(s, cluster.ConstraintID(touch.Row))
		case cluster.Coming: // nodes may admit as many as before, but others may leave, or may not any more
			r.changed.Constrained = append(r.changed.Constrained, cluster.ShapeID(touch.Row))
		case cluster.Jobs: // a task that has ended, too, says how many the gang has
			r.noteGang(s, cluster.JobID(touch.Row))
		case cluster.Sets, cluster.Classes, cluster.Guarding, cluster.Tables:
		}
	}
	r.showGangs(l, s, own)
	slices.SortFunc(r.changed.Members, Member.compare)
	r.changed.Members = slices.Compact(r.changed.Members)
	if recounted { // those of a constraint that is gone are among these
		r.changed.Constrained = append(r.changed.Constrained, r.changed.Shapes...)
	}
	slices.Sort(r.changed.Constrained)
	r.changed.Constrained = slices.Compact(r.changed.Constrained)
	r.forget(touches)
}

// constrained lists the shapes that the constraint concerns.
func (r *Round) constrained(s *cluster.State, c cluster.ConstraintID) {
	if s.Constraint(c) == nil {
		return
	}
	for i := range s.ShapeRows() {
		if id := cluster.ShapeID(i); s.Concerns(c, id) {
			r.changed.Constrained = append(r.changed.Constrained, id)
		}
	}
}

// gatherAll lists every row in use.
func (r *Round) gatherAll(l *lane, s *cluster.State, own func(cluster.TaskID) bool) {
	r.changed.reset()
	r.changed.All = true
	clear(l.own)
	for i := range s.NodeRows() {
		if s.NodeLive(cluster.NodeID(i)) {
			r.changed.Nodes = append(r.changed.Nodes, cluster.NodeID(i))
		}
	}
	for i := range s.TaskRows() {
		r.showTask(l, s, cluster.TaskID(i), own)
	}
	r.showGangs(l, s, own)
	for i := range s.ShapeRows() {
		r.changed.Shapes = append(r.changed.Shapes, cluster.ShapeID(i))
	}
}

// showTask lists a task row as far as it concerns the lane: the task in it now,
// and the one that the lane was shown there before.
func (r *Round) showTask(l *lane, s *cluster.State, t cluster.TaskID, own func(cluster.TaskID) bool) {
	task := s.Task(t)
	if task.Phase == cluster.Absent {
		l.show(t, 0, &r.changed)
		return
	}
	if r.noteGang(s, task.Job) && task.Phase == cluster.Waiting {
		return // showGangs knows whether it may be placed
	}
	if !own(t) {
		l.show(t, 0, &r.changed)
		return
	}
	l.show(t, task.Seq+1, &r.changed)
}

// noteGang notes that a task of the job has changed, if it is a gang, and reports whether it is.
func (r *Round) noteGang(s *cluster.State, j cluster.JobID) bool {
	if !cluster.IsGang(&s.View, j) {
		return false
	}
	if last := len(r.gangs) - 1; last < 0 || r.gangs[last] != j {
		r.gangs = append(r.gangs, j)
	}
	return true
}

// showGangs lists those who wait of the gangs that have changed.
func (r *Round) showGangs(l *lane, s *cluster.State, own func(cluster.TaskID) bool) {
	slices.Sort(r.gangs)
	r.gangs = slices.Compact(r.gangs)
	for _, j := range r.gangs {
		short := cluster.GangLacks(&s.View, j) > 0
		for _, t := range cluster.GangTasks(&s.View, j) {
			switch task := s.Task(t); {
			case task.Phase != cluster.Waiting:
			case !own(t):
				l.show(t, 0, &r.changed)
			case short:
				l.show(t, (task.Seq+1)|withheld, &r.changed)
			default:
				l.show(t, task.Seq+1, &r.changed)
			}
		}
	}
	r.gangs = r.gangs[:0]
}

// withheld marks a task that was shown among those of gangs. No seq is as large.
const withheld = cluster.Seq(1) << 63

// show lists who is in the row now, 0 being nobody of the lane, and who was there before and is no more.
func (l *lane) show(t cluster.TaskID, now cluster.Seq, c *Changed) {
	for int(t) >= len(l.own) {
		l.own = append(l.own, 0)
	}
	switch {
	case now == 0:
	case now&withheld != 0:
		c.Gangs = append(c.Gangs, t)
	default:
		c.Tasks = append(c.Tasks, t)
	}
	was := l.own[t]
	// Who was withheld and may be placed now, or has been, was never told of.
	if was != 0 && was != now && was != now|withheld {
		c.Gone = append(c.Gone, t)
	}
	l.own[t] = now
}

// first reports whether the row is met for the first time in this gathering.
func (r *Round) first(touch cluster.Touch) bool {
	seen := r.seen[touch.Table]
	if int(touch.Row) >= len(seen) {
		seen = append(seen, make([]bool, int(touch.Row)+1-len(seen))...)
		r.seen[touch.Table] = seen
	}
	if seen[touch.Row] {
		return false
	}
	seen[touch.Row] = true
	return true
}

// forget ends a gathering.
func (r *Round) forget(touches []cluster.Touch) {
	for _, touch := range touches {
		r.seen[touch.Table][touch.Row] = false
	}
}
