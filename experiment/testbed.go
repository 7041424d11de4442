package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/ecsched"
	"fairlead.dev/fairlead/sim/workload"
)

// This file is the workload of ECSched's test bed: its 30 nodes, and tasks taken
// from Google's of the first five hours that have an end, one in ten. A task asks
// for 400 times what it asks for in the trace, in slots, rounded up; one for more
// than 50 slots is left out. Six in a hundred may stand on one of the three types
// of nodes alone.
//
// The paper's sample is not published. Ours is one of the same size from the
// generator; the authors' job list, where the data are at hand, is taken from the
// same trace in the same way, without affinity.

// The nature of the sample.
const (
	sampled       = 8_300
	sampleHours   = 5
	slotsOf       = 400 // slots of the largest of Google's machines
	mostSlots     = 50
	affinityIn100 = 6
)

// testbedTask is a task of the sample.
type testbedTask struct {
	at, work cluster.Time
	demand   cluster.Vector
	typ      int // of node, 1 to 3; 0 is any
}

// sample draws the tasks.
func sample(count int, seed uint64) ([]testbedTask, error) {
	g := workload.Default()
	// Some of what arrives has no end within the time: from a thousand nodes
	// come some 17,000 tasks that have one.
	g.Nodes, g.TasksPerNode, g.Seed, g.Length, g.Constrained = 1_500, 0, seed, sampleHours*cluster.Hour, 0
	src, err := workload.New(g)
	if err != nil {
		return nil, err
	}
	defer src.Close() //nolint:errcheck // nothing is open
	kinds := src.Kinds()
	inSlots := func(v, per int64) int64 { return max((v*slotsOf+per-1)/per, 1) }
	var all []testbedTask
	for {
		var r trace.Record
		err := src.Next(&r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if r.What != trace.TaskSubmitted || r.Task.Work == cluster.Never || r.Time+r.Task.Work > sampleHours*cluster.Hour {
			continue
		}
		t := testbedTask{at: r.Time, work: max(r.Task.Work/cluster.Second, 1) * cluster.Second}
		for k, v := range r.Task.Demand {
			t.demand = append(t.demand, inSlots(v, kinds[k].PerUnit))
		}
		if slices.Max(t.demand) <= mostSlots {
			all = append(all, t)
		}
	}
	if len(all) < count {
		return nil, fmt.Errorf("the generator made %d tasks that end, fewer than %d", len(all), count)
	}
	chance := rand.New(rand.NewPCG(seed, 0xEC)) //nolint:gosec // no secret
	chance.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = all[:count]
	for i := range all {
		if chance.IntN(100) < affinityIn100 {
			// The smallest nodes have 25 slots; a larger task cannot stand there.
			from := 1
			if slices.Max(all[i].demand) > 25 {
				from = 2
			}
			all[i].typ = from + chance.IntN(4-from)
		}
	}
	slices.SortStableFunc(all, func(a, b testbedTask) int { return cmp.Compare(a.at, b.at) })
	return all, nil
}

// testbed is the nodes with a sample, as a trace.Source.
type testbed struct {
	nodes []cluster.Vector
	tasks []testbedTask
	next  int
}

// Kinds are cpu and memory, in slots.
func (b *testbed) Kinds() []cluster.Kind {
	return []cluster.Kind{{Name: "cpu", Unit: "slots", PerUnit: 1}, {Name: "memory", Unit: "slots", PerUnit: 1}}
}

// Next fills in the next record: the nodes, then the tasks.
func (b *testbed) Next(r *trace.Record) error {
	n := b.next
	b.next++
	if n < len(b.nodes) {
		*r = trace.Record{What: trace.NodeAdded, Node: trace.Node{
			ID: uint64(n + 1), Capacity: b.nodes[n], Labels: []cluster.Label{{Key: "type", Value: fmt.Sprint(n*3/len(b.nodes) + 1)}},
		}}
		return nil
	}
	if n -= len(b.nodes); n >= len(b.tasks) {
		return io.EOF
	}
	t := &b.tasks[n]
	*r = trace.Record{Time: t.at, What: trace.TaskSubmitted, Task: trace.Task{Job: uint64(n + 1), JobTasks: 1, Demand: t.demand, Work: t.work}}
	if t.typ > 0 {
		r.Task.Requirements = []cluster.Requirement{{Key: "type", Op: cluster.Equal, Value: fmt.Sprint(t.typ)}}
	}
	return nil
}

// Close has nothing to close.
func (b *testbed) Close() error { return nil }

// bed is a workload of ECSched's.
type bed struct {
	name     string // what results call it
	describe string // in a sentence
	real     bool
	open     func() (trace.Source, error)
}

// onTestbed is the paper's test bed with the authors' job list, or a sample of
// ours.
func onTestbed(o *Options) (bed, error) {
	if o.Data != "" && o.Size == Full {
		if _, err := os.Stat(jobList(o)); err != nil {
			return bed{}, fmt.Errorf("the data: %w; it is the job list of ECSched's authors", err)
		}
		b := authorsList(o, ecsched.TestBed(), "testbed=true")
		b.describe = "the authors' list of 9,549 jobs on the 30 nodes of the test bed, without affinity"
		return b, nil
	}
	count := of(o.Size, sampled, 2_000, 100)
	tasks, err := sample(count, o.Seed)
	if err != nil {
		return bed{}, err
	}
	return bed{
		name:     fmt.Sprintf("test bed of ECSched, %d tasks, seed %d", count, o.Seed),
		describe: fmt.Sprintf("generator: %d tasks like Google's of five hours on the 30 nodes of the test bed, %d %% of them with affinity to a type of node, seed %d", count, affinityIn100, o.Seed),
		open:     func() (trace.Source, error) { return &testbed{nodes: ecsched.TestBed(), tasks: tasks}, nil },
	}, nil
}

// jobList is the file of the authors' jobs.
func jobList(o *Options) string { return filepath.Join(o.Data, "ecsched", "jobs-9549.txt") }

// authorsList is the job list that the authors published, on nodes.
func authorsList(o *Options, nodes []cluster.Vector, query string) bed {
	return bed{
		name: "ecsched:jobs-9549.txt?" + query, real: true,
		describe: "the authors' list of 9,549 jobs on 50 equal nodes of 50 and 50 slots, to which their stored results belong",
		open:     func() (trace.Source, error) { return ecsched.Open(jobList(o), ecsched.Options{Nodes: nodes}) },
	}
}
