package experiment

import (
	"fmt"
	"runtime"
	"time"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/request"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/place"
)

// This file measures by the clock how long short tasks wait while applications are planned
// beside them: a core as a real edge would drive it. Short tasks arrive at fixed moments,
// whether or not the core is behind; plans for applications are made on a goroutine of their
// own, and only the beginning and the commit of a round hold up the core.

// clocked is a run of both lanes by the clock.
type clocked struct {
	policy string // of the short tasks
	took   report.Histogram
	plan   report.Histogram // how long rounds of the applications planned
	held   report.Histogram // how long their beginnings and commits held up the core
	late   int              // short tasks that had no place within the run
}

// What arrives, beside lots of applications.
const (
	shortEvery = 2 * cluster.Millisecond
	shortWork  = 2 * cluster.Second
	shortSizes = 20
)

// edge is a core and what its world has to remember.
type edge struct {
	*clocked
	b       *beside
	core    *sched.Core
	begun   time.Time
	rows    cluster.Rows
	seq     cluster.Seq
	shapes  map[string]cluster.ShapeID
	arrived []cluster.Time // by task row: when a short task came, that waits; else Never
	ends    []cluster.TaskEnded
	endAt   []cluster.Time // of ends, ascending
	events  []cluster.Event
	out     []sched.Decision
	lots    [][]cluster.Event // of applications that are to come
	round   *sched.Round
	done    chan struct{}
}

// run drives a core for so long, with a lot of applications in each interval, or with all of
// them placed already.
func (c *clocked) run(b *beside, placed constraint.Assignment, length cluster.Time, o *Options) error {
	r := bothLanes{policy: c.policy}
	lanes, err := r.lanes(b, o)
	if err != nil {
		return err
	}
	lanes[0].When = sched.Trigger{Heartbeat: cluster.Day} // its rounds are begun here, beside the core
	core, err := sched.New(cluster.NewState(b.problem.Problem.Kinds, nil), lanes...)
	if err != nil {
		return err
	}
	e := &edge{clocked: c, b: b, core: core, shapes: map[string]cluster.ShapeID{}}
	if err := e.found(placed); err != nil {
		return err
	}
	runtime.GC() // what was built is not the run's
	e.begun = time.Now()
	next, due := 0, cluster.Time(0)
	for due < length {
		due = cluster.Time(next) * shortEvery
		for now := e.now(); now < due; now = e.now() {
			if due-now > 200*cluster.Microsecond {
				time.Sleep(100 * time.Microsecond)
			}
		}
		for ; cluster.Time(next)*shortEvery <= e.now(); next++ {
			e.short(next)
		}
		if err := e.step(); err != nil {
			return err
		}
		if err := e.beside(length); err != nil {
			return err
		}
	}
	if e.round != nil {
		<-e.done
	}
	for _, at := range e.arrived {
		if at != cluster.Never {
			c.late++
		}
	}
	return nil
}

// now is the time since the run began.
func (e *edge) now() cluster.Time { return cluster.Time(time.Since(e.begun).Microseconds()) }

// found builds the cluster from its records. Applications that are to come are kept, lot by
// lot.
func (e *edge) found(placed constraint.Assignment) error {
	source := place.New(request.New(e.b.problem.Problem, e.b.problem.Parts), place.Options{Together: e.b.together, Every: cluster.Second, Priority: place.DefaultPriority, Placed: placed})
	e.begun = time.Now()
	constraints, jobs := cluster.ConstraintID(0), map[uint64]bool{}
	for size := range int64(shortSizes) { // from a quarter of a core and half a GiB, in such steps
		e.shape(cluster.Vector{250 * (1 + size%5), (1 + size/5) << 29}, nil)
	}
	e.events = append(e.events, cluster.JobSubmitted{Job: cluster.JobID(len(e.b.problem.Problem.Applications) + 1), Name: "short"})
	var r trace.Record
	for source.Next(&r) == nil {
		switch r.What {
		case trace.NodeAdded:
			e.events = append(e.events, cluster.NodeAdded{Node: cluster.NodeID(r.Node.ID - 1), Spec: cluster.NodeSpec{Name: r.Node.Name, Capacity: r.Node.Capacity, Groups: r.Node.Groups}})
		case trace.ConstraintAdded:
			e.events = append(e.events, cluster.ConstraintDefined{Constraint: constraints, Spec: r.Constraint})
			constraints++
		case trace.TaskSubmitted:
			if lot := int(r.Time / cluster.Second); !r.Task.Running && lot == len(e.lots) {
				e.endLot(lot)
			}
			if !jobs[r.Task.Job] {
				jobs[r.Task.Job] = true
				e.events = append(e.events, cluster.JobSubmitted{Job: cluster.JobID(r.Task.Job), Name: r.Task.User, LongRunning: r.Task.LongRunning})
			}
			task := e.submit(cluster.JobID(r.Task.Job), e.shape(r.Task.Demand, r.Task.Tags), r.Task.Priority)
			if r.Task.Running {
				e.events = append(e.events, cluster.TaskFound{Task: task.Task, Seq: task.Seq, Node: cluster.NodeID(r.Task.OnNode - 1)})
			}
		case trace.NodeChanged, trace.NodeLost, trace.NodeUsed, trace.TaskKilled, trace.ConstraintRemoved, trace.BudgetAdded:
		}
	}
	e.endLot(len(e.lots))
	first := e.lots[0]
	e.lots = e.lots[1:]
	var err error
	e.out, err = e.core.Observe(0, first, e.out[:0])
	return err
}

// endLot ends a lot: the first holds the cluster as it is before any application comes.
func (e *edge) endLot(lot int) {
	if lot == len(e.lots) {
		e.lots = append(e.lots, e.events)
		e.events = nil
	}
}

// shape is the shape of that demand with these tags.
func (e *edge) shape(demand cluster.Vector, tags []string) cluster.ShapeID {
	key := fmt.Sprint(demand, tags)
	id, known := e.shapes[key]
	if !known {
		id = cluster.ShapeID(len(e.shapes))
		e.shapes[key] = id
		e.events = append(e.events, cluster.ShapeDefined{Shape: id, Spec: cluster.Shape{Demand: demand, Tags: tags}})
	}
	return id
}

// submit lets a task come.
func (e *edge) submit(job cluster.JobID, shape cluster.ShapeID, priority int32) cluster.TaskSubmitted {
	row := e.rows.Take()
	for int(row) >= len(e.arrived) {
		e.arrived = append(e.arrived, cluster.Never)
	}
	e.seq++
	task := cluster.TaskSubmitted{Task: cluster.TaskID(row), Seq: e.seq, Job: job, Shape: shape, Priority: priority}
	e.events = append(e.events, task)
	return task
}

// short lets the short task of that number come.
func (e *edge) short(number int) {
	task := e.submit(cluster.JobID(len(e.b.problem.Problem.Applications)+1), cluster.ShapeID(number%shortSizes), 0)
	e.arrived[task.Task] = cluster.Time(number) * shortEvery
}

// step gives the core what happened, lets it decide for the short tasks, and lets begin
// what it decides.
func (e *edge) step() error {
	now := e.now()
	for len(e.endAt) > 0 && e.endAt[0] <= now {
		e.events = append(e.events, e.ends[0])
		e.rows.Give(uint32(e.ends[0].Task))
		e.ends, e.endAt = e.ends[1:], e.endAt[1:]
	}
	var err error
	e.out, _, err = e.core.Step(now, e.events, e.out[:0])
	e.events = e.events[:0]
	e.begin()
	return err
}

// begin lets runs begin that were decided. Short ones have waited until now, and end in a
// while.
func (e *edge) begin() {
	now := e.now()
	for _, d := range e.out {
		if d.Kind != sched.Place {
			continue
		}
		e.events = append(e.events, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node, Devices: d.Devices, Grant: d.Grant})
		if came := e.arrived[d.Task]; came != cluster.Never {
			e.took.Add(now - came)
			e.arrived[d.Task] = cluster.Never
			e.ends = append(e.ends, cluster.TaskEnded{Task: d.Task, Seq: d.Seq, Finished: true})
			e.endAt = append(e.endAt, now+shortWork)
		}
	}
}

// beside begins the next round for applications when its time has come, and commits the one
// whose plan is ready.
func (e *edge) beside(length cluster.Time) error {
	const longLane = 0
	if e.round != nil {
		select {
		case <-e.done:
		default:
			return nil
		}
		start := e.now()
		e.out = e.core.Finish(e.round, start, e.out[:0])
		e.round = nil
		e.held.Add(e.now() - start)
		e.begin()
	}
	all := (len(e.b.problem.Problem.Applications) + e.b.together - 1) / e.b.together
	if left := len(e.lots); left == 0 || e.now() < length*cluster.Time(all-left)/cluster.Time(all) {
		return nil
	}
	start := e.now()
	var err error
	if e.out, err = e.core.Observe(start, e.lots[0], e.out[:0]); err != nil {
		return err
	}
	e.begin()
	e.lots = e.lots[1:]
	round, done := e.core.Begin(longLane, start), make(chan struct{})
	e.round, e.done = round, done
	e.held.Add(e.now() - start)
	go func() {
		planned := time.Now()
		round.Run(0)
		e.plan.Add(cluster.Time(time.Since(planned).Microseconds()))
		close(done)
	}()
	return nil
}

// clockFact says what is measured.
func clockFact(length cluster.Time, lots int) string {
	return fmt.Sprintf("By the clock of this machine, %d processors: for %v a short task every %v, of 0.25 to 1.25 cores, for %v; %d lots of applications in that time, planned on a goroutine of their own. The wait is from when a task was due to arrive until it is decided where it runs.",
		runtime.GOMAXPROCS(0), length, shortEvery, shortWork, lots)
}

// concludeClocks holds the measured runs of each policy against each other.
func concludeClocks(measured []*[2]clocked, names []string, r *report.Reproduction) {
	figure := report.Figure{
		Title: "Wait of short tasks for a decision, by the clock", Cumulative: true,
		X: report.Axis{Label: "wait", Unit: report.InSeconds, Log: true}, Y: report.Axis{Label: "share of short tasks", Unit: report.InShares},
	}
	for _, policy := range names {
		var sum [2]clocked
		for _, pair := range measured {
			for i := range pair {
				if pair[i].policy == policy {
					sum[i].add(&pair[i])
				}
			}
		}
		for i, name := range []string{"beside", "already"} {
			figure.Lines = append(figure.Lines, report.Line{Name: policy + ", " + name, Points: sum[i].took.Curve()})
		}
		row := slower(policy+", by the clock", &sum[0].took, &sum[1].took)
		row.Note += fmt.Sprintf("; %d and %d had no place by the end", sum[0].late, sum[1].late)
		longest := report.Seconds(sum[0].held.Max())
		r.Compared = append(r.Compared, row, report.Compared{
			What: policy + ": longest that a round of the applications' lane held up the core", Unit: report.InSeconds, Ours: &longest,
			Note: fmt.Sprintf("beginnings and commits of %d rounds, %s in the median; their plans took %s in the median, beside the core", sum[0].plan.Count(), brief(sum[0].held.Quantile(0.5)), brief(sum[0].plan.Quantile(0.5))),
		})
	}
	r.Figures = append(r.Figures, figure)
}

// add adds what another run measured.
func (c *clocked) add(o *clocked) {
	c.took.Merge(&o.took)
	c.plan.Merge(&o.plan)
	c.held.Merge(&o.held)
	c.late += o.late
}
