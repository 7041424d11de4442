package explain_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/explain"
	"fairlead.dev/fairlead/internal/strict"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/policies/chosen"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
)

// TestReplay records a policy with prices on two nodes of three cores, and explains a moment at
// which each has two of four tasks.
func TestReplay(t *testing.T) {
	dir := t.TempDir()
	core := recordPriced(t, dir)
	files := []string{filepath.Join(dir, "recording-000001.jsonl.zst")}
	replayed, err := explain.Replay(files, 4*cluster.Second, fresh, unknown)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ task, want string }{
		{"web#1", "task web#1 at 4s: running on n1; policy load-spreading\nneeds cpu 1\nwaiting costs 536,870,912\n\n" +
			"2 nodes would take it, if it left n1 now:\n" +
			"NODE       COST  PARTS\n" +
			"n1 (here)  1     1 for tasks there\n" +
			"n0         2     1 more: 1 for tasks there\n" +
			"n1 costs 536,870,911 less than waiting.\n"},
		{"", "At 4s no task waits.\n"},
	} {
		checkAnswer(t, replayed, tc.task, tc.want)
	}

	// A recording gives the answers of the core that it was made of.
	if replayed, err = explain.Replay(files, 7*cluster.Second, fresh, unknown); err != nil {
		t.Fatal(err)
	}
	policy, err := fresh(recording.Lane{Policy: "load-spreading"})
	if err != nil {
		t.Fatal(err)
	}
	live, err := explain.New(core, 7*cluster.Second, []explain.Lane{{Policy: "load-spreading", Fresh: policy}}, explain.Who{})
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range []string{"", "web#0", "web#3"} {
		checkAnswer(t, replayed, task, printed(t, ask(t, live, task)))
	}
}

// TestWrongQuestions wants to be told which part of a question is wrong.
func TestWrongQuestions(t *testing.T) {
	dir := t.TempDir()
	recordPriced(t, dir)
	files := []string{filepath.Join(dir, "recording-000001.jsonl.zst")}
	_, err := explain.Replay(files, cluster.Hour, fresh, unknown)
	checkWrong(t, err, "at")
	m, err := explain.Replay(files, 4*cluster.Second, fresh, unknown)
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Answer(explain.Question{Task: "web#9"})
	checkWrong(t, err, "task")
}

func checkWrong(t *testing.T, err error, part string) {
	t.Helper()
	if wrong, ok := errors.AsType[explain.QuestionError](err); !ok || wrong.Part != part {
		t.Errorf("got %v, want an error about %q", err, part)
	}
}

// TestReplayBehindTheLastCall: a moment up to the end of the run is explained as the last call left
// it, one behind that end is not, and of a recording that is cut nothing behind its last call.
func TestReplayBehindTheLastCall(t *testing.T) {
	dir := t.TempDir()
	recordPriced(t, dir)
	file := filepath.Join(dir, "recording-000001.jsonl.zst")
	until := func(name string, h *recording.Header) (cluster.Time, error) {
		if name != file || len(h.Lanes) != 1 {
			t.Errorf("asked for the end of %s with %d lanes", name, len(h.Lanes))
		}
		return 30 * cluster.Second, nil
	}
	m, err := explain.Replay([]string{file}, 30*cluster.Second, fresh, until)
	if err != nil {
		t.Fatal(err)
	}
	checkAnswer(t, m, "", "At 30s no task waits.\n")
	if node := ask(t, m, "web#1").Task.Node; node != "n1" {
		t.Errorf("web#1 is on %q, want n1", node)
	}
	_, err = explain.Replay([]string{file}, 31*cluster.Second, fresh, until)
	checkWrong(t, err, "at")
	if want := "nothing is recorded of 31s; there is " + file + " from 0us to 30s"; err != nil && !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	broken := errors.New("no spec that can be read")
	unreadable := func(string, *recording.Header) (cluster.Time, error) { return 0, broken }
	if _, err = explain.Replay([]string{file}, 8*cluster.Second, fresh, unreadable); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
	if _, err = explain.Replay([]string{file}, 7*cluster.Second, fresh, unreadable); err != nil {
		t.Errorf("a moment that is recorded: %v", err)
	}

	info, err := os.Stat(file)
	if err == nil {
		err = os.Truncate(file, info.Size()-5)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = explain.Replay([]string{file}, 30*cluster.Second, fresh, until)
	checkWrong(t, err, "at")
}

// unknown says that nobody knows until when a run went on.
func unknown(string, *recording.Header) (cluster.Time, error) { return 0, nil }

// fresh makes the policy of a lane.
func fresh(l recording.Lane) (sched.Policy, error) {
	return chosen.Make(policies.All(), &l, policies.Options{})
}

func ask(t *testing.T, m *explain.Moment, task string) *explain.Answer {
	t.Helper()
	answer, err := m.Answer(explain.Question{Task: task, Nodes: 5})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func printed(t *testing.T, answer *explain.Answer) string {
	t.Helper()
	var text bytes.Buffer
	if err := (explain.Text{Lines: 5}).Write(&text, answer); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// TestTextIsPrintable: names from elsewhere move no cursor and forge no line and no cell.
func TestTextIsPrintable(t *testing.T) {
	for i, answer := range named("\x1b[2J\n\t\u202e") {
		want := printed(t, named(`\x1b[2J\n\t\u202e`)[i])
		if got := printed(t, answer); got != want {
			t.Errorf("answer %d: got %q, want %q", i, got, want)
		}
	}
}

// named has all names, and texts with names in them, in answers of every form.
func named(name string) []*explain.Answer {
	amounts := []explain.Amount{{Kind: name, Amount: "1"}}
	parts := []explain.Part{{Name: name, Cost: 1}}
	waiting := []explain.Group{{Tasks: 1, Example: name, Policy: name, Needs: amounts, Why: name}}
	of := func(price *explain.Price, nodes int, o explain.Others) *explain.Answer {
		o.Whys, o.Application = []string{name}, name
		return &explain.Answer{Task: &explain.Task{
			Name: name, Policy: name, Phase: "running", Node: name, Needs: amounts, Standing: []string{name}, Price: price, Takers: []string{name}, Nodes: nodes, Others: o,
		}}
	}
	price := &explain.Price{Wait: new(int64(0)), WaitParts: parts, HoldParts: parts, Candidates: []explain.Candidate{
		{Node: name, Here: true, Parts: parts}, {Node: name, Cost: 1, Parts: parts, More: parts},
	}}
	dear := &explain.Price{Wait: new(int64(1)), Candidates: price.Candidates}
	return []*explain.Answer{
		{Waiting: waiting, Worth: []explain.Worth{{Policy: name, Like: name, Capacity: amounts, Least: new(int64(0)), Most: new(int64(1))}}},
		{Waiting: waiting, Worth: []explain.Worth{{Policy: name, Least: new(int64(0)), Most: new(int64(0))}}},
		{Waiting: waiting, Worth: []explain.Worth{{Policy: name, Like: name, Capacity: amounts, Tasks: 1}, {Policy: name + name}}},
		of(nil, 2, explain.Others{Nodes: 1}), of(price, 2, explain.Others{Nodes: 2}), of(dear, 2, explain.Others{Copies: name}),
		of(price, 0, explain.Others{Unplaceable: true}),
	}
}

// TestHintIsPrintable: so are names in the error about a task that is not there.
func TestHintIsPrintable(t *testing.T) {
	core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1}}, nil), sched.Lane{Name: "all", Policy: spreading()})
	if err != nil {
		t.Fatal(err)
	}
	events := []cluster.Event{
		cluster.JobSubmitted{Name: "web\x1b[2J"}, cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{1}}}, cluster.TaskSubmitted{},
	}
	if _, err := core.Observe(0, events, nil); err != nil {
		t.Fatal(err)
	}
	m, err := explain.New(core, 0, []explain.Lane{{Policy: "load-spreading", Fresh: spreading()}}, explain.Who{})
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range []string{"7", "web[2J#0", "\x1b"} { // hints at any, at the nearest
		_, err = m.Answer(explain.Question{Task: task})
		checkWrong(t, err, "task")
		if err != nil && (strings.Contains(err.Error(), "\x1b") || !strings.Contains(err.Error(), `web\x1b[2J#0`)) {
			t.Errorf("got %q", err)
		}
	}
}

// TestTextWithoutLimit prints the same where there are fewer lines than the limit, and none is set.
func TestTextWithoutLimit(t *testing.T) {
	answer := &explain.Answer{Waiting: []explain.Group{{Tasks: 2, Example: "a"}, {Tasks: 1, Example: "b"}}}
	want := printed(t, answer)
	for _, lines := range []int{0, -1} {
		var text bytes.Buffer
		if err := (explain.Text{Lines: lines}).Write(&text, answer); err != nil || text.String() != want {
			t.Errorf("with the limit %d: %v\n%s", lines, err, text.String())
		}
	}
}

// checkAnswer asks twice, and wants the text both times, also of an answer that went through JSON,
// which has no field that is not known.
func checkAnswer(t *testing.T, m *explain.Moment, task, want string) {
	t.Helper()
	for range 2 {
		line, err := json.Marshal(ask(t, m, task))
		if err != nil {
			t.Fatal(err)
		}
		var back explain.Answer
		if err := strict.Decode(line, &back); err != nil {
			t.Fatal(err)
		}
		for _, answer := range []*explain.Answer{ask(t, m, task), &back} {
			if got := printed(t, answer); got != want {
				t.Errorf("%q: got\n%swant\n%s", task, got, want)
			}
		}
	}
}

// recordPriced records four tasks that come, a second after the other, to two nodes.
func recordPriced(t *testing.T, dir string) *sched.Core {
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
	return core
}
