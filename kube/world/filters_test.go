package world

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"fairlead.dev/fairlead/sched"
)

// TestNodesToBeAvoided: a node that the filters admit is left out at first for a soft taint, and
// for nothing else.
func TestNodesToBeAvoided(t *testing.T) {
	s := newStory(t)
	if _, err := s.step(&line{of: "step"}, "node n1 taint=slow=yes:PreferNoSchedule\nnode n2\npod p cpu=99"); err != nil {
		t.Fatal(err)
	}
	p := s.world.Pod("uid-p")
	p.second = false
	set := s.world.shapes.sets.local(p)
	for node, want := range map[string]sched.Filtered{
		"n1": {Mechanism: "taint", Wants: "slow=yes:" + string(v1.TaintEffectPreferNoSchedule)},
		"n2": {Mechanism: "being worked out"},
	} {
		if got := set.keepsOff(s.nodes[node]); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %+v, want %+v", node, got, want)
		}
	}
	if got := Filters(s.world)(99, 0); len(got) != 1 || got[0].Mechanism != "other pods, volumes or claims" {
		t.Errorf("a set that is no filter's: %+v", got)
	}
}
