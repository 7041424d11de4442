package scheduler

import (
	"context"
	"fmt"

	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/world"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/mcmf/race"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/policies/chosen"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/shadow"
)

// This file makes cores. A core lives for an epoch: from the moment that the
// scheduler leads until the columns of its vectors no longer do, or a file of
// the recording is full. The next one starts from all that is known, as a new
// leader would.

// epochs keeps the present core, and what goes on from one to the next: the recording, the
// mistakes that pace them, and the maker of policies. It belongs to the loop. While the core
// is at work, and at no other time, subject says so.
type epochs struct {
	options   *Options
	subject   *subject
	policy    policyMaker
	core      *recording.Recorder // nil before the first
	tape      tape
	mistakes  mistakes
	decisions []sched.Decision // of the latest call, for their memory
	beside    besideRounds
	programs  solving
	shadow    *shadowing // nil of a scheduler that carries out what is decided
}

// renew begins the next epoch if there is cause.
func (s *Scheduler) renew(ctx context.Context) error {
	if s.epochs.mistakes.broken {
		return s.restart("mistake")
	}
	if cause := s.world.Stale(); cause != "" {
		klog.FromContext(ctx).Info("starting a new core", "cause", cause)
		switch {
		case s.world.Columns().Stale() != "":
			return s.restart("columns")
		case s.world.PodGroups().Stale() != "":
			return s.restart("groups")
		default:
			return s.restart("classes")
		}
	}
	if s.epochs.tape.full() {
		return s.restart("recording")
	}
	return nil
}

// atStart is the cause of a scheduler's first epoch, afterPanic of one that follows
// a panic.
const (
	atStart    = "start"
	afterPanic = "panic"
)

// policyMaker makes the policy of a lane, see newPolicy.
type policyMaker func(*recording.Lane) (sched.Policy, *recording.Races, error)

// restart begins an epoch.
func (s *Scheduler) restart(cause string) error {
	snapshot := s.world.Restart(accounts(s.epochs.core, s.now()))
	s.subject.handling(nil)
	header := recording.Header{
		Comment: s.Config.Title() + " " + s.Identity, Origin: s.began, Kinds: s.world.Columns().Kinds(), Classes: s.world.Classes(),
	}
	if err := s.epochs.begin(header, world.Filters(s.world), cause == atStart); err != nil {
		return err
	}
	s.Metrics.Cluster.Epoch(cause)
	s.Metrics.Evictions.WithoutPlacement(0)
	s.tally.reportLeftOut(s.world.Columns().LeftOut())
	s.tally.reportExcess(s.world.Columns().Excess())
	if err := s.epochs.show(s.now(), snapshot); err != nil {
		return fmt.Errorf("start a core from what is known of the cluster: %w", err)
	}
	return nil
}

// begin makes a core that knows of nothing yet, and begins its recording. The header has all
// but the lanes.
func (e *epochs) begin(header recording.Header, filters sched.Filters, first bool) error {
	all, err := e.options.lanes()
	if err != nil {
		return err
	}
	var lanes []sched.Lane
	var races []*recording.Races
	e.programs.anew()
	for _, lane := range all {
		policy, won, err := e.policy(&lane)
		if err != nil {
			return fmt.Errorf("profile %s: %w", lane.User, err)
		}
		races = append(races, won)
		e.programs.lanes = append(e.programs.lanes, lane.Name)
		header.Lanes = append(header.Lanes, lane)
		lanes = append(lanes, lane.Of(policy))
	}
	core, err := sched.New(cluster.NewState(header.Kinds, header.Classes), lanes...)
	if err != nil {
		return err
	}
	core.SetFilters(filters)
	if err := e.tape.begin(e.options.Config.Record, header, first); err != nil {
		return err
	}
	e.core = recording.NewRecorder(core, e.tape.writer, races...)
	e.mistakes.broken = false
	return nil
}

// show reports to a new core all that is known.
func (e *epochs) show(now cluster.Time, known []cluster.Event) error {
	known = e.programs.news(e.options, known)
	e.subject.deciding = true
	_, err := e.core.Snapshot(now, known, nil)
	e.subject.deciding = false
	e.shadow.follow(e.core, shadow.Call{At: now, Snapshot: true, In: known})
	return err
}

// observe reports to the core what happened, without a round. The decisions are valid until
// the next call, here and of step.
func (e *epochs) observe(now cluster.Time, happened []cluster.Event) ([]sched.Decision, error) {
	happened = e.programs.news(e.options, happened)
	e.subject.deciding = true
	decisions, err := e.core.Observe(now, happened, e.decisions[:0])
	e.subject.deciding = false
	e.shadow.follow(e.core, shadow.Call{At: now, In: happened, Out: decisions})
	e.decisions = decisions
	return decisions, err
}

// step reports to the core what happened, and lets it decide. It returns the decisions, and
// when the core wants to be called again.
func (e *epochs) step(now cluster.Time, happened []cluster.Event) ([]sched.Decision, cluster.Time, error) {
	happened = e.programs.news(e.options, happened)
	e.subject.deciding = true
	decisions, wake, err := e.core.Step(now, happened, e.decisions[:0])
	e.subject.deciding = false
	e.shadow.follow(e.core, shadow.Call{At: now, In: happened, Out: decisions})
	e.decisions = decisions
	return decisions, wake, err
}

// reserved reports whether room is being made for the task.
func (e *epochs) reserved(t cluster.TaskID) bool {
	return e.core.View().Task(t).Phase == cluster.Reserved
}

// accounts says how a task of the core, which is about to be replaced, has spent its
// time. There is nothing to say before the first core: a new leader begins all accounts
// anew.
func accounts(core *recording.Recorder, now cluster.Time) func(cluster.TaskID, cluster.Seq) *cluster.Account {
	if core == nil {
		return nil
	}
	state := core.View()
	return func(row cluster.TaskID, seq cluster.Seq) *cluster.Account {
		if int(row) >= state.TaskRows() {
			return nil
		}
		task := state.Task(row)
		if task.Seq != seq || task.Phase == cluster.Absent {
			return nil
		}
		account := task.Account.At(now, task.Phase)
		return &account
	}
}

// lanes are those of all profiles, in their order; and before these those for pods that constraints bind, of profiles whose policy has a stage for applications,
// where there are constraints. A search for places that violate the fewest takes up to a second, so that it runs beside all else.
func (o *Options) lanes() (all []recording.Lane, err error) {
	var beside []recording.Lane
	for i := range o.Config.Profiles {
		p := &o.Config.Profiles[i]
		lane, err := o.laneOf(p)
		if err != nil {
			return nil, fmt.Errorf("profile %s: %w", p.SchedulerName, err)
		}
		all = append(all, lane)
		if o.PlacementConstraints != nil && lane.Policy == config.DefaultPolicy {
			lane.Name, lane.LongRunning, lane.Beside = lane.Name+" constraints", true, true
			beside = append(beside, lane)
		}
	}
	return append(beside, all...), nil
}

// laneOf is the lane of a profile, as the recording has it.
func (o *Options) laneOf(p *config.Profile) (recording.Lane, error) {
	policy, _ := p.Decides(o.known())
	l, err := policy.Lane(o.known(), p.Seed, o.Config.Classes.Table)
	l.Name, l.User = p.SchedulerName, p.SchedulerName
	return l, err
}

// newPolicy is the policy of a lane, and who wins the races of its solver, if it races:
// without that no replay could decide the same. Integer programs are for lanes beside the core, as they take seconds.
func (e *epochs) newPolicy(l *recording.Lane) (sched.Policy, *recording.Races, error) {
	var outside policies.Options
	if l.Beside && e.options.Programs != nil {
		outside.Programs = e.programs.asks(l.Name)
	}
	var races *recording.Races
	if l.Options["solver"] == policies.Race {
		races = &recording.Races{}
		outside.Racer = func(g *mcmf.Graph) flow.Solver {
			return race.Noted{Solver: race.New(g, mcmf.CostScaling), Won: races.Won}
		}
	}
	policy, err := chosen.Make(e.options.known(), l, outside)
	return policy, races, err
}

// known are the policies that profiles may name.
func (o *Options) known() policies.List { return append(policies.All(), o.Policies...) }
