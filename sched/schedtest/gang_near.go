package schedtest

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// GangsStandNear has a policy place a gang that would rather stand below one switch, or else below those of one spine, in so many small worlds of which a part is
// taken. It fails the test where not all of the gang is placed though there is room, or where it is spread wider than it has to be. It returns how
// often it stood below one switch, below one spine and wider.
func GangsStandNear(t *testing.T, worlds int, newPolicy func() sched.Policy) (counts [3]int) {
	t.Helper()
	for seed := range uint64(worlds) {
		w := newSwitches(seed)
		core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil), sched.Lane{Name: "all", Policy: newPolicy()})
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
		var nodes []int
		for _, d := range out {
			if d.Kind != sched.Place {
				t.Fatalf("seed %d: %+v, and nobody has to leave", seed, d)
			}
			nodes = append(nodes, int(d.Node))
		}
		width, fits := w.narrowest()
		switch {
		case fits != (len(nodes) == w.tasks) || !fits && len(nodes) > 0:
			t.Fatalf("seed %d: %d of a gang of %d are placed:\n%s", seed, len(nodes), w.tasks, core.View().Picture())
		case !fits:
			continue
		case w.width(nodes) != width:
			t.Fatalf("seed %d: the gang stands on %v, of leaves %v and spines %v, and could stand nearer:\n%s", seed, nodes, w.leaf, w.spine, core.View().Picture())
		}
		counts[width]++
	}
	return counts
}

// switches is a world of nodes below switches: a leaf each, and a spine above so many leaves.
type switches struct {
	events      []cluster.Event
	leaf, spine []int // by node
	free        []int
	tasks       int
}

// newSwitches numbers the nodes by chance, so that no number says where one is.
func newSwitches(seed uint64) *switches {
	rng := rand.New(rand.NewPCG(seed, 0x6a73))
	w := &switches{tasks: 2 + rng.IntN(4)}
	emit := func(e cluster.Event) { w.events = append(w.events, e) }
	levels := []string{"leaf", "spine"}
	rng.Shuffle(len(levels), func(i, j int) { levels[i], levels[j] = levels[j], levels[i] })
	for i, level := range levels {
		near := OneDomain("gang", level)
		near.Hard, near.Weight = false, cluster.DefaultWeight
		emit(cluster.ConstraintDefined{Constraint: cluster.ConstraintID(i), Spec: near})
	}
	emit(cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{1}}})
	emit(cluster.ShapeDefined{Shape: 1, Spec: cluster.Shape{Demand: cluster.Vector{1}, Tags: []string{"gang"}}})
	emit(cluster.JobSubmitted{Job: 0, Name: "there"})
	task := cluster.TaskID(0)
	for n, at := range rng.Perm(4 + rng.IntN(9)) {
		w.leaf, w.spine = append(w.leaf, at/2), append(w.spine, at/4)
		size := 1 + rng.IntN(2)
		emit(cluster.NodeAdded{Node: cluster.NodeID(n), Spec: cluster.NodeSpec{
			Capacity: cluster.Vector{int64(size)},
			Groups:   []cluster.Label{{Key: "leaf", Value: strconv.Itoa(at / 2)}, {Key: "spine", Value: strconv.Itoa(at / 4)}},
		}})
		for size > 0 && rng.IntN(2) == 0 {
			emit(cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(task)})
			emit(cluster.TaskFound{Task: task, Seq: cluster.Seq(task), Node: cluster.NodeID(n)})
			task++
			size--
		}
		w.free = append(w.free, size)
	}
	emit(cluster.JobSubmitted{Job: 1, Name: "gang", Gang: int32(w.tasks)})
	for range w.tasks {
		emit(cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(task), Job: 1, Shape: 1})
		task++
	}
	return w
}

// width is 0 of nodes below one leaf, 1 below one spine, else 2.
func (w *switches) width(nodes []int) int {
	for width, of := range [][]int{w.leaf, w.spine} {
		if !slices.ContainsFunc(nodes, func(n int) bool { return of[n] != of[nodes[0]] }) {
			return width
		}
	}
	return 2
}

// narrowest is the least width at which there is room for the gang, if there is room at all.
func (w *switches) narrowest() (width int, fits bool) {
	everywhere := make([]int, len(w.free))
	for width, of := range [][]int{w.leaf, w.spine, everywhere} {
		room := map[int]int{}
		for n, free := range w.free {
			if room[of[n]] += free; room[of[n]] >= w.tasks {
				return width, true
			}
		}
	}
	return 0, false
}
