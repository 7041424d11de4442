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
// such jobs): the traces made of Philly have some. The work of a job is how long it takes on GPUs of the kind Options.Worker.
// All nodes have that kind, unless Options.Kinds say how many have which: then a job is as fast on each as the table says, against
// Worker, or the first on which it runs, and kept off those where the table has 0 for it. The SLO is a multiple of the work; below 0 there is none. Arrival times
// are in seconds. The weight, rounded, becomes the priority. Commands are not read.
package gavel

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/gpujobs"
)

// Options are those of all lists of jobs, and how fast jobs are.
type Options struct {
	gpujobs.Options
	Table  string // the file of throughputs
	Worker string // the kind of GPU that all nodes have, such as v100, and by which work is counted
	Kinds  []Kind // nodes with several kinds of GPU; nil: all have Worker
	// Prefer says that jobs prefer nodes on which they are faster (trace.FastFirst), so that policies that honour
	// preferences go by the table.
	Prefer bool
}

// Kind is how many nodes have GPUs of a kind.
type Kind struct {
	Name  string
	Nodes int
}

// kinds are the names of the kinds of GPU, the one by which work is counted first.
func (o *Options) kinds() []string {
	names := []string{o.Worker}
	for _, k := range o.Kinds {
		if k.Name != o.Worker {
			names = append(names, k.Name)
		}
	}
	return names
}

// nodes are those of several kinds.
func (o *Options) nodes() (list []trace.Node) {
	for _, k := range o.Kinds {
		for range k.Nodes {
			list = append(list, trace.Node{
				ID: uint64(len(list) + 1), Capacity: cluster.Vector{o.GPUs * gpujobs.Device},
				Labels: []cluster.Label{{Key: gpujobs.ModelLabel, Value: k.Name}},
			})
		}
	}
	return list
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
	table, err := ReadTable(o.Table, o.kinds()...)
	if err != nil {
		return nil, err
	}
	o.Given = o.nodes()
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
		j := readJob(&row, f, l, table, &o)
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
func readJob(row *trace.Row, f form, l *gpujobs.List, table Table, o *Options) gpujobs.Job {
	scale := gpujobs.Count(row, f.scale, "a scale factor from 1 on", gpujobs.MostGPUs)
	if scale == 0 {
		row.Fail(f.scale, "a scale factor from 1 on")
	}
	steps := row.Uint(f.steps, "a number of steps", 1<<53)
	of := Setup{string(row.Text(f.job)), scale}
	as, known := table.Measured(of)
	switch {
	case !known:
		row.Fail(f.job, fmt.Sprintf("a job type that the table of throughputs has with the scale factor %d", scale))
	case as != of:
		l.Remark("jobs are of a type that the table of throughputs does not have with their scale factor, and as fast as with one GPU")
	}
	pace := table.Pace(as, o.kinds())
	seconds := float64(steps) / cmp.Or(pace.PerSecond, 1)
	if seconds > gpujobs.MostTime.Seconds() {
		row.Fail(f.steps, "steps that take at most a hundred years")
		seconds = 0
	}
	work := cluster.Time(math.Round(seconds * 1e6))
	j := gpujobs.Job{At: gpujobs.Seconds(row, f.arrival, "an arrival time in seconds"), User: l.Text(row, f.job)}
	j.Pods = []gpujobs.Pods{{GPU: scale * gpujobs.Device, Work: work}}
	if o.Kinds != nil {
		j.Speeds, j.Pods[0].Model = pace.Speeds, pace.Model
		if o.Prefer {
			j.Prefers = trace.FastFirst(pace.Speeds)
		}
	}
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
