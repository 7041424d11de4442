// Package gpujobs makes a source of a list of jobs that ask for GPUs, as the logs of
// GPU clusters are. Readers of such logs, in packages beside this one, fill in a List;
// what all of them have in common is here: nodes that the logs lack, jobs that are
// spread over pods, order in time.
//
// The kinds are gpu, in thousandths of a device, and cpu and memory where Options
// count them. A job is one or several pods, which are its tasks. Pods of a job begin
// together or not at all, as training does, unless Options say otherwise.
//
// A list is held in memory, a record a job, as logs are in the order of job numbers or
// in none. Pods are made when they are given out: a job that asks for a million of them
// takes no more room than another.
package gpujobs

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// Quantities of a unit of each kind.
const (
	Device = 1000 // thousandths of a GPU
	Core   = 1000 // thousandths of a core
	GiB    = 1024 // MiB
)

// Bounds of a job, beyond which a log is wrong.
const (
	MostGPUs = 1 << 20
	MostPods = 1 << 20
	MostTime = 100 * 365 * cluster.Day
)

// Options describe the nodes, where a log has none, and how jobs are spread over them.
type Options struct {
	// Nodes is how many there are; 0: as many as have room for all that asks at once, if
	// each job begins when it arrives.
	Nodes int
	GPUs  int64 // of a node
	// Pod is how many GPUs a pod has at most; 0: as many as a node.
	Pod int64
	// Cores and Memory are those of a node, in thousandths and MiB; of what is 0 nothing is counted.
	Cores, Memory int64
	// Loose places the pods of a job each by itself, not all or none.
	Loose     bool
	TasksOnly bool // there are no nodes: another source has them
	// Given are the nodes, in place of those that Nodes, GPUs, Cores and Memory describe.
	Given []trace.Node
	// Lenient counts and skips broken lines.
	Lenient bool
}

// Job is a job of a list.
type Job struct {
	At       cluster.Time // since any moment that all jobs of the list have in common
	Name     string
	User     string
	Priority int32
	Due      []trace.Due
	Speeds   []trace.Speed
	Prefers  []trace.Preference
	Pods     []Pods
	id       uint64
}

// Pods are pods of a job that are alike.
type Pods struct {
	Count       int64
	GPU         int64 // of each, in thousandths
	CPU, Memory int64
	Work        cluster.Time
	Fails       bool
	Model       string // of its GPUs, of several with | between them; empty: any
}

// ModelLabel is the label of nodes that says which model their GPUs are of.
const ModelLabel = "gpu-model"

// demand is what a pod asks for, as a vector of cpu, memory and gpu.
func (p *Pods) demand() [3]int64 { return [3]int64{p.CPU, p.Memory, p.GPU} }

// Whole makes pods of what a job asks for in all: over as many nodes as p.Count says, evenly, or, where that is 0,
// as few pods as can be of the most GPUs that a pod may have, and one with the rest.
func (o *Options) Whole(p Pods) []Pods {
	most := cmp.Or(o.Pod, o.GPUs)
	if p.Count > 0 {
		return evenly(p, p.Count)
	}
	devices := (p.GPU + Device - 1) / Device
	full, rest := devices/most, devices%most
	if full == 0 || full == 1 && rest == 0 {
		p.Count = 1
		return []Pods{p}
	}
	first := p
	first.Count, first.GPU = full, most*Device
	first.CPU, first.Memory = share(p.CPU, most, devices), share(p.Memory, most, devices)
	if rest == 0 {
		return []Pods{first}
	}
	last := p
	last.Count, last.GPU = 1, rest*Device
	last.CPU, last.Memory = share(p.CPU, rest, devices), share(p.Memory, rest, devices)
	return []Pods{first, last}
}

// share is the part of all that some of the devices have, rounded up.
func share(all, some, devices int64) int64 {
	return int64(math.Ceil(float64(all) * float64(some) / float64(devices)))
}

// evenly spreads whole GPUs over so many pods, of which the first have one more where they do not divide.
func evenly(p Pods, pods int64) []Pods {
	devices := (p.GPU + Device - 1) / Device
	each, more := devices/pods, devices%pods
	p.CPU, p.Memory = (p.CPU+pods-1)/pods, (p.Memory+pods-1)/pods
	if pods == 1 {
		return []Pods{p}
	}
	first, others := p, p
	first.Count, first.GPU = more, (each+1)*Device
	others.Count, others.GPU = pods-more, each*Device
	if more == 0 {
		return []Pods{others}
	}
	return []Pods{first, others}
}

// List is the jobs of a log, in any order.
type List struct {
	Skips   trace.Skips
	jobs    []Job
	names   map[string]bool
	texts   map[string]string
	omitted []trace.Loss
	remarks []trace.Loss
}

// NewList is an empty list.
func NewList(lenient bool) *List {
	return &List{Skips: trace.Skips{Lenient: lenient}, names: map[string]bool{}, texts: map[string]string{}}
}

// Add adds a job, whose number is its place in the list.
func (l *List) Add(j Job) {
	j.id = uint64(len(l.jobs))
	if j.Name != "" {
		l.names[j.Name] = true
	}
	l.jobs = append(l.jobs, j)
}

// Omit counts a job that is left out, and why, in the plural: "jobs without a duration".
func (l *List) Omit(why string) { l.omitted = oneMore(l.omitted, why) }

// Remark counts a job of which something is to be known, in the plural: "jobs are shorter than they were".
func (l *List) Remark(what string) { l.remarks = oneMore(l.remarks, what) }

// oneMore counts one more.
func oneMore(counts []trace.Loss, what string) []trace.Loss {
	for i := range counts {
		if counts[i].What == what {
			counts[i].Count++
			return counts
		}
	}
	return append(counts, trace.Loss{What: what, Count: 1})
}

// Name reads the name of a job, which stands once in the list.
func (l *List) Name(row *trace.Row, field int) string {
	name := string(row.Text(field))
	switch {
	case name == "":
		row.Fail(field, "the name of a job")
	case l.names[name]:
		row.Fail(field, "a job that is not there yet")
	}
	return name
}

// mostTexts bounds the texts of which one copy is kept.
const mostTexts = 1 << 16

// Text is a field that many rows have in common, such as a user.
func (l *List) Text(row *trace.Row, field int) string {
	b := row.Text(field)
	if t, known := l.texts[string(b)]; known {
		return t
	}
	if len(l.texts) == mostTexts {
		clear(l.texts)
	}
	t := string(b)
	l.texts[t] = t
	return t
}

// Source is the list as a source, with its nodes.
func (l *List) Source(o Options) *Source {
	slices.SortStableFunc(l.jobs, func(a, b Job) int { return cmp.Compare(a.At, b.At) })
	s := &Source{options: o, skips: l.Skips, jobs: l.jobs, omitted: l.omitted, remarks: l.remarks, counted: [3]bool{o.Cores > 0, o.Memory > 0, true}}
	if len(l.jobs) > 0 {
		s.start = l.jobs[0].At
	}
	switch {
	case o.TasksOnly:
	case o.Given != nil:
		s.nodes = len(o.Given)
	default:
		if s.nodes = o.Nodes; s.nodes == 0 {
			s.nodes = s.enough()
		}
		s.tooLarge()
		s.tooWide()
	}
	return s
}

// Source is a list of jobs, in time order, and nodes for it.
type Source struct {
	options Options
	skips   trace.Skips
	omitted []trace.Loss
	remarks []trace.Loss
	counted [3]bool // of cpu, memory and gpu
	jobs    []Job
	start   cluster.Time // of the first job
	large   int          // jobs of which a pod is larger than a node
	wide    int          // gangs that are more than all nodes hold

	nodes, given int
	next         place
	node, demand cluster.Vector
	model        [1]cluster.Requirement
}

// place is a pod in the list.
type place struct {
	job, kind  int   // of its Pods
	pod, index int64 // of those, and of all of the job
}

// capacity is what a node has, as a vector of cpu, memory and gpu.
func (s *Source) capacity() [3]int64 {
	return [3]int64{s.options.Cores, s.options.Memory, s.options.GPUs * Device}
}

// enough is how many nodes have as much as all asks for at once, if each job begins when it arrives. What does not fit together on a node is not thought of.
func (s *Source) enough() int {
	ends := s.endings()
	var now, most [3]float64
	gone := 0
	for i := range s.jobs {
		j := &s.jobs[i]
		for ; gone < len(ends) && ends[gone].at <= j.At; gone++ {
			for d, q := range ends[gone].frees {
				now[d] -= q
			}
		}
		for k := range j.Pods {
			if j.Pods[k].Work == 0 {
				continue // it is gone at once
			}
			for d, q := range j.Pods[k].all() {
				now[d] += q
			}
		}
		for d := range most {
			most[d] = max(most[d], now[d])
		}
	}
	nodes := 1.0
	for d, q := range s.capacity() {
		if s.counted[d] && q > 0 {
			nodes = max(nodes, math.Ceil(most[d]/float64(q)))
		}
	}
	return int(min(nodes, mostNodes))
}

// ending is what pods leave that end at a moment.
type ending struct {
	at    cluster.Time
	frees [3]float64
}

// endings are those of all pods that begin when they arrive, the first first.
func (s *Source) endings() (ends []ending) {
	for i := range s.jobs {
		j := &s.jobs[i]
		for k := range j.Pods {
			if p := &j.Pods[k]; p.Work > 0 && p.Work != cluster.Never {
				ends = append(ends, ending{j.At + p.Work, p.all()})
			}
		}
	}
	slices.SortStableFunc(ends, func(a, b ending) int { return cmp.Compare(a.at, b.at) })
	return ends
}

// all is what the pods ask for together.
func (p *Pods) all() (sum [3]float64) {
	for d, q := range p.demand() {
		sum[d] = float64(float64(q) * float64(p.Count))
	}
	return sum
}

// mostNodes bounds the nodes that are made up, so that a wild log is none of a wild cluster.
const mostNodes = 1_000_000

// tooLarge counts the jobs of which a pod is larger than a node.
func (s *Source) tooLarge() {
	for i := range s.jobs {
		if s.isTooLarge(s.jobs[i].Pods) {
			s.large++
		}
	}
}

// isTooLarge reports whether one of the pods is larger than a node.
func (s *Source) isTooLarge(pods []Pods) bool {
	capacity := s.capacity()
	return slices.ContainsFunc(pods, func(p Pods) bool {
		for d, q := range p.demand() {
			if s.counted[d] && q > capacity[d] {
				return true
			}
		}
		return false
	})
}

// Kinds are cpu and memory, where they count, and gpu.
func (s *Source) Kinds() []cluster.Kind {
	var kinds []cluster.Kind
	for d, kind := range [3]cluster.Kind{
		{Name: "cpu", Unit: "cores", PerUnit: Core}, {Name: "memory", Unit: "GiB", PerUnit: GiB}, {Name: "gpu", Unit: "GPUs", PerUnit: Device, Devices: true},
	} {
		if s.counted[d] {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// vector appends what counts of cpu, memory and gpu to an empty vector.
func (s *Source) vector(v cluster.Vector, quantities [3]int64) cluster.Vector {
	for d, q := range quantities {
		if s.counted[d] {
			v = append(v, q)
		}
	}
	return v
}

// Next gives the nodes, and then the pods of job after job.
func (s *Source) Next(r *trace.Record) error {
	if s.given < s.nodes {
		*r = trace.Record{What: trace.NodeAdded}
		if s.options.Given != nil {
			r.Node = s.options.Given[s.given]
		} else {
			s.node = s.vector(s.node[:0], s.capacity())
			r.Node = trace.Node{ID: uint64(s.given + 1), Capacity: s.node}
		}
		s.given++
		return nil
	}
	for s.next.job < len(s.jobs) && s.next.kind == len(s.jobs[s.next.job].Pods) {
		s.next = place{job: s.next.job + 1}
	}
	if s.next.job == len(s.jobs) {
		return io.EOF
	}
	j := &s.jobs[s.next.job]
	*r = trace.Record{Time: j.At - s.start, What: trace.TaskSubmitted, Task: s.task(j, &j.Pods[s.next.kind])}
	s.next.index++
	if s.next.pod++; s.next.pod == j.Pods[s.next.kind].Count {
		s.next.kind, s.next.pod = s.next.kind+1, 0
	}
	return nil
}

// task is the pod whose turn it is.
func (s *Source) task(j *Job, p *Pods) trace.Task {
	pods := int64(0)
	for k := range j.Pods {
		pods += j.Pods[k].Count
	}
	s.demand = s.vector(s.demand[:0], p.demand())
	t := trace.Task{
		Job: j.id, Index: uint32(s.next.index), JobTasks: uint32(pods), Name: j.Name, User: j.User, Priority: j.Priority,
		Demand: s.demand, Work: p.Work, Fails: p.Fails, Due: j.Due, Speeds: j.Speeds, Prefers: j.Prefers,
	}
	if pods > 1 {
		if !s.options.Loose {
			t.Gang = int32(pods)
		}
		if j.Name != "" {
			t.Name = fmt.Sprintf("%s-%d", j.Name, s.next.index)
		}
	}
	if p.Model != "" {
		s.model[0] = cluster.Requirement{Key: ModelLabel, Op: cluster.Equal, Value: p.Model}
		t.Requirements = s.model[:]
	}
	return t
}

// Notes says which jobs were left out, and which are too large for any node, or for all of them.
func (s *Source) Notes() []string {
	var all []string
	for _, l := range s.omitted {
		all = append(all, fmt.Sprintf("left out %d %s", l.Count, l.What))
	}
	for _, l := range s.remarks {
		all = append(all, fmt.Sprintf("%d %s", l.Count, l.What))
	}
	if s.large > 0 {
		all = append(all, fmt.Sprintf("%d jobs ask for more on one node than a node has, and will wait for ever", s.large))
	}
	if s.wide > 0 {
		all = append(all, fmt.Sprintf("%d jobs have pods that begin together and do not fit on %d nodes together, the largest first, even if these are empty, and may wait for ever; ask for more nodes, or let pods begin one by one", s.wide, s.nodes))
	}
	return all
}

// Skipped counts the broken lines that were passed over, with the first few.
func (s *Source) Skipped() (count int, first []*trace.Error) { return s.skips.Count, s.skips.First }

// Close does nothing: the file is closed already.
func (s *Source) Close() error { return nil }
