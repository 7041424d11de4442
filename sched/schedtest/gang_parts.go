package schedtest

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// GangsFoundInParts is GangsFound of gangs whose parts must each stand in one rack, and all of them, in every other world, in one zone of racks. All tasks are to be placed.
func GangsFoundInParts(t *testing.T, worlds int, newPolicy func() sched.Policy) (found, possible int) {
	t.Helper()
	for seed := range uint64(worlds) {
		w := newPartsWorld(seed)
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
		placed := make([]int, len(w.asks))
		for _, d := range out {
			placed[d.Task] = int(d.Node) + 1
		}
		for i, n := range placed {
			if len(out) > 0 && (n == 0 || !w.may(i, n-1, placed[:i])) {
				t.Fatalf("seed %d: parts %v of a gang are placed on %v, in racks %q:\n%s", seed, w.part, placed, w.racks, core.View().Picture())
			}
		}
		could := w.fits(nil)
		switch {
		case len(out) > 0 && !could:
			t.Fatalf("seed %d: a gang is placed that does not fit:\n%s", seed, core.View().Picture())
		case len(out) > 0:
			found++
		}
		if could {
			possible++
		}
	}
	return found, possible
}

// partsWorld is what a gang of several parts finds.
type partsWorld struct {
	events []cluster.Event
	racks  []string // by node; the first letter is the zone, "" is that of one in none
	free   []int64  // by node
	asks   []int64  // by task
	part   []int    // by task
	zoned  bool
}

func newPartsWorld(seed uint64) *partsWorld {
	rng := rand.New(rand.NewPCG(seed, 0x6a72))
	w := &partsWorld{zoned: seed%2 == 0}
	emit := func(e cluster.Event) { w.events = append(w.events, e) }
	parts := 2 + rng.IntN(2)
	for p := range parts {
		emit(cluster.ConstraintDefined{Constraint: cluster.ConstraintID(p), Spec: OneDomain("part"+strconv.Itoa(p), "rack")})
	}
	if w.zoned {
		emit(cluster.ConstraintDefined{Constraint: cluster.ConstraintID(parts), Spec: OneDomain("gang", "zone")})
	}
	for n := range 2 + rng.IntN(5) {
		rack, spec := []string{"a1", "a2", "b1", "b2", "b3", ""}[rng.IntN(6)], cluster.NodeSpec{Capacity: cluster.Vector{1 + rng.Int64N(6)}}
		w.racks, w.free = append(w.racks, rack), append(w.free, spec.Capacity[0])
		if rack != "" {
			spec.Groups = []cluster.Label{{Key: "rack", Value: rack}, {Key: "zone", Value: rack[:1]}}
		}
		emit(cluster.NodeAdded{Node: cluster.NodeID(n), Spec: spec})
	}
	demands := make([]int64, parts)
	for p := range demands {
		demands[p] = 1 + rng.Int64N(3)
		emit(cluster.ShapeDefined{Shape: cluster.ShapeID(p), Spec: cluster.Shape{Demand: cluster.Vector{demands[p]}, Tags: []string{"gang", "part" + strconv.Itoa(p)}}})
	}
	tasks := parts + rng.IntN(3)
	emit(cluster.JobSubmitted{Job: 0, Name: "gang", Gang: int32(tasks)})
	for i := range tasks {
		p := i % parts
		w.asks, w.part = append(w.asks, demands[p]), append(w.part, p)
		emit(cluster.TaskSubmitted{Task: cluster.TaskID(i), Seq: cluster.Seq(i), Shape: cluster.ShapeID(p)})
	}
	return w
}

// may reports whether the task may go to the node beside those before it, whose nodes are numbered from 1.
func (w *partsWorld) may(task, node int, before []int) bool {
	left := w.free[node] - w.asks[task]
	for i, n := range before {
		if w.part[i] == w.part[task] && w.racks[n-1] != w.racks[node] || w.zoned && w.racks[n-1][:1] != w.racks[node][:min(1, len(w.racks[node]))] {
			return false
		}
		if n-1 == node {
			left -= w.asks[i]
		}
	}
	return w.racks[node] != "" && left >= 0
}

// fits reports whether all tasks find nodes beside the first ones, by trying everything.
func (w *partsWorld) fits(before []int) bool {
	if len(before) == len(w.asks) {
		return true
	}
	for n := range w.racks {
		if w.may(len(before), n, before) && w.fits(append(slices.Clip(before), n+1)) {
			return true
		}
	}
	return false
}
