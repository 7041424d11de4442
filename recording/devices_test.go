package recording_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
)

// TestReplaysTwoKindsOfDevices records tasks with GPUs and network cards that come and go. What
// is written names both, and a replay decides the same.
func TestReplaysTwoKindsOfDevices(t *testing.T) {
	h := header("fgd", 1)
	h.Kinds = []cluster.Kind{{Name: "cpu", PerUnit: 1000}, {Name: "gpu", PerUnit: 4, Devices: true}, {Name: "nic", PerUnit: 2, Devices: true}}
	h.Lanes = h.Lanes[:1]
	h.Lanes[0].User = ""
	policy, err := build(h.Lanes[0])
	if err != nil {
		t.Fatal(err)
	}
	core, err := sched.New(cluster.NewState(h.Kinds, h.Classes), sched.Lane{Name: h.Lanes[0].Name, Policy: policy})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	to, err := recording.NewWriter(dir, h, recording.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r := recording.NewRecorder(core, to)
	chance := rand.New(rand.NewPCG(1, 2))
	events := []cluster.Event{cluster.JobSubmitted{Name: "j"}}
	for n := range cluster.NodeID(6) {
		events = append(events, cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Capacity: cluster.Vector{9000, 4 * chance.Int64N(4), 2 * chance.Int64N(4)}}})
	}
	both := 0
	for row := range uint32(60) {
		events = append(events,
			cluster.ShapeDefined{Shape: cluster.ShapeID(row), Spec: cluster.Shape{Demand: cluster.Vector{1, []int64{0, 1, 3, 4, 8}[chance.IntN(5)], []int64{0, 1, 2, 4}[chance.IntN(4)]}}},
			cluster.TaskSubmitted{Task: cluster.TaskID(row), Seq: cluster.Seq(row + 1), Shape: cluster.ShapeID(row)})
		out, _, err := r.Step(cluster.Time(row)*cluster.Second, events, nil)
		if err != nil {
			t.Fatal(err)
		}
		events = nil
		for _, d := range out {
			if d.Devices&(1<<32-1) != 0 && d.Devices>>32 != 0 {
				both++
			}
			events = append(events, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node, Devices: d.Devices})
			if chance.IntN(2) == 0 {
				events = append(events, cluster.TaskEnded{Task: d.Task, Seq: d.Seq})
			}
		}
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := recording.Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	data := read(t, files[0])
	result, err := recording.Replay(bytes.NewReader(data), "f", build)
	if err != nil || result.Difference != nil || both < 5 {
		t.Errorf("%d placements, %d with both kinds: %v, %v; want none to differ", result.Placements, both, result.Difference, err)
	}
	const kinds = `{"name":"gpu","per_unit":4,"devices":true},{"name":"nic","per_unit":2,"devices":true}`
	if text := unzip(t, data); !strings.Contains(text, kinds) {
		t.Errorf("the header does not name both kinds of devices: %.300s", text)
	}
}
