package google2019

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/spill"
	"fairlead.dev/fairlead/sim/trace"
)

// Options says how to read a trace.
type Options struct {
	// OpenAllocs leaves alloc sets out, and places the tasks in them as any others.
	OpenAllocs bool
	// OwnPriorities keeps the priorities of the trace, which else become those of 2011.
	OwnPriorities bool
	// Lenient leaves out broken rows and counts them. A file that is cut short or damaged ends there.
	Lenient bool
}

// Source streams a trace. It is a trace.Source.
type Source struct {
	machines    machines
	tasks       tasks
	collections collections
	skips       *trace.Skips
	err         error // final, once set
}

var _ trace.EndingSource = (*Source)(nil)

// Open finds the tables of a trace in dir, and reads them once to put their rows in order.
func Open(dir string, o Options) (*Source, error) {
	names := []string{"machine_events", "instance_events", "machine_attributes", "collection_events"}
	files := map[string][]string{}
	for i, name := range names {
		find := findShards
		if i < 2 {
			find = needShards
		}
		var err error
		if files[name], err = find(dir, name); err != nil {
			return nil, err
		}
	}
	numbers, err := spill.NewNumbers()
	if err != nil {
		return nil, err
	}
	s := &Source{
		skips:       &trace.Skips{Lenient: o.Lenient},
		machines:    machines{sorted: spill.New(0), all: map[uint64]*machine{}},
		collections: collections{sorted: spill.New(0), alive: map[uint64]collection{}},
	}
	s.tasks = tasks{options: o, sorted: spill.New(0), endings: endings{numbers}, collections: &s.collections}
	if err := s.load(files); err != nil {
		_ = s.Close() // the first error tells more
		return nil, err
	}
	return s, nil
}

// load reads all tables, and all rows of instances once more for their work.
func (s *Source) load(files map[string][]string) error {
	if err := s.machines.load(files["machine_events"], files["machine_attributes"], s.skips); err != nil {
		return err
	}
	if err := s.collections.load(files["collection_events"], s.skips); err != nil {
		return err
	}
	if err := s.tasks.load(files["instance_events"], s.skips); err != nil {
		return err
	}
	for _, step := range []func() error{s.tasks.measure, s.machines.start, s.collections.start, s.tasks.start} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// Kinds are CPU and memory.
func (s *Source) Kinds() []cluster.Kind {
	return []cluster.Kind{
		cpu:    {Name: "cpu", Unit: "of the largest node", PerUnit: perUnit},
		memory: {Name: "memory", Unit: "of the largest node", PerUnit: perUnit},
	}
}

// End is the time of the last event of an instance: a shard of a table may be all that is at hand.
func (s *Source) End() cluster.Time { return s.tasks.counts.last }

// Skipped returns how many broken rows were left out so far, and the first few of them.
func (s *Source) Skipped() (count int, first []*trace.Error) { return s.skips.Count, s.skips.First }

// Notes says what of the trace is not replayed, as far as it was read.
func (s *Source) Notes() []string {
	var list []string
	add := func(count int, text string) {
		if count > 0 {
			list = append(list, fmt.Sprintf(text, count))
		}
	}
	if !s.collections.known {
		list = append(list, "there is no collection_events: users are not known, nor how many instances of a job a machine may hold")
	}
	add(s.tasks.counts.inside, "left out %d tasks in alloc sets, which take no room of their own; allocs=tasks places them instead of the allocs")
	add(s.tasks.counts.allocs, "left out %d instances of alloc sets, whose tasks are placed by themselves")
	add(s.tasks.counts.nowhere, "%d tasks ran at the start on no machine of the trace; they wait to be placed")
	add(s.tasks.counts.strays, "ignored %d events of instances that were not alive, or already")
	add(s.machines.strays, "%d events of machines did not fit the one before: another ADD, or any other of a machine that is not there")
	add(s.collections.scaled, "%d jobs are scaled vertically; their tasks ask for what they asked for when they were submitted")
	add(s.collections.after, "%d jobs start after others; their tasks come when they came in the trace")
	add(s.collections.perSwitch, "%d jobs have a limit for each switch, which is not held")
	return list
}

// Next fills in the next record.
func (s *Source) Next(r *trace.Record) error {
	for s.err == nil {
		made, nodes, tasks := false, s.machines.time, s.tasks.when()
		switch {
		case nodes == cluster.Never && tasks == cluster.Never:
			s.err = io.EOF
		case nodes <= tasks:
			made, s.err = s.machines.next(r)
		default:
			made, s.err = s.tasks.next(r)
		}
		if made { // an error is of what comes after it
			return nil
		}
	}
	return s.err
}

// Close removes all temporary files. It may be called more than once.
func (s *Source) Close() error {
	if errors.Is(s.err, fs.ErrClosed) {
		return nil
	}
	s.err = fs.ErrClosed
	return errors.Join(s.machines.sorted.Close(), s.collections.sorted.Close(), s.tasks.sorted.Close(), s.tasks.endings.Close())
}
