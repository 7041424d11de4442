// Package gavel reads the traces of Gavel (Narayanan et al., OSDI'20), in the form of
// stanford-futuredata/gavel, which Shockwave and others have taken on. A line is a job, in fields
// between tabs. There are ten of them,
//
//	job type, command, working directory, name of the argument for steps, needs data (0 or 1),
//	steps, scale factor, priority weight, SLO, arrival time
//
// or seven, in the traces that its authors made of Philly (traces/msr):
//
//	job type, command, name of the argument for steps, needs data, steps, arrival time, scale factor
//
// A job has as many GPUs as its scale factor, and the type, such as "ResNet-50 (batch size 64)", says
// with the scale factor and a table of throughputs how many steps a second it takes: a file such as
// simulation_throughputs.json, by kind of GPU, then by "('ResNet-50 (batch size 64)', 1)", and under
// null where it has its GPUs to itself. A type that was measured on one GPU alone is as fast on several (Notes count
// such jobs): the traces made of Philly have some. Gavel moves jobs between kinds of GPU; here all GPUs are of one
// kind, Options.Worker. The SLO is a multiple of that run time; below 0 there is none. Arrival times
// are in seconds. The weight, rounded, becomes the priority. Commands are not read.
package gavel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/gpujobs"
)

// Options are those of all lists of jobs, and how fast jobs are.
type Options struct {
	gpujobs.Options
	Table  string // the file of throughputs
	Worker string // the kind of GPU that all nodes have, such as v100
}

// Default is nodes of eight V100, as many as the jobs need.
func Default() Options { return Options{Options: gpujobs.Options{GPUs: 8}, Worker: "v100"} }

// The fields of the two forms, from 1; 0: there is none.
type form struct{ job, steps, scale, weight, slo, arrival int }

const (
	longForm  = 10
	shortForm = 7
)

// formOf is where the fields of a line are that has so many.
func formOf(fields int) form {
	if fields == shortForm {
		return form{job: 1, steps: 5, scale: 7, arrival: 6}
	}
	return form{job: 1, steps: 6, scale: 7, weight: 8, slo: 9, arrival: 10}
}

// Open reads the whole file, and the table of throughputs.
func Open(file string, o Options) (*gpujobs.Source, error) {
	speeds, err := readTable(o.Table, o.Worker)
	if err != nil {
		return nil, err
	}
	l := gpujobs.NewList(o.Lenient)
	lines, err := trace.OpenLines(file, &l.Skips)
	if err != nil {
		return nil, err
	}
	defer lines.Close() //nolint:errcheck // it was only read
	var row trace.Row
	for jobs := 0; ; {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) && jobs == 0 {
			return nil, lines.Missing("a job, 10 fields between tabs")
		}
		if errors.Is(err, io.EOF) {
			return l.Source(o.Options), nil
		}
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		f := formOf(row.SplitTabs(lines, line, longForm, shortForm))
		j := readJob(&row, f, l, speeds)
		if err = row.Err(); err == nil {
			j.Pods = o.Whole(j.Pods[0])
			l.Add(j)
			jobs++
		}
		if err := l.Skips.Refuse(err); err != nil {
			return nil, err
		}
	}
}

// readJob reads a job; its one kind of pods is all of it.
func readJob(row *trace.Row, f form, l *gpujobs.List, speeds map[string]float64) gpujobs.Job {
	scale := gpujobs.Count(row, f.scale, "a scale factor from 1 on", gpujobs.MostGPUs)
	if scale == 0 {
		row.Fail(f.scale, "a scale factor from 1 on")
	}
	steps := row.Uint(f.steps, "a number of steps", 1<<53)
	speed, known := speeds[fmt.Sprintf("('%s', %d)", row.Text(f.job), scale)]
	if !known && scale > 1 {
		if speed, known = speeds[fmt.Sprintf("('%s', 1)", row.Text(f.job))]; known {
			l.Remark("jobs are of a type that the table of throughputs does not have with their scale factor, and as fast as with one GPU")
		}
	}
	if !known {
		row.Fail(f.job, fmt.Sprintf("a job type that the table of throughputs has with the scale factor %d", scale))
		speed = 1
	}
	j := gpujobs.Job{At: gpujobs.Seconds(row, f.arrival, "an arrival time in seconds"), User: l.Text(row, f.job)}
	seconds := float64(steps) / speed
	if seconds > gpujobs.MostTime.Seconds() {
		row.Fail(f.steps, "steps that take at most a hundred years")
		seconds = 0
	}
	work := cluster.Time(math.Round(seconds * 1e6))
	j.Pods = []gpujobs.Pods{{GPU: scale * gpujobs.Device, Work: work}}
	if f.weight > 0 {
		const half = 500
		j.Priority = int32(min((row.Decimal(f.weight, "a priority weight", 3, trace.Up)+half)/(2*half), math.MaxInt32))
		j.Due = due(row, f.slo, work)
	}
	return j
}

// due is when the job is to be done, by its multiple of the work.
func due(row *trace.Row, field int, work cluster.Time) []trace.Due {
	if bytes.HasPrefix(row.Text(field), []byte("-")) {
		return nil
	}
	const places, thousand = 3, 1000
	times := row.Decimal(field, "an SLO, a multiple of the run time, or -1", places, trace.Up)
	if times > thousand*thousand || times == 0 {
		row.Fail(field, "an SLO from 0.001 to 1000, or -1")
		return nil
	}
	within := cluster.Time(math.Ceil(float64(work) / thousand * float64(times)))
	return []trace.Due{{Within: max(within, 1), Worth: 1}}
}

// mostTable bounds the file of throughputs; the authors' has 1.2 MB.
const mostTable = 1 << 25

// readTable reads how many steps a second each type of job takes that has GPUs of the kind to itself.
func readTable(file, worker string) (map[string]float64, error) {
	if file == "" {
		return nil, errors.New("a trace of Gavel says how many steps a job takes, and not how long: name a table of throughputs, such as its simulation_throughputs.json, as table=FILE")
	}
	f, name, err := trace.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	wrong := func(want string, err error) error { return &trace.Error{File: name, Want: want, Err: err} }
	text, err := io.ReadAll(io.LimitReader(f, mostTable+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case len(text) > mostTable:
		return nil, wrong(fmt.Sprintf("a table of throughputs of at most %d bytes", mostTable), nil)
	}
	var table map[string]map[string]struct {
		Null *float64 `json:"null"`
	}
	if err := json.Unmarshal(text, &table); err != nil {
		return nil, wrong(`a table of throughputs, {"v100": {"('A3C', 1)": {"null": 8.5}}}`, err)
	}
	of, known := table[worker]
	if !known {
		return nil, wrong(fmt.Sprintf("throughputs of GPUs %s; there are %s", worker, strings.Join(slices.Sorted(maps.Keys(table)), ", ")), nil)
	}
	speeds := map[string]float64{}
	for key, speed := range of {
		if speed.Null == nil || !(*speed.Null >= 0) {
			return nil, wrong(fmt.Sprintf("a number of steps a second for %s under null", key), nil)
		}
		if *speed.Null > 0 { // else it does not run there
			speeds[key] = *speed.Null
		}
	}
	return speeds, nil
}
