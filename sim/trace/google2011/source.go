package google2011

import (
	"cmp"
	"errors"
	"io"
	"io/fs"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// The kinds, in the order of their vectors, and the decimals that are kept.
const (
	cpu = iota
	memory

	decimals = 7
	perUnit  = 10_000_000
)

// Options says how to read a trace.
type Options struct {
	// Lenient leaves out broken lines and counts them. A gzip file that is cut
	// short ends there, and the next part follows.
	Lenient bool
}

// Counts is what the task events hold, whether or not it is replayed.
type Counts struct {
	Events [taskEvents]int // rows by event type, 0 (SUBMIT) to 8 (UPDATE_RUNNING)
	Lives  int             // tasks submitted, counting those that start again
	Strays int             // rows left out: of tasks not alive, and repeated SUBMITs
	// LastTaskEvent is the time of the last row. Machine events may go on for
	// weeks, if not all parts of the task events are there; trace.Limit ends
	// both.
	LastTaskEvent cluster.Time
}

// Source streams a trace. It is a trace.Source.
type Source struct {
	machines *machines
	tasks    *tasks
	skips    *trace.Skips
	counts   Counts
	err      error // final, once set
}

var _ trace.Source = (*Source)(nil)

// Open finds the tables of a trace in dir and reads the task events once.
// Machine events and task events must be there, machine attributes and task
// constraints may be. Files are named as Google names them,
// task_events/part-00000-of-00500.csv.gz, or
// task_events-part-00000-of-00500.csv.gz; any of the parts will do, packed or
// not.
func Open(dir string, opt Options) (*Source, error) {
	machineFiles, err := needParts(dir, "machine_events")
	if err != nil {
		return nil, err
	}
	taskFiles, err := needParts(dir, "task_events")
	if err != nil {
		return nil, err
	}
	attributeFiles, err := findParts(dir, "machine_attributes")
	if err != nil {
		return nil, err
	}
	constraintFiles, err := findParts(dir, "task_constraints")
	if err != nil {
		return nil, err
	}
	works, err := newWorks()
	if err != nil {
		return nil, err
	}
	skips, interned := &trace.Skips{Lenient: opt.Lenient}, names{}
	// The second pass meets the broken lines of the first again, uncounted.
	again := &trace.Skips{Lenient: opt.Lenient}
	s := &Source{
		skips:    skips,
		machines: newMachines(machineFiles, attributeFiles, skips, interned),
		tasks: &tasks{
			events:      taskTable(taskFiles, again, interned),
			lives:       lives{alive: map[taskKey]life{}},
			works:       works,
			constraints: newConstraints(constraintFiles, skips, interned),
		},
	}
	if err := s.start(taskFiles); err != nil {
		_ = s.Close() // the first error tells more
		return nil, err
	}
	return s, nil
}

func (s *Source) start(taskFiles []string) error {
	if err := measure(taskFiles, s.skips, s.tasks.works, &s.counts); err != nil {
		return err
	}
	if err := s.machines.start(); err != nil {
		return err
	}
	return s.tasks.start()
}

// Kinds are CPU and memory.
func (s *Source) Kinds() []cluster.Kind {
	return []cluster.Kind{
		cpu:    {Name: "cpu", Unit: "of the largest node", PerUnit: perUnit},
		memory: {Name: "memory", Unit: "of the largest node", PerUnit: perUnit},
	}
}

// Counts says what the task events hold.
func (s *Source) Counts() Counts { return s.counts }

// Skipped returns how many broken lines were left out so far, and the first
// few of them.
func (s *Source) Skipped() (count int, first []*trace.Error) { return s.skips.Count, s.skips.First }

// Next fills in the next record.
func (s *Source) Next(r *trace.Record) error {
	for s.err == nil {
		made, nodes, tasks := false, s.machines.time(), s.tasks.time()
		switch {
		case nodes == cluster.Never && tasks == cluster.Never:
			s.err = io.EOF
		case nodes <= tasks:
			made, s.err = s.machines.next(r)
		default:
			made, s.err = s.tasks.next(r)
		}
		// A record is good even if the row after it is broken: that error is
		// for the next call.
		if made {
			return nil
		}
	}
	return s.err
}

// Close closes all files. It may be called more than once.
func (s *Source) Close() error {
	if errors.Is(s.err, fs.ErrClosed) {
		return nil
	}
	s.err = fs.ErrClosed
	return cmp.Or(s.machines.close(), s.tasks.close())
}
