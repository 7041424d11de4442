package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/strict"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
)

// TestExplainRecording records a policy with prices on two nodes of three cores, and
// explains a moment at which each has two of four tasks.
func TestExplainRecording(t *testing.T) {
	dir := t.TempDir()
	recordPriced(t, dir)
	m, err := replayedMoment([]string{filepath.Join(dir, "recording-000001.jsonl.zst")}, 4*cluster.Second, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ task, want string }{
		{"web#1", "task web#1 at 4s: running on n1; policy load-spreading\nneeds cpu 1\nwaiting costs 536870912\n\n" +
			"2 nodes would take it, if it left n1 now:\n" +
			"NODE       COST  PARTS\n" +
			"n1 (here)  1     1 for tasks there\n" +
			"n0         2     1 more: 1 for tasks there\n" +
			"n1 costs 536870911 less than waiting.\n"},
		{"", "At 4s no task waits.\n"},
	} {
		answer, err := m.explain(tc.task, 5)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := answer.write(&text, 5); err != nil {
			t.Fatal(err)
		}
		if text.String() != tc.want {
			t.Errorf("%q: got\n%swant\n%s", tc.task, &text, tc.want)
		}
		checkRoundTrip(t, answer)
	}
}

// checkRoundTrip wants the answer to be read back as it was, with no field that is not
// known.
func checkRoundTrip(t *testing.T, answer *explained) {
	t.Helper()
	before, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	var back explained
	if err := strict.Decode(before, &back); err != nil {
		t.Fatal(err)
	}
	after, err := json.Marshal(&back)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Errorf("was %s\nis  %s", before, after)
	}
}

// recordPriced records four tasks that come, a second after the other, to two nodes.
func recordPriced(t *testing.T, dir string) {
	t.Helper()
	p, err := policies.New("load-spreading", policies.Options{})
	if err != nil {
		t.Fatal(err)
	}
	kinds := []cluster.Kind{{Name: "cpu", PerUnit: 1000}}
	core, err := sched.New(cluster.NewState(kinds, nil), sched.Lane{Name: "all", Policy: p})
	if err != nil {
		t.Fatal(err)
	}
	to, err := recording.NewWriter(dir, recording.Header{Kinds: kinds, Lanes: []recording.Lane{{Name: "all", Policy: "load-spreading"}}}, recording.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r := recording.NewRecorder(core, to)
	events := []cluster.Event{cluster.JobSubmitted{Name: "web"}, cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{1000}}}}
	for n := range cluster.NodeID(2) {
		events = append(events, cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Name: fmt.Sprint("n", n), Capacity: cluster.Vector{3000}}})
	}
	if _, err := r.Snapshot(0, events, nil); err != nil {
		t.Fatal(err)
	}
	var decisions []sched.Decision
	for i := range 8 {
		events = events[:0]
		for _, d := range decisions {
			events = append(events, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
		}
		if i < 4 {
			events = append(events, cluster.TaskSubmitted{Task: cluster.TaskID(i), Seq: cluster.Seq(i)})
		}
		if decisions, _, err = r.Step(cluster.Time(i)*cluster.Second, events, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
}
