package world

import (
	"testing"
)

// A node's rack is what its label says, also when that changes; without a label to
// look for there are no racks.
func TestRacks(t *testing.T) {
	r := newRig(t, newBench(t))
	story := &story{rig: r, lines: map[string]string{}, sent: map[string]flight{}}
	rack := func(line string) string {
		t.Helper()
		if err := story.happen(line); err != nil {
			t.Fatal(err)
		}
		r.turn()
		groups := r.core.View().NodeSpec(r.world.nodes.byName["n1"].row).Groups
		if len(groups) == 0 {
			return ""
		}
		if len(groups) > 1 || groups[0].Key != "rack" {
			t.Fatalf("groups %v", groups)
		}
		return groups[0].Value
	}
	if got := rack("node n1 label=rack=r1"); got != "" {
		t.Errorf("the node is in rack %q, and nobody asked for racks", got)
	}
	r.world.nodes.rackLabel = "rack"
	r.restart()
	for _, step := range []struct{ line, want string }{
		{"node n1 label=rack=r1 cpu=5", "r1"},
		{"node n1 label=rack=r2 cpu=5", "r2"},
		{"node n1 cpu=5", ""},
	} {
		if got := rack(step.line); got != step.want {
			t.Errorf("after %s the rack is %q, want %q", step.line, got, step.want)
		}
	}
}

// The core knows the zone of a node, which policies spread over, also when that changes.
func TestZones(t *testing.T) {
	r := newRig(t, newBench(t))
	story := &story{rig: r, lines: map[string]string{}, sent: map[string]flight{}}
	for _, step := range []struct{ line, want string }{
		{"node n1 zone=a", "topology.kubernetes.io/zone=a"},
		{"node n1 zone=b", "topology.kubernetes.io/zone=b"},
		{"node n1", ""},
	} {
		if err := story.happen(step.line); err != nil {
			t.Fatal(err)
		}
		r.turn()
		got := ""
		for _, l := range r.core.View().NodeSpec(r.world.nodes.byName["n1"].row).Labels {
			got += l.Key + "=" + l.Value
		}
		if got != step.want {
			t.Errorf("after %s the labels are %q, want %q", step.line, got, step.want)
		}
	}
}
