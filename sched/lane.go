package sched

import "fairlead.dev/fairlead/cluster"

// Lane is a policy with the jobs it owns and what starts its rounds. Each job
// belongs to the first lane that owns it; foreign jobs to none.
type Lane struct {
	Name   string
	Owns   func(*cluster.Job) bool // nil owns every job
	Policy Policy
	When   Trigger
}

// Trigger says when a lane's rounds start. A round always wants a cause: a
// task began to wait, room appeared while tasks wait, the watchdog, or the
// time that the last plan named.
type Trigger struct {
	// Heartbeat gathers causes until the next multiple of it; 0 starts a
	// round at once.
	Heartbeat cluster.Time
	// Watchdog starts a round so long after the last one if tasks wait,
	// although nothing happened; 0 is never.
	Watchdog cluster.Time
}

// lane is a Lane and where it stands.
type lane struct {
	Lane
	round   Round // reused; busy while in flight
	busy    bool
	dirty   bool         // something happened since the last round
	lastRun cluster.Time // when the last round began
	wake    cluster.Time // when the last plan, or a refusal, asked for a round

	shown  uint64 // change log position up to which the policy was shown rows
	fresh  bool   // the policy has been shown nothing yet
	view   *cluster.State
	copied uint64 // change log position up to which the view is true
}

// dueAt is when the lane wants its next round.
func (l *lane) dueAt(now cluster.Time, waiting bool) cluster.Time {
	if l.busy {
		return cluster.Never
	}
	due := l.wake
	if l.dirty {
		due = min(due, now)
	}
	if l.When.Watchdog > 0 && waiting {
		due = min(due, l.lastRun+l.When.Watchdog)
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
}

// Run lets the policy plan. It touches the round's view and policy alone, so
// that it may run on another goroutine while the core goes on. A budget above
// 0 limits the effort in ticks.
func (r *Round) Run(budget int64) {
	r.plan.Reset()
	r.trial.state.Begin()
	r.policy.Plan(&r.trial, &r.changed, budget, &r.plan)
	r.trial.state.End()
}

// Ticks is the effort that Run spent.
func (r *Round) Ticks() int64 { return r.plan.Ticks }

// Lane is the index of the round's lane.
func (r *Round) Lane() int { return r.lane }

// gather lists what changed since a position of the log: the rows that the
// policy has to look at, and, through copyRow, every row that a view lacks.
func (r *Round) gather(touches []cluster.Touch, mine func(cluster.TaskID) bool) {
	c := &r.changed
	*c = Changed{Nodes: c.Nodes[:0], Tasks: c.Tasks[:0], Shapes: c.Shapes[:0]}
	for _, touch := range touches {
		if r.first(touch) {
			r.list(touch, mine)
		}
	}
	for _, touch := range touches {
		r.seen[touch.Table][touch.Row] = false
	}
}

// gatherAll lists every row in use.
func (r *Round) gatherAll(s *cluster.State, mine func(cluster.TaskID) bool) {
	c := &r.changed
	*c = Changed{All: true, Nodes: c.Nodes[:0], Tasks: c.Tasks[:0], Shapes: c.Shapes[:0]}
	for i := range s.NodeRows() {
		if s.NodeLive(cluster.NodeID(i)) {
			c.Nodes = append(c.Nodes, cluster.NodeID(i))
		}
	}
	for i := range s.TaskRows() {
		if t := cluster.TaskID(i); s.Task(t).Phase != cluster.Absent && mine(t) {
			c.Tasks = append(c.Tasks, t)
		}
	}
	for i := range s.ShapeRows() {
		c.Shapes = append(c.Shapes, cluster.ShapeID(i))
	}
}

func (r *Round) list(touch cluster.Touch, mine func(cluster.TaskID) bool) {
	switch touch.Table {
	case cluster.Nodes:
		r.changed.Nodes = append(r.changed.Nodes, cluster.NodeID(touch.Row))
	case cluster.Tasks:
		if t := cluster.TaskID(touch.Row); mine(t) {
			r.changed.Tasks = append(r.changed.Tasks, t)
		}
	case cluster.Shapes:
		r.changed.Shapes = append(r.changed.Shapes, cluster.ShapeID(touch.Row))
	case cluster.Jobs, cluster.Sets, cluster.Tables:
	}
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
