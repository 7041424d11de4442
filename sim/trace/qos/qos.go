// Package qos reads the workloads of the QoS-driven scheduling paper: a record
// a line,
//
//	{time, taskId, jobId, duration, cpu, ram, priority, antiAffinity, [constraints]}.
//
// with times in seconds and antiAffinity 1 where no two tasks of the job may
// share a host. The files hold tasks alone; the hosts are given by Options,
// all alike, as in the paper's validation. Records of one file need not be in
// time order; they are few, and sorted when the file is opened.
package qos

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// perUnit is the resolution of cpu and ram: 10⁻⁶ of their unit.
const perUnit = 1_000_000

// places is how many decimal places that is.
const places = 6

// Options describe the hosts and the reading.
type Options struct {
	Hosts       int
	CPU, Memory int64 // of each host, in millionths
	Lenient     bool  // count and skip broken lines
}

// Default is the paper's validation cluster: 20 hosts of 3.75 and 3.75 usable.
func Default() Options {
	return Options{Hosts: 20, CPU: 3_750_000, Memory: 3_750_000}
}

// Source is one file, with its hosts.
type Source struct {
	options Options
	tasks   []timedTask
	skips   trace.Skips
	hosts   int // given out so far
	vector  cluster.Vector
}

type timedTask struct {
	at   cluster.Time
	task trace.Task
}

// Open reads the whole file.
func Open(file string, o Options) (*Source, error) {
	s := &Source{options: o, skips: trace.Skips{Lenient: o.Lenient}, vector: cluster.Vector{o.CPU, o.Memory}}
	lines, err := trace.OpenLines(file, &s.skips)
	if err != nil {
		return nil, err
	}
	defer lines.Close() //nolint:errcheck // it was only read
	var row trace.Row
	seen := map[[2]uint64]bool{} // job and task
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		task, err := parse(lines, &row, line)
		id := [2]uint64{task.task.Job, uint64(task.task.Index)}
		if err == nil && seen[id] {
			err = lines.Error(fieldTask, "a task of the job that is not there yet", row.Text(fieldTask))
		}
		if err == nil {
			seen[id] = true
			s.tasks = append(s.tasks, task)
		} else if err := s.skips.Refuse(err); err != nil {
			return nil, err
		}
	}
	if len(s.tasks) == 0 {
		return nil, lines.Missing("a record {time, task, job, duration, cpu, ram, priority, antiAffinity, [constraints]}.")
	}
	slices.SortStableFunc(s.tasks, func(a, b timedTask) int { return cmp.Compare(a.at, b.at) })
	return s, nil
}

// The fields of a record, counted from 1.
const (
	fieldTime = iota + 1
	fieldTask
	fieldJob
	fieldDuration
	fieldCPU
	fieldRAM
	fieldPriority
	fieldApart
	fieldConstraints
	fields = fieldConstraints
)

// parse reads one record. Constraints are not supported: the published
// workloads have none.
func parse(l *trace.Lines, row *trace.Row, line []byte) (timedTask, error) {
	text, opened := bytes.CutPrefix(bytes.TrimSpace(line), []byte("{"))
	text, closed := bytes.CutSuffix(text, []byte("}."))
	if !opened || !closed {
		return timedTask{}, l.Error(1, "a record {time, task, job, duration, cpu, ram, priority, antiAffinity, [constraints]}.", line)
	}
	row.Split(l, text, fields)
	const seconds = "a whole number of seconds"
	t := timedTask{
		at: cluster.Time(row.Uint(fieldTime, seconds, 1<<40)) * cluster.Second,
		task: trace.Task{
			Job: row.Uint(fieldJob, "a job number", 1<<62), Index: uint32(row.Uint(fieldTask, "a task number", 1<<31)),
			Work:     cluster.Time(row.Uint(fieldDuration, seconds, 1<<40)) * cluster.Second,
			Priority: int32(row.Uint(fieldPriority, "a priority from 0 to 11", 11)),
			Demand: cluster.Vector{
				row.Decimal(fieldCPU, "an amount of cpu", places, trace.Up),
				row.Decimal(fieldRAM, "an amount of ram", places, trace.Up),
			},
			PerNode:  int32(row.Uint(fieldApart, "0 or 1", 1)),
			JobTasks: 0,
		},
	}
	if row.Err() == nil && !bytes.Equal(row.Text(fieldConstraints), []byte("[]")) {
		row.Fail(fieldConstraints, "no constraints: []")
	}
	return t, row.Err()
}

// Kinds are cpu and memory, in the units of the file.
func (s *Source) Kinds() []cluster.Kind {
	return []cluster.Kind{{Name: "cpu", Unit: "hosts' units", PerUnit: perUnit}, {Name: "memory", Unit: "hosts' units", PerUnit: perUnit}}
}

// Next gives the hosts, and then the tasks.
func (s *Source) Next(r *trace.Record) error {
	if s.hosts < s.options.Hosts {
		s.hosts++
		*r = trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: uint64(s.hosts), Capacity: s.vector}}
		return nil
	}
	if len(s.tasks) == 0 {
		return io.EOF
	}
	*r = trace.Record{Time: s.tasks[0].at, What: trace.TaskSubmitted, Task: s.tasks[0].task}
	s.tasks = s.tasks[1:]
	return nil
}

// Skipped counts the broken lines that were passed over, with the first few.
func (s *Source) Skipped() (count int, first []*trace.Error) { return s.skips.Count, s.skips.First }

// Close does nothing: the file is closed already.
func (s *Source) Close() error { return nil }
