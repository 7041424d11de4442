package recording_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
)

// last is a policy that places each task on the last node that takes it, with a grant that
// depends on the time.
type last struct{ cpu int64 }

func (p last) Plan(t *sched.Trial, _ *sched.Changed, _ int64, out *sched.Plan) {
	s := t.View()
	for row := range s.TaskRows() {
		id := cluster.TaskID(row)
		task := s.Task(id)
		a := sched.Action{Kind: sched.Place, Task: id, Attempt: task.Attempt, Grant: cluster.Vector{p.cpu, 1}}
		if task.Phase == cluster.Running && task.Grant() != nil {
			a.Kind, a.Grant = sched.Resize, cluster.Vector{3, 1}
		} else if task.Phase != cluster.Waiting {
			continue
		}
		for n := s.NodeRows() - 1; n >= 0; n-- {
			if a.Node = cluster.NodeID(n); !t.Try(a).Refused() {
				out.Add(a)
				out.Close()
				break
			}
		}
	}
}

func (last) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return sched.Explain(t.View(), task)
}

// recordLarge is a recording of a set of 160 of 200 nodes, of which the policy takes the last, and of
// grants that are changed.
func recordLarge(t *testing.T) (text string, set []cluster.NodeID) {
	t.Helper()
	h := recording.Header{Kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}, {Name: "memory"}}, Lanes: []recording.Lane{{Name: "l", Policy: "last"}}}
	core, err := sched.New(cluster.NewState(h.Kinds, nil), sched.Lane{Name: "l", Policy: last{2}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	to, err := recording.NewWriter(dir, h, recording.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r := recording.NewRecorder(core, to)
	var snapshot []cluster.Event
	for n := range cluster.NodeID(200) {
		snapshot = append(snapshot, cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Name: fmt.Sprint("n", n), Capacity: cluster.Vector{9, 9}}})
		if n < 160 {
			set = append(set, n)
		}
	}
	snapshot = append(snapshot, cluster.SetDefined{Set: 1, Nodes: set},
		cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{1, 1}, Max: cluster.Vector{4, 1}, Eligible: 1}},
		cluster.JobSubmitted{Name: "j"}, cluster.TaskSubmitted{Seq: 1})
	_, wrong := r.Snapshot(0, snapshot, nil)
	placed, _, err := r.Step(1, nil, nil)
	want := []sched.Decision{{Kind: sched.Place, Seq: 1, Attempt: 1, Node: 159, Grant: cluster.Vector{2, 1}}}
	if wrong != nil || err != nil || !slices.EqualFunc(placed, want, sched.Decision.Equal) {
		t.Fatalf("placed %+v, %v, %v; want %+v", placed, wrong, err, want)
	}
	resized, _, err := r.Step(2, []cluster.Event{
		cluster.TaskStarted{Attempt: 1, Node: 159, Grant: cluster.Vector{2, 1}},
		cluster.TaskSubmitted{Task: 1, Seq: 2},
		cluster.TaskFound{Task: 1, Seq: 2, Node: 5, Grant: cluster.Vector{2, 1}},
		cluster.TaskSubmitted{Task: 2, Seq: 3},
	}, nil)
	if err != nil || len(resized) != 3 || resized[0].Kind != sched.Resize || resized[1].Kind != sched.Resize {
		t.Fatalf("resized %+v, %v; want two that are resized, and a placement", resized, err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := recording.Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	return unzip(t, read(t, files[0])), set
}

func replayed(t *testing.T, text string, cpu int64) *recording.Difference {
	t.Helper()
	result, err := recording.Replay(bytes.NewReader(zip(text)), "f", func(recording.Lane) (sched.Policy, error) { return last{cpu}, nil })
	if err != nil {
		t.Fatal(err)
	}
	return result.Difference
}

// TestReplayComparesGrants: a replay that grants otherwise than was recorded differs, be it the
// policy that does or the file that was changed; and it says what was granted.
func TestReplayComparesGrants(t *testing.T) {
	text, _ := recordLarge(t)
	if want := "\n" + `{"call":"step","at":1,"out":[{`; !strings.Contains(text, want) { // nothing happened
		t.Errorf("no line begins with %s", want)
	}
	if d := replayed(t, text, 2); d != nil {
		t.Fatalf("as it was recorded: %v", d)
	}
	const placed = "place j#1 on n159, attempt 1 (task row 0, seq 1, node row 159), granted "
	if d := replayed(t, text, 3); d == nil || d.Recorded != placed+"[2 1]" || d.Replayed != placed+"[3 1]" {
		t.Errorf("with another grant: %v", d)
	}
	for _, decision := range []string{`{"d":"place"`, `{"d":"resize"`} {
		at := strings.Index(text, decision)
		end := at + strings.Index(text[at:], "}")
		for name, changed := range map[string]string{
			"another": strings.Replace(text[at:end], `"grant":[`, `"grant":[1`, 1),
			"no":      text[at : at+strings.Index(text[at:end], `,"grant"`)],
		} {
			if d := replayed(t, text[:at]+changed+text[end:], 2); changed == text[at:end] || d == nil || d.Index != 0 {
				t.Errorf("%s grant of %s…: %v, want a difference", name, decision, d)
			}
		}
	}
	found := `"task":1,"seq":2,"grant":[2,1]}`
	if d := replayed(t, strings.Replace(text, found, `"task":1,"seq":2}`, 1), 2); !strings.Contains(text, found) || d == nil {
		t.Errorf("a run that was found without its grant: %v, want a difference", d)
	}
}

// TestLargeSetsComeBack: a set of more than a hundred nodes is recorded and replayed whole, and a
// replay without its last node differs.
func TestLargeSetsComeBack(t *testing.T) {
	text, set := recordLarge(t)
	_, core, err := recording.ReplayTo(bytes.NewReader(zip(text)), "f", cluster.Never, func(recording.Lane) (sched.Policy, error) { return last{2}, nil })
	if err != nil {
		t.Fatal(err)
	}
	var got []cluster.NodeID
	for n := range cluster.NodeID(200) {
		if core.View().Eligible(1, n) {
			got = append(got, n)
		}
	}
	if !slices.Equal(got, set) {
		t.Errorf("the set came back as %v", got)
	}
	cut := strings.Replace(text, `,158,159]`, `,158]`, 1)
	if d := replayed(t, cut, 2); cut == text || d == nil {
		t.Errorf("without the last node of the set: %v, want a difference", d)
	}
}
