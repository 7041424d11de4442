// Package azure2017 reads the arrivals of virtual machines at a part of Azure in 30 days
// of 2016: AzurePublicDataset V1 (Cortez et al., SOSP'17), as
// github.com/huaweicloud/trace_generation_rnn prepared it. A folder holds, as text that
// may be compressed with gzip,
//
//	flav_map.txt              a flavour a line: cores, GiB and the letter it goes by
//	v1.interval_map.txt       which bin a duration falls into: seconds and bin, a line for each five minutes
//	v1.PART.txt               arrivals: a line for each five minutes
//	v1.PART.cHORIZON.txt      what became of them, in the same order; of dev and test alone
//
// in three parts that follow each other: train, dev and test. Arrivals are
//
//	300 g,|,b,m,|
//
// the second, and flavours; what stands before a bar is a batch, which one tenant asked
// for at once. What became of them is U15, ended in bin 15, or C46, still there at the
// horizon with an age in bin 46.
//
// A batch is a job and its VMs are the tasks. The job's number is the second in which it
// came, and five digits for its place among those of that second, in whatever part it is
// read. A VM's flavour is its demand and its tag; how many came with it is JobTasks.
//
// A VM stays where it was placed: it is unowned, so that nobody moves it, and asks with
// the priority of production, 9, whose tasks the default table of classes never evicts.
// With Options.Movable it asks with priority 0, and may be evicted and moved.
//
// # Durations
//
// A VM that ended does so after a time in its bin, drawn evenly to the second and so that
// it ends before the horizon. What became of those of train is not published here:
// lifetimes.go draws it, by flavour, from how long those of dev lived; and those still
// there at the horizon go on by the same. Those that would outlive all that was observed
// in dev, three and a half days, never end. All is drawn from Options.Seed and the job's
// number, so that a VM lives as long in whatever part it is read.
//
// # Times
//
// Times are the trace's, but for whole days: the day on which the first part that is read
// begins is the first one, so that the hour of the day stays what it was. (dev begins at
// 20:00 of it, test at 07:20.) Nobody knows who was there before. A run ends at the horizon
// of the last part, and that of train alone where dev begins.
//
// The trace has no nodes. Those that Options describe are all alike, and there from the start.
package azure2017

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

const (
	core = 1000 // thousandths
	gib  = 1024 // MiB
	day  = 24 * 60 * 60
)

// production is the priority of who is not to be evicted.
const production = 9

// All is the part that stands for train, dev and test, one after the other.
const All = "all"

// Parts are those that can be read.
func Parts() []string { return []string{train, dev, test, All} }

// Options say what is read, and on what it runs.
type Options struct {
	Part        string // one of Parts
	Seed        uint64 // of what is drawn
	Nodes       int
	CPU, Memory int64 // of each node, in thousandths of a core and in MiB
	Movable     bool  // VMs may be evicted and moved
	TasksOnly   bool  // there are no nodes: another source has them
	Lenient     bool  // count and skip broken lines
}

// Default is the whole trace on hosts of which it needs nine tenths at its peak: 287,000
// cores and 1.19 million GiB.
func Default() Options {
	return Options{Part: All, Seed: 1, Nodes: 6500, CPU: 48 * core, Memory: 256 * gib}
}

// Source is a part of the trace, or all of it. It is read as it is asked for.
type Source struct {
	options   Options
	files     files
	skips     trace.Skips
	flavours  []flavour
	lifetimes *lifetimes
	later     []string // parts that come after the one that is read
	reading   *moments
	moment    moment // whose VMs are given out
	cursor    cursor
	base      int64 // the second at which the source begins
	end       int64 // the second at which it ends
	added     int   // nodes given out so far
	drawn     drawn // of VMs given out so far
}

var _ trace.EndingSource = (*Source)(nil)

// cursor is where in a moment the source stands.
type cursor struct {
	vm    int // the next one
	batch int // the batch that it is of
	index int // its place in it
	// share is what is drawn for the batch: its VMs live alike.
	share  uint32
	source rand.PCG
	chance *rand.Rand
}

// drawn counts VMs by what was drawn of them.
type drawn struct{ whole, rest, never int }

// Open reads how long the VMs of dev lived, and the first moment.
func Open(dir string, o Options) (*Source, error) {
	s := &Source{options: o, files: files{dir}, skips: trace.Skips{Lenient: o.Lenient}}
	switch o.Part {
	case All:
		s.later = []string{train, dev, test}
	case train, dev, test:
		s.later = []string{o.Part}
	default:
		return nil, fmt.Errorf("a part %q, want one of %v", o.Part, Parts())
	}
	s.cursor.chance = rand.New(&s.cursor.source)
	bins, err := s.files.bins(&s.skips)
	if err != nil {
		return nil, err
	}
	if s.flavours, err = s.files.flavours(&s.skips); err != nil {
		return nil, err
	}
	began, err := s.learn(bins)
	if err != nil {
		return nil, err
	}
	if err = s.open(); err == nil {
		err = s.reading.next(&s.moment)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.base = s.moment.at / day * day
	s.end, err = s.lastSecond(began)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.begin()
	return s, nil
}

// learn makes the lifetimes of what became of the VMs of dev, and returns the second in which
// that begins.
func (s *Source) learn(bins bins) (began int64, err error) {
	// What is broken in dev is counted once: here, unless it is played as well.
	skips := &s.skips
	if slices.Contains(s.later, dev) {
		skips = &trace.Skips{Lenient: s.options.Lenient}
	}
	m, err := s.files.open(dev, s.flavours, bins, skips)
	if err != nil {
		return 0, err
	}
	defer m.close() //nolint:errcheck // it was only read
	seen := newTally(len(s.flavours), len(bins)-1)
	var at moment
	for first := true; ; first = false {
		err := m.next(&at)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
		if first {
			began = at.at
		}
		for i := range at.vms {
			seen.add(&at.vms[i])
		}
	}
	s.lifetimes = seen.lifetimes(bins)
	return began, nil
}

// open opens the next part.
func (s *Source) open() (err error) {
	s.reading, err = s.files.open(s.later[0], s.flavours, s.lifetimes.bins, &s.skips)
	s.later = s.later[1:]
	return err
}

// lastSecond is where the last part ends, given where dev begins.
func (s *Source) lastSecond(devBegan int64) (int64, error) {
	switch s.options.Part {
	case train:
		return devBegan, nil
	case All:
		_, horizon, err := s.files.fates(test)
		return horizon, err
	}
	return s.reading.horizon, nil
}

// End is when a run stops unless told otherwise.
func (s *Source) End() cluster.Time { return cluster.Time(s.end-s.base) * cluster.Second }

// Kinds are cpu and memory.
func (s *Source) Kinds() []cluster.Kind {
	return []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: core}, {Name: "memory", Unit: "GiB", PerUnit: gib}}
}

// Next gives the nodes, and then the VMs of moment after moment.
func (s *Source) Next(r *trace.Record) error {
	if s.added < s.options.Nodes && !s.options.TasksOnly {
		s.added++
		*r = trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: uint64(s.added), Capacity: cluster.Vector{s.options.CPU, s.options.Memory}}}
		return nil
	}
	for s.cursor.vm == len(s.moment.vms) {
		if err := s.advance(); err != nil {
			return err
		}
	}
	*r = trace.Record{Time: cluster.Time(s.moment.at-s.base) * cluster.Second, What: trace.TaskSubmitted, Task: s.task()}
	s.step()
	return nil
}

// advance reads the next moment, if need be of the next part.
func (s *Source) advance() error {
	for {
		last := s.moment.at
		err := s.reading.next(&s.moment)
		if err == nil {
			s.begin()
			return nil
		}
		if !errors.Is(err, io.EOF) || len(s.later) == 0 {
			return err
		}
		if err := errors.Join(s.reading.close(), s.open()); err != nil {
			return err
		}
		s.reading.last = last
	}
}

// begin puts the cursor before the first VM of the moment.
func (s *Source) begin() {
	s.cursor.vm, s.cursor.batch = 0, 0
	s.beginBatch()
}

// beginBatch puts the cursor before the first VM of its batch.
func (s *Source) beginBatch() {
	s.cursor.index = 0
	s.cursor.source.Seed(s.options.Seed, s.job())
	s.cursor.share = s.cursor.chance.Uint32()
}

// step goes on to the next VM.
func (s *Source) step() {
	s.cursor.vm++
	s.cursor.index++
	if s.cursor.index == s.moment.batches[s.cursor.batch] && s.cursor.vm < len(s.moment.vms) {
		s.cursor.batch++
		s.beginBatch()
	}
}

// perSecond is more batches than a line can hold.
const perSecond = 100_000

// job is the number of the batch.
func (s *Source) job() uint64 { return uint64(s.moment.at)*perSecond + uint64(s.cursor.batch) }

// task is the VM at the cursor.
func (s *Source) task() trace.Task {
	vm := &s.moment.vms[s.cursor.vm]
	of := &s.flavours[vm.flavour]
	t := trace.Task{
		Job: s.job(), Index: uint32(s.cursor.index), JobTasks: uint32(s.moment.batches[s.cursor.batch]),
		Demand: of.demand, Tags: of.tags, Work: s.work(vm), Unowned: true, Priority: production,
	}
	if s.options.Movable {
		t.Unowned, t.Priority = false, 0
	}
	return t
}

// work is how long the VM lives.
func (s *Source) work(vm *vm) cluster.Time {
	c := &s.cursor
	age := s.reading.horizon - s.moment.at // of those that are there at the horizon
	switch vm.fate {
	case ended:
		return cluster.Time(s.lifetimes.within(vm.bin, age, c.chance)) * cluster.Second
	case unknown:
		age = 0
		s.drawn.whole++
	case going:
		s.drawn.rest++
	}
	seconds, ends := s.lifetimes.beyond(vm.flavour, age, c.share, c.chance)
	if !ends {
		s.drawn.never++
		return cluster.Never
	}
	return cluster.Time(seconds) * cluster.Second
}

// Notes says how many durations were drawn so far.
func (s *Source) Notes() []string {
	var all []string
	for _, of := range []struct {
		count int
		what  string
	}{
		{s.drawn.whole, "drew how long %d VMs live, by flavour, from those of dev"},
		{s.drawn.rest, "drew how much longer %d VMs live that were there when they were seen last"},
		{s.drawn.never, "%d of these outlive what was observed in dev, and never end"},
	} {
		if of.count > 0 {
			all = append(all, fmt.Sprintf(of.what, of.count))
		}
	}
	return all
}

// Skipped counts the broken lines that were passed over, with the first few.
func (s *Source) Skipped() (count int, first []*trace.Error) { return s.skips.Count, s.skips.First }

// Close closes the files. It may be called more than once.
func (s *Source) Close() error {
	if s.reading == nil {
		return nil
	}
	return s.reading.close()
}

// flavour is a size of VMs.
type flavour struct {
	letter string
	demand cluster.Vector
	tags   []string
}

// flavourOf is the place of the flavour of that letter, and false if there is none.
func flavourOf(all []flavour, letter []byte) (place int, known bool) {
	place = slices.IndexFunc(all, func(f flavour) bool { return f.letter == string(letter) })
	return place, place >= 0
}
