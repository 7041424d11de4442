package schedtest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// GangsFound compares a policy with a search through all placements of a gang, in so many tiny worlds of one to four nodes, some of which hold
// tasks already. It returns how often the gang could be placed without anybody leaving, and how often the policy has done so. A policy
// that places some of a gang, or one that cannot be placed, fails the test.
func GangsFound(t *testing.T, worlds int, newPolicy func() sched.Policy) (found, possible int) {
	t.Helper()
	for seed := range uint64(worlds) {
		w := newTinyWorld(seed)
		core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}, {Name: "memory"}}, nil), sched.Lane{Name: "all", Policy: newPolicy()})
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := core.Step(0, w.events, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := core.View().Check(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		placed := 0
		for _, d := range out {
			if d.Kind == sched.Place && core.View().Task(d.Task).Job == tinyGang {
				placed++
			}
		}
		could := w.most(0) >= w.least
		switch {
		case placed > 0 && placed < w.least:
			t.Fatalf("seed %d: %d of a gang of %d are placed", seed, placed, w.least)
		case placed > 0 && !could:
			t.Fatalf("seed %d: a gang of %d is placed, of which %d fit:\n%s", seed, w.least, w.most(0), core.View().Picture())
		case placed > 0:
			found++
		}
		if could {
			possible++
		}
	}
	return found, possible
}

// tinyGang is the job of the gang.
const tinyGang = 1

// tinyWorld is what a gang finds.
type tinyWorld struct {
	events []cluster.Event
	free   []cluster.Vector // by node
	asks   []cluster.Vector // by task of the gang
	may    [][]bool         // by task and node: that it is eligible
	least  int
}

func newTinyWorld(seed uint64) *tinyWorld {
	rng := rand.New(rand.NewPCG(seed, 0x6a6e))
	w := &tinyWorld{}
	tell := func(e cluster.Event) { w.events = append(w.events, e) }
	tell(cluster.JobSubmitted{Job: 0, Name: "there"})
	vector := func(low, high int64) cluster.Vector {
		return cluster.Vector{low + rng.Int64N(high-low+1), low + rng.Int64N(high-low+1)}
	}
	for n := range 1 + rng.IntN(4) {
		w.free = append(w.free, vector(2, 8))
		tell(cluster.NodeAdded{Node: cluster.NodeID(n), Spec: cluster.NodeSpec{Capacity: slices.Clone(w.free[n])}})
	}
	sets := make([][]bool, 2) // the first is of all nodes
	for i := range sets {
		set := cluster.SetDefined{Set: cluster.SetID(i)}
		for n := range w.free {
			in := i == 0 || rng.IntN(2) == 0
			if sets[i] = append(sets[i], in); in {
				set.Nodes = append(set.Nodes, cluster.NodeID(n))
			}
		}
		if i > 0 {
			tell(set)
		}
	}
	task, shape := cluster.TaskID(0), cluster.ShapeID(0)
	for n := range w.free { // somebody stands there
		if rng.IntN(2) == 0 {
			demand := vector(0, 2)
			tell(cluster.ShapeDefined{Shape: shape, Spec: cluster.Shape{Demand: demand}})
			tell(cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(task), Shape: shape})
			tell(cluster.TaskFound{Task: task, Seq: cluster.Seq(task), Node: cluster.NodeID(n)})
			w.free[n] = cluster.Vector{w.free[n][0] - demand[0], w.free[n][1] - demand[1]}
			task, shape = task+1, shape+1
		}
	}
	tasks, shapes := 2+rng.IntN(4), 1+rng.IntN(3)
	w.least = max(tasks-rng.IntN(2), 2)
	tell(cluster.JobSubmitted{Job: tinyGang, Name: "gang", Gang: int32(w.least)})
	first := shape
	var demands []cluster.Vector
	var eligible []int
	for i := range shapes {
		demands, eligible = append(demands, vector(1, 5)), append(eligible, max(rng.IntN(4)-2, 0))
		tell(cluster.ShapeDefined{Shape: first + cluster.ShapeID(i), Spec: cluster.Shape{Demand: demands[i], Eligible: cluster.SetID(eligible[i])}})
	}
	for range tasks {
		i := rng.IntN(shapes)
		w.asks, w.may = append(w.asks, demands[i]), append(w.may, sets[eligible[i]])
		tell(cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(task), Job: tinyGang, Shape: first + cluster.ShapeID(i)})
		task++
	}
	return w
}

// most is how many of the tasks from i on find room at most, by trying everything.
func (w *tinyWorld) most(i int) int {
	if i == len(w.asks) {
		return 0
	}
	best := w.most(i + 1) // without it
	for n := range w.free {
		if !w.may[i][n] || !w.asks[i].Fits(w.free[n]) {
			continue
		}
		for k, q := range w.asks[i] {
			w.free[n][k] -= q
		}
		best = max(best, 1+w.most(i+1))
		for k, q := range w.asks[i] {
			w.free[n][k] += q
		}
	}
	return best
}
