package worth

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// TestEighths compares the steps with logarithms.
func TestEighths(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		q := rapid.Int64Range(1, math.MaxInt64).Draw(rt, "quantity")
		got, want := eighths(q), 8*math.Log2(float64(q))
		if float64(got) < want-1e-3 || float64(got) > want+1+1e-3 {
			rt.Fatalf("%d is in eighth %d, want %.4f rounded up", q, got, want)
		}
		if q > 1 && eighths(q-1) > got {
			rt.Fatalf("%d is in a higher eighth than %d", q-1, q)
		}
	})
	if eighths(0) != 0 || eighths(1) == 0 {
		t.Errorf("nothing is in eighth %d, and one in %d", eighths(0), eighths(1))
	}
}

// flood submits tasks to a cluster without nodes but one.
type flood struct {
	t     *testing.T
	core  *sched.Core
	worth *Worth
	tasks int
	shape map[int64]cluster.ShapeID
	now   cluster.Time
}

func newFlood(t *testing.T) *flood {
	t.Helper()
	f := &flood{t: t, worth: New(), shape: map[int64]cluster.ShapeID{}}
	core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil), sched.Lane{Name: "all", Policy: f})
	if err != nil {
		t.Fatal(err)
	}
	f.core = core
	f.step(cluster.NodeAdded{Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{1 << 20}}}, cluster.JobSubmitted{Name: "j"})
	return f
}

// Plan learns.
func (f *flood) Plan(t *sched.Trial, c *sched.Changed, _ int64, _ *sched.Plan) {
	f.worth.Learn(t.View(), c, func(cluster.NodeID) {})
}

// Why is not asked for.
func (*flood) Why(*sched.Trial, cluster.TaskID) sched.Reason { panic("not asked") }

func (f *flood) step(events ...cluster.Event) {
	f.now++
	if _, _, err := f.core.Step(f.now, events, nil); err != nil {
		f.t.Fatal(err)
	}
}

// submit submits a task of that demand, which ends at once.
func (f *flood) submit(demand int64) {
	shape, ok := f.shape[demand]
	if !ok {
		shape = cluster.ShapeID(len(f.shape))
		f.shape[demand] = shape
		f.step(cluster.ShapeDefined{Shape: shape, Spec: cluster.Shape{Demand: cluster.Vector{demand}}})
	}
	seq := cluster.Seq(f.tasks)
	f.tasks++
	f.step(cluster.TaskSubmitted{Seq: seq, Shape: shape})
	f.step(cluster.TaskEnded{Seq: seq, Finished: true})
}

// demands are what the types ask for, in order.
func (f *flood) demands() []int64 {
	var list []int64
	for i := range f.worth.table.types {
		list = append(list, f.worth.table.types[i].demand[0])
	}
	slices.Sort(list)
	return list
}

// TestTypesFollow lets the mix of tasks change altogether: what nobody has asked for while the number
// of tasks doubled nine times is no type any more. In between both are.
func TestTypesFollow(t *testing.T) {
	f := newFlood(t)
	for range 4 {
		f.submit(1000)
	}
	if got := f.demands(); !slices.Equal(got, []int64{1000}) {
		t.Fatalf("the types ask for %d", got)
	}
	for f.tasks < 8 {
		f.submit(64)
	}
	if got := f.demands(); !slices.Equal(got, []int64{64, 1000}) {
		t.Fatalf("the types ask for %d", got)
	}
	for f.tasks < 4<<10 {
		f.submit(64)
	}
	if got := f.demands(); !slices.Equal(got, []int64{64}) {
		t.Fatalf("the types ask for %d", got)
	}
	if len(f.worth.mix.asks) != 1 || len(f.worth.mix.named) != 1 {
		t.Errorf("%d asks are kept", len(f.worth.mix.asks))
	}
}

// TestTypesDoNotGoByOrder submits the same tasks in other orders. Where all demands are types, what is
// learned is the same but for what came between two doublings.
func TestTypesDoNotGoByOrder(t *testing.T) {
	demands := []int64{100, 100, 100, 100, 200, 200, 400, 1600}
	for seed := range uint64(20) {
		f := newFlood(t)
		chance := rand.New(rand.NewPCG(seed, 0))
		for range 32 {
			chance.Shuffle(len(demands), func(i, j int) { demands[i], demands[j] = demands[j], demands[i] })
			for _, d := range demands {
				f.submit(d)
			}
		}
		if got := f.demands(); !slices.Equal(got, []int64{100, 200, 400, 1600}) {
			t.Fatalf("seed %d: the types ask for %d", seed, got)
		}
		count := map[int64]int64{}
		for i := range f.worth.table.types {
			count[f.worth.table.types[i].demand[0]] = f.worth.table.types[i].tasks
		}
		for d, share := range map[int64]int64{100: 4, 200: 2, 400: 1, 1600: 1} {
			if all := count[100] + count[200] + count[400] + count[1600]; abs(8*count[d]-share*all) > all/8 {
				t.Errorf("seed %d: %d of %d asked for %d, want %d of 8", seed, count[d], all, d, share)
			}
		}
	}
}

func abs(n int64) int64 { return max(n, -n) }

// TestFewTypes asks for far more than there may be types. What is rare counts as of a type that asks
// for as much; who asks for most is always one, as it takes most room.
func TestFewTypes(t *testing.T) {
	f := newFlood(t)
	all := int64(0)
	for range 4 {
		for demand := int64(1); demand < 1<<19; demand += demand/8 + 1 {
			f.submit(demand)
			all++
		}
	}
	for f.worth.mix.total < f.worth.mix.next-1 {
		f.submit(1)
	}
	f.submit(1) // types are chosen anew
	if got := len(f.worth.table.types); got != mostTypes {
		t.Fatalf("%d types, want %d", got, mostTypes)
	}
	tasks, weights := int64(0), int64(0)
	for i := range f.worth.table.types {
		tasks += f.worth.table.types[i].tasks
		weights += f.worth.table.types[i].weight
	}
	if tasks == 0 || weights < allWeights-mostTypes || weights > allWeights+mostTypes {
		t.Errorf("the weights add up to %d, of %d tasks", weights, tasks)
	}
}

// TestLargerNodesForgetNothing lets the largest node grow again and again: sizes are others by that, and what was
// counted is what it was.
func TestLargerNodesForgetNothing(t *testing.T) {
	f := newFlood(t)
	for range 5 {
		f.submit(1000)
	}
	before := f.worth.mix.asks[0].tasks
	for i := range int64(20) {
		f.step(cluster.NodeChanged{Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{1<<20 + 1 + i}}})
	}
	if got := f.demands(); !slices.Equal(got, []int64{1000}) || f.worth.mix.asks[0].tasks != before {
		t.Errorf("the types ask for %d, counted %d times; want 1000, %d times", got, f.worth.mix.asks[0].tasks, before)
	}
}

// TestRowOfAnotherNode takes the row of a node for another one in the same moment: the types that may use it are
// those that may use the new node.
func TestRowOfAnotherNode(t *testing.T) {
	f := newFlood(t)
	f.step(cluster.SetDefined{Set: 1, Nodes: []cluster.NodeID{0}}, cluster.ShapeDefined{Shape: 7, Spec: cluster.Shape{Demand: cluster.Vector{5}, Eligible: 1}})
	f.step(cluster.TaskSubmitted{Task: 0, Seq: 0, Shape: 7})
	if f.worth.admits[0] != 1 {
		t.Fatalf("the node takes the types %b", f.worth.admits[0])
	}
	f.step(cluster.NodeLost{}, cluster.NodeAdded{Spec: cluster.NodeSpec{Name: "other", Capacity: cluster.Vector{1 << 20}}})
	if f.worth.admits[0] != 0 {
		t.Errorf("another node in its row takes the types %b", f.worth.admits[0])
	}
}

// TestAsksForNothing: a task that asks for nothing yet is counted when it asks for something, once.
func TestAsksForNothing(t *testing.T) {
	f := newFlood(t)
	f.step(
		cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{0}}}, cluster.ShapeDefined{Shape: 1, Spec: cluster.Shape{Demand: cluster.Vector{1000}}},
		cluster.TaskSubmitted{Shape: 0, Gated: true}, cluster.TaskSubmitted{Task: 1, Seq: 1, Shape: 1},
	)
	if f.worth.mix.total != 1 {
		t.Errorf("%d tasks were counted, want the one that asks for something", f.worth.mix.total)
	}
	f.step(cluster.TaskReshaped{Shape: 1}, cluster.TaskUngated{})
	f.step(cluster.TaskReshaped{Shape: 0})
	f.step(cluster.TaskReshaped{Shape: 1})
	if got := f.demands(); !slices.Equal(got, []int64{1000}) || f.worth.mix.total != 2 {
		t.Errorf("the types ask for %d, and %d tasks were counted; want 1000, and 2", got, f.worth.mix.total)
	}
}

// TestTasksOfNodes: those that belong to their nodes, each kept to its own, are of one type.
func TestTasksOfNodes(t *testing.T) {
	f := newFlood(t)
	f.step(cluster.NodeAdded{Node: 1, Spec: cluster.NodeSpec{Name: "m", Capacity: cluster.Vector{1 << 20}}})
	var events []cluster.Event
	for i := range uint32(2) {
		id, task, node := cluster.ShapeID(i), cluster.TaskID(i), cluster.NodeID(i)
		set := cluster.SetID(i + 1)
		events = append(events, cluster.SetDefined{Set: set, Nodes: []cluster.NodeID{node}}, cluster.ShapeDefined{Shape: id, Spec: cluster.Shape{Demand: cluster.Vector{1000}, Eligible: set}},
			cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(i), Shape: id}, cluster.TaskFound{Task: task, Seq: cluster.Seq(i), Node: node},
			cluster.TaskProtected{Task: task, Attempt: 1, Until: cluster.Never, Reason: cluster.BelongsToNode})
	}
	events = append(events, cluster.ShapeDefined{Shape: 2, Spec: cluster.Shape{Demand: cluster.Vector{64}}}, cluster.TaskSubmitted{Task: 2, Seq: 2, Shape: 2}) // for which there is a round
	f.step(events...)
	types := f.worth.table.types
	if got := f.demands(); !slices.Equal(got, []int64{64, 1000}) || types[0].set != cluster.AllNodes || f.worth.mix.total != 3 {
		t.Errorf("%d tasks are of the types %+v, want 3 of two, on all nodes", f.worth.mix.total, types)
	}
}
