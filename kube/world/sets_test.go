package world

import (
	"fmt"
	"testing"
)

// TestLargeNodeSet: the nodes that a pod may use are known to the core whole, more than a hundred
// too, when its set is defined, when nodes change, and to a new core.
func TestLargeNodeSet(t *testing.T) {
	r := newRig(t, newBench(t))
	s := &story{rig: r, lines: map[string]string{}, sent: map[string]flight{}}
	happen := func(format string, args ...any) {
		t.Helper()
		if err := s.happen(fmt.Sprintf(format, args...)); err != nil {
			t.Fatal(err)
		}
	}
	const nodes = 150
	for i := range nodes {
		happen("node n%d cpu=1 label=disk=ssd", i)
	}
	happen("pod p1 cpu=2 select=disk=ssd") // for which no node is large enough
	check := func(when string, want int) {
		t.Helper()
		r.turn()
		set := r.core.View().Shape(s.task(r.world.Pod("uid-p1")).Shape).Eligible
		got := 0
		for name, n := range r.world.nodes.byName {
			if r.core.View().Eligible(set, n.row) {
				got++
			} else if n.object.Labels["disk"] == "ssd" {
				t.Logf("%s: node %s is left out", when, name)
			}
		}
		if got != want {
			t.Errorf("%s: the core knows %d nodes for the pod, want %d", when, got, want)
		}
	}
	check("defined", nodes)
	happen("node n149 cpu=1")
	check("less one", nodes-1)
	happen("node n149 cpu=1 label=disk=ssd")
	happen("node n150 cpu=1 label=disk=ssd")
	check("and two more", nodes+1)
	r.restart()
	check("a new core", nodes+1)
}
