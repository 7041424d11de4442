package sim

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/google2011"
)

// contest is a node of one slot, a task of low priority that wants 10 s of it
// from the start, and one of high priority that wants 5 s from second 4 on.
func contest() *list {
	return &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}, records: []trace.Record{
		{What: trace.NodeAdded, Node: trace.Node{ID: 1, Capacity: cluster.Vector{1}}},
		{What: trace.TaskSubmitted, Task: trace.Task{Job: 1, JobTasks: 1, Demand: cluster.Vector{1}, Work: 10 * cluster.Second}},
		{Time: 4 * cluster.Second, What: trace.TaskSubmitted, Task: trace.Task{Job: 2, JobTasks: 1, Priority: 9, Demand: cluster.Vector{1}, Work: 5 * cluster.Second}},
	}}
}

// The victim's work is lost or kept, and allocations take time: cold at first,
// hot when the victim returns to the node it knows.
func TestWorkAndOverheads(t *testing.T) {
	for _, c := range []struct {
		name string
		w    World
		want float64 // when the victim ends, in seconds
	}{
		{"lost", World{}, 9 + 10},
		{"kept", World{KeepWork: true}, 9 + 6},
		// It starts at 3, is evicted at 4 with 1 s done; the other runs from 7
		// to 12; it is back at 13.
		{"kept, cold 3 s, hot 1 s", World{KeepWork: true, Overheads: Overheads{Cold: []cluster.Time{3 * cluster.Second}, Hot: []cluster.Time{cluster.Second}}}, 13 + 9},
	} {
		r, err := Run(Config{Source: contest(), Lanes: lane(t, "priority"), World: c.w, Planner: Planner{Time: Zero}})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := float64(r.TaskResponse.Max); got < c.want-0.001 || got > c.want+0.001 {
			t.Errorf("%s: the victim ends at %v s, want %v", c.name, got, c.want)
		}
		if r.Tasks.Preempted != 1 || r.Tasks.Evicted != 1 || r.Tasks.Finished != 2 {
			t.Errorf("%s: %+v", c.name, r.Tasks)
		}
	}
}

// The node is lost under its task and returns: the task runs again. What is
// larger than the node is unplaceable, and a watchdog does not keep the run
// going for ever, whether or not its rounds take time.
func TestNodeLossAndUnplaceable(t *testing.T) {
	for _, planner := range []PlannerTime{Zero, Ticks} {
		l := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}, records: []trace.Record{
			{What: trace.NodeAdded, Node: trace.Node{ID: 1, Capacity: cluster.Vector{1}}},
			{What: trace.TaskSubmitted, Task: trace.Task{Job: 1, Demand: cluster.Vector{1}, Work: 10 * cluster.Second}},
			{What: trace.TaskSubmitted, Task: trace.Task{Job: 1, Index: 1, Demand: cluster.Vector{2}, Work: 10 * cluster.Second}},
			{Time: 4 * cluster.Second, What: trace.NodeLost, Node: trace.Node{ID: 1}},
			{Time: 6 * cluster.Second, What: trace.NodeAdded, Node: trace.Node{ID: 1, Capacity: cluster.Vector{1}}},
		}}
		lanes := lane(t, "kube")
		lanes[0].When = sched.Trigger{Watchdog: cluster.Second}
		asked := 0
		stop := func() bool { asked++; return asked > 1000 } // asked after each round
		r, err := Run(Config{Source: l, Lanes: lanes, Planner: Planner{Time: planner}, Stop: stop})
		if err != nil {
			t.Fatal(err)
		}
		if r.Interrupted {
			t.Errorf("planner time %d: the run did not end by itself", planner)
		}
		want := report.Tasks{Submitted: 2, Placed: 1, Finished: 1, Pending: 1, Unplaceable: 1, Evicted: 1}
		if r.Tasks != want {
			t.Errorf("planner time %d: got %+v, want %+v", planner, r.Tasks, want)
		}
		if got := r.TaskResponse.Max; got < 16 || got > 16.001 {
			t.Errorf("planner time %d: the task ends at %v s, want 16", planner, got)
		}
	}
}

// A heartbeat gathers arrivals until its next multiple; planner time by ticks
// delays what is decided.
func TestHeartbeatAndPlannerTime(t *testing.T) {
	lanes := lane(t, "kube")
	lanes[0].When = sched.Trigger{Heartbeat: 10 * cluster.Second}
	r, err := Run(Config{Source: story(10, 10), Lanes: lanes, Planner: Planner{Time: Zero}})
	if err != nil {
		t.Fatal(err)
	}
	// Task i arrives at second i: task 0 is placed at once, the others at 10.
	if got := r.PlacementLatency.Max; got != 9 {
		t.Errorf("the longest wait for the heartbeat is %v s, want 9", got)
	}
	r, err = Run(Config{Source: story(10, 10), Lanes: lane(t, "kube"), Planner: Planner{PerTick: 1_000_000}})
	if err != nil {
		t.Fatal(err)
	}
	if r.PlacementLatency.P50 <= 0 || r.Planner.Seconds <= 0 {
		t.Errorf("planning took no time: latency %+v, planner %+v", *r.PlacementLatency, r.Planner)
	}
}

// The faults do happen: events are late, runs are orphans, plans are refused.
func TestHostileWorldIsHostile(t *testing.T) {
	faults := Hostile()
	faults.NodeLoss, faults.Foreign = 10*cluster.Minute, 20*cluster.Second
	faults.BindLate, faults.BindRefused, faults.Twice = 100, 100, 200
	s, err := newSimulation(Config{Source: story(12, 2000), Lanes: lane(t, "priority"), World: World{Seed: 3, Faults: faults}, Until: 2 * cluster.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.play(); err != nil {
		t.Fatal(err)
	}
	if c := s.planner.core.Counts(); c.Stale == 0 || c.Orphans == 0 || c.Evicted == 0 {
		t.Errorf("nothing went wrong: %+v", c)
	}
	if s.measures.outcomes.tasks.Evicted == 0 {
		t.Error("nothing was evicted")
	}
}

// Same seed, same bytes; another seed of a hostile world, other bytes.
func TestSameSeedSameBytes(t *testing.T) {
	bytesOf := func(seed uint64) string {
		var b bytes.Buffer
		_, err := Run(Config{Source: story(5, 300), Lanes: lane(t, "kube"), World: World{Seed: seed, Faults: Hostile()}, Output: Output{Placements: &b}})
		if err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	first := bytesOf(1)
	if again := bytesOf(1); first != again {
		t.Error("one seed gave two results")
	}
	if first == bytesOf(2) {
		t.Error("two seeds gave one result")
	}
}

// Stop ends the run with what is known.
func TestStop(t *testing.T) {
	asked := 0
	r, err := Run(Config{Source: story(10, 3000), Lanes: lane(t, "kube"), Stop: func() bool { asked++; return asked > 2 }})
	if err != nil || !r.Interrupted || r.Tasks.Submitted == 0 || r.Tasks.Submitted == 3000 {
		t.Errorf("got %+v, %v", r.Tasks, err)
	}
}

// A round during which somebody wants the run to end is the last one, and nothing
// happens after it.
func TestStopAfterARound(t *testing.T) {
	for _, planner := range []PlannerTime{Zero, Ticks} {
		rounds := 0
		lanes := lane(t, "kube")
		lanes[0].Policy = counting{lanes[0].Policy, &rounds}
		r, err := Run(Config{Source: story(10, 3000), Lanes: lanes, Planner: Planner{Time: planner}, Stop: func() bool { return rounds == 7 }})
		if err != nil || !r.Interrupted || r.Planner.Rounds != 7 || r.Tasks.Submitted != 7 {
			t.Errorf("planner time %d: %d rounds, %+v, %v; want an end after the 7th round", planner, r.Planner.Rounds, r.Tasks, err)
		}
	}
}

// counting is a policy that counts its rounds.
type counting struct {
	sched.Policy
	rounds *int
}

func (c counting) Plan(t *sched.Trial, changed *sched.Changed, budget int64, out *sched.Plan) {
	*c.rounds++
	c.Policy.Plan(t, changed, budget, out)
}

// Google's snapshot with Borg's placements, under the over-commit factors it
// needs: everything that runs has its node, and no node holds two tasks of a job that
// allows one a node.
func TestGoogleSnapshotIsKept(t *testing.T) {
	data := os.Getenv("FAIRLEAD_DATA")
	if data == "" {
		t.Skip("FAIRLEAD_DATA is not set: the folder with the real traces")
	}
	src, err := google2011.Open(filepath.Join(data, "google2011"), google2011.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close() //nolint:errcheck // it was only read
	s, err := newSimulation(Config{Source: trace.Limit(src, 0), Lanes: lane(t, "kube"), Overcommit: map[string]int64{"cpu": 1600, "memory": 2010}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.replay.read(); err != nil {
		t.Fatal(err)
	}
	if err := s.replay.take(s.interrupted); err != nil {
		t.Fatal(err)
	}
	if err := s.observe(); err != nil {
		t.Fatal(err)
	}
	state := s.planner.view()
	if err := state.Check(); err != nil {
		t.Error(err)
	}
	// 13 of the 132,982 running tasks run on machines that no event adds.
	if running, waiting := state.InPhase(cluster.Running), state.InPhase(cluster.Waiting); running != 132_982-13 || running+waiting != 144_339 {
		t.Errorf("%d running and %d waiting; the trace has 132,982 running of 144,339", running, waiting)
	}
	totals := state.Totals()
	if totals.Nodes != 12_477 {
		t.Errorf("%d nodes, the trace has 12,477", totals.Nodes)
	}
	for k, want := range []float64{1.135, 0.933} {
		if got := float64(totals.Used[k]) / float64(totals.Capacity[k]); got < want-0.001 || got > want+0.001 {
			t.Errorf("requests are %.4f of the cell's %s, published %.3f", got, s.nodes.kinds[k].Name, want)
		}
	}
	over, violations := 0, 0
	for i := range state.NodeRows() {
		n := cluster.NodeID(i)
		if state.Overfull(n) {
			over++
		}
		for _, id := range state.TasksOn(n) {
			if most := int(state.Shape(state.Task(id).Shape).PerNode); most > 0 && state.Beside(state.Task(id).Job, n, id) >= most {
				violations++
			}
		}
	}
	if over != 0 || violations != 0 {
		t.Errorf("%d nodes over their limit, %d tasks beside one of their job; want none", over, violations)
	}
}
