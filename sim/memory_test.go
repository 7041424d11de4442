package sim

import (
	"io"
	"testing"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// crowd is a cluster of 100 nodes and many tasks, ten a second, each with a
// demand of its own and a job that does not say how many tasks it has.
type crowd struct {
	nodes, tasks int // yet to come
}

func (c *crowd) Kinds() []cluster.Kind { return []cluster.Kind{{Name: "cpu", PerUnit: 1}} }
func (c *crowd) Close() error          { return nil }
func (c *crowd) Next(r *trace.Record) error {
	switch {
	case c.nodes > 0:
		c.nodes--
		*r = trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: uint64(c.nodes), Capacity: cluster.Vector{4_000_000}}}
	case c.tasks > 0:
		c.tasks--
		*r = trace.Record{Time: r.Time + cluster.Second/10, What: trace.TaskSubmitted, Task: trace.Task{
			Job: uint64(c.tasks), Demand: cluster.Vector{int64(1_000_000 + c.tasks)}, Work: 10 * cluster.Second,
		}}
	default:
		return io.EOF
	}
	return nil
}

// What has ended is forgotten: memory depends on what is there now, not on all
// that ever was. Without that, this test takes very long.
func TestWhatHasEndedIsForgotten(t *testing.T) {
	tasks := 150_000
	s, err := newSimulation(Config{Source: &crowd{100, tasks}, Lanes: lane(t, "kube"), Planner: Planner{Time: Zero}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.play(); err != nil {
		t.Fatal(err)
	}
	if got := s.measures.outcomes.tasks.Finished; got != tasks {
		t.Errorf("%d tasks finished, want %d", got, tasks)
	}
	// Some hundred tasks are there at a time.
	b := &s.tasks
	if most := maxUnused + 1000; len(b.demands) > most || len(b.named) > most || b.unused.Len() > maxUnused {
		t.Errorf("%d rows of shapes, %d names and %d unused after %d tasks; want at most %d", len(b.demands), len(b.named), b.unused.Len(), tasks, most)
	}
	if rows := s.planner.view().ShapeRows(); rows != len(b.demands) {
		t.Errorf("the core has %d rows of shapes, the world %d", rows, len(b.demands))
	}
	if len(b.jobs) > 0 || len(b.live) > 0 {
		t.Errorf("%d jobs and %d tasks are remembered, and all have ended", len(b.jobs), len(b.live))
	}
	if rows := s.planner.view().JobRows(); rows > 1000 {
		t.Errorf("the core has %d rows of jobs", rows)
	}
	if err := s.planner.view().Check(); err != nil {
		t.Error(err)
	}
}

// A shape that comes back before it is forgotten keeps its row; of those that
// do not, the one that was unused for longest goes first, and its row is the
// next that is used again.
func TestShapesAreForgottenInOrder(t *testing.T) {
	b := newTasks(class.Google())
	var emitted []cluster.Event
	emit := func(e cluster.Event) { emitted = append(emitted, e) }
	shape := func(demand int) cluster.ShapeID {
		return b.shape(&trace.Task{Demand: cluster.Vector{int64(demand)}}, sets{}, emit)
	}
	for i := range maxUnused + 1 {
		if id := shape(i); id != cluster.ShapeID(i) {
			t.Fatalf("shape %d has row %d", i, id)
		}
	}
	for i := range maxUnused {
		b.release(cluster.ShapeID(i), emit)
	}
	if id := shape(0); id != 0 {
		t.Errorf("the shape comes back as row %d, want 0", id)
	}
	emitted = nil
	b.release(0, emit)
	b.release(maxUnused, emit)
	if len(emitted) != 1 || emitted[0] != cluster.Event(cluster.ShapeForgotten{Shape: 1}) {
		t.Errorf("emitted %v, want that shape 1 is forgotten", emitted)
	}
	if id := shape(-1); id != 1 {
		t.Errorf("a new shape has row %d, want 1", id)
	}
	if id := shape(1); id != maxUnused+1 {
		t.Errorf("the forgotten shape comes back as row %d, want a new one", id)
	}
}

// Nobody says how many tasks the job has. It is over when none is left, and
// what comes later is another job.
func TestJobOfUnknownSize(t *testing.T) {
	task := func(at cluster.Time, index uint32, work cluster.Time) trace.Record {
		return trace.Record{Time: at, What: trace.TaskSubmitted, Task: trace.Task{Job: 7, Index: index, Demand: cluster.Vector{1}, Work: work}}
	}
	l := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}, records: []trace.Record{
		{What: trace.NodeAdded, Node: trace.Node{ID: 1, Capacity: cluster.Vector{4}}},
		task(0, 0, 10*cluster.Second),
		task(5*cluster.Second, 1, 2*cluster.Second),
		task(20*cluster.Second, 2, 4*cluster.Second),
	}}
	r, err := Run(Config{Source: l, Lanes: lane(t, "kube"), Planner: Planner{Time: Zero}})
	if err != nil {
		t.Fatal(err)
	}
	if r.JobResponse == nil || r.JobResponse.Max != 10 || r.JobResponse.Mean != 7 {
		t.Errorf("job response is %+v, want jobs of 10 s and 4 s", r.JobResponse)
	}
}
