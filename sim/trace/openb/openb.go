// Package openb reads Alibaba's GPU trace of 2023 (cluster-trace-gpu-v2023),
// known as openb, as the experiments of FGD (Weng et al., ATC'23) use it. A
// folder holds
//
//	openb_node_list_gpu_node.csv   1,213 nodes with 6,212 GPUs
//	openb_node_list_all_node.csv   these, and 310 nodes without
//	openb_pod_list_NAME.csv        a list of pods, of which there are many
//
// each perhaps compressed with gzip. Their first line names the columns.
//
// The kinds are cpu, memory and gpu, the last in thousandths of a device. A node
// has the label gpu-model. A pod asks for a share of one GPU or for whole ones;
// its gpu_spec, several models with | between them, becomes the requirement
// gpu-model=A|B. Each pod is a job of its own, numbered by its place in the list.
//
// Openb is a list to pack, not a history to replay: with its own times no more
// than 56 pods are ever there at once. So pods arrive one a second and do not
// end, in the order of the file or shuffled; Options.Inflate adds copies until
// the GPUs asked for are a multiple of those there are. Options.Timed replays
// the times all the same.
//
// The priority of all pods is 0, so that no policy reorders them by one. The
// column qos is in the class: 0 BE or none, 1 Burstable, 2 Guaranteed, 3 LS.
package openb

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/fragmentation"
	"fairlead.dev/fairlead/sim/trace"
)

// device is one GPU in quantities of the kind gpu.
const device = 1000

// The places of the kinds in vectors.
const (
	cpu = iota
	memory
	gpu
)

// Options say what of the folder is read, and in which order pods arrive.
type Options struct {
	Nodes string // gpu or all
	List  string
	// Inflate ends the arrivals where the next pod would make the GPUs asked for
	// more than this many times those of the nodes. A list that asks for less is
	// followed by copies of its pods, drawn at random. 0 is the list as it is.
	Inflate float64
	Shuffle bool
	// Timed replays the times of the list instead.
	Timed   bool
	Seed    uint64 // of the order and the copies
	Lenient bool   // count and skip broken lines
}

// Default is the list default as it is, on nodes with GPUs.
func Default() Options { return Options{Nodes: "gpu", List: "default"} }

// Validate says which options contradict each other.
func (o Options) Validate() error {
	switch {
	case o.Nodes != "gpu" && o.Nodes != "all":
		return fmt.Errorf("nodes=%s, want gpu or all", o.Nodes)
	case !(o.Inflate >= 0 && o.Inflate <= 100):
		return fmt.Errorf("inflate=%v, want a number from 0 to 100", o.Inflate)
	case o.Timed && (o.Inflate > 0 || o.Shuffle):
		return errors.New("timed=true replays the pods at their own times; inflate and shuffle do not go with it")
	}
	return nil
}

// Source is the folder, read.
type Source struct {
	skips    trace.Skips
	nodes    []trace.Node
	names    map[string]bool // of the file that is read, so far
	pods     []pod           // in the order of the file
	arrivals arrivals
	given    int // nodes given out so far
}

// pod is a task of the list, with its times.
type pod struct {
	task trace.Task
	at   cluster.Time // if timed
}

// Open reads the node list and the pod list of a folder.
func Open(dir string, o Options) (*Source, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &Source{skips: trace.Skips{Lenient: o.Lenient}}
	nodes, err := find(dir, "openb_node_list_", "_node", o.Nodes)
	if err != nil {
		return nil, err
	}
	if err := s.readNodes(nodes); err != nil {
		return nil, err
	}
	list, err := find(dir, "openb_pod_list_", "", o.List)
	if err != nil {
		return nil, err
	}
	if err := s.readPods(list, o.Timed); err != nil {
		return nil, err
	}
	s.arrivals, err = s.arrange(o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", list, err)
	}
	return s, nil
}

// find returns the file of that name, between a prefix and a suffix, or says
// which names there are.
func find(dir, prefix, suffix, name string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var names []string
	for _, e := range entries {
		base, csv := strings.CutSuffix(strings.TrimSuffix(e.Name(), ".gz"), suffix+".csv")
		found, ours := strings.CutPrefix(base, prefix)
		if !csv || !ours {
			continue
		}
		if found == name {
			return filepath.Join(dir, e.Name()), nil
		}
		names = append(names, found)
	}
	if len(names) == 0 {
		return "", fmt.Errorf("%s: no %sNAME%s.csv is there", dir, prefix, suffix)
	}
	return "", fmt.Errorf("%s: no %s%s%s.csv is there; for %q there are %s", dir, prefix, name, suffix, name, strings.Join(slices.Compact(names), ", "))
}

func (s *Source) readNodes(file string) error {
	s.names = map[string]bool{}
	header := trace.Header{Needed: []string{"sn", "cpu_milli", "memory_mib", "gpu", "model"}}
	return trace.ReadTable(file, &s.skips, header, func(c trace.Columns, row *trace.Row) error {
		gpus := row.Uint(c["gpu"], "a number of GPUs", 1<<16)
		n := trace.Node{
			ID:   uint64(len(s.nodes)),
			Name: s.name(row, c["sn"]),
			Capacity: cluster.Vector{
				cpu:    quantity(row, c["cpu_milli"], "thousandths of a core"),
				memory: quantity(row, c["memory_mib"], "MiB of memory"),
				gpu:    int64(gpus) * device,
			},
		}
		if gpus > 0 {
			if row.Empty(c["model"]) {
				row.Fail(c["model"], "a GPU model, since there are GPUs")
			}
			n.Labels = []cluster.Label{{Key: "gpu-model", Value: string(row.Text(c["model"]))}}
		}
		if err := row.Err(); err != nil {
			return err
		}
		s.names[n.Name] = true
		s.nodes = append(s.nodes, n)
		return nil
	})
}

func (s *Source) readPods(file string, timed bool) error {
	s.names = map[string]bool{}
	header := trace.Header{
		Needed:   []string{"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"},
		Optional: []string{"gpu_spec", "qos", "pod_phase"},
	}
	times := []string{"creation_time", "scheduled_time", "deletion_time"}
	if timed {
		header.Needed = append(header.Needed, times...)
	} else {
		header.Optional = append(header.Optional, times...)
	}
	return trace.ReadTable(file, &s.skips, header, func(c trace.Columns, row *trace.Row) error {
		p := pod{task: s.task(c, row)}
		if timed {
			p.at, p.task.Work = life(c, row)
		}
		if err := row.Err(); err != nil {
			return err
		}
		s.names[p.task.Name] = true
		p.task.Job = uint64(len(s.pods))
		s.pods = append(s.pods, p)
		return nil
	})
}

// task reads what a pod asks for.
func (s *Source) task(c trace.Columns, row *trace.Row) trace.Task {
	gpus := int64(row.Uint(c["num_gpu"], "a number of GPUs", 1<<16))
	milli := int64(row.Uint(c["gpu_milli"], "thousandths of a GPU, from 0 to 1000", device))
	switch {
	case gpus > 1 && milli != device:
		row.Fail(c["gpu_milli"], "1000, since a pod of several GPUs takes whole ones")
	case gpus == 1 && milli == 0:
		row.Fail(c["gpu_milli"], "at least 1, since num_gpu is 1")
	}
	t := trace.Task{
		Name: s.name(row, c["name"]), JobTasks: 1, Work: cluster.Never,
		Demand: cluster.Vector{
			cpu:    quantity(row, c["cpu_milli"], "thousandths of a core"),
			memory: quantity(row, c["memory_mib"], "MiB of memory"),
			gpu:    gpus * milli,
		},
	}
	if models := c["gpu_spec"]; models > 0 && !row.Empty(models) {
		t.Requirements = []cluster.Requirement{{Key: "gpu-model", Op: cluster.Equal, Value: string(row.Text(models))}}
	}
	if qos := c["qos"]; qos > 0 {
		t.Class = class(row, qos)
	}
	return t
}

func class(row *trace.Row, field int) uint8 {
	switch string(row.Text(field)) {
	case "", "BE":
		return 0
	case "Burstable":
		return 1
	case "Guaranteed":
		return 2
	case "LS":
		return 3
	}
	row.Fail(field, "BE, Burstable, Guaranteed or LS")
	return 0
}

// life reads when a pod was created, and how long it ran. One that was never
// started counts as if it had been when it was created; one without an end does
// not end.
func life(c trace.Columns, row *trace.Row) (at, work cluster.Time) {
	second := func(column string) cluster.Time {
		return cluster.Time(row.Uint(c[column], "a whole number of seconds", 1<<40)) * cluster.Second
	}
	at = second("creation_time")
	start := at
	if !row.Empty(c["scheduled_time"]) {
		start = second("scheduled_time")
	}
	if row.Empty(c["deletion_time"]) {
		return at, cluster.Never
	}
	end := second("deletion_time")
	if end < start {
		row.Fail(c["deletion_time"], "a time that is not before the others")
	}
	return at, end - start
}

// name reads a name, which stands once in its file.
func (s *Source) name(row *trace.Row, field int) string {
	name := string(row.Text(field))
	switch {
	case name == "":
		row.Fail(field, "a name")
	case s.names[name]:
		row.Fail(field, "a name that is not there yet")
	}
	return name
}

func quantity(row *trace.Row, field int, want string) int64 {
	return int64(row.Uint(field, "a whole number of "+want, cluster.MaxQuantity))
}

// Kinds are cpu, memory and gpu.
func (s *Source) Kinds() []cluster.Kind {
	return []cluster.Kind{
		cpu:    {Name: "cpu", Unit: "cores", PerUnit: 1000},
		memory: {Name: "memory", Unit: "GiB", PerUnit: 1024},
		gpu:    {Name: "gpu", Unit: "GPUs", PerUnit: device, Devices: true},
	}
}

// Typical returns the shapes by which FGD measures fragmentation: the most
// frequent ones that cover 95 % of the list, before it is inflated.
func (s *Source) Typical() []fragmentation.Typical {
	return trace.TypicalOf(s.Kinds(), func(yield func(trace.Task) bool) {
		for _, p := range s.pods {
			if !yield(p.task) {
				return
			}
		}
	}, 95)
}

// Next gives the nodes, and then the pods.
func (s *Source) Next(r *trace.Record) error {
	if s.given < len(s.nodes) {
		*r = trace.Record{What: trace.NodeAdded, Node: s.nodes[s.given]}
		s.given++
		return nil
	}
	at, task, ok := s.arrivals.next(s.pods)
	if !ok {
		return io.EOF
	}
	*r = trace.Record{Time: at, What: trace.TaskSubmitted, Task: task}
	return nil
}

// Skipped counts the broken lines that were passed over, with the first few.
func (s *Source) Skipped() (count int, first []*trace.Error) { return s.skips.Count, s.skips.First }

// Close does nothing: the files are closed already.
func (s *Source) Close() error { return nil }
