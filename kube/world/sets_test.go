package world

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/cluster"
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

// TestNodeSetOfBound: a new core knows of a pod on a node where else it could be, but of one that names its nodes.
func TestNodeSetOfBound(t *testing.T) {
	r := newRig(t, newBench(t))
	s := &story{rig: r, lines: map[string]string{}, sent: map[string]flight{}}
	for _, line := range []string{
		"node n1 label=disk=ssd", "node n2 label=disk=ssd", "node n3", "node n4 label=disk=ssd taint=own=yes:NoSchedule",
		"pod p1 select=disk=ssd node=n1", "pod p2 node=n1", "pod p3 scheduler=other select=disk=ssd node=n1",
	} {
		if err := s.happen(line); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string) {
		t.Helper()
		r.turn()
		for pod, want := range map[string]string{"p1": "n1 n2", "p2": "n1 n2 n3", "p3": "n1 n2 n3 n4"} {
			set := r.core.View().Shape(s.task(r.world.Pod(types.UID("uid-" + pod))).Shape).Eligible
			var got []string
			for _, name := range sortedKeys(r.world.nodes.byName) {
				if r.core.View().Eligible(set, r.world.nodes.byName[name].row) {
					got = append(got, name)
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s: the core knows the nodes %v for %s, want %s", when, got, pod, want)
			}
		}
	}
	check("seen")
	r.restart()
	check("a new core")
}

// TestShapeOfGated: the core knows of a gated pod what it will ask for and where it could be, as it knows of one that waits: policies
// learn from both. When its gates are taken away, nothing else changes.
func TestShapeOfGated(t *testing.T) {
	r := newRig(t, newBench(t))
	s := &story{rig: r, lines: map[string]string{}, sent: map[string]flight{}}
	happen := func(line string) {
		t.Helper()
		if err := s.happen(line); err != nil {
			t.Fatal(err)
		}
		r.turn()
	}
	happen("node n1 cpu=4 label=disk=ssd")
	happen("node n2 cpu=4")
	happen("pod p1 cpu=5 select=disk=ssd gate")
	look := func() cluster.ShapeID {
		t.Helper()
		id := s.task(r.world.Pod("uid-p1")).Shape
		shape := r.core.View().Shape(id)
		if cpu, one, two := shape.Demand[cpuColumn], r.core.View().Eligible(shape.Eligible, r.world.nodes.byName["n1"].row), r.core.View().Eligible(shape.Eligible, r.world.nodes.byName["n2"].row); cpu != 5000 || !one || two {
			t.Errorf("the pod asks for %d of cpu, on n1: %v, on n2: %v; want 5000 on n1", cpu, one, two)
		}
		return id
	}
	before := look()
	happen("pod p1 cpu=5 select=disk=ssd")
	if after := look(); after != before {
		t.Errorf("without gates the pod has the shape %d, with them %d", after, before)
	}
}
