//go:build !nohighs

package recording_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/exact"
	"fairlead.dev/fairlead/constraint/greedy"
	"fairlead.dev/fairlead/constraint/lane"
	"fairlead.dev/fairlead/ilp/highs"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
)

// together are the events of three applications on a rack group of their own: the third wants to
// be where the first is, and serial leaves it no room there.
func together(batch int) []cluster.Event {
	var events []cluster.Event
	for n := range 4 {
		rack := fmt.Sprintf("%d-%d", batch, n/2)
		events = append(events, cluster.NodeAdded{Node: cluster.NodeID(4*batch + n), Spec: cluster.NodeSpec{
			Name: fmt.Sprintf("n%d-%d", batch, n), Capacity: cluster.Vector{4}, Groups: []cluster.Label{{Key: "rack", Value: rack}},
		}})
	}
	tag := func(i int) []string { return []string{fmt.Sprintf("t%d-%d", batch, i)} }
	for i, bound := range []cluster.Bound{
		{Subject: tag(2), Target: tag(0), Min: 1, Max: cluster.Unbounded, Group: "rack"},
		{Subject: tag(1), Target: tag(0), Group: cluster.EachNode},
	} {
		events = append(events, cluster.ConstraintDefined{
			Constraint: cluster.ConstraintID(2*batch + i), Spec: cluster.Constraint{Name: "c", Weight: cluster.DefaultWeight, Any: [][]cluster.Bound{{bound}}},
		})
	}
	for i := range 3 {
		row := 3*batch + i
		events = append(events,
			cluster.ShapeDefined{Shape: cluster.ShapeID(row), Spec: cluster.Shape{Demand: cluster.Vector{3}, Tags: tag(i)}},
			cluster.JobSubmitted{Job: cluster.JobID(row), LongRunning: true},
			cluster.TaskSubmitted{Task: cluster.TaskID(row), Seq: cluster.Seq(row + 1), Job: cluster.JobID(row), Shape: cluster.ShapeID(row)})
	}
	return events
}

// TestReplaysReadiness records rounds before and after the solver is ready. A replay decides
// the same although its solver is ready all the time; one of a file in which readiness is not reported
// does not.
func TestReplaysReadiness(t *testing.T) {
	engine := highs.Start(highs.Options{})
	if err := engine.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	serial := func(p *constraint.Problem, _ int64) (constraint.Assignment, int64) { return greedy.Serial().Solve(p) }
	better := 0
	again := func(recording.Lane) (sched.Policy, error) {
		return lane.New(lane.Options{
			Solve: serial, Quick: serial, Objective: constraint.Standard(),
			Repair: func(p *constraint.Problem, found constraint.Assignment, _ int64) lane.Repaired {
				r, err := exact.Repair(p, found, engine, exact.Defaults())
				if err != nil {
					t.Error(err)
				}
				better += r.Better
				return lane.Repaired{Assignment: r.Assignment, Ticks: r.Ticks}
			},
		}), nil
	}
	h := recording.Header{Kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}, Lanes: []recording.Lane{{Name: "long", Policy: "medea"}}}
	policy, _ := again(h.Lanes[0])
	core, err := sched.New(cluster.NewState(h.Kinds, nil), sched.Lane{Name: "long", Policy: policy})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	to, err := recording.NewWriter(dir, h, recording.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r := recording.NewRecorder(core, to)
	_, wrong := r.Snapshot(0, together(0), nil)
	_, _, err = r.Step(cluster.Second, nil, nil)
	before := better
	_, stepped, failed := r.Step(2*cluster.Second, slices.Concat([]cluster.Event{cluster.SolverReady{}}, together(1)), nil)
	if wrong != nil || err != nil || failed != nil || stepped == 0 || before != 0 || better == 0 {
		t.Fatalf("%v, %v, %v; %d models made plans better before, %d in all", wrong, err, failed, before, better)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := recording.Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	data := read(t, files[0])
	result, err := recording.Replay(bytes.NewReader(data), "f", again)
	if err != nil || result.Difference != nil || result.Placements < 5 {
		t.Errorf("%d placements: %v, %v; want none to differ", result.Placements, result.Difference, err)
	}
	text := unzip(t, data)
	without := strings.Replace(text, `{"e":"solver_ready"},`, "", 1)
	if without == text {
		t.Fatalf("the solver's readiness is not in\n%s", text)
	}
	if result, err = recording.Replay(bytes.NewReader(zip(without)), "f", again); err != nil || result.Difference == nil {
		t.Errorf("without the solver's readiness: %v, want a difference", err)
	}
}
