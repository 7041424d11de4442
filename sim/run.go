package sim

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim/trace"
)

// simulation is one run under way.
type simulation struct {
	cfg    Config
	core   *sched.Core
	kernel kernel
	dice   dice
	meter  meter
	now    cluster.Time
	nodes  nodes
	tasks  tasks

	constraints constraints
	bounds      constraintStats

	stats    stats
	series   series
	heat     heat
	sample   sample
	output   output
	holdings holdings
	waste    *fragmentation // nil: no kind comes in devices
	source   reader
	planner  planning
	in       []cluster.Event // what the core has to be told next
	ended    []ending        // the tasks of which that is the end
	out      []sched.Decision
	stopped  bool
}

// reader holds the next record of the source.
type reader struct {
	record trace.Record
	more   bool // there is one
}

// planning is where the core's rounds stand.
type planning struct {
	rounds    []*sched.Round // in flight, by lane
	wake      cluster.Time   // when the core wants to be called
	effective cluster.Time   // when the last commit is done, and its decisions take effect
	futile    int            // moments with rounds since the last work was under way
}

// newSimulation is a run that has not begun.
func newSimulation(cfg Config) (*simulation, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	kinds := cfg.Source.Kinds()
	if cfg.Classes == nil {
		cfg.Classes = class.Google()
	}
	if err := cfg.Classes.CheckKind(kinds[0]); err != nil {
		return nil, fmt.Errorf("the table of classes: %w", err)
	}
	gaps := &gaps{}
	core, err := sched.New(cluster.NewState(kinds, cfg.Classes.Rows()), gaps.count(cfg.Lanes)...)
	if err != nil {
		return nil, err
	}
	if cfg.Planner.PerTick == 0 {
		cfg.Planner.PerTick = DefaultPerTick
	}
	s := &simulation{
		cfg: cfg, core: core, dice: newDice(cfg.World.Seed), meter: newMeter(cfg.World.Usage, cfg.World.Seed), nodes: newNodes(kinds, cfg.Overcommit), tasks: newTasks(cfg.Classes),
		stats: newStats(kinds, cfg.Classes), series: newSeries(), heat: newHeat(), sample: newSample(mostSampled), holdings: newHoldings(len(kinds), len(cfg.Classes.Classes)),
		bounds:  newConstraintStats(),
		waste:   newFragmentation(kinds, cfg.Typical),
		output:  newOutput(cfg.Output, kinds),
		planner: planning{rounds: make([]*sched.Round, len(cfg.Lanes)), wake: cluster.Never},
	}
	s.tasks.beside = cfg.Beside
	s.stats.gaps = gaps
	if s.stats.priced, err = cfg.Classes.PricedKind(kinds); err != nil {
		return nil, fmt.Errorf("the table of classes: %w", err)
	}
	if cfg.Output.Invoices != nil {
		s.stats.invoices = invoices{}
	}
	s.columns()
	return s, nil
}

// Run simulates. When the source or a checker reports an error, it returns
// what is known so far beside the error. A run that Config.Stop ended is marked
// as interrupted, and is no error.
func Run(cfg Config) (report.Run, error) {
	s, err := newSimulation(cfg)
	if err != nil {
		return report.Run{}, err
	}
	err = s.play()
	s.conclude()
	if flushed := s.output.flush(); err == nil {
		err = flushed
	}
	if cfg.Output.Invoices != nil {
		err = firstError(err, s.stats.invoices.write(cfg.Output.Invoices, s.cfg.Classes, s.nodes.kinds[s.stats.priced].PerUnit))
	}
	result := s.stats.result(cfg.Setup, s.core.View(), s.core.Counts())
	result.Series = s.overTime()
	result.Heat = s.heat.result(s.now, s.core.View(), s.nodeNames())
	result.Sample = s.sample.result()
	result.Constraints = s.bounds.result(s.core.View(), s.now)
	if s.waste != nil {
		kind := s.nodes.kinds[s.nodes.devices].Name
		result.Fragmentation = map[string]report.Fragmentation{kind: {Final: report.Number(s.waste.share(s.core.View()))}}
	}
	result.Interrupted = s.stopped || err != nil
	if err == nil && !s.stopped {
		err = s.audit(&result)
	}
	if s.cfg.Finished != nil {
		s.handOver()
	}
	return result, err
}

// handOver ends what rounds are under way, and gives the core away with the names of
// its tasks.
func (s *simulation) handOver() {
	for _, r := range s.planner.rounds {
		if r != nil {
			s.out = s.core.Finish(r, s.now, s.out[:0])
			s.called(Call{Kind: Finish, Lane: r.Lane(), Out: s.out})
		}
	}
	end := Ending{Core: s.core, Names: make([]string, len(s.tasks.list))}
	for row := range s.tasks.list {
		if t := &s.tasks.list[row]; t.seq != 0 {
			end.Names[row] = t.listed()
		}
	}
	s.cfg.Finished(end)
}

// play lets things happen, moment by moment, until nothing is left to happen.
func (s *simulation) play() error {
	if s.cfg.Planner.Solver {
		s.in = append(s.in, cluster.SolverReady{})
	}
	if err := s.read(); err != nil {
		return err
	}
	if f := &s.cfg.World.Faults; f.Foreign > 0 {
		s.kernel.set(timer{at: s.dice.about(f.Foreign), kind: foreign})
	}
	if every := s.cfg.World.Usage.Every; every > 0 {
		s.kernel.set(timer{at: every, kind: nodesMeasure})
	}
	for step := 0; ; step++ {
		next := s.nextMoment()
		if next == cluster.Never || s.cfg.Until > 0 && next > s.cfg.Until {
			s.pass(s.cfg.Until)
			return nil
		}
		if step&1023 == 0 && s.interrupted() {
			return nil
		}
		s.pass(next)
		if err := s.moment(); err != nil || s.stopped {
			return err
		}
	}
}

// nextMoment is when something happens next.
func (s *simulation) nextMoment() cluster.Time {
	if len(s.in) > 0 {
		return s.now
	}
	if s.idle() {
		return cluster.Never
	}
	s.forget()
	next := min(s.kernel.next(), s.planner.wake)
	if s.source.more {
		next = min(next, s.source.record.Time)
	}
	return next
}

// idle reports whether nothing is left but what goes on for ever: faults, and
// rounds that find no place for what waits, among tasks that never end.
func (s *simulation) idle() bool {
	if s.source.more || s.kernel.busy > 0 {
		return false
	}
	return s.planner.futile > maxFutile || s.core.View().InPhase(cluster.Waiting)+s.core.View().InPhase(cluster.Reserved) == 0
}

// maxFutile is how many moments with rounds may pass while no work is under way
// and none is to come. A policy may try again by chance, and lost nodes return;
// they are given some chances.
const maxFutile = 100

// pass lets time go by.
func (s *simulation) pass(to cluster.Time) {
	if to > s.now {
		s.follow()
		s.stats.advance(to, s.core.View().Totals())
		s.bounds.advance(s.core.View(), s.now, to, s.series.step)
		s.series.advance(s.now, to)
		s.heat.advance(to, s.core.View())
		s.now = to
	}
}

// follow reads what has changed in the core, for what is measured over time.
func (s *simulation) follow() {
	s.holdings.follow(s.core.View())
	s.waste.follow(s.core.View())
	s.bounds.follow(s.core.View())
}

// interrupted reports progress and asks whether to go on.
func (s *simulation) interrupted() bool {
	if s.cfg.Progress != nil {
		c := s.core.Counts()
		t := &s.stats.tasks
		s.cfg.Progress(Progress{Now: s.now, Until: s.cfg.Until, Submitted: t.Submitted, Ended: t.Finished + t.Failed + t.Killed + t.Superseded, Decisions: decisions(c)})
	}
	s.checkStop()
	return s.stopped
}

// checkStop asks whether to end the run: now and then, and after each round, which may
// have taken long.
func (s *simulation) checkStop() { s.stopped = s.stopped || s.cfg.Stop != nil && s.cfg.Stop() }

// moment plays all that happens now: the world first, then the core.
func (s *simulation) moment() error {
	s.fire(roundEnds)
	rounds := s.core.Counts().Rounds
	defer func() {
		switch {
		case s.source.more || s.kernel.busy > 0:
			s.planner.futile = 0
		case s.core.Counts().Rounds > rounds:
			s.planner.futile++
		}
	}()
	if err := s.take(); err != nil {
		return err
	}
	if err := s.observe(); err != nil {
		return err
	}
	if err := s.finishRounds(); err != nil {
		return err
	}
	return s.startRounds()
}

// fire plays the timers of this moment whose kind is below the given one.
func (s *simulation) fire(below uint8) {
	for len(s.kernel.timers) > 0 && s.kernel.timers[0].at <= s.now && s.kernel.timers[0].kind < below {
		t := s.kernel.pop()
		switch t.kind {
		case runEnds:
			if s.tasks.due(t) {
				s.finish(t.task, byItself)
			}
		case runLeaves:
			s.leave(t.task, t.attempt)
		case runBegins:
			s.begin(t)
		case runRefused:
			s.refuse(t)
		case reported:
			s.emit(t.report)
		case nodeFails:
			s.failNode(t.node)
		case nodeReturns:
			s.returnNode(t.node)
		case nodesMeasure:
			s.measure()
		case foreign:
			s.meddle(t)
		}
	}
}

// read fetches the next record of the source.
func (s *simulation) read() error {
	err := s.cfg.Source.Next(&s.source.record)
	s.source.more = err == nil
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// take plays the records of this moment.
func (s *simulation) take() error {
	for n := 1; s.source.more && s.source.record.Time <= s.now; n++ {
		if n&0xffff == 0 && s.interrupted() {
			return nil
		}
		if err := s.apply(&s.source.record); err != nil {
			return fmt.Errorf("trace at %v: %w", s.source.record.Time, err)
		}
		if err := s.read(); err != nil {
			return err
		}
	}
	return nil
}

// apply plays one record.
func (s *simulation) apply(r *trace.Record) error {
	if err := s.checkHistory(r); err != nil {
		return err
	}
	switch r.What {
	case trace.NodeAdded, trace.NodeChanged:
		row := s.nodes.add(&r.Node, s.emit)
		if loss := s.cfg.World.Faults.NodeLoss; loss > 0 && r.What == trace.NodeAdded {
			s.kernel.set(timer{at: s.now + s.dice.about(loss), kind: nodeFails, node: row})
		}
	case trace.NodeLost:
		if row, known := s.nodes.rows[r.Node.ID]; known && s.nodes.list[row].live {
			s.loseNode(row)
		}
	case trace.NodeUsed:
		if row, known := s.nodes.rows[r.Node.ID]; known && s.nodes.list[row].live {
			s.emit(cluster.UsageReported{Node: row, Usage: slices.Clone(r.Node.Usage)})
		}
	case trace.TaskSubmitted:
		if err := s.tasks.checkPromise(&r.Task); err != nil {
			return err
		}
		s.submit(&r.Task)
	case trace.TaskKilled:
		// A task that has ended by its own work here may have been killed
		// later there.
		if row, live := s.tasks.live[taskKey{r.Task.Job, r.Task.Index}]; live {
			s.kill(row)
		}
	case trace.ConstraintAdded:
		return s.constraints.add(&r.Constraint, s.emit)
	case trace.ConstraintRemoved:
		return s.constraints.remove(r.Constraint.Name, s.emit)
	}
	return nil
}

// checkHistory refuses a record of a node that contradicts those before it.
// Where nodes fail by chance as well, the trace cannot know which are there.
func (s *simulation) checkHistory(r *trace.Record) error {
	row, known := s.nodes.rows[r.Node.ID]
	there := known && s.nodes.list[row].live
	switch {
	case !r.What.OfNode() || s.cfg.World.Faults.NodeLoss > 0 || there == (r.What != trace.NodeAdded):
		return nil
	case there:
		return fmt.Errorf("%s: node %d is there already", r.What, r.Node.ID)
	}
	return fmt.Errorf("%s: node %d is not there", r.What, r.Node.ID)
}

// ending reports whether the task has ended in this moment already.
func (s *simulation) ending(row cluster.TaskID) bool {
	for _, e := range s.ended {
		if e.task == row {
			return true
		}
	}
	return false
}

// submit plays the arrival of a task. One that runs on a node that is not there
// waits like any other.
func (s *simulation) submit(r *trace.Task) {
	s.stats.reads.asked = s.stats.reads.asked || len(r.Input) > 0
	row := s.enter(r)
	if !r.Running || s.cfg.Initial != Keep {
		return
	}
	if node, known := s.nodes.rows[r.OnNode]; known && s.nodes.list[node].live {
		s.found(row, node)
	}
}

// enter takes in a task, or the copies of it, of which it returns the first.
func (s *simulation) enter(r *trace.Task) cluster.TaskID {
	r = s.sized(r)
	eligible, input := s.nodes.set(s.tasks.admission(r), s.emit), s.nodes.input(r.Input)
	if s.tasks.replicas(r) > 1 {
		apart := *r
		apart.PerNode = 1
		rows := s.tasks.submitCopies(&apart, s.tasks.shape(&apart, eligible, s.emit), input, s.now, s.emit).copies
		for _, row := range rows {
			s.stats.submitted(s.tasks.list[row].service, s.tasks.demand(row))
		}
		return rows[0]
	}
	row := s.tasks.submit(r, s.tasks.shape(r, eligible, s.emit), input, s.now, s.emit)
	s.stats.submitted(s.tasks.list[row].service, s.tasks.demand(row))
	return row
}

// found lets a task work on a node where nobody here placed it.
func (s *simulation) found(row cluster.TaskID, node cluster.NodeID) {
	t := &s.tasks.list[row]
	t.devices, t.grant = s.nodes.pick(node, t.demand), nil
	s.emit(cluster.TaskFound{Task: row, Seq: t.seq, Node: node, Devices: t.devices})
	// The attempt is the core's to number; a fresh row begins after its base.
	t.node, t.attempt, t.placed = node, s.nextAttempt(row), true
	t.runs++
	t.warm = append(t.warm, node)
	s.nodes.arrive(row, node, t.takes())
	s.work(row)
	if t.job.foreign {
		return
	}
	s.stats.placed(t.service, 0, false)
}

// nextAttempt is the number that the core will give to the next run of the
// row: one more than its last.
func (s *simulation) nextAttempt(row cluster.TaskID) uint32 {
	if int(row) >= s.core.View().TaskRows() {
		return 1
	}
	return s.core.View().Task(row).Attempt + 1
}

// observe tells the core what happened, and carries out what it decides at once.
func (s *simulation) observe() error {
	for len(s.in) > 0 || len(s.ended) > 0 {
		in, ended := s.in, s.ended
		s.in, s.ended = nil, nil
		retired := len(s.tasks.retired)
		out, err := s.core.Observe(s.now, in, s.out[:0])
		s.called(Call{Kind: Observe, In: in, Out: out})
		if err != nil {
			return err
		}
		s.out = out
		for _, row := range s.tasks.retired[:retired] {
			s.tasks.jobRows.Give(uint32(row))
		}
		s.tasks.retired = s.tasks.retired[:copy(s.tasks.retired, s.tasks.retired[retired:])]
		s.settle(in, ended)
		s.reuse(in, ended)
		if err := s.carryOut(out); err != nil {
			return err
		}
	}
	return nil
}

// reuse gives the memory of what was told back, unless something new has come
// meanwhile.
func (s *simulation) reuse(in []cluster.Event, ended []ending) {
	s.in = append(in[:0], s.in...)
	s.ended = append(ended[:0], s.ended...)
}

// settle takes stock of what the core was just told: who ran for the first
// time, and who is done.
func (s *simulation) settle(in []cluster.Event, ended []ending) {
	state := s.core.View()
	for _, e := range in {
		started, ok := e.(cluster.TaskStarted)
		if !ok {
			continue
		}
		t := &s.tasks.list[started.Task]
		row := state.Task(started.Task)
		s.adopt(started, row)
		if !t.placed && t.seq == row.Seq && row.Account.FirstRun != cluster.Never && !t.job.foreign {
			t.placed = true
			s.stats.placed(t.service, row.Account.FirstRun-row.Account.Submitted, true)
		}
	}
	for _, e := range ended {
		s.settleEnd(e)
	}
}

func (s *simulation) settleEnd(e ending) {
	t := &s.tasks.list[e.task]
	row := s.core.View().Task(e.task)
	if !t.job.foreign {
		if e.why == byItself && !t.fails && t.job.copied && t.job.done > 0 {
			e.why = superseded // at the same moment, by one that came first
		}
		s.stats.ended(t, row.Account, e.why)
		s.output.end(t, howEnded(t, e.why), row.Account, "")
		if response := row.Account.Since - row.Account.Submitted; e.why == byItself && !t.fails {
			t.job.done++
			t.job.slowest = max(t.job.slowest, response)
			s.sample.add(t, row.Account)
		}
	}
	if j, over := s.tasks.end(e.task, s.emit); over {
		s.jobOver(j)
	}
}

func howEnded(t *task, why cause) string {
	switch {
	case why == killed:
		return "kill"
	case why == superseded:
		return "superseded"
	case t.fails:
		return "fail"
	}
	return "finish"
}

// jobOver counts a job all of whose tasks are done.
func (s *simulation) jobOver(j *job) {
	if j.done > 0 && (j.done == j.submitted || j.copied) {
		s.stats.jobs.Add(j.slowest)
	}
}

// finishRounds commits the rounds whose thinking time is over.
func (s *simulation) finishRounds() error {
	for len(s.kernel.timers) > 0 && s.kernel.timers[0].at <= s.now && s.kernel.timers[0].kind == roundEnds {
		lane := s.kernel.pop().lane
		start := s.clock()
		s.out = s.core.Finish(s.planner.rounds[lane], s.now, s.out[:0])
		s.committed(s.clock() - start)
		s.called(Call{Kind: Finish, Lane: lane, Out: s.out})
		s.planner.rounds[lane] = nil
		if err := s.carryOut(s.out); err != nil {
			return err
		}
		if err := s.observe(); err != nil {
			return err
		}
	}
	return nil
}

// committed charges what a commit took. How long that is, only it can say: what it
// decided is a fact for the core at once, and takes effect in the world that much later.
func (s *simulation) committed(took cluster.Time) {
	s.stats.wall += took
	if s.cfg.Planner.Time == Measured {
		s.stats.charged += took
		s.planner.effective = max(s.planner.effective, s.now) + took
	}
}

// startRounds runs the rounds that are due. Where thinking takes time, what
// they decide takes effect when that time is over.
func (s *simulation) startRounds() error {
	s.follow()
	if s.cfg.Planner.Time == Zero {
		start := s.clock()
		out, wake, err := s.core.Step(s.now, nil, s.out[:0])
		s.stats.wall += s.clock() - start
		s.called(Call{Kind: Step, Out: out})
		s.out, s.planner.wake = out, wake
		s.checkStop()
		if err != nil {
			return err
		}
		return s.carryOut(out)
	}
	for s.planner.effective <= s.now && !s.stopped {
		lane, due := s.core.Due(s.now)
		if !due {
			break
		}
		start := s.clock()
		r := s.core.Begin(lane, s.now)
		r.Run(0)
		measured := s.clock() - start
		s.called(Call{Kind: Begin, Lane: lane})
		s.checkStop()
		s.stats.wall += measured
		charge := measured
		if s.cfg.Planner.Time == Ticks {
			charge = cluster.Time((r.Ticks()*s.cfg.Planner.PerTick + 999) / 1000)
		}
		s.stats.charged += charge
		s.planner.rounds[lane] = r
		s.kernel.set(timer{at: s.now + max(charge, 1), kind: roundEnds, lane: lane})
	}
	s.planner.wake = max(s.core.Wake(s.now), s.planner.effective)
	return nil
}

// clock is the wall clock, or always 0 without one.
func (s *simulation) clock() cluster.Time {
	if s.cfg.Planner.Clock == nil {
		return 0
	}
	return s.cfg.Planner.Clock()
}
