package world

import (
	"strings"
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
		if got := set.keepsOff(s.world.nodes.byName[node]); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %+v, want %+v", node, got, want)
		}
	}
	if got := Filters(s.world)(99, 0); len(got) != 1 || got[0].Mechanism != "other pods, volumes or claims" {
		t.Errorf("a set that is no filter's: %+v", got)
	}
}

// TestReasonsNameVolumes: who is kept off by what its volume asks of nodes, or as a driver attaches no more there, is told so with names and numbers.
func TestReasonsNameVolumes(t *testing.T) {
	s := newStory(t)
	if _, err := s.step(&line{of: "step"}, `drivers n1 limit=1
node n1 zone=a
node n2 zone=b
node n3
volume v1 on=a claim=c1
claim c1 volume=v1
volume v2 on=a claim=c2
claim c2 volume=v2
pod p1 claim=c1 node=n1
pod p2 claim=c2`); err != nil {
		t.Fatal(err)
	}
	const want = "0 of 3 nodes take it: 1 lack volumes of csi.example.com (needs 1, left at most 0), 2 are out of reach of its claim (topology.kubernetes.io/zone=a)"
	if got := s.core.Why(s.world.Pod("uid-p2").Task()).Sentence(s.world.Columns().Meanings()); !strings.HasPrefix(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}
