package recording_test

import (
	"bytes"
	"runtime"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/flow/spread"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/mcmf/race"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
)

// delayed is a racing solver of which one side is held up, whenever it asks whether to
// stop, until its rival is done.
type delayed struct{ race.Noted }

func (s delayed) Solve(o mcmf.Options) mcmf.Result {
	o.Stop = func() bool {
		stacks := make([]byte, 1<<20)
		for bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("created by fairlead.dev/fairlead/mcmf/race.(*Solver).race")) {
			runtime.Gosched()
		}
		return false
	}
	return s.Noted.Solve(o)
}

// racing records tasks of two lanes that come to nodes of which many are equally
// good, under a policy whose rounds race. It returns the file, and who won.
func racing(t *testing.T) (file []byte, won []mcmf.Algorithm) {
	t.Helper()
	h := recording.Header{
		Kinds: []cluster.Kind{{Name: "cpu"}, {Name: "memory"}},
		Lanes: []recording.Lane{{Name: "odd", Policy: "load-spreading", Options: map[string]string{"solver": "race"}, User: "odd"}, {Name: "rest", Policy: "load-spreading", Options: map[string]string{"solver": "race"}}},
	}
	races := []*recording.Races{{}, {}}
	var lanes []sched.Lane
	for i, l := range h.Lanes {
		note := func(by mcmf.Algorithm) {
			won = append(won, by)
			races[i].Won(by)
		}
		lanes = append(lanes, sched.Lane{Name: l.Name, Owns: l.Owns(), Policy: flow.New(&spread.Model{}, flow.Options{Solver: func(g *mcmf.Graph) flow.Solver {
			return delayed{race.Noted{Solver: race.New(g, mcmf.CostScaling), Won: note}}
		}})})
	}
	core, err := sched.New(cluster.NewState(h.Kinds, nil), lanes...)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	to, err := recording.NewWriter(dir, h, recording.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	drive(t, recording.NewRecorder(core, to, races...))
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := recording.Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, files[0]), won
}

// drive lets tasks of some shapes come to two lanes, and nodes fail, in rounds within
// a step and beside the world.
func drive(t *testing.T, r *recording.Recorder) {
	t.Helper()
	const nodes, shapes = 2000, 60
	events := []cluster.Event{cluster.JobSubmitted{Job: 0, User: "odd"}, cluster.JobSubmitted{Job: 1, User: "even"}}
	for n := range cluster.NodeID(nodes) {
		events = append(events, cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Capacity: cluster.Vector{20, 20}}})
	}
	for s := range cluster.ShapeID(shapes) {
		events = append(events, cluster.ShapeDefined{Shape: s, Spec: cluster.Shape{Demand: cluster.Vector{1 + int64(s%6), 1 + int64(s/6)}}})
	}
	if _, err := r.Snapshot(0, events, nil); err != nil {
		t.Fatal(err)
	}
	task := cluster.TaskID(0)
	var decisions []sched.Decision
	for turn := range 4 {
		now := cluster.Time(1+turn) * cluster.Second
		events = events[:0]
		for _, d := range decisions {
			events = append(events, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
		}
		for range 600 {
			events = append(events, cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(task), Job: cluster.JobID(task % 2), Shape: cluster.ShapeID(task % shapes)})
			task++
		}
		events = append(events, cluster.NodeLost{Node: cluster.NodeID(turn)})
		var err error
		if turn%2 == 0 {
			decisions, _, err = r.Step(now, events, nil)
		} else {
			decisions, err = r.Observe(now, events, nil)
			odd, rest := r.Begin(0, now), r.Begin(1, now)
			rest.Run(0)
			odd.Run(0)
			decisions = r.Finish(rest, now, r.Finish(odd, now, decisions))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestRacesAgain replays rounds that raced: with the same winners each decision is
// the same; with those that would have won here, had nobody held them up, it is not.
func TestRacesAgain(t *testing.T) {
	file, won := racing(t)
	if !slices.Contains(won, mcmf.CostScaling) || !slices.Contains(won, mcmf.Incremental) {
		t.Fatalf("not both have won: %v", won)
	}
	replay := func(next func(*recording.Races) (mcmf.Algorithm, bool)) recording.Result {
		result, err := recording.Replay(bytes.NewReader(file), "f", func(l recording.Lane) (sched.Policy, error) {
			return flow.New(&spread.Model{}, flow.Options{Solver: func(g *mcmf.Graph) flow.Solver {
				return race.Again{Solver: race.New(g, mcmf.CostScaling), Next: func() (mcmf.Algorithm, bool) { return next(l.Races) }}
			}}), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	if r := replay((*recording.Races).Next); r.Difference != nil || r.Placements < 2000 {
		t.Errorf("with the recorded winners: %d placements, want 2000 of 2400; %v", r.Placements, r.Difference)
	}
	other := func(races *recording.Races) (mcmf.Algorithm, bool) {
		races.Next()
		return "", false
	}
	if r := replay(other); r.Difference == nil {
		t.Error("with other winners each decision is the same; who won makes no difference, and the test is broken")
	}
	if r := replay(func(*recording.Races) (mcmf.Algorithm, bool) { return "", false }); r.Difference == nil {
		t.Error("races that were recorded and not run are no difference")
	}
}
