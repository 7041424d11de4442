package cli

import (
	"errors"
	"fmt"
	"os"

	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/mcmf/race"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sim"
)

// This file records simulated runs as real clusters are recorded: each call on the core
// with what it decided, and who won each race of solvers, which is all that a run with the
// same seed may do otherwise on another machine.

// recorded is the recording of one run; the zero value, but for stop, records nothing.
type recorded struct {
	to     *recording.Writer
	races  recording.Races
	racing int // the lane of the run's policy, the last; others, of long-running applications, do not race
	won    []mcmf.Algorithm
	stop   func() bool // true once the run was interrupted, from where on rounds are cut
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
	case sim.Step:
		call.Kind = recording.Step
	case sim.Finish:
		call.Kind = recording.Finish
	}
	if c.Kind == sim.Step || c.Kind == sim.Finish && c.Lane == r.racing {
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
	header, err := s.Header(&j.Run, config)
	if err != nil {
		return fmt.Errorf("--record: %w", err)
	}
	if r.to, err = recording.NewWriter(s.outputPath(s.record, j), header, recording.Limits{}); err != nil {
		return err
	}
	r.to.Append(recording.Call{Kind: recording.Snapshot}) // of nothing
	r.racing = len(header.Lanes) - 1
	config.Calls = r.call
	return nil
}

// raceNotes say of a run whose solvers race that it is not the same everywhere.
func (s *simulation) raceNotes(j *job) []string {
	if j.Policy.Options["solver"] != policies.Race {
		return nil
	}
	note := "with --solver race decisions depend on which solver is the first on this machine: another run may decide otherwise"
	if s.record != "" {
		return []string{note + "; the recording keeps who won, and its replay decides the same"}
	}
	return []string{note + "; --record DIR of 'fairlead simulate' keeps who won"}
}
