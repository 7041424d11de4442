package sim

import (
	"cmp"
	"fmt"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/power"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
)

// This file is the order in which the parts of a run have their turn. Time goes from one moment
// to the next at which something happens. In each, the world comes first, timers before what the
// trace brings; then the core is told, and what it decides is carried out, until neither has
// anything left for the other.

// simulation is one run under way. Each of its parts keeps its own, and knows those that it
// needs; what needs several of them in turn is done here.
type simulation struct {
	cfg         Config
	stopped     bool // before its end
	kernel      kernel
	nodes       nodes
	tasks       tasks
	constraints constraints
	budgets     budgets
	outbox      outbox
	planner     planner
	runs        runs
	upkeep
	replay   replay
	checker  checker
	measures *measures
}

// upkeep is what happens to nodes of which no record speaks: they fail, are switched, and measure.
type upkeep struct {
	injector injector
	switches switches
	meter    meter
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
	if cfg.Planner.PerTick == 0 {
		cfg.Planner.PerTick = DefaultPerTick
	}
	services, err := newServices(kinds, cfg.Classes, cfg.Output.Invoices != nil)
	if err != nil {
		return nil, err
	}
	s := &simulation{cfg: cfg, nodes: newNodes(kinds, cfg.Overcommit), tasks: newTasks(cfg.Classes)}
	s.nodes.switched = cfg.World.Switches.OffAfter > 0
	s.tasks.beside, s.tasks.foretells = cfg.Beside, cfg.World.Foretells
	s.measures = newMeasures(&s.cfg, &s.nodes, &s.tasks, services)
	classes := cfg.Classes.Rows()
	for i := range classes {
		classes[i].KeepsWork = classes[i].KeepsWork || cfg.World.KeepWork
	}
	core, err := sched.New(cluster.NewState(kinds, classes), s.measures.gaps.count(cfg.Lanes)...)
	if err != nil {
		return nil, err
	}
	core.SetFilters(s.switches.keepsOff)
	s.measures.sampleColumns(core, kinds, cfg.Classes)
	s.connect(core)
	return s, nil
}

// connect tells each part of those that it needs.
func (s *simulation) connect(core *sched.Core) {
	world, dice := &s.cfg.World, newDice(s.cfg.World.Seed)
	s.outbox = outbox{faults: &world.Faults, dice: dice, kernel: &s.kernel}
	s.planner = planner{
		cost: s.cfg.Planner, calls: s.onCall(), core: core, kernel: &s.kernel,
		rounds: make([]*sched.Round, len(s.cfg.Lanes)), wake: cluster.Never,
	}
	s.budgets.kernel, s.budgets.tasks = &s.kernel, &s.tasks
	s.runs = runs{
		world: world, dice: dice, kernel: &s.kernel, nodes: &s.nodes, tasks: &s.tasks,
		outbox: &s.outbox, planner: &s.planner, measures: s.measures, budgets: &s.budgets, overheads: overheads{world: world, dice: dice}, given: map[run]given{},
	}
	s.injector = injector{faults: &world.Faults, dice: dice, kernel: &s.kernel, nodes: &s.nodes, tasks: &s.tasks, outbox: &s.outbox, runs: &s.runs}
	s.switches = switches{
		rules: world.Switches, meter: power.NewMeter(s.nodes.kinds, world.Power), state: core.View(),
		kernel: &s.kernel, nodes: &s.nodes, outbox: &s.outbox,
	}
	s.switches.begin()
	s.replay = replay{
		source: s.cfg.Source, lossy: world.Faults.NodeLoss > 0, initial: s.cfg.Initial, kernel: &s.kernel, nodes: &s.nodes, tasks: &s.tasks,
		constraints: &s.constraints, budgets: &s.budgets, outbox: &s.outbox, runs: &s.runs, injector: &s.injector, measures: s.measures,
	}
	s.meter = newMeter(world.Usage, world.Seed)
	s.meter.kernel, s.meter.nodes, s.meter.tasks, s.meter.outbox = &s.kernel, &s.nodes, &s.tasks, &s.outbox
	s.checker = checker{&s.nodes, &s.tasks, &s.constraints}
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
	err = cmp.Or(err, s.measures.output.flush())
	if cfg.Output.Invoices != nil {
		err = cmp.Or(err, s.measures.services.invoices.write(cfg.Output.Invoices, s.cfg.Classes, s.measures.services.unit))
	}
	counts := s.planner.core.Counts()
	result := report.Run{
		Setup: cfg.Setup, Simulated: report.Seconds(s.kernel.now),
		Planner: report.NewPlanner(int(counts.Rounds), int(decisions(counts)), s.planner.charged, s.planner.wall.Seconds()),
	}
	s.measures.result(s.planner.view(), s.kernel.now, &result)
	result.Tasks.WithoutPlacement = int(counts.WithoutPlacement)
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
	s.planner.giveUp()
	end := Ending{Core: s.planner.core, Names: make([]string, len(s.tasks.list)), Owners: make([]string, len(s.tasks.list))}
	end.Pinned, end.Gates = make([]bool, len(s.tasks.list)), make([]string, len(s.tasks.list))
	end.Guards = s.budgets.guards(len(s.tasks.list))
	for row := range s.tasks.list {
		if t := s.tasks.list[row]; t.seq != 0 {
			end.Names[row], end.Owners[row], end.Pinned[row], end.Gates[row] = t.listed(), t.owner, t.pinned, t.gate
		}
	}
	s.cfg.Finished(end)
}

// play lets things happen, moment by moment, until nothing is left to happen.
func (s *simulation) play() error {
	if s.cfg.Planner.Solver {
		s.outbox.emit(cluster.SolverReady{})
	}
	if err := s.replay.read(); err != nil {
		return err
	}
	s.injector.start()
	s.meter.start()
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
	if len(s.outbox.events) > 0 {
		return s.kernel.now
	}
	s.runs.forget() // work that was done sooner is no work under way
	if s.idle() {
		return cluster.Never
	}
	return min(s.kernel.next(), s.planner.wake, s.replay.nextTime())
}

// idle reports whether nothing is left but what goes on for ever: faults, and
// rounds that find no place for what waits, among tasks that never end.
func (s *simulation) idle() bool {
	if s.replay.more || s.kernel.busy > 0 {
		return false
	}
	return s.planner.idle()
}

// pass lets time go by.
func (s *simulation) pass(to cluster.Time) {
	if to > s.kernel.now {
		s.measures.advance(s.planner.view(), s.kernel.now, to)
		s.kernel.now = to
	}
}

// interrupted reports progress and asks whether to go on.
func (s *simulation) interrupted() bool {
	if s.cfg.Progress != nil {
		c := s.planner.core.Counts()
		t := &s.measures.outcomes.tasks
		s.cfg.Progress(Progress{Now: s.kernel.now, Until: s.cfg.Until, Submitted: t.Submitted, Ended: t.Finished + t.Failed + t.Killed + t.Superseded, Decisions: decisions(c)})
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
	rounds := s.planner.core.Counts().Rounds
	defer func() {
		switch {
		case s.replay.more || s.kernel.busy > 0 || s.switches.mayWake:
			s.planner.futile = 0
		case s.planner.core.Counts().Rounds > rounds:
			s.planner.futile++
		}
	}()
	if err := s.replay.take(s.interrupted); err != nil {
		return err
	}
	if err := s.observe(); err != nil {
		return err
	}
	if err := s.finishRounds(); err != nil {
		return err
	}
	s.switches.turn()
	if err := s.observe(); err != nil {
		return err
	}
	return s.startRounds()
}

// fire plays the timers of this moment whose kind is below the given one.
func (s *simulation) fire(below uint8) {
	for {
		t, due := s.kernel.due()
		if !due || t.kind >= below {
			return
		}
		s.kernel.pop()
		switch t.kind {
		case runEnds:
			if s.tasks.due(t) {
				s.runs.finish(t.task, byItself)
			}
		case runLeaves:
			s.runs.leave(t.task, t.attempt)
		case runBegins:
			s.runs.begin(t)
		case runRefused:
			s.runs.refuse(t)
		case reported:
			s.outbox.emit(t.report)
		case nodeFails:
			s.injector.failNode(t.node)
		case nodeReturns:
			s.injector.returnNode(t.node)
		case nodeWakes:
			s.switches.woken(t.node)
		case nodesIdle, nodesWanted: // the keeper is asked in each moment
		case nodesMeasure:
			s.meter.measure()
		case foreign:
			s.injector.meddle(t)
		}
	}
}

// observe tells the core what happened, and carries out what it decides at once.
func (s *simulation) observe() error {
	for {
		s.budgets.settle(s.outbox.emit)
		if s.outbox.empty() {
			return nil
		}
		in, ended := s.outbox.take()
		retired := len(s.tasks.retired)
		out, err := s.planner.observe(in)
		if err != nil {
			return err
		}
		s.tasks.freeJobs(retired)
		s.settle(in, ended)
		s.outbox.reuse(in, ended)
		if err := s.carryOut(out); err != nil {
			return err
		}
	}
}

// carryOut carries out decisions. It is also where the checkers stand: a decision
// that the world cannot honour is an error of the core.
func (s *simulation) carryOut(decisions []sched.Decision) error {
	for i := range decisions {
		d := decisions[i]
		t := s.tasks.list[d.Task]
		if t.seq != d.Seq {
			if d.Kind == sched.Place || d.Kind == sched.Evict {
				s.outbox.emit(cluster.TaskLeft{Task: d.Task, Attempt: d.Attempt}) // ended meanwhile
			}
			continue
		}
		s.measures.happened(happening{what: decided, at: s.kernel.now, task: t, decision: &decisions[i]})
		switch d.Kind {
		case sched.Place:
			if err := s.checker.place(d); err != nil {
				return fmt.Errorf("at %v: %w", s.kernel.now, err)
			}
			s.runs.allocate(d)
		case sched.Evict:
			s.runs.evict(d)
		case sched.Resize:
			if err := s.checker.resize(d); err != nil {
				return fmt.Errorf("at %v: %w", s.kernel.now, err)
			}
			s.runs.resize(d)
		case sched.End:
			s.runs.supersede(d.Task)
		}
	}
	return nil
}

// settle takes stock of what the core was just told: who ran for the first
// time, and who is done.
func (s *simulation) settle(in []cluster.Event, ended []ending) {
	state := s.planner.view()
	for _, e := range in {
		started, ok := e.(cluster.TaskStarted)
		if !ok {
			continue
		}
		t := s.tasks.list[started.Task]
		row := state.Task(started.Task)
		s.runs.adopt(started, row)
		if !t.placed && t.seq == row.Seq && row.Account.FirstRun != cluster.Never && !t.job.foreign {
			t.placed = true
			s.measures.happened(happening{what: placed, at: s.kernel.now, task: t, latency: row.Account.FirstRun - row.Account.Submitted})
		}
	}
	for _, e := range ended {
		s.settleEnd(e)
	}
}

func (s *simulation) settleEnd(e ending) {
	t := s.tasks.list[e.task]
	row := s.planner.view().Task(e.task)
	if !t.job.foreign {
		if e.why == byItself && !t.fails && t.job.copied && t.job.done > 0 {
			e.why = superseded // at the same moment, by one that came first
		}
		s.measures.happened(happening{what: ended, at: s.kernel.now, task: t, account: row.Account, why: e.why})
		if response := row.Account.Since - row.Account.Submitted; e.why == byItself && !t.fails {
			t.job.done++
			t.job.slowest = max(t.job.slowest, response)
		}
	}
	if j, over := s.tasks.end(e.task, s.outbox.emit); over {
		s.measures.happened(happening{what: jobEnded, at: s.kernel.now, job: j})
	}
}

// finishRounds commits the rounds whose thinking time is over.
func (s *simulation) finishRounds() error {
	for {
		t, due := s.kernel.due()
		if !due || t.kind != roundEnds {
			return nil
		}
		s.kernel.pop()
		if err := s.carryOut(s.planner.finish(t.lane)); err != nil {
			return err
		}
		if err := s.observe(); err != nil {
			return err
		}
	}
}

// startRounds runs the rounds that are due. Where thinking takes time, what
// they decide takes effect when that time is over.
func (s *simulation) startRounds() error {
	s.measures.advance(s.planner.view(), s.kernel.now, s.kernel.now)
	if s.cfg.Planner.Time == Zero {
		out, err := s.planner.step()
		s.checkStop()
		if err != nil {
			return err
		}
		return s.carryOut(out)
	}
	for !s.stopped && s.planner.begin() {
		s.checkStop()
	}
	s.planner.noteWake()
	return nil
}
