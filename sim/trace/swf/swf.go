// Package swf reads the Standard Workload Format, version 2.2, in which the
// Parallel Workloads Archive keeps the logs of supercomputers and grids
// (Chapin et al., JSSPP'99; https://www.cs.huji.ac.il/labs/parallel/workload/swf.html).
//
// Lines that begin with a semicolon are comments; those before the first job
// describe the machine, such as "; MaxProcs: 1152". Every other line is a job,
// 18 numbers between blanks, -1 where one is unknown:
//
//	 1 job number          the job; each number stands once
//	 2 submit time         in seconds; does not go backwards
//	 3 wait time           not read: what a scheduler does is for us to find out
//	 4 run time            how long its tasks run, in seconds
//	 5 allocated procs     counts where 8 is unknown
//	 6 cpu time            not read
//	 7 used memory         per processor, in KiB; counts where 10 is unknown
//	 8 requested procs     how many tasks the job has
//	 9 requested time      not read: no policy here knows how long a task will run
//	10 requested memory    per processor, in KiB
//	11 status              see below
//	12 user                the user
//	13 … 18                group, program, queue, partition, preceding job, think time: not read
//
// A job of p processors becomes p tasks of one core each, all with the run time
// of the job. In the machines of the archive they start together; here each is
// placed by itself as soon as there is room, so that a job may start in part.
//
// Status 1 is a job that was completed, 0 one that failed: its tasks run as
// long, and fail. Status 5 is a job that its user cancelled: one that had begun
// runs until then; one that had not is left out, since nobody knows how long it
// would have run, and so is any other without a run time or a number of
// processors. Status 2, 3 and 4 are parts of a run that was interrupted. They
// are left out: the job has a line of its own for the whole. Notes counts all
// these.
//
// Nodes are all alike: MaxNodes of them share MaxProcs processors evenly; if
// only one of the two is known, each node has one processor. Memory is not
// counted unless Options say how much a node has: the header does not.
package swf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

const (
	core = 1000 // thousandths
	gib  = 1024 // MiB
)

// Options describe the machine, where the header does not or should not, and
// the reading.
type Options struct {
	Nodes int   // 0: MaxNodes
	Procs int64 // of all nodes together; 0: MaxProcs
	// Memory is that of a node, in MiB; 0 does not count memory at all.
	Memory    int64
	Gangs     bool // the tasks of a job begin together, as on the machines of the archive
	TasksOnly bool // there are no nodes: another source has them
	Lenient   bool // count and skip broken lines
}

// Source is one file. It is read as it is asked for.
type Source struct {
	options Options
	skips   trace.Skips
	lines   *trace.Lines
	row     trace.Row
	header  header
	seen    trace.Numbers // the jobs so far
	omitted [omissions]int

	nodes, added int        // given out so far
	first        []byte     // the line of the first job, until it is read
	job          trace.Task // whose tasks are given out; Index of JobTasks are
	at           cluster.Time
	begun        bool // a job was read, if only to be left out
	vector       cluster.Vector
}

var _ trace.Source = (*Source)(nil)

// header is what the comments say of the machine; 0 is unknown.
type header struct{ nodes, procs int64 }

// The reasons for which jobs are left out.
const (
	cancelled = iota
	part
	noRunTime
	noProcs
	omissions
)

// Open reads the header.
func Open(file string, o Options) (*Source, error) {
	s := &Source{options: o, skips: trace.Skips{Lenient: o.Lenient}}
	lines, err := trace.OpenLines(file, &s.skips)
	if err != nil {
		return nil, err
	}
	s.lines = lines
	if err = s.readHeader(); err == nil && !o.TasksOnly {
		err = s.machine()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

const wantJob = "a job, 18 numbers between blanks"

// readHeader reads up to the first job. What an option says is not looked for.
func (s *Source) readHeader() error {
	for {
		line, err := s.lines.Next()
		if errors.Is(err, io.EOF) {
			return s.lines.Missing(wantJob)
		}
		if err != nil {
			return err
		}
		comment, is := comment(line)
		if !is {
			s.first = bytes.Clone(line)
			// What is no log at all is reported before what a header lacks.
			s.row.SplitBlanks(s.lines, s.first, fields)
			if s.options.Lenient {
				return nil
			}
			return s.row.Err()
		}
		if err := s.readComment(comment); err != nil {
			return err
		}
	}
}

// readComment reads a number of nodes or processors, unless it is known already
// or the comment explains instead of giving one.
func (s *Source) readComment(comment []byte) error {
	key, value, _ := bytes.Cut(comment, []byte(":"))
	var known *int64
	switch o := &s.options; string(bytes.TrimSpace(key)) {
	case "MaxNodes":
		if o.Nodes == 0 && !o.TasksOnly {
			known = &s.header.nodes
		}
	case "MaxProcs":
		if o.Procs == 0 && !o.TasksOnly {
			known = &s.header.procs
		}
	}
	words := bytes.Fields(value)
	if known == nil || *known != 0 || len(words) == 0 {
		return nil
	}
	number, err := strconv.ParseInt(string(words[0]), 10, 64)
	const most = cluster.MaxQuantity / core
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		return nil
	case err != nil || number < -1 || number > most:
		return s.lines.Error(0, fmt.Sprintf("a number from 0 to %d, or -1 where it is unknown; or say how many there are, with nodes and procs", int64(most)), words[0])
	}
	*known = number
	return nil
}

// comment returns what a comment says; an empty line is one too.
func comment(line []byte) (text []byte, is bool) {
	text = bytes.TrimSpace(line)
	if len(text) == 0 {
		return nil, true
	}
	return bytes.CutPrefix(text, []byte(";"))
}

// maxNodes bounds the nodes, so that a wild header is an error.
const maxNodes = 10_000_000

// machine finds out how many nodes and processors there are.
func (s *Source) machine() error {
	procs, nodes := s.options.Procs, int64(s.options.Nodes)
	if procs <= 0 && s.header.procs > 0 {
		procs = s.header.procs
	}
	if nodes <= 0 && s.header.nodes > 0 {
		nodes = s.header.nodes
	}
	switch {
	case procs <= 0 && nodes <= 0:
		return s.wrong("a header with MaxProcs or MaxNodes as a number; or say how many there are, with nodes and procs")
	case procs <= 0:
		procs = nodes
	case nodes <= 0:
		nodes = procs
	}
	if nodes > procs || nodes > maxNodes {
		return s.wrong(fmt.Sprintf("at most %d nodes, and a processor for each; there are %d nodes and %d processors", maxNodes, nodes, procs))
	}
	s.options.Procs, s.nodes = procs, int(nodes)
	return nil
}

// wrong is an error about the header as a whole.
func (s *Source) wrong(want string) error {
	err := s.lines.Error(0, want, nil)
	err.Line = 0
	return err
}

// Kinds are cpu, and memory if it counts.
func (s *Source) Kinds() []cluster.Kind {
	kinds := []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: core}}
	if s.options.Memory > 0 {
		kinds = append(kinds, cluster.Kind{Name: "memory", Unit: "GiB", PerUnit: gib})
	}
	return kinds
}

// Next gives the nodes, and then the tasks of job after job.
func (s *Source) Next(r *trace.Record) error {
	if s.added < s.nodes {
		*r = trace.Record{What: trace.NodeAdded, Node: s.node(s.added)}
		s.added++
		return nil
	}
	for s.job.Index == s.job.JobTasks {
		if err := s.nextJob(); err != nil {
			return err
		}
	}
	*r = trace.Record{Time: s.at, What: trace.TaskSubmitted, Task: s.job}
	s.job.Index++
	return nil
}

// node returns the node of that number, from 0. The first ones have what is
// left over of the processors.
func (s *Source) node(i int) trace.Node {
	procs := s.options.Procs / int64(s.nodes)
	if int64(i) < s.options.Procs%int64(s.nodes) {
		procs++
	}
	s.vector = append(s.vector[:0], procs*core)
	if s.options.Memory > 0 {
		s.vector = append(s.vector, s.options.Memory)
	}
	return trace.Node{ID: uint64(i + 1), Capacity: s.vector}
}

// nextJob reads on up to the next line of which something is to be given out, or
// nothing because it is left out.
func (s *Source) nextJob() error {
	line := s.first
	if s.first == nil {
		var err error
		if line, err = s.lines.Next(); errors.Is(err, io.EOF) && !s.begun {
			return s.lines.Missing(wantJob)
		} else if err != nil {
			return err
		}
		if _, is := comment(line); is {
			return nil
		}
	}
	s.first = nil
	s.row.SplitBlanks(s.lines, line, fields)
	job, at, omitted := s.parse()
	if err := s.row.Err(); err != nil {
		return s.skips.Refuse(err)
	}
	s.at, s.begun = at, true
	if omitted >= 0 {
		s.omitted[omitted]++
		return nil
	}
	s.job = job
	return nil
}

// Notes counts the jobs that were left out so far, by their reason.
func (s *Source) Notes() []string {
	var all []string
	for i, what := range [omissions]string{
		cancelled: "jobs that were cancelled before they began", part: "parts of interrupted jobs",
		noRunTime: "jobs without a run time", noProcs: "jobs without a number of processors",
	} {
		if s.omitted[i] > 0 {
			all = append(all, fmt.Sprintf("left out %d %s", s.omitted[i], what))
		}
	}
	return all
}

// Skipped counts the broken lines that were passed over, with the first few.
func (s *Source) Skipped() (count int, first []*trace.Error) { return s.skips.Count, s.skips.First }

// Close closes the file. It may be called more than once.
func (s *Source) Close() error { return s.lines.Close() }

// The fields of a job that are read, counted from 1.
const (
	fieldJob             = 1
	fieldSubmit          = 2
	fieldRunTime         = 4
	fieldAllocated       = 5
	fieldUsedMemory      = 7
	fieldRequested       = 8
	fieldRequestedMemory = 10
	fieldStatus          = 11
	fieldUser            = 12
	fields               = 18
)

// maxProcs bounds a job, each of whose processors is a task.
const maxProcs = 1 << 24

// parse reads the job in the row, and when it is submitted. It returns the
// reason if it is left out, or else -1. Err of the row says what is wrong.
func (s *Source) parse() (job trace.Task, at cluster.Time, omitted int) {
	r := &s.row
	at = s.seconds(fieldSubmit, "a submit time in seconds")
	if r.Err() == nil && at < s.at {
		r.Fail(fieldSubmit, "a submit time that is not before that of the job before; sort the jobs by this field")
	}
	job = trace.Task{Job: r.Uint(fieldJob, "a job number", 1<<62)}
	status, known := s.optional(fieldStatus, "a status from 0 to 5, or -1", 0, 5)
	if !known {
		status = 1
	}
	if status >= 2 && status <= 4 {
		return job, at, part
	}
	runTime, ran := s.optional(fieldRunTime, "a run time in seconds, or -1", 3, math.MaxInt64)
	procs, asked := s.either(fieldRequested, fieldAllocated, "a number of processors, or -1", maxProcs)
	memory, _ := s.either(fieldRequestedMemory, fieldUsedMemory, "an amount of memory in KiB, or -1", cluster.MaxQuantity)
	if user, known := s.optional(fieldUser, "the number of a user, or -1", 0, cluster.MaxQuantity); known {
		job.User = strconv.FormatInt(user, 10)
	}
	if r.Err() == nil && !s.seen.Add(job.Job) {
		r.Fail(fieldJob, "the number of a job that is not there yet")
	}
	switch {
	case status == 5 && runTime == 0:
		return job, at, cancelled
	case !ran:
		return job, at, noRunTime
	case !asked:
		return job, at, noProcs
	}
	job.JobTasks, job.Work, job.Fails = uint32(procs), cluster.Time(runTime)*cluster.Millisecond, status == 0
	job.Demand = cluster.Vector{core}
	if s.options.Gangs {
		job.Gang = int32(min(procs, math.MaxInt32))
	}
	if s.options.Memory > 0 {
		job.Demand = append(job.Demand, (memory+gib-1)/gib)
	}
	return job, at, -1
}

// seconds reads a time that must be known, to the millisecond.
func (s *Source) seconds(field int, want string) cluster.Time {
	return cluster.Time(s.row.Decimal(field, want, 3, trace.Down)) * cluster.Millisecond
}

// optional reads a number from 0 to most in units of 10^-places, and returns
// false if it is -1: unknown.
func (s *Source) optional(field int, want string, places int, most int64) (value int64, known bool) {
	if text := s.row.Text(field); bytes.Equal(text, []byte("-1")) || bytes.Equal(text, []byte("-1.00")) {
		return 0, false
	}
	value = s.row.Decimal(field, want, places, trace.Up)
	if value > most {
		s.row.Fail(field, want)
	}
	return value, true
}

// either reads the first of two fields that is known and not 0.
func (s *Source) either(field, other int, want string, most int64) (value int64, known bool) {
	value, _ = s.optional(field, want, 0, most)
	if value == 0 {
		value, _ = s.optional(other, want, 0, most)
	}
	return value, value > 0
}
