package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/queue"
	"fairlead.dev/fairlead/queue/promethee"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// recordings writes what the script about recordings replays: good holds two
// epochs of kube, lied one of swarm-binpack whose header says kube and whose names
// clear the screen, cut one whose end is missing, lanes one with a lane that owns
// the jobs of one user.
func recordings(dir string) error {
	err := errors.Join(
		recordOne(filepath.Join(dir, "good"), "kube", "", ""), recordOne(filepath.Join(dir, "good"), "kube", "", ""),
		recordOne(filepath.Join(dir, "lied"), "swarm-binpack", "", "\x1b[2J"), recordOne(filepath.Join(dir, "cut"), "kube", "", ""),
		recordOne(filepath.Join(dir, "lanes"), "kube", "ann", ""), os.Mkdir(filepath.Join(dir, "empty"), 0o750))
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "cut", "recording-000001.jsonl.zst")
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.Truncate(path, info.Size()-5)
}

// recordOne records an epoch: tasks arrive on four nodes, start, and end. Names of jobs and nodes
// begin with prefix.
func recordOne(dir, policy, user, prefix string) error {
	p, err := queue.New(policy, queue.Options{Seed: 7, Ties: book.Lowest})
	if err != nil {
		return err
	}
	kinds := []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1000}}
	core, err := sched.New(cluster.NewState(kinds, nil), sched.Lane{Name: "all", Policy: p, Owns: func(j *cluster.Job) bool { return user == "" || j.User == user }})
	if err != nil {
		return err
	}
	to, err := recording.NewWriter(dir, recording.Header{
		Comment: "four nodes", Origin: time.Date(2026, 11, 21, 13, 0, 0, 0, time.UTC), Kinds: kinds,
		Lanes: []recording.Lane{{Name: "all", Policy: "kube", Seed: 7, Options: map[string]string{"tie_break": "lowest"}, User: user}},
	}, recording.Limits{})
	if err != nil {
		return err
	}
	r := recording.NewRecorder(core, to)
	events := []cluster.Event{cluster.JobSubmitted{Name: prefix + "web", User: user}, cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{500}}}}
	for n := range cluster.NodeID(4) {
		events = append(events, cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Name: fmt.Sprintf("%sn%d", prefix, n), Capacity: cluster.Vector{4000}}})
	}
	if _, err := r.Snapshot(cluster.Minute, events, nil); err != nil {
		return err
	}
	var decisions []sched.Decision
	for i := range 600 {
		events = events[:0]
		for _, d := range decisions {
			events = append(events, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
		}
		if i >= 20 {
			events = append(events, cluster.TaskEnded{Task: cluster.TaskID(i - 20), Seq: cluster.Seq(i - 20)})
		}
		events = append(events, cluster.TaskSubmitted{Task: cluster.TaskID(i), Seq: cluster.Seq(i)})
		if decisions, _, err = r.Step(cluster.Minute+cluster.Time(i)*cluster.Second, events, nil); err != nil {
			return err
		}
		if i == 300 {
			if err := to.Flush(); err != nil {
				return err
			}
		}
	}
	return to.Close()
}

// TestReplayOrdersAsRecorded replays a policy sla whose criteria turn its order round:
// of two tasks for one place, the later one is placed as it has the more redundancy.
func TestReplayOrdersAsRecorded(t *testing.T) {
	criteria := []promethee.Criterion{{}, {}, {}, {Weight: 2.5, Function: promethee.Linear, Indifference: 1, Preference: 2}}
	p, err := queue.New("sla", queue.Options{SLA: queue.SLA{Criteria: criteria}})
	if err != nil {
		t.Fatal(err)
	}
	header := recording.Header{
		Kinds: []cluster.Kind{{Name: "cpu"}},
		Classes: []cluster.Class{
			{Name: "urgent", Urgency: cluster.Premium, Redundancy: cluster.BestEffort},
			{Name: "redundant", Urgency: cluster.BestEffort, Redundancy: cluster.Premium},
		},
		Lanes: []recording.Lane{{Name: "all", Policy: "sla", Criteria: []recording.Criterion{
			{Function: "usual"}, {Function: "usual"}, {Function: "usual"}, {Weight: 2.5, Function: "linear", Indifference: 1, Preference: 2},
		}}},
	}
	core, err := sched.New(cluster.NewState(header.Kinds, header.Classes), sched.Lane{Name: "all", Policy: p})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	to, err := recording.NewWriter(dir, header, recording.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r := recording.NewRecorder(core, to)
	decisions, err := r.Snapshot(0, []cluster.Event{
		cluster.NodeAdded{Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{1}}},
		cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{1}}},
		cluster.JobSubmitted{},
		cluster.TaskSubmitted{Task: 0, Seq: 0, Class: 0},
		cluster.TaskSubmitted{Task: 1, Seq: 1, Class: 1},
	}, nil)
	if err == nil {
		decisions, _, err = r.Step(cluster.Second, nil, decisions)
	}
	if err := errors.Join(err, to.Close()); err != nil {
		t.Fatal(err)
	}
	if len(decisions) != 1 || decisions[0].Task != 1 {
		t.Fatalf("decided %v, want to place task 1 alone", decisions)
	}
	files, err := filepath.Glob(filepath.Join(dir, "recording-*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("recorded %v, %v", files, err)
	}
	var out strings.Builder
	if err := replayAll(&out, files, replayer{known: policies.All()}); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	if _, err := (replayer{known: policies.All()}).policyOf(recording.Lane{Policy: "sla", Criteria: []recording.Criterion{{Function: "liner"}}}); err == nil {
		t.Error("a criterion of an unknown function was taken")
	}
}

// TestErrorsAboutHeadersArePrintable: what a header says of a lane moves no cursor.
func TestErrorsAboutHeadersArePrintable(t *testing.T) {
	const evil = "\x1b[2J\n"
	for _, l := range []recording.Lane{
		{Policy: evil}, {Policy: "kube", Options: map[string]string{evil: "1"}}, {Policy: "quincy", Options: map[string]string{"migrations": evil}},
	} {
		for _, wanted := range []string{"", "sla"} {
			if _, err := (replayer{policies.All(), wanted}).policyOf(l); err == nil || strings.ContainsAny(err.Error(), evil[:1]+"\n") {
				t.Errorf("of %+q with policy %q wanted: got %q", l.Policy, wanted, err)
			}
		}
	}
}
