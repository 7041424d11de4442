package sim

import (
	"cmp"
	linked "container/list"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// tasks is the world's own book of jobs and tasks: which row stands for which
// task of the trace, and what it has physically done.
type tasks struct {
	rows      cluster.Rows
	jobRows   cluster.Rows
	list      []*task // by row; those of a slab lie side by side
	slab      []task  // what is left of the last one
	live      map[taskKey]cluster.TaskID
	jobs      map[uint64]*job
	seq       cluster.Seq
	classes   *class.Table
	beside    bool            // the workload is of two sources
	foretells bool            // the core is told how long tasks will run
	retired   []cluster.JobID // job rows that are free once the core was told
	shapes
}

// taskKey names a task as its trace does.
type taskKey struct {
	job   uint64
	index uint32
}

// shapes is the part of the book that says which row stands for which shape.
// A shape without tasks is kept for a while, because most come back.
type shapes struct {
	named   map[string]cluster.ShapeID
	usage   []shapeUsage     // by shape
	demands []cluster.Vector // by shape
	freed   cluster.Rows     // hands out rows
	unused  *linked.List     // shapes without tasks, the longest unused first
	key     []byte           // scratch
}

// shapeUsage says how many tasks have a shape.
type shapeUsage struct {
	key   string
	tasks int
	place *linked.Element // among the unused; nil while there are tasks
}

// maxUnused is how many shapes without tasks are remembered: more than Google's
// traces have in all, and few enough where every task has a shape of its own.
const maxUnused = 4096

// job is what the world knows of a job. Where nobody knows how many tasks it
// has, it is over when its last task ends; if it submits more later, those are
// another job.
type job struct {
	id        uint64
	row       cluster.JobID
	user      string
	foreign   bool // of an injected fault, not of the trace
	beside    bool // of the second of two sources, which has its own number for it
	expected  int  // tasks in all; 0 if unknown, where each may be the last
	submitted int
	live      int
	done      int // finished by themselves
	slowest   cluster.Time
	copies    []cluster.TaskID // live ones, where its tasks are copies of one another
	copied    bool             // they are
	due       *dueJob          // nil: nobody says when it is to be done
}

// runPhase is where a task's present run physically stands.
type runPhase uint8

const (
	idle      runPhase = iota // no run
	beginning                 // allocated, not yet working
	working
	leavingNow // told to go, still there
)

// task is what the world knows of a task.
type task struct {
	identity
	effort

	seq          cluster.Seq // 0: the row is free
	job          *job
	service      cluster.ClassID
	priority     int32
	shape        cluster.ShapeID
	tags         []string
	demand       cluster.Vector // the least that it takes
	most         cluster.Vector // the most; nil where that is the same
	copy         int32          // which copy of the trace's task it is, from 1 on; 0: there are none
	perNode      int32
	fails        bool
	placed       bool // has run at some time
	submitted    cluster.Time
	usage        usage
	requirements []cluster.Requirement

	phase   runPhase
	node    cluster.NodeID
	devices cluster.DeviceSet
	grant   cluster.Vector // what the run takes; nil is the demand
	attempt uint32
	runs    int              // so far
	silent  bool             // the core may not know yet that the present run works
	orphans []orphan         // runs beside the present one
	warm    []cluster.NodeID // where it has run, for hot allocations
}

// identity is who a task is to its trace.
type identity struct {
	index   uint32
	name    string // empty: its job and index
	latency uint8  // the class that the trace names, 0 to 3; what it promises is a service class, and stands elsewhere
	owner   string // empty: nobody says
	pinned  bool   // it belongs to its node
	single  bool   // nobody makes it again
	gate    string // what keeps it from being placed; empty: nothing
	others  string // the scheduler that places it, if that is another
}

// inUse reports whether somebody is on the node who does not belong to it.
func (b *tasks) inUse(s *cluster.View, n cluster.NodeID) bool {
	return slices.ContainsFunc(s.TasksOn(n), func(t cluster.TaskID) bool { return !b.list[t].pinned })
}

// called is what people call the task.
func (t *task) called() string {
	switch own, _ := trace.OwnJob(t.job.id); {
	case t.name != "" || t.copy != 0:
		return t.listed()
	case t.job.beside:
		return fmt.Sprintf("task %d of job %d of --beside", t.index, own)
	}
	return fmt.Sprintf("task %d of job %d", t.index, t.job.id)
}

// listed is what lists for people call the task: its label, or else its job and index.
func (t *task) listed() string {
	name := t.name
	if name == "" {
		name = numbered(t.job.id, t.index, t.job.beside)
	}
	if t.copy != 0 {
		name += fmt.Sprintf("#%d", t.copy)
	}
	return name
}

// numbered is a task by its job and index: 17/3, or beside:17/3 where a source beside the
// workload's calls it that.
func numbered(job uint64, index uint32, beside bool) string {
	if own, _ := trace.OwnJob(job); beside {
		return fmt.Sprintf("beside:%d/%d", own, index)
	}
	return fmt.Sprintf("%d/%d", job, index)
}

// label is the task's name in files: that of the trace, and which copy it is; empty
// where neither says anything.
func (t *task) label() string {
	switch {
	case t.copy == 0:
		return t.name
	case t.name == "":
		return fmt.Sprintf("%d/%d#%d", t.job.id, t.index, t.copy)
	}
	return fmt.Sprintf("%s#%d", t.name, t.copy)
}

// orphan is a run of a task that was given up and began after all.
type orphan struct {
	attempt uint32
	node    cluster.NodeID
	room
}

func newTasks(classes *class.Table) tasks {
	return tasks{
		classes: classes, live: map[taskKey]cluster.TaskID{}, jobs: map[uint64]*job{},
		shapes: shapes{named: map[string]cluster.ShapeID{}, unused: linked.New()},
	}
}

// shape returns the row of the shape for one more task, and defines it if it
// is new.
func (b *shapes) shape(r *trace.Task, in sets, emit func(cluster.Event)) cluster.ShapeID {
	b.key = b.key[:0]
	for _, q := range r.Demand {
		b.key = binary.AppendVarint(b.key, q)
	}
	for _, q := range r.Max {
		b.key = binary.AppendVarint(b.key, q)
	}
	b.key = binary.AppendUvarint(b.key, uint64(in.eligible))
	b.key = binary.AppendVarint(b.key, int64(r.PerNode))
	for _, is := range []bool{r.NeverPreempts, r.Unowned} {
		if is {
			b.key = append(b.key, 1)
		} else {
			b.key = append(b.key, 0)
		}
	}
	b.key = binary.AppendUvarint(b.key, uint64(len(in.prefers)))
	for _, p := range in.prefers {
		b.key = binary.AppendVarint(binary.AppendUvarint(b.key, uint64(p.Set)), int64(p.Weight))
	}
	for _, tag := range r.Tags {
		b.key = append(binary.AppendUvarint(b.key, uint64(len(tag))), tag...)
	}
	if id, ok := b.named[string(b.key)]; ok {
		u := &b.usage[id]
		u.tasks++
		if u.place != nil {
			b.unused.Remove(u.place)
			u.place = nil
		}
		return id
	}
	id := cluster.ShapeID(b.freed.Take())
	if int(id) == len(b.demands) {
		b.demands = append(b.demands, nil)
		b.usage = append(b.usage, shapeUsage{})
	}
	key, demand := string(b.key), slices.Clone(r.Demand)
	b.named[key] = id
	b.usage[id] = shapeUsage{key: key, tasks: 1}
	b.demands[id] = demand
	emit(cluster.ShapeDefined{Shape: id, Spec: cluster.Shape{Demand: demand, Max: slices.Clone(r.Max), Eligible: in.eligible, Prefers: slices.Clone(in.prefers), PerNode: r.PerNode, NeverPreempts: r.NeverPreempts, Stays: r.Unowned, Tags: slices.Clone(r.Tags)}})
	return id
}

// release counts a task out whose end the core has seen, and forgets the shape
// that was unused for longest where there are too many. Its row may be used
// again at once, since the core is told in order.
func (b *shapes) release(id cluster.ShapeID, emit func(cluster.Event)) {
	u := &b.usage[id]
	u.tasks--
	if u.tasks > 0 {
		return
	}
	u.place = b.unused.PushBack(id)
	if b.unused.Len() <= maxUnused {
		return
	}
	oldest, _ := b.unused.Remove(b.unused.Front()).(cluster.ShapeID)
	delete(b.named, b.usage[oldest].key)
	b.usage[oldest], b.demands[oldest] = shapeUsage{}, nil
	emit(cluster.ShapeForgotten{Shape: oldest})
	b.freed.Give(uint32(oldest))
}

// submit takes in a task, and its job if that is new, and tells the core. A
// trace may submit a task again that has ended there and not yet here: then the
// name goes to the newer one, and both run.
func (b *tasks) submit(r incoming, shape cluster.ShapeID, input []cluster.Block, now cluster.Time, emit func(cluster.Event)) cluster.TaskID {
	key := taskKey{r.Job, r.Index}
	j := b.jobs[r.Job]
	if j == nil {
		j = &job{id: r.Job, row: cluster.JobID(b.jobRows.Take()), user: r.User, beside: b.isBeside(r.Job), expected: int(r.JobTasks), due: newDue(r, now)}
		b.jobs[r.Job] = j
		emit(cluster.JobSubmitted{Job: j.row, Name: cmp.Or(r.Owner, strconv.FormatUint(r.Job, 10)), User: r.User, Together: r.Together, LongRunning: r.LongRunning, Service: r.Service, Foreign: r.Foreign != "", Gang: gangOf(r.Task), Due: j.due.deadline()})
	}
	row := b.enter(j, r, shape, now)
	b.live[key] = row
	t := b.list[row]
	emit(cluster.TaskSubmitted{Task: row, Seq: t.seq, Job: j.row, Shape: shape, Class: t.service, Priority: r.Priority, Gated: r.Gate != "" || r.Foreign != "", Input: input, Lasts: b.foretold(r.Task)})
	return row
}

// foretold is what the core is told of how long a run of the task will work: with the least that it asks for, of one that takes more or less, and
// at the speed of its work, of one that is faster on some nodes.
func (b *tasks) foretold(r *trace.Task) cluster.Time {
	if !b.foretells {
		return 0
	}
	return max(r.Work, 1) // 0 is that nobody says
}

// gangOf is how many of the task's job are placed together or not at all; what another scheduler places is none of our business.
func gangOf(t *trace.Task) int32 {
	if t.Foreign != "" {
		return 0
	}
	return t.Gang
}

// isBeside reports whether the job is of the second of two sources.
func (b *tasks) isBeside(job uint64) bool {
	_, is := trace.OwnJob(job)
	return b.beside && is
}

// enter notes one more task of the job.
func (b *tasks) enter(j *job, r incoming, shape cluster.ShapeID, now cluster.Time) cluster.TaskID {
	row := b.newTask(j)
	t := b.list[row]
	t.identity = identity{r.Index, r.Name, r.Class, r.Owner, r.Pinned, r.Unowned, r.Gate, r.Foreign}
	t.priority, t.service = r.Priority, r.service
	t.demand = b.demands[shape]
	if r.Max != nil && !slices.Equal(r.Max, r.Demand) {
		t.most = slices.Clone(r.Max)
	}
	t.shape, t.perNode, t.fails, t.submitted, t.work = shape, r.PerNode, r.Fails, now, r.Work
	t.tags, t.speeds = slices.Clone(r.Tags), nil
	if len(r.Speeds) > 0 {
		t.speeds = slices.Clone(r.Speeds)
	}
	t.requirements = nil
	if len(r.Requirements) > 0 {
		t.requirements = slices.Clone(r.Requirements)
	}
	return row
}

// newTask takes a row for one more task of the job.
func (b *tasks) newTask(j *job) cluster.TaskID {
	j.submitted++
	j.live++
	row := cluster.TaskID(b.rows.Take())
	for int(row) >= len(b.list) {
		b.list = append(b.list, b.spare())
	}
	t := b.list[row]
	b.seq++
	*t = task{seq: b.seq, job: j, node: cluster.NoNode, orphans: t.orphans[:0], warm: t.warm[:0]}
	return row
}

// slabSize is how many tasks are made at once. A table of tasks would be copied each time that it grows: they are large, and mostly come for as long as the run goes on.
const slabSize = 64

// spare is a task for a row that has never been used.
func (b *tasks) spare() *task {
	if len(b.slab) == 0 {
		b.slab = make([]task, slabSize)
	}
	t := &b.slab[0]
	b.slab = b.slab[1:]
	return t
}

// end forgets a task whose TaskEnded the core has seen, and its job after the
// last task.
func (b *tasks) end(row cluster.TaskID, emit func(cluster.Event)) (j *job, over bool) {
	t := b.list[row]
	j = t.job
	b.unname(row)
	b.release(t.shape, emit)
	t.seq, t.job = 0, nil
	b.rows.Give(uint32(row))
	j.live--
	if j.live > 0 || j.submitted < j.expected {
		return j, false
	}
	if !j.foreign && !j.copied {
		delete(b.jobs, j.id)
	}
	emit(cluster.JobForgotten{Job: j.row})
	b.retired = append(b.retired, j.row)
	return j, true
}

// freeJobs gives back the rows of the first count jobs that are over, as the core has heard
// of that.
func (b *tasks) freeJobs(count int) {
	for _, row := range b.retired[:count] {
		b.jobRows.Give(uint32(row))
	}
	b.retired = b.retired[:copy(b.retired, b.retired[count:])]
}

// incoming is a task as it comes, with its class.
type incoming struct {
	*trace.Task
	service  cluster.ClassID
	promised *class.Class
}

// arrives finds out what is promised to the task: what its record says, or else what goes
// with its priority. A task that names a class which there is not is refused.
func (b *tasks) arrives(r *trace.Task) (incoming, error) {
	id, err := b.classes.Of(r.Promise, r.Promise != "", r.Priority)
	if err == nil {
		return incoming{r, id, &b.classes.Classes[id]}, nil
	}
	name := r.Name
	if name == "" {
		name = numbered(r.Job, r.Index, b.isBeside(r.Job))
	}
	return incoming{}, fmt.Errorf("task %s: promise %q: %w", name, r.Promise, err)
}
