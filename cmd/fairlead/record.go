package main

import (
	"errors"
	"fmt"
	"os"

	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/mcmf/race"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/queue/promethee"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sim"
)

// This file records simulated runs as real clusters are recorded: each call on the core
// with what it decided, and who won each race of solvers, which is all that a run with the
// same seed may do otherwise on another machine.

// recorded is the recording of one run; the zero value, but for stop, records nothing.
type recorded struct {
	to    *recording.Writer
	races recording.Races
	won   []mcmf.Algorithm
	stop  func() bool // true once the run was interrupted, from where on rounds are cut
}

// racer makes a racing solver that reports which algorithm won.
func (r *recorded) racer(g *mcmf.Graph) flow.Solver {
	return race.Noted{Solver: race.New(g, mcmf.CostScaling), Won: r.races.Won}
}

// call writes a call of the run.
func (r *recorded) call(c sim.Call) {
	if r.stop() {
		return
	}
	call := recording.Call{At: c.At, Lane: c.Lane, In: c.In, Out: c.Out}
	switch c.Kind {
	case sim.Observe:
		call.Kind = recording.Observe
	case sim.Begin:
		call.Kind = recording.Begin // its round has raced already; Finish says who won
	case sim.Step, sim.Finish:
		call.Kind = recording.Step
		if c.Kind == sim.Finish {
			call.Kind = recording.Finish
		}
		r.won = r.races.Take(r.won[:0])
		call.Won = r.won
	}
	r.to.Append(call)
}

// close ends the recording.
func (r *recorded) close() error {
	if r.to == nil {
		return nil
	}
	return r.to.Close()
}

// checkRecord says why the runs cannot be recorded.
func (s *simulation) checkRecord() error {
	if s.record == "" {
		return nil
	}
	if s.longRunning != "" {
		return errors.New("a recording cannot say that a lane has the long-running applications; leave --long-running out")
	}
	for _, j := range s.jobs() {
		dir := s.outputPath(s.record, j)
		if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
			return fmt.Errorf("%s is not empty; want a folder that is, or one that is not there", dir)
		} else if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// beginRecord begins the recording of a run that is set up, if it is to be recorded.
func (s *simulation) beginRecord(j *job, config *sim.Config, r *recorded) error {
	if s.record == "" {
		return nil
	}
	if len(config.Typical) > 0 {
		return fmt.Errorf("--record: a recording cannot say what tasks of %s typically ask for, by which policies may decide", s.workload.text)
	}
	when := s.trigger(j.policy)
	header := recording.Header{
		Comment: "fairlead simulate", Kinds: config.Source.Kinds(), Classes: config.Classes.Rows(),
		Lanes: []recording.Lane{{
			Name: j.policy, Policy: j.policy, Seed: j.seed, Ties: config.Setup.TieBreak,
			Solver: config.Setup.Solver, Migrations: int(config.Setup.Migrations),
			Heartbeat: when.Heartbeat, Watchdog: when.Watchdog, IgnoreOutcomes: when.IgnoreOutcomes,
			Criteria: recordedCriteria(config.Classes.Criteria),
		}},
	}
	var err error
	if r.to, err = recording.NewWriter(s.outputPath(s.record, j), header, recording.Limits{}); err != nil {
		return err
	}
	r.to.Append(recording.Call{Kind: recording.Snapshot}) // of nothing
	config.Calls = r.call
	return nil
}

// recordedCriteria are criteria as recordings have them; criteriaOf is the reverse.
func recordedCriteria(criteria []promethee.Criterion) []recording.Criterion {
	var list []recording.Criterion
	for _, c := range criteria {
		list = append(list, recording.Criterion{Weight: c.Weight, Function: c.Function.String(), Indifference: c.Indifference, Preference: c.Preference})
	}
	return list
}

// raceNotes say of a run whose solvers race that it is not the same everywhere.
func (s *simulation) raceNotes(j *job) []string {
	p, err := policies.Find(j.policy)
	if err != nil || p.Honoured(s.options).Solver != policies.Race {
		return nil
	}
	note := "with --solver race decisions depend on which solver is the first on this machine: another run may decide otherwise"
	if s.record != "" {
		return []string{note + "; the recording keeps who won, and its replay decides the same"}
	}
	return []string{note + "; --record DIR of 'fairlead simulate' keeps who won"}
}
