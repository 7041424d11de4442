package recording_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/recording"
)

// TestReplaysAsItRan records what a file could not say before: grants that are empty and
// not nil, rows beyond all bounds, and names that are no UTF-8. Each was refused or told
// apart when it happened, and so it must be in a replay.
func TestReplaysAsItRan(t *testing.T) {
	h := header("kube", 1)
	h.Comment, h.Kinds[0].Name, h.Kinds[1].Unit, h.Classes[1].Name = "\xffc", "c\x80pu", "\xc3", "silver\xfe"
	h.Lanes[0].User, h.Lanes[0].Name = "\xff", "lane \xed\xa0\x80"
	dir := t.TempDir()
	to, err := recording.NewWriter(dir, h, recording.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	core := recording.NewRecorder(newCore(t, h), to)
	var wrong []string
	note := func(err error) {
		if err != nil {
			wrong = append(wrong, strings.Split(err.Error(), "\n")...)
		}
	}
	out, err := core.Snapshot(0, oddNames(), nil)
	note(err)
	if len(wrong) > 0 {
		t.Fatal("what has odd names is refused: ", wrong)
	}
	more, _, err := core.Step(5, append(wildRows(), emptyVectors()...), nil)
	note(err)
	out = append(out, more...)
	more, _, err = core.Step(10, nil, nil)
	note(err)
	out = append(out, more...)
	if refused, placed := len(wrong), len(out); refused != len(wildRows())+len(emptyVectors()) || placed != 4 {
		t.Fatalf("%d events were refused and %d tasks placed, want each of those and 4:\n%s\n%v", refused, placed, strings.Join(wrong, "\n"), out)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := recording.Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	data := read(t, files[0])
	result, again, err := recording.ReplayTo(bytes.NewReader(data), "f", cluster.Never, build)
	if err != nil || result.Difference != nil || result.Wrong != 1 || result.Placements != 4 {
		t.Fatalf("replayed: %+v, %v", result, err)
	}
	if got, want := fmt.Sprintf("%#v", result.Header), fmt.Sprintf("%#v", h); got != want {
		t.Errorf("the header came back as\n%s, want\n%s", got, want)
	}
	if got, want := names(again.View()), names(core.View()); got != want {
		t.Errorf("the state came back as\n%s\nwant\n%s", got, want)
	}
	if got := refusals(t, data, h); !slices.Equal(got, wrong) {
		t.Errorf("refused in a replay:\n%s\nwhen it ran:\n%s", strings.Join(got, "\n"), strings.Join(wrong, "\n"))
	}
}

// oddNames make a world of four tasks, two a lane, which may not share a rack: the names of
// the racks and of the users differ in bytes that are no UTF-8, and in nothing else.
func oddNames() []cluster.Event {
	in := []cluster.Event{
		cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{1, 1}, Max: cluster.Vector{2, 2}, Tags: []string{"t\xff"}}},
		cluster.ShapeDefined{Shape: 1, Spec: cluster.Shape{Demand: cluster.Vector{1, 1}, Tags: []string{"t\xfe"}}},
		cluster.ConstraintDefined{Spec: cluster.Constraint{
			Name: "\xf0\x9f\x98", Owner: "o\xff", Hard: true,
			Any: [][]cluster.Bound{{{Subject: []string{"t\xff"}, Target: []string{"t\xff"}, Max: 0, Group: "rack\xc0"}}},
		}},
		cluster.JobSubmitted{Job: 0, Name: "j\xff\ufffd\"😀\\u00ff", User: "\xff"},
		cluster.JobSubmitted{Job: 1, Name: "\xfe", User: "\xfe"},
	}
	for i := range cluster.NodeID(4) {
		in = append(in, cluster.NodeAdded{Node: i, Spec: cluster.NodeSpec{
			Name: "n" + string([]byte{0xf8 + byte(i)}), Capacity: cluster.Vector{10, 10}, Labels: []cluster.Label{{Key: "\x80", Value: "\xbf<"}},
			Groups: []cluster.Label{{Key: "rack\xc0", Value: string([]byte{0xf8 + byte(i)})}},
		}})
	}
	for i := range cluster.TaskID(4) {
		in = append(in, cluster.TaskSubmitted{Task: i, Seq: cluster.Seq(i), Job: cluster.JobID(i / 2), Shape: 0})
	}
	return in
}

// wildRows are events that no core takes.
func wildRows() []cluster.Event {
	var in []cluster.Event
	for _, row := range []uint32{4_000_000_000, 1 << 28, 1 << 24, 1<<32 - 1} {
		in = append(in,
			cluster.NodeAdded{Node: cluster.NodeID(row), Spec: cluster.NodeSpec{Capacity: cluster.Vector{1, 1}}},
			cluster.NodeChanged{Node: cluster.NodeID(row), Spec: cluster.NodeSpec{Capacity: cluster.Vector{1, 1}}},
			cluster.TaskSubmitted{Task: cluster.TaskID(row)},
			cluster.TaskSubmitted{Task: 9, Job: cluster.JobID(row)},
			cluster.TaskSubmitted{Task: 9, Shape: cluster.ShapeID(row)},
			cluster.JobSubmitted{Job: cluster.JobID(row)},
			cluster.ShapeDefined{Shape: cluster.ShapeID(row), Spec: cluster.Shape{Demand: cluster.Vector{1, 1}}},
			cluster.ShapeDefined{Shape: 9, Spec: cluster.Shape{Demand: cluster.Vector{1, 1}, Eligible: cluster.SetID(row)}},
			cluster.SetDefined{Set: cluster.SetID(row)},
			cluster.SetDefined{Set: 9, Nodes: []cluster.NodeID{cluster.NodeID(row)}},
			cluster.ConstraintDefined{Constraint: cluster.ConstraintID(row), Spec: cluster.Constraint{Hard: true, Any: [][]cluster.Bound{{{Target: []string{"a"}, Group: cluster.EachNode}}}}},
		)
	}
	return in
}

// emptyVectors are refused, as they have not a quantity for each kind; where nil stands in
// their place, they are not.
func emptyVectors() []cluster.Event {
	none := cluster.Vector{}
	return []cluster.Event{
		cluster.TaskFound{Task: 0, Seq: 0, Node: 0, Grant: none},
		cluster.TaskStarted{Task: 0, Attempt: 7, Node: 0, Grant: none},
		cluster.NodeChanged{Node: 0, Spec: cluster.NodeSpec{Capacity: cluster.Vector{9, 9}, Overcommit: none}},
		cluster.ShapeDefined{Shape: 7, Spec: cluster.Shape{Demand: cluster.Vector{1, 1}, Max: none}},
	}
}

// names are what the state has names for, and its picture.
func names(s *cluster.View) string {
	text := s.Picture()
	for n := range s.NodeRows() {
		text += fmt.Sprintf("\n%#v", *s.NodeSpec(cluster.NodeID(n)))
	}
	for j := range s.JobRows() {
		text += fmt.Sprintf("\n%#v", *s.Job(cluster.JobID(j)))
	}
	for id := range s.ShapeRows() {
		text += fmt.Sprintf("\n%#v", *s.Shape(cluster.ShapeID(id)))
	}
	return text + fmt.Sprintf("\n%#v", *s.Constraint(0))
}

// refusals are what a core says of the events of a file that make no sense.
func refusals(t *testing.T, data []byte, h recording.Header) []string {
	t.Helper()
	r, err := recording.NewReader(bytes.NewReader(data), "f")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	core := newCore(t, h)
	var wrong []string
	for {
		call, err := r.Next()
		if err != nil {
			return wrong
		}
		if call.Kind == recording.Step {
			_, _, err = core.Step(call.At, call.In, nil)
		} else {
			_, err = core.Observe(call.At, call.In, nil)
		}
		if err != nil {
			wrong = append(wrong, strings.Split(err.Error(), "\n")...)
		}
	}
}
