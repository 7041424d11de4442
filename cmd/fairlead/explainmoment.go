package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim"
)

// This file brings explain to its moment, by a simulation or a recording.

// moment is a scheduler at the time that is explained.
type moment struct {
	at    cluster.Time
	core  *sched.Core
	lanes []laneAt
	names []string // of tasks by row; empty where none is
}

// laneAt is a lane, with a policy like its own to ask: one that decides would decide
// otherwise for having been asked.
type laneAt struct {
	policy string
	fresh  sched.Policy
}

// simulatedMoment runs a simulation up to a moment.
func simulatedMoment(ctx context.Context, plan *simulation, at cluster.Time, stderr io.Writer) (*moment, error) {
	if err := plan.check(); err != nil {
		return nil, err
	}
	plan.compile(ctx, stderr)
	job := plan.jobs()[0]
	options := plan.options
	options.Seed = job.seed
	fresh, err := policies.New(job.policy, options)
	if err != nil {
		return nil, err
	}
	m := &moment{at: plan.until(0), lanes: []laneAt{{job.policy, fresh}}}
	plan.config.Finished = func(e sim.Ending) { m.core, m.names = e.Core, e.Names }
	bar := newBar(stderr, 1)
	result, err := plan.runOne(ctx, job, func(p sim.Progress) { bar.note(0, job.policy, p) }, stderr)
	bar.done(0)
	bar.close()
	switch {
	case result.Interrupted && err == nil:
		return nil, errInterrupted
	case err != nil:
		return nil, err
	}
	s := m.core.View()
	if last := s.Now(); last < m.at && m.tasks() == 0 {
		return nil, fmt.Errorf("--at: nothing is left at %s; the last thing happened at %s", short(at), short(last))
	}
	return m, m.settle()
}

// replayedMoment replays the recording that holds the moment up to it.
func replayedMoment(files []string, at cluster.Time, wanted string) (*moment, error) {
	file, err := fileAt(files, at)
	if err != nil {
		return nil, err
	}
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	build := func(l recording.Lane) (sched.Policy, error) { return policyOf(l, wanted) }
	result, core, err := recording.ReplayTo(in, file, at, build)
	if err := errors.Join(hinted(err), in.Close()); err != nil {
		return nil, err
	}
	if result.Difference != nil {
		return nil, fmt.Errorf("the replay decides differently, so that there is nothing to explain\n%v", result.Difference)
	}
	m := &moment{at: at, core: core}
	for _, l := range result.Header.Lanes {
		fresh, err := build(l)
		if err != nil {
			return nil, err
		}
		m.lanes = append(m.lanes, laneAt{l.Policy, fresh})
	}
	s := core.View()
	m.names = make([]string, s.TaskRows())
	for row := range m.names {
		if s.Task(cluster.TaskID(row)).Phase != cluster.Absent {
			m.names[row] = s.TaskName(cluster.TaskID(row))
		}
	}
	return m, m.settle()
}

// fileAt is the one file that holds the moment. Each file is an epoch that counts its
// time by itself.
func fileAt(files []string, at cluster.Time) (string, error) {
	var holding, spans []string
	for _, file := range files {
		in, err := os.Open(file)
		if err != nil {
			return "", err
		}
		result, err := recording.Describe(in, file)
		if err := errors.Join(hinted(err), in.Close()); err != nil {
			return "", err
		}
		if result.First <= at && at <= result.Last {
			holding = append(holding, file)
		}
		spans = append(spans, fmt.Sprintf("%s from %s to %s", file, short(result.First), short(result.Last)))
	}
	switch len(holding) {
	case 1:
		return holding[0], nil
	case 0:
		return "", fmt.Errorf("--at: nothing is recorded of %s; there is %s", short(at), strings.Join(spans, ", "))
	}
	return "", fmt.Errorf("--at: %s is in %d files, which count their time each for itself; name one of them: %s", short(at), len(holding), strings.Join(holding, ", "))
}

// settle lets the core know what time it is.
func (m *moment) settle() error {
	_, err := m.core.Observe(m.at, nil, nil)
	return err
}

// tasks counts those that the scheduler knows.
func (m *moment) tasks() (count int) {
	for row := range m.core.View().TaskRows() {
		if _, ours := m.lane(cluster.TaskID(row)); ours {
			count++
		}
	}
	return count
}

// lane is that of a task, and false if there is none in the row, or a foreign one.
func (m *moment) lane(t cluster.TaskID) (int, bool) {
	if m.core.View().Task(t).Phase == cluster.Absent {
		return 0, false
	}
	return m.core.LaneOf(t)
}

// find returns the task of that name.
func (m *moment) find(name string) (cluster.TaskID, error) {
	var names []string
	for row, known := range m.names {
		if _, ours := m.lane(cluster.TaskID(row)); !ours {
			continue
		}
		if known == name || m.core.View().TaskName(cluster.TaskID(row)) == name {
			return cluster.TaskID(row), nil
		}
		names = append(names, known)
	}
	hint := ""
	if near, ok := nearest.Of(name, names); ok && strings.ToUpper(name) != strings.ToLower(name) { // numbers are near to many
		hint = fmt.Sprintf("; did you mean %s?", near)
	} else if len(names) > 0 {
		hint = fmt.Sprintf("; there are %s tasks, such as %s", grouped(len(names)), names[0])
	}
	return 0, fmt.Errorf("--task: there is no task %s at %s: it is not submitted yet, or has ended%s", name, short(m.at), hint)
}
