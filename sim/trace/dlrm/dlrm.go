// Package dlrm reads Alibaba's trace of GPU-disaggregated serving of
// recommendation models (cluster-trace-gpu-v2025; Yang et al., NSDI'25): 23,871
// instances of 156 services in 31 days. Its one file is a table with a first
// line that names the columns.
//
// A service is a job, its instances are tasks. An instance asks for cpu, memory
// and disk, for gpu in thousandths of a device and for rdma in per cent of a
// network card; max_instance_per_node is how many of its service a node may
// hold, -1 for any number. An instance of role CN runs on a CPU node, one of
// role HN on a node with GPUs: a requirement role=CN or role=HN.
//
// Times are in seconds since the trace began. An instance that was there before
// (no creation_time) is submitted at 0, to be placed: the trace does not say
// where it ran. It runs from scheduled_time to deletion_time, for ever if it
// was never deleted. All instances are latency-sensitive: class 3, priority 0.
//
// The trace does not describe its nodes. Those given here are made up, so that
// the peak of the trace fits (8,984 instances, 3,414 GPUs, 422,420 cores): nodes
// of role HN like the largest of Alibaba's trace of 2023, with 8 GPUs, 128
// cores, 768 GiB, 4 TiB of disk and 4 network cards, and nodes of role CN with
// 192 cores, as the largest instance asks for, 1 TiB, 4 TiB of disk and 2 cards.
package dlrm

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// The places of the kinds in vectors.
const (
	cpu = iota
	memory
	gpu
	rdma
	disk
)

const (
	core   = 1000 // thousandths
	gib    = 1024 // MiB
	device = 1000 // thousandths
	card   = 100  // per cent
)

// Options describe the made-up nodes, and the reading.
type Options struct {
	CPUNodes int // of role CN
	GPUNodes int // of role HN
	GPUs     int // of each of these
	Lenient  bool
}

// Default is a cluster on which the peak of the trace fits, with some room:
// at least 2,050 CPU nodes are needed for the cores, and 427 nodes with GPUs.
func Default() Options { return Options{CPUNodes: 2400, GPUNodes: 512, GPUs: 8} }

// Source is the trace, with its nodes.
type Source struct {
	options Options
	skips   trace.Skips
	tasks   []timedTask
	names   map[string]bool // of tasks so far
	apps    map[string]*app
	nodes   int // given out so far
	given   int // tasks given out so far
}

type timedTask struct {
	at   cluster.Time
	app  *app
	task trace.Task
}

// app is a service.
type app struct {
	job       uint64
	instances uint32 // so far
}

// Open reads the whole file.
func Open(file string, o Options) (*Source, error) {
	s := &Source{options: o, skips: trace.Skips{Lenient: o.Lenient}, names: map[string]bool{}, apps: map[string]*app{}}
	err := trace.ReadTable(file, &s.skips, header(), s.add)
	if err != nil {
		return nil, err
	}
	for i := range s.tasks {
		s.tasks[i].task.JobTasks = s.tasks[i].app.instances
	}
	slices.SortStableFunc(s.tasks, func(a, b timedTask) int { return cmp.Compare(a.at, b.at) })
	return s, nil
}

// header has the limits, which nobody reads: they are never below the requests.
func header() trace.Header {
	return trace.Header{
		Needed: []string{
			"instance_sn", "role", "app_name", "cpu_request", "gpu_request", "rdma_request", "memory_request", "disk_request",
			"max_instance_per_node", "creation_time", "scheduled_time", "deletion_time",
		},
		Optional: []string{"cpu_limit", "gpu_limit", "rdma_limit", "memory_limit", "disk_limit"},
	}
}

// add reads one instance.
func (s *Source) add(c trace.Columns, row *trace.Row) error {
	t := trace.Task{
		Name: string(row.Text(c["instance_sn"])), Class: 3, PerNode: perNode(row, c["max_instance_per_node"]),
		Demand: cluster.Vector{
			cpu:    row.Decimal(c["cpu_request"], "a number of cores", 3, trace.Up),
			memory: mebibytes(row, c["memory_request"]),
			gpu:    row.Decimal(c["gpu_request"], "a number of GPUs", 3, trace.Up),
			rdma:   row.Decimal(c["rdma_request"], "per cent of a network card", 0, trace.Up),
			disk:   mebibytes(row, c["disk_request"]),
		},
	}
	if gpus := t.Demand[gpu]; gpus > device && gpus%device != 0 {
		row.Fail(c["gpu_request"], "a share of one GPU, or whole ones")
	}
	role := string(row.Text(c["role"]))
	if role != "CN" && role != "HN" {
		row.Fail(c["role"], "CN or HN")
	}
	name := string(row.Text(c["app_name"]))
	if name == "" {
		row.Fail(c["app_name"], "the name of a service")
	}
	t.Requirements = []cluster.Requirement{{Key: "role", Op: cluster.Equal, Value: role}}
	at := cluster.Time(0)
	at, t.Work = life(c, row)
	if t.Name != "" && s.names[t.Name] {
		row.Fail(c["instance_sn"], "an instance that is not there yet")
	}
	if err := row.Err(); err != nil {
		return err
	}
	s.names[t.Name] = true
	of := s.apps[name]
	if of == nil {
		of = &app{job: uint64(len(s.apps))}
		s.apps[name] = of
	}
	t.Job, t.Index = of.job, of.instances
	of.instances++
	s.tasks = append(s.tasks, timedTask{at, of, t})
	return nil
}

func perNode(row *trace.Row, field int) int32 {
	if string(row.Text(field)) == "-1" {
		return 0
	}
	const want = "a number of instances from 1, or -1 for any number"
	most := row.Uint(field, want, math.MaxInt32)
	if most == 0 {
		row.Fail(field, want)
	}
	return int32(most)
}

// mebibytes reads a number of GiB, rounded up. Decimal returns no number so large
// that it would overflow.
func mebibytes(row *trace.Row, field int) int64 {
	const million = 1_000_000
	return (row.Decimal(field, "a number of GiB", 6, trace.Up)*gib + million - 1) / million
}

// life reads when an instance was submitted, and how long it ran.
func life(c trace.Columns, row *trace.Row) (at, work cluster.Time) {
	at, created := moment(row, c["creation_time"])
	start, scheduled := moment(row, c["scheduled_time"])
	end, deleted := moment(row, c["deletion_time"])
	if !created {
		at = 0
	}
	if !scheduled {
		start = at
	}
	switch {
	case start < at:
		row.Fail(c["scheduled_time"], "a time that is not before creation_time")
	case !deleted:
		return at, cluster.Never
	case end < start:
		row.Fail(c["deletion_time"], "a time that is not before the others")
	}
	return at, end - start
}

// moment reads a time, which outside the trace is empty or, as its description
// has it, NaN.
func moment(row *trace.Row, field int) (at cluster.Time, inside bool) {
	if row.Empty(field) || bytes.Equal(row.Text(field), []byte("NaN")) {
		return 0, false
	}
	return cluster.Time(row.Decimal(field, "a time in seconds", 6, trace.Down)), true
}

// Kinds are cpu, memory, gpu, rdma and disk.
func (s *Source) Kinds() []cluster.Kind {
	return []cluster.Kind{
		cpu:    {Name: "cpu", Unit: "cores", PerUnit: core},
		memory: {Name: "memory", Unit: "GiB", PerUnit: gib},
		gpu:    {Name: "gpu", Unit: "GPUs", PerUnit: device, Devices: true},
		rdma:   {Name: "rdma", Unit: "network cards", PerUnit: card},
		disk:   {Name: "disk", Unit: "GiB", PerUnit: gib},
	}
}

// node returns the node of that number: first those of role CN.
func (s *Source) node(i int) trace.Node {
	if i < s.options.CPUNodes {
		return trace.Node{
			ID: uint64(i), Name: fmt.Sprintf("cn-%04d", i), Labels: []cluster.Label{{Key: "role", Value: "CN"}},
			Capacity: cluster.Vector{cpu: 192 * core, memory: 1024 * gib, rdma: 2 * card, disk: 4096 * gib},
		}
	}
	return trace.Node{
		ID: uint64(i), Name: fmt.Sprintf("hn-%04d", i-s.options.CPUNodes), Labels: []cluster.Label{{Key: "role", Value: "HN"}},
		Capacity: cluster.Vector{
			cpu: 128 * core, memory: 768 * gib, gpu: int64(s.options.GPUs) * device, rdma: 4 * card, disk: 4096 * gib,
		},
	}
}

// Next gives the nodes, and then the instances.
func (s *Source) Next(r *trace.Record) error {
	if s.nodes < s.options.CPUNodes+s.options.GPUNodes {
		*r = trace.Record{What: trace.NodeAdded, Node: s.node(s.nodes)}
		s.nodes++
		return nil
	}
	if s.given == len(s.tasks) {
		return io.EOF
	}
	t := &s.tasks[s.given]
	*r = trace.Record{Time: t.at, What: trace.TaskSubmitted, Task: t.task}
	s.given++
	return nil
}

// Skipped counts the broken lines that were passed over, with the first few.
func (s *Source) Skipped() (count int, first []*trace.Error) { return s.skips.Count, s.skips.First }

// Close does nothing: the file is closed already.
func (s *Source) Close() error { return nil }
