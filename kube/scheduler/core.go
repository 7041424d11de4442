package scheduler

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/mcmf/race"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
)

// This file makes cores. A core lives for an epoch: from the moment that the
// scheduler leads until the columns of its vectors no longer do, or a file of
// the recording is full. The next one starts from all that is known, as a new
// leader would.

// renew begins the next epoch if there is cause.
func (s *Scheduler) renew(ctx context.Context) error {
	if s.mistakes.broken {
		return s.restart("mistake")
	}
	if cause := s.world.Stale(); cause != "" {
		klog.FromContext(ctx).Info("starting a new core", "cause", cause)
		return s.restart("columns")
	}
	if s.record != nil && s.record.Full() {
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

// policyMaker makes the policy of a profile, see newPolicy.
type policyMaker func(*config.Profile) (sched.Policy, *recording.Races, error)

// restart begins an epoch.
func (s *Scheduler) restart(cause string) error {
	snapshot := s.world.Restart(s.accounts())
	s.handling(nil)
	kinds, classes := s.world.Kinds(), s.world.Classes()
	var lanes []sched.Lane
	var races []*recording.Races
	header := recording.Header{Comment: "fairlead-scheduler " + s.Identity, Origin: s.began, Kinds: kinds, Classes: classes}
	for _, p := range s.Config.Profiles {
		policy, won, err := s.policy(&p)
		if err != nil {
			return fmt.Errorf("profile %s: %w", p.SchedulerName, err)
		}
		races = append(races, won)
		info, err := policies.Find(p.Policy)
		if err != nil {
			return fmt.Errorf("profile %s: %w", p.SchedulerName, err)
		}
		lane := recording.Lane{
			Name: p.SchedulerName, Policy: p.Policy, Seed: p.Seed, Ties: p.TieBreak, User: p.SchedulerName,
			Solver: p.Solver, Migrations: p.Migrations,
			Heartbeat: info.When.Heartbeat, Watchdog: info.When.Watchdog, IgnoreOutcomes: info.When.IgnoreOutcomes,
			Criteria: s.criteria(),
		}
		header.Lanes = append(header.Lanes, lane)
		lanes = append(lanes, sched.Lane{Name: lane.Name, Policy: policy, Owns: lane.Owns(), When: info.When})
	}
	core, err := sched.New(cluster.NewState(kinds, classes), lanes...)
	if err != nil {
		return err
	}
	if err := s.newRecord(header); err != nil && cause == atStart {
		return err
	} else if err != nil {
		klog.Background().Error(err, "the recording ends here; scheduling goes on")
		s.record = nil
	}
	s.core = recording.NewRecorder(core, s.record, races...)
	s.mistakes.broken = false
	s.Metrics.Cluster.Epoch(cause)
	s.reportLeftOut()
	s.subject.deciding = true
	_, err = s.core.Snapshot(s.now(), snapshot, nil)
	s.subject.deciding = false
	if err != nil {
		return fmt.Errorf("start a core from what is known of the cluster: %w", err)
	}
	return nil
}

// reportLeftOut logs which resources of nodes have no column, when that is new.
func (s *Scheduler) reportLeftOut() {
	left := s.world.LeftOut()
	if len(left) == 0 || slices.Equal(left, s.leftOut) {
		return
	}
	s.leftOut = left
	klog.Background().Info("nodes offer more resources than are counted; those that no pod asks for are left out until one does",
		"leftOut", len(left), "first", left[:min(len(left), 10)])
}

// accounts says how a task of the core, which is about to be replaced, has spent its
// time. There is nothing to say before the first core: a new leader begins all accounts
// anew.
func (s *Scheduler) accounts() func(cluster.TaskID, cluster.Seq) *cluster.Account {
	if s.core == nil {
		return nil
	}
	state, now := s.core.View(), s.now()
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

// newPolicy is the policy of a profile, and who wins the races of its solver, if it races:
// without that no replay could decide the same.
func (s *Scheduler) newPolicy(p *config.Profile) (sched.Policy, *recording.Races, error) {
	o, err := p.Options()
	if err != nil {
		return nil, nil, err
	}
	var races *recording.Races
	if p.Solver == policies.Race {
		races = &recording.Races{}
		o.Racer = func(g *mcmf.Graph) flow.Solver {
			return race.Noted{Solver: race.New(g, mcmf.CostScaling), Won: races.Won}
		}
	}
	if table := s.Config.Classes.Table; table != nil {
		o.SLA.Criteria = table.Criteria
	}
	policy, err := policies.New(p.Policy, o)
	return policy, races, err
}

// criteria are those of the table of classes, as recordings have them.
func (s *Scheduler) criteria() []recording.Criterion {
	if s.Config.Classes.Table == nil {
		return nil
	}
	var list []recording.Criterion
	for _, c := range s.Config.Classes.Table.Criteria {
		list = append(list, recording.Criterion{Weight: c.Weight, Function: c.Function.String(), Indifference: c.Indifference, Preference: c.Preference})
	}
	return list
}

// newRecord begins a file of the recording, if one is wanted.
func (s *Scheduler) newRecord(header recording.Header) error {
	var err error
	switch want := s.Config.Record; {
	case want.Path == "":
	case s.record == nil:
		s.record, err = recording.NewWriter(want.Path, header, recording.Limits{FileBytes: want.MaxFileBytes, Files: want.MaxFiles})
	default:
		err = s.record.Rotate(header)
	}
	if err != nil {
		return fmt.Errorf("record to %s: %w", s.Config.Record.Path, err)
	}
	return nil
}

// keepRecord makes sure that little is lost should the process be killed. That
// the disk is full is no reason to stop scheduling: it is reported once.
func (s *Scheduler) keepRecord(ctx context.Context) {
	if s.record == nil {
		return
	}
	err := s.record.Flush()
	if err != nil && !s.recordFailed {
		klog.FromContext(ctx).Error(err, "the recording ends here; scheduling goes on", "path", s.Config.Record.Path)
	}
	s.recordFailed = err != nil
	s.Metrics.Rounds.Recorded(int(s.record.Bytes() - s.recorded))
	s.recorded = s.record.Bytes()
}

// endRecord closes the recording.
func (s *Scheduler) endRecord(ctx context.Context) {
	if s.record == nil {
		return
	}
	if err := s.record.Close(); err != nil {
		klog.FromContext(ctx).Error(err, "the recording is not whole", "path", s.Config.Record.Path)
	}
}
