// Package timeline writes what a scheduler did as a trace that ui.perfetto.dev opens: a process for each node, with a lane
// for each of the tasks that are there at the same time; the rounds of the scheduler with what they decided; evictions,
// with arrows to whom they served; how many tasks wait and run.
//
// It follows the calls on a core, which a simulation makes and a recording holds: what happened, and what was decided. In
// memory is what is open: runs on nodes, and tasks that wait.
//
//	t := timeline.New(file, names)
//	t.Call(timeline.Call{At: now, In: events, Out: decisions})
//	err := t.Close(now)
package timeline

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// Call is a call on a core with what came of it.
type Call struct {
	At   cluster.Time
	Lane int // of a round
	// Begins and Ends say that it begins or ends a round of the lane. One that does both took no time.
	Begins, Ends bool
	In           []cluster.Event
	Out          []sched.Decision
}

// Timeline writes one.
type Timeline struct {
	to      *writer
	kinds   []cluster.Kind
	names   func(cluster.TaskID) string // nil: by job and number
	nodes   map[cluster.NodeID]*node
	tasks   map[cluster.TaskID]*task
	jobs    map[cluster.JobID]string
	demands map[cluster.ShapeID]cluster.Vector
	rounds  map[int]cluster.Time // when those under way began, by lane
	last    cluster.Time
	waiting int
	running int
	changed bool // since the counters were written
	ids     ids
}

// ids are numbers that were given out.
type ids struct{ processes, arrows int }

// scheduler is the process of the rounds and counters.
const scheduler = 1

// node is a node with its lanes.
type node struct {
	process int
	busy    []bool // by lane
	named   int    // lanes that have a name
}

// task is a task that is there.
type task struct {
	seq      cluster.Seq
	name     string
	shape    cluster.ShapeID
	priority int32
	waits    bool
	runs     []run
	served   []moment // evictions for its sake that it has not come to yet
}

// run is one that takes room.
type run struct {
	attempt uint32
	node    cluster.NodeID
	at      place
	from    cluster.Time
	started bool
	evicted bool
}

// found is the attempt of a run that was there before anybody looked: the core numbers it, and no event says how.
const found = 0

// is reports whether it is the run of that attempt.
func (r *run) is(attempt uint32) bool { return r.attempt == attempt || r.attempt == found }

// New begins a timeline. Names say what people call tasks while they are there; nil calls them by job and number.
func New(to io.Writer, kinds []cluster.Kind, names func(cluster.TaskID) string) *Timeline {
	t := &Timeline{
		to: newWriter(to), kinds: kinds, names: names, nodes: map[cluster.NodeID]*node{}, tasks: map[cluster.TaskID]*task{},
		jobs: map[cluster.JobID]string{}, demands: map[cluster.ShapeID]cluster.Vector{}, rounds: map[int]cluster.Time{}, ids: ids{processes: scheduler},
	}
	at := place{scheduler, 1}
	t.to.name("process_name", at, "scheduler")
	t.to.name("thread_name", at, "rounds")
	t.to.order(at, 0)
	return t
}

// Call takes in a call. Errors of writing are kept for Close.
func (t *Timeline) Call(c Call) {
	t.last = max(t.last, c.At)
	for _, e := range c.In {
		t.event(c.At, e)
	}
	counts := map[sched.Kind]int{}
	for i := range c.Out {
		counts[c.Out[i].Kind]++
		t.decide(c.At, &c.Out[i])
	}
	if c.Begins && !c.Ends {
		t.rounds[c.Lane] = c.At
	}
	if c.Ends {
		t.round(&c, counts)
	}
	if t.changed {
		t.changed = false
		t.to.counter("tasks", place{scheduler, 1}, c.At, argument{"waiting", t.waiting}, argument{"running", t.running})
	}
}

// round draws a round with what came of it, if anything did or it took time.
func (t *Timeline) round(c *Call, counts map[sched.Kind]int) {
	from, under := t.rounds[c.Lane]
	if !under {
		from = c.At
	}
	delete(t.rounds, c.Lane)
	if len(c.Out) == 0 && from == c.At {
		return
	}
	at := place{scheduler, 1}
	if c.Lane > 0 {
		at.thread = c.Lane + 1
		t.to.name("thread_name", at, fmt.Sprintf("rounds of lane %d", c.Lane))
	}
	t.to.slice("round", at, from, c.At, argument{"placed", counts[sched.Place]}, argument{"evicted", counts[sched.Evict]}, argument{"resized", counts[sched.Resize]})
}

// event takes in what happened.
func (t *Timeline) event(now cluster.Time, e cluster.Event) {
	switch e := e.(type) {
	case cluster.NodeAdded:
		t.ids.processes++
		n := &node{process: t.ids.processes}
		t.nodes[e.Node] = n
		t.to.name("process_name", place{n.process, 0}, e.Spec.Name)
		t.to.order(place{n.process, 0}, n.process)
	case cluster.NodeLost:
		t.lost(now, e.Node)
	case cluster.ShapeDefined:
		t.demands[e.Shape] = e.Spec.Demand
	case cluster.JobSubmitted:
		t.jobs[e.Job] = e.Name
	case cluster.JobForgotten:
		delete(t.jobs, e.Job)
	default:
		t.taskEvent(now, e)
	}
}

// taskEvent takes in what befell a task. What comes late or twice finds nothing open, and is passed over.
func (t *Timeline) taskEvent(now cluster.Time, e cluster.Event) {
	switch e := e.(type) {
	case cluster.TaskSubmitted:
		name := fmt.Sprintf("%s#%d", t.jobs[e.Job], e.Task)
		if t.names != nil {
			name = cmp.Or(t.names(e.Task), name)
		}
		t.tasks[e.Task] = &task{seq: e.Seq, name: name, shape: e.Shape, priority: e.Priority}
		t.wait(t.tasks[e.Task], !e.Gated)
	case cluster.TaskUngated:
		t.wait(t.tasks[e.Task], true)
	case cluster.TaskGated:
		t.wait(t.tasks[e.Task], false)
	case cluster.TaskReshaped:
		if of := t.tasks[e.Task]; of != nil {
			of.shape, of.priority = e.Shape, e.Priority
		}
	case cluster.TaskFound:
		if of := t.tasks[e.Task]; of != nil {
			t.wait(of, false)
			t.begin(now, of, found, e.Node)
			t.start(now, of, found)
		}
	case cluster.TaskStarted:
		t.started(now, e)
	case cluster.BindRefused:
		t.finish(now, t.tasks[e.Task], e.Attempt, "bind refused")
	case cluster.TaskLeft:
		t.finish(now, t.tasks[e.Task], e.Attempt, "left")
	case cluster.TaskEnded:
		outcome := "ended"
		if e.Finished {
			outcome = "finished"
		}
		t.ended(now, e.Task, outcome)
	default: // draws nothing
	}
}

// started notes that a run works; one that was given up and began after all is drawn from now on.
func (t *Timeline) started(now cluster.Time, e cluster.TaskStarted) {
	of := t.tasks[e.Task]
	if of == nil {
		return
	}
	if !slices.ContainsFunc(of.runs, func(r run) bool { return r.is(e.Attempt) }) {
		t.begin(now, of, e.Attempt, e.Node)
	}
	t.start(now, of, e.Attempt)
}

// wait notes whether a task waits.
func (t *Timeline) wait(of *task, waits bool) {
	if of == nil || of.waits == waits {
		return
	}
	of.waits, t.changed = waits, true
	if waits {
		t.waiting++
	} else {
		t.waiting--
	}
}

// begin opens a run on the lowest lane of the node that is free.
func (t *Timeline) begin(now cluster.Time, of *task, attempt uint32, on cluster.NodeID) {
	n := t.nodes[on]
	if n == nil {
		return
	}
	lane := slices.Index(n.busy, false)
	if lane < 0 {
		lane = len(n.busy)
		n.busy = append(n.busy, false)
	}
	n.busy[lane] = true
	at := place{n.process, lane + 1}
	if lane >= n.named {
		n.named = lane + 1
		t.to.name("thread_name", at, fmt.Sprintf("task %d", lane+1))
	}
	of.runs = append(of.runs, run{attempt: attempt, node: on, at: at, from: now})
	t.running++
	t.changed = true
	for _, s := range of.served {
		t.ids.arrows++
		t.to.arrow(t.ids.arrows, "evicted for", s, moment{at, now})
	}
	of.served = nil
}

// start notes that the run works; the time before is a slice of its own, so that no slice lies in another.
func (t *Timeline) start(now cluster.Time, of *task, attempt uint32) {
	for i := range of.runs {
		if r := &of.runs[i]; r.is(attempt) && !r.started {
			r.started = true
			if r.from < now {
				t.to.slice(of.name+" starts", r.at, r.from, now)
				r.from = now
			}
		}
	}
}

// decide draws what was decided.
func (t *Timeline) decide(now cluster.Time, d *sched.Decision) {
	of := t.tasks[d.Task]
	if of == nil || of.seq != d.Seq && d.Seq != 0 {
		return
	}
	switch d.Kind {
	case sched.Place:
		t.wait(of, false)
		t.begin(now, of, d.Attempt, d.Node)
	case sched.Evict:
		at := slices.IndexFunc(of.runs, func(r run) bool { return r.is(d.Attempt) })
		if at < 0 {
			return
		}
		r := &of.runs[at]
		r.evicted = true
		t.to.instant("evict", r.at, now, argument{"task", of.name})
		if by := t.tasks[d.Purpose.Task]; d.Purpose.Bundle > 0 && by != nil && by.seq == d.Purpose.Seq && by != of {
			by.served = append(by.served, moment{r.at, now})
		}
	case sched.Resize:
		if len(of.runs) > 0 {
			t.to.instant("resize", of.runs[len(of.runs)-1].at, now, argument{"task", of.name}, argument{"takes", t.amounts(d.Grant)})
		}
	case sched.End:
	}
}

// finish closes a run; its task waits again.
func (t *Timeline) finish(now cluster.Time, of *task, attempt uint32, outcome string) {
	if of == nil {
		return
	}
	at := slices.IndexFunc(of.runs, func(r run) bool { return r.is(attempt) })
	if at < 0 {
		return
	}
	if of.runs[at].evicted && outcome == "left" {
		outcome = "evicted"
	}
	t.draw(now, of, &of.runs[at], outcome)
	of.runs = slices.Delete(of.runs, at, at+1)
	if len(of.runs) == 0 {
		t.wait(of, true)
	}
}

// draw writes a run that is over, or is cut off.
func (t *Timeline) draw(now cluster.Time, of *task, r *run, outcome string) {
	t.to.slice(of.name, r.at, r.from, now,
		argument{"outcome", outcome}, argument{"priority", int(of.priority)}, argument{"asks", t.amounts(t.demands[of.shape])}, argument{"attempt", int(r.attempt)})
	if n := t.nodes[r.node]; n != nil && n.process == r.at.process {
		n.busy[r.at.thread-1] = false
	}
	t.running--
	t.changed = true
}

// amounts are quantities in words.
func (t *Timeline) amounts(v cluster.Vector) (text string) {
	for k, q := range v {
		if q != 0 && k < len(t.kinds) {
			if text != "" {
				text += ", "
			}
			text += t.kinds[k].Name + " " + t.kinds[k].Amount(q)
		}
	}
	return text
}

// ended closes all that a task has, and forgets it.
func (t *Timeline) ended(now cluster.Time, id cluster.TaskID, outcome string) {
	of := t.tasks[id]
	if of == nil {
		return
	}
	for i := range of.runs {
		t.draw(now, of, &of.runs[i], outcome)
	}
	t.wait(of, false)
	delete(t.tasks, id)
}

// lost closes what runs on a node that is gone.
func (t *Timeline) lost(now cluster.Time, id cluster.NodeID) {
	n := t.nodes[id]
	if n == nil {
		return
	}
	for _, row := range slices.Sorted(maps.Keys(t.tasks)) {
		of := t.tasks[row]
		for _, r := range slices.Clone(of.runs) {
			if r.node == id {
				t.finish(now, of, r.attempt, "node lost")
			}
		}
	}
	delete(t.nodes, id)
}

// Anew begins with another core, which knows nothing yet: what is open is cut off.
func (t *Timeline) Anew() {
	t.cut("the recording begins anew")
	t.nodes, t.tasks = map[cluster.NodeID]*node{}, map[cluster.TaskID]*task{}
	t.jobs, t.demands, t.rounds = map[cluster.JobID]string{}, map[cluster.ShapeID]cluster.Vector{}, map[int]cluster.Time{}
	t.waiting, t.last = 0, 0
}

// cut draws what is open up to now.
func (t *Timeline) cut(outcome string) {
	for _, row := range slices.Sorted(maps.Keys(t.tasks)) {
		of := t.tasks[row]
		for i := range of.runs {
			t.draw(t.last, of, &of.runs[i], outcome)
		}
	}
}

// Close draws what is still open up to that moment, and says what went wrong with writing.
func (t *Timeline) Close(now cluster.Time) error {
	t.last = max(now, t.last)
	t.cut("still there at the end")
	return t.to.close()
}
