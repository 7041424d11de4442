// Package ecsched reads the job lists with which the authors of ECSched (Hu et
// al., FGCS 102, 2020) ran their simulations. A line is a job of one task, five
// whole numbers between blanks:
//
//	1 job        its number; each stands once
//	2 submit     in seconds; does not go backwards
//	3 duration   how long it runs, in seconds
//	4 cpu        in slots
//	5 memory     in slots
//
// A slot is a share of the largest node of the paper's test bed, so that cpu and
// memory are measured alike. The lists hold jobs alone; Options describe the
// nodes. The stored results of the authors belong to 50 equal nodes of 50 and 50
// slots, the default. Those of the test bed are 10 nodes of 25 slots (1 core, 3
// GB), 10 of 50 (2, 6) and 10 of 100 (4, 12).
package ecsched

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// Options describe the nodes, and the reading.
type Options struct {
	Nodes   []cluster.Vector // cpu and memory of each, in slots
	Lenient bool             // count and skip broken lines
}

// Equal returns nodes that are all alike.
func Equal(nodes int, cpu, memory int64) []cluster.Vector {
	return slices.Repeat([]cluster.Vector{{cpu, memory}}, nodes)
}

// Default are the nodes of the authors' stored results.
func Default() []cluster.Vector { return Equal(50, 50, 50) }

// TestBed are the nodes of the paper's test bed.
func TestBed() []cluster.Vector {
	return slices.Concat(Equal(10, 25, 25), Equal(10, 50, 50), Equal(10, 100, 100))
}

// Source is one list, with its nodes. It is read as it is asked for.
type Source struct {
	nodes []cluster.Vector
	skips trace.Skips
	lines *trace.Lines
	row   trace.Row
	seen  trace.Numbers // the jobs so far
	added int           // nodes given out so far
	at    cluster.Time  // of the latest job
	begun bool          // a job was read
	first []byte        // the first line, until it is read
}

var _ trace.Source = (*Source)(nil)

// Open opens a list, which must not be empty.
func Open(file string, o Options) (*Source, error) {
	s := &Source{nodes: o.Nodes, skips: trace.Skips{Lenient: o.Lenient}}
	lines, err := trace.OpenLines(file, &s.skips)
	if err != nil {
		return nil, err
	}
	s.lines = lines
	line, err := s.next()
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.first = bytes.Clone(line)
	return s, nil
}

// next returns the next line that is not empty.
func (s *Source) next() ([]byte, error) {
	for {
		line, err := s.lines.Next()
		if errors.Is(err, io.EOF) && !s.begun {
			return nil, s.lines.Missing("a job, five whole numbers between blanks")
		}
		if err != nil || len(bytes.TrimSpace(line)) > 0 {
			return line, err
		}
	}
}

// Kinds are cpu and memory, in slots.
func (s *Source) Kinds() []cluster.Kind {
	return []cluster.Kind{{Name: "cpu", Unit: "slots", PerUnit: 1}, {Name: "memory", Unit: "slots", PerUnit: 1}}
}

// Next gives the nodes, and then the jobs.
func (s *Source) Next(r *trace.Record) error {
	if s.added < len(s.nodes) {
		*r = trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: uint64(s.added + 1), Capacity: s.nodes[s.added]}}
		s.added++
		return nil
	}
	for {
		line := s.first
		if s.first = nil; line == nil {
			var err error
			if line, err = s.next(); err != nil {
				return err
			}
		}
		at, task, err := s.parse(line)
		if err == nil {
			s.at, s.begun = at, true
			*r = trace.Record{Time: at, What: trace.TaskSubmitted, Task: task}
			return nil
		}
		if err := s.skips.Refuse(err); err != nil {
			return err
		}
	}
}

// The fields of a job, counted from 1.
const (
	fieldJob = iota + 1
	fieldSubmit
	fieldDuration
	fieldCPU
	fieldMemory
	fields = fieldMemory
)

func (s *Source) parse(line []byte) (cluster.Time, trace.Task, error) {
	const (
		seconds = "a whole number of seconds"
		slots   = "a whole number of slots"
	)
	r := &s.row
	r.SplitBlanks(s.lines, line, fields)
	t := trace.Task{Job: r.Uint(fieldJob, "a job number", 1<<62), JobTasks: 1}
	at := cluster.Time(r.Uint(fieldSubmit, seconds, 1<<40)) * cluster.Second
	t.Work = cluster.Time(r.Uint(fieldDuration, seconds, 1<<40)) * cluster.Second
	t.Demand = cluster.Vector{
		int64(r.Uint(fieldCPU, slots, cluster.MaxQuantity)),
		int64(r.Uint(fieldMemory, slots, cluster.MaxQuantity)),
	}
	if r.Err() == nil && at < s.at {
		r.Fail(fieldSubmit, "a time that is not before that of the job before; sort the jobs by this field")
	}
	if r.Err() == nil && !s.seen.Add(t.Job) {
		r.Fail(fieldJob, "the number of a job that is not there yet")
	}
	return at, t, r.Err()
}

// Skipped counts the broken lines that were passed over, with the first few.
func (s *Source) Skipped() (count int, first []*trace.Error) { return s.skips.Count, s.skips.First }

// Close closes the file. It may be called more than once.
func (s *Source) Close() error { return s.lines.Close() }
