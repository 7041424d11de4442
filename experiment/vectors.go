package experiment

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
)

// This file is tasks that ask for two kinds and all come at once, on nodes of which different parts are
// free (specs/firmament.md §7.5): which policy leaves the fewest of them waiting.

// vectors is an instance: tasks in the order in which they arrive, by class.
type vectors struct {
	capacity, free [][2]int64 // per node
	demand         [][2]int64 // per class
	count          []int32    // per class
	tasks          []int32    // their classes
}

// newVectors draws an instance. All nodes are of one size, of each kind 25 to 100 %
// free, independently. The demand of a class lies between 1 and 16 parts of each
// kind, on a logarithmic scale, independently; all classes are equally likely.
func newVectors(nodes, tasks, percent int, seed uint64) *vectors {
	random := rand.New(rand.NewPCG(seed, 0))
	in := &vectors{count: make([]int32, 16)}
	var free [2]int64
	for range nodes {
		capacity := [2]int64{64_000, 256 << 10}
		var left [2]int64
		for k := range left {
			left[k] = capacity[k] * (250 + random.Int64N(751)) / 1000
			free[k] += left[k]
		}
		in.capacity, in.free = append(in.capacity, capacity), append(in.free, left)
	}
	parts := make([][2]float64, len(in.count))
	for c := range parts {
		parts[c] = [2]float64{math.Exp2(4 * random.Float64()), math.Exp2(4 * random.Float64())}
	}
	var sum [2]float64
	for range tasks {
		c := random.IntN(len(parts))
		in.tasks = append(in.tasks, int32(c))
		in.count[c]++
		for k := range sum {
			sum[k] += parts[c][k]
		}
	}
	for _, p := range parts {
		var d [2]int64
		for k := range d {
			d[k] = max(int64(p[k]/sum[k]*float64(free[k]*int64(percent)/100)), 1)
		}
		in.demand = append(in.demand, d)
	}
	return in
}

// used is what is taken of a node before any task is placed.
func (in *vectors) used(n int) [2]int64 {
	used := in.capacity[n]
	sub(&used, in.free[n])
	return used
}

// vectorSource is an instance as a source: what is taken of a node is a task on it that does not end.
type vectorSource struct {
	*vectors
	given int
}

// Kinds are two.
func (s *vectorSource) Kinds() []cluster.Kind {
	return []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1000}, {Name: "memory", Unit: "MiB", PerUnit: 1}}
}

// Next gives the nodes, then who is there, then all tasks at once.
func (s *vectorSource) Next(r *trace.Record) error {
	at, nodes := s.given, len(s.free)
	s.given++
	switch {
	case at < nodes:
		*r = trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: uint64(at), Name: fmt.Sprintf("n%d", at), Capacity: s.capacity[at][:]}}
	case at < 2*nodes:
		used := s.used(at - nodes)
		*r = trace.Record{What: trace.TaskSubmitted, Task: trace.Task{
			Job: uint64(at), JobTasks: 1, Demand: used[:], Work: cluster.Never, Running: true, OnNode: uint64(at - nodes),
		}}
	case at < 2*nodes+len(s.tasks):
		i := at - 2*nodes
		*r = trace.Record{What: trace.TaskSubmitted, Task: trace.Task{
			Job: 0, Index: uint32(i), JobTasks: uint32(len(s.tasks)), Demand: s.demand[s.tasks[i]][:], Work: cluster.Never,
		}}
	default:
		return io.EOF
	}
	return nil
}

// Close has nothing to close.
func (s *vectorSource) Close() error { return nil }

func newPlaced(nodes, classes int) [][]int32 {
	placed := make([][]int32, nodes)
	for n := range placed {
		placed[n] = make([]int32, classes)
	}
	return placed
}

func sub(v *[2]int64, d [2]int64) { v[0], v[1] = v[0]-d[0], v[1]-d[1] }

// vectorRow is such instances on 200 nodes with a load in per cent: a fifth of the tasks of the specification's.
func vectorRow(o *Options, name string, percent, tasks int, most float64) row {
	const fifth = 5
	nodes, count := of(o.Size, 1000/fifth, 1000/fifth, 40), of(o.Size, tasks/fifth, tasks/fifth, tasks/25)
	return row{
		name: name, setting: fmt.Sprintf("%d tasks of 16 kinds at once on %d nodes with room for %d %% of them", count, nodes, 10_000/percent), rival: "cpu-mem",
		seeds: seedsFrom(o, 1, namedSeeds), targets: []target{targetAtMost("pending", report.InTasks, most, pendingTasks)},
		parts: []part{casePart(name, func(_ *Options, _ string, seed uint64) (simulation, error) {
			in := newVectors(nodes, count, percent, seed-1) // the instances of the specification begin with 0
			return simulation{
				line: name, open: func() (trace.Source, error) { return &vectorSource{vectors: in}, nil },
				source: fmt.Sprintf("%d nodes, %d tasks, load %d %%, seed %d", nodes, count, percent, seed), planner: sim.Zero, until: cluster.Hour, promise: noPromise(seed),
			}, nil
		})},
	}
}

// noPromise is a world in which nothing was promised to anybody.
func noPromise(seed uint64) *promise {
	table := class.Google()
	for i := range table.Classes {
		table.Classes[i].Availability = 0
	}
	return &promise{classes: table, table: "google, without promises", world: sim.World{Seed: seed}}
}
