package experiment

import (
	"fmt"
	"math"
	"math/rand/v2"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/setup"
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

// decide lets a policy of the project place the tasks, in as many rounds as it wants: how many of each class
// are on each node then.
func (in *vectors) decide(policy sched.Policy) (placed [][]int32, rounds int, err error) {
	core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}, {Name: "memory"}}, nil), sched.Lane{Name: "all", Policy: policy})
	if err != nil {
		return nil, 0, err
	}
	events := in.events()
	placed = newPlaced(len(in.free), len(in.count))
	for now := cluster.Time(0); ; {
		decisions, wake, err := core.Step(now, events, nil)
		if err != nil {
			return nil, 0, err
		}
		events = events[:0]
		for _, d := range decisions {
			if d.Kind != sched.Place {
				return nil, 0, fmt.Errorf("%v of a task, where there is nobody to evict", d.Kind)
			}
			placed[d.Node][in.tasks[int(d.Task)-len(in.free)]]++
			events = append(events, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
		}
		if len(decisions) == 0 && wake == cluster.Never {
			return placed, int(core.Counts().Rounds), nil
		}
		now = max(now+1, min(wake, now+cluster.Hour))
	}
}

// events are the nodes and tasks. What is taken of a node is a foreign task on it.
func (in *vectors) events() []cluster.Event {
	events := []cluster.Event{cluster.JobSubmitted{Job: 0, Name: "others", Foreign: true}, cluster.JobSubmitted{Job: 1, Name: "ours"}}
	for c, d := range in.demand {
		events = append(events, cluster.ShapeDefined{Shape: cluster.ShapeID(c), Spec: cluster.Shape{Demand: d[:]}})
	}
	seq := cluster.Seq(0)
	for n := range in.free {
		used, shape := in.used(n), cluster.ShapeID(len(in.demand)+n)
		seq++
		task := cluster.TaskID(n)
		events = append(events,
			cluster.NodeAdded{Node: cluster.NodeID(n), Spec: cluster.NodeSpec{Name: fmt.Sprintf("n%d", n), Capacity: in.capacity[n][:]}},
			cluster.ShapeDefined{Shape: shape, Spec: cluster.Shape{Demand: used[:]}},
			cluster.TaskSubmitted{Task: task, Seq: seq, Job: 0, Shape: shape},
			cluster.TaskFound{Task: task, Seq: seq, Node: cluster.NodeID(n)})
	}
	for i, c := range in.tasks {
		seq++
		events = append(events, cluster.TaskSubmitted{Task: cluster.TaskID(len(in.free) + i), Seq: seq, Job: 1, Shape: cluster.ShapeID(c)})
	}
	return events
}

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
	const waiting = "waiting"
	return row{
		name: name, setting: fmt.Sprintf("%d tasks of 16 kinds at once on %d nodes with room for %d %% of them", count, nodes, 10_000/percent), rival: "cpu-mem",
		seeds: seedsFrom(o, 1, namedSeeds), targets: []target{targetAtMost("waiting", report.InTasks, most, countOf(waiting))},
		parts: []part{{name: name, run: func(o *Options, by setup.Policy, seed uint64) (*tried, error) {
			in := newVectors(nodes, count, percent, seed-1) // the instances of the specification begin with 0
			policy, err := policies.New(by.Name, policies.Options{Seed: 1, Own: by.Options, Stop: o.Stop})
			if err != nil {
				return nil, err
			}
			placed, _, err := in.decide(policy)
			left := len(in.tasks)
			for _, classes := range placed {
				for _, n := range classes {
					left -= int(n)
				}
			}
			return &tried{counts: map[string]float64{waiting: float64(left)}}, err
		}}},
	}
}
