package moves_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/capacity/moves"
	"fairlead.dev/fairlead/cluster"
)

// world is a cluster made by chance, with what the tests know of it beside the state.
type world struct {
	t      testing.TB
	state  *cluster.State
	rng    *rand.Rand
	shapes map[string]cluster.ShapeID
	may    []moves.May
	seq    cluster.Seq
	jobs   cluster.JobID
	sets   cluster.SetID
}

const (
	gib      = 1 << 30
	zoneSets = 3 // sets 1 to 3 hold the nodes of a zone each
)

func kinds(devices bool) []cluster.Kind {
	list := []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1000}, {Name: "memory", Unit: "GiB", PerUnit: gib}, {Name: "pods", PerUnit: 1}}
	if devices {
		list = append(list, cluster.Kind{Name: "gpu", PerUnit: 1000, Devices: true})
	}
	return list
}

func newWorld(tb testing.TB, seed uint64, devices bool) *world {
	tb.Helper()
	return &world{t: tb, state: cluster.NewState(kinds(devices), nil), rng: rand.New(rand.NewPCG(seed, 0)), shapes: map[string]cluster.ShapeID{}}
}

func (w *world) apply(e cluster.Event) {
	w.t.Helper()
	if err := w.state.Apply(0, e); err != nil {
		w.t.Fatalf("%T: %v", e, err)
	}
}

// nodes adds nodes of a few sorts, in three zones.
func (w *world) nodes(count int) {
	sorts := [][]int64{{4000, 16 * gib, 58}, {8000, 32 * gib, 58}, {16000, 64 * gib, 110}, {32000, 256 * gib, 110}}
	var zones [zoneSets][]cluster.NodeID
	for i := range count {
		capacity := slices.Clone(sorts[w.rng.IntN(len(sorts))])
		if len(w.state.Kinds()) == 4 {
			capacity = append(capacity, int64(w.rng.IntN(3)*4000))
		}
		zone := w.rng.IntN(zoneSets)
		zones[zone] = append(zones[zone], cluster.NodeID(i))
		w.apply(cluster.NodeAdded{Node: cluster.NodeID(i), Spec: cluster.NodeSpec{
			Name: fmt.Sprint("n", i), Capacity: capacity, Groups: []cluster.Label{{Key: "zone", Value: fmt.Sprint(zone)}},
		}})
	}
	for i, nodes := range zones {
		w.apply(cluster.SetDefined{Set: cluster.SetID(i + 1), Nodes: nodes})
	}
	w.sets = zoneSets
}

func (w *world) shape(s cluster.Shape) cluster.ShapeID {
	key := fmt.Sprint(s)
	id, known := w.shapes[key]
	if !known {
		id = cluster.ShapeID(len(w.shapes))
		w.shapes[key] = id
		w.apply(cluster.ShapeDefined{Shape: id, Spec: s})
	}
	return id
}

func (w *world) job() cluster.JobID {
	w.apply(cluster.JobSubmitted{Job: w.jobs, Name: fmt.Sprint("job", w.jobs)})
	w.jobs++
	return w.jobs - 1
}

// run submits a task and lets it run on the node.
func (w *world) run(job cluster.JobID, shape cluster.ShapeID, n cluster.NodeID, may moves.May) {
	row := cluster.TaskID(len(w.may))
	w.may = append(w.may, may)
	w.apply(cluster.TaskSubmitted{Task: row, Seq: w.seq, Job: job, Shape: shape})
	w.apply(cluster.TaskFound{Task: row, Seq: w.seq, Node: n})
	w.seq++
}

// fill spreads tasks over the nodes, a few of which may not move, and one on each that goes with it.
func (w *world) fill(tasks int) {
	own, nodes := w.job(), w.state.NodeRows()
	for n := range nodes {
		w.run(own, w.shape(cluster.Shape{Demand: w.demand(100, 200<<20)}), cluster.NodeID(n), moves.Go)
	}
	for placed := 0; placed < tasks; {
		job := w.job()
		demand := w.demand(int64(100*(1+w.rng.IntN(15))), int64(256<<20*(1+w.rng.IntN(16))))
		if len(demand) == 4 && w.rng.IntN(4) == 0 {
			demand[3] = []int64{300, 500, 1000, 2000}[w.rng.IntN(4)]
		}
		s := cluster.Shape{Demand: demand}
		if w.rng.IntN(5) == 0 {
			s.Eligible = cluster.SetID(1 + w.rng.IntN(zoneSets))
		}
		if w.rng.IntN(4) == 0 {
			s.PerNode = 1
		}
		if w.rng.IntN(8) == 0 {
			s.Tags = []string{fmt.Sprint("app", w.rng.IntN(4))}
		}
		id := w.shape(s)
		for range 1 + w.rng.IntN(30) {
			may := moves.Move
			if w.rng.IntN(2000) == 0 {
				may = moves.Stay
			}
			if n, ok := w.anywhere(id, job); ok {
				w.run(job, id, n, may)
			}
			placed++
		}
	}
}

func (w *world) demand(cpu, memory int64) cluster.Vector {
	v := make(cluster.Vector, len(w.state.Kinds()))
	v[0], v[1], v[2] = cpu, memory, 1
	return v
}

// anywhere is a node that takes the shape, tried by chance.
func (w *world) anywhere(id cluster.ShapeID, job cluster.JobID) (cluster.NodeID, bool) {
	for range 50 {
		n := cluster.NodeID(w.rng.IntN(w.state.NodeRows()))
		if most := w.state.Shape(id).PerNode; most > 0 && w.state.Beside(job, n, cluster.NoTask) >= int(most) {
			continue
		}
		if !w.state.AdmitsShape(id, n).Refused() {
			return n, true
		}
	}
	return 0, false
}

func (w *world) problem() *moves.Problem {
	return &moves.Problem{View: &w.state.View, May: func(t cluster.TaskID) moves.May { return w.may[t] }}
}
