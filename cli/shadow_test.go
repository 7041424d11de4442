package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
)

// recordShadow writes a recording of a shadow that decided for one task, which was bound elsewhere.
func recordShadow(t *testing.T, dir string) {
	t.Helper()
	lane := recording.Lane{Name: "d", User: "d", Policy: "kube", Seed: 1}
	h := recording.Header{Origin: time.Unix(0, 0), Kinds: []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1000}}, Lanes: []recording.Lane{lane}}
	to, err := recording.NewWriter(dir, h, recording.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	policy, err := replayer{known: policies.All()}.policyOf(lane)
	if err != nil {
		t.Fatal(err)
	}
	core, err := sched.New(cluster.NewState(h.Kinds, nil), lane.Of(policy))
	if err != nil {
		t.Fatal(err)
	}
	r := recording.NewRecorder(core, to)
	if _, err := r.Snapshot(0, []cluster.Event{
		cluster.NodeAdded{Node: 0, Spec: cluster.NodeSpec{Name: "n0", Capacity: cluster.Vector{4000}}},
		cluster.NodeAdded{Node: 1, Spec: cluster.NodeSpec{Name: "n1", Capacity: cluster.Vector{2000}}},
		cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{1000}}},
		cluster.JobSubmitted{Name: "shop/web", User: "d"},
		cluster.TaskSubmitted{Gated: true},
	}, nil); err != nil {
		t.Fatal(err)
	}
	out, _, err := r.Step(cluster.Second, []cluster.Event{cluster.TaskUngated{}}, nil)
	if err != nil || len(out) != 1 {
		t.Fatal(out, err)
	}
	if _, _, err := r.Step(3*cluster.Second, []cluster.Event{cluster.BindRefused{Attempt: out[0].Attempt}, cluster.TaskGated{}, cluster.TaskFound{Node: 1 - out[0].Node}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
}

// A shadow's recording is reported as a table, or as JSON.
func TestReportShadow(t *testing.T) {
	dir := t.TempDir()
	recordShadow(t, dir)
	run := func(code int, want string, words ...string) {
		t.Helper()
		var out, errs strings.Builder
		if got := Run(words, &out, &errs); got != code || !strings.Contains(out.String()+errs.String(), want) {
			t.Errorf("%q ends with %d, wanted %d, and prints no %q:\n%s%s", words, got, code, want, out.String(), errs.String())
		}
	}
	run(0, "1 pods bound: 0 on the same node, 1 on another one", "report", "recording:"+dir)
	file := filepath.Join(t.TempDir(), "shadow.json")
	run(0, "", "report", "recording:"+dir, "--output", file)
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), `"different": 1`) {
		t.Errorf("%v: %s", err, text)
	}
	run(2, "a recording is reported by itself", "report", "recording:"+dir, "more.json")
	run(1, "holds no recording", "report", "recording:"+t.TempDir())
}
