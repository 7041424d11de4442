package sim

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim/trace"
)

// racked is a node of one slot in a rack.
func racked(id uint64, rack string) trace.Record {
	n := trace.Node{ID: id, Capacity: cluster.Vector{1}}
	if rack != "" {
		n.Groups = []cluster.Label{{Key: "rack", Value: rack}, {Key: "zone", Value: "z"}}
	}
	return trace.Record{What: trace.NodeAdded, Node: n}
}

func reading(at cluster.Time, index uint32, priority int32, input ...trace.Block) trace.Record {
	return trace.Record{Time: at, What: trace.TaskSubmitted, Task: trace.Task{
		Job: 1, Index: index, Priority: priority, Demand: cluster.Vector{1}, Work: 10 * cluster.Second, Input: input,
	}}
}

func block(bytes int64, replicas ...uint64) trace.Block {
	return trace.Block{Bytes: bytes, Replicas: replicas}
}

func runData(t *testing.T, policy string, w World, records ...trace.Record) report.Run {
	t.Helper()
	l := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}, records: records}
	r, err := Run(Config{Source: l, Lanes: lane(t, policy), World: w, Planner: Planner{Time: Zero}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func wantReads(t *testing.T, r report.Run, want report.Reads) {
	t.Helper()
	if r.Reads == nil || *r.Reads != *report.NewReads(want, r.Simulated) {
		t.Errorf("read %+v, want %+v", r.Reads, report.NewReads(want, r.Simulated))
	}
}

// One node is open, in rack a; what a task reads there comes from the nearest
// replica, and from none that is not there.
func TestReadsFromTheNearest(t *testing.T) {
	nodes := []trace.Record{racked(1, "a"), racked(2, "a"), racked(3, "b"), racked(4, ""), racked(5, "a")}
	for i := 1; i < len(nodes); i++ {
		nodes[i].Node.Capacity = cluster.Vector{0}
	}
	lost := trace.Record{What: trace.NodeLost, Node: trace.Node{ID: 5}}
	r := runData(t, "kube", World{}, append(nodes, lost, reading(0, 0, 0,
		block(1, 3, 2, 1), block(2, 1), // its own
		block(10, 3, 2), block(20, 2, 5, 4), // of its rack
		block(100, 3), block(200, 4), block(400, 5, 4), // farther; a node without a rack is near nobody
		block(1000, 5), block(2000), block(4000, 99), // gone, nowhere, on a node that nobody knows
	))...)
	wantReads(t, r, report.Reads{Runs: 1, Local: 3, Rack: 30, Remote: 700, Missing: 7000, RunLocality: 3.0 / 733})
	if got, want := r.Reads.Moved, report.Number(730*3600.0/10); got != want || r.Reads.Bytes != 733 {
		t.Errorf("moved %v bytes an hour of %v read, want %v", got, r.Reads.Bytes, want)
	}
}

// Nodes without a rack are not in one rack with each other.
func TestNoRackIsNoRack(t *testing.T) {
	closed := racked(2, "")
	closed.Node.Capacity = cluster.Vector{0}
	r := runData(t, "kube", World{}, racked(1, ""), closed, reading(0, 0, 0, block(5, 2)))
	wantReads(t, r, report.Reads{Runs: 1, Remote: 5})
}

// A task that was evicted reads again, and so does one whose node was lost and
// came back with what it holds; one that ran when the trace began has read.
func TestReadsAgain(t *testing.T) {
	r := runData(t, "priority", World{}, racked(1, "a"), reading(0, 0, 0, block(7, 1)), reading(4*cluster.Second, 1, 9))
	if r.Tasks.Preempted != 1 {
		t.Fatalf("%+v, want a preemption", r.Tasks)
	}
	wantReads(t, r, report.Reads{Runs: 2, Local: 14, RunLocality: 1})

	lost, back := trace.Record{Time: 3 * cluster.Second, What: trace.NodeLost, Node: trace.Node{ID: 1}}, racked(1, "a")
	back.Time = 5 * cluster.Second
	r = runData(t, "kube", World{}, racked(1, "a"), reading(0, 0, 0, block(7, 1)), lost, back)
	wantReads(t, r, report.Reads{Runs: 2, Local: 14, RunLocality: 1})

	there := reading(0, 0, 0, block(7, 1))
	there.Task.Running, there.Task.OnNode = true, 1
	wantReads(t, runData(t, "kube", World{}, racked(1, "a"), there), report.Reads{})
}

// Locality counts bytes, run locality runs: a large input elsewhere outweighs a
// small one that is local.
func TestRunLocality(t *testing.T) {
	closed := racked(2, "b")
	closed.Node.Capacity = cluster.Vector{0}
	r := runData(t, "kube", World{}, racked(1, "a"), closed, reading(0, 0, 0, block(10, 1)), reading(0, 1, 0, block(990, 2)), reading(0, 2, 0, block(5, 9)))
	wantReads(t, r, report.Reads{Runs: 3, Local: 10, Remote: 990, Missing: 5, RunLocality: 0.5})
	if r.Reads.Locality != 0.01 {
		t.Errorf("locality is %v, want 0.01", r.Reads.Locality)
	}
}

// A workload without input says nothing of reading.
func TestNoInputNoReads(t *testing.T) {
	if r := runData(t, "kube", World{}, racked(1, "a"), reading(0, 0, 0)); r.Reads != nil {
		t.Errorf("read %+v", r.Reads)
	}
}

// What the trace says of racks, of jobs that stand together and of usage reaches
// the core, and a node that comes back by chance is in its rack again.
func TestCoreIsTold(t *testing.T) {
	task := reading(0, 0, 0, block(7, 2, 1))
	task.Task.Together = true
	used := trace.Record{Time: 1, What: trace.NodeUsed, Node: trace.Node{ID: 1, Usage: cluster.Vector{3}}}
	l := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}, records: []trace.Record{racked(1, "a"), racked(2, "b"), task, used}}
	s, err := newSimulation(Config{Source: l, Lanes: lane(t, "kube"), Until: 5 * cluster.Second})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.play(); err != nil {
		t.Fatal(err)
	}
	state := s.planner.view()
	if got := state.Input(0); len(got) != 1 || got[0] != (cluster.Block{Bytes: 7, Replicas: [3]cluster.NodeID{1, 0, cluster.NoNode}}) {
		t.Errorf("the core was told of input %v", got)
	}
	if usage := state.Usage(0); !state.Job(0).Together || len(usage) != 1 || usage[0] != 3 {
		t.Errorf("together is %v, usage %v", state.Job(0).Together, usage)
	}
	s.runs.loseNode(0)
	s.injector.returnNode(0)
	if err := s.observe(); err != nil {
		t.Fatal(err)
	}
	if got := rackOf(state.NodeSpec(0).Groups); got != "a" {
		t.Errorf("the node is back in rack %q", got)
	}
}

// A usage of a node that is not there is a mistake of the trace.
func TestUsageOfNobody(t *testing.T) {
	l := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}, records: []trace.Record{racked(1, ""), {What: trace.NodeUsed, Node: trace.Node{ID: 2, Usage: cluster.Vector{3}}}}}
	_, err := Run(Config{Source: l, Lanes: []sched.Lane{lane(t, "kube")[0]}})
	if want := "trace at 0s: node used: node 2 is not there"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
