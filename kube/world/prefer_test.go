package world

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/cluster"
)

// TestPreferredNodes: pods of a policy that prices preferences go where they like to be without a query of their own, also after labels
// have changed and with a new core; and the core knows of no such set any more when nobody likes it.
func TestPreferredNodes(t *testing.T) {
	r := newRig(t, newBench(t))
	r.world.shapes.prices = func(string) Prices { return Prices{Nodes: true} }
	r.policy = "fairlead"
	r.restart()
	s := &story{rig: r, lines: map[string]string{}, sent: map[string]flight{}}
	happen := func(format string, args ...any) {
		t.Helper()
		if err := s.happen(fmt.Sprintf(format, args...)); err != nil {
			t.Fatal(err)
		}
	}
	liked := func(pod string) (names []string) {
		for _, p := range r.core.View().Shape(s.task(r.world.Pod(types.UID("uid-" + pod))).Shape).Prefers {
			if p.Weight < 1 || p.Weight > cluster.MostPreference {
				t.Errorf("pod %s likes %+v", pod, p)
			}
			for _, name := range sortedKeys(r.world.nodes.byName) {
				if r.core.View().Eligible(p.Set, r.world.nodes.byName[name].row) {
					names = append(names, name)
				}
			}
		}
		return names
	}
	comes := func(pod, want, likes string) {
		t.Helper()
		happen("pod %s cpu=1 like=disk=ssd", pod)
		r.turn()
		p := r.world.Pod(types.UID("uid-" + pod))
		if p.query != nil {
			t.Errorf("pod %s needs a query", pod)
		}
		if on := r.core.View().NodeSpec(s.task(p).Node).Name; on != want {
			t.Errorf("pod %s is on %s, want %s", pod, on, want)
		}
		if got := strings.Join(liked(pod), " "); got != likes {
			t.Errorf("pod %s likes to be on %q, want %q", pod, got, likes)
		}
	}
	happen("node n1 cpu=20")
	happen("node n2 cpu=20 label=disk=ssd")
	comes("p1", "n2", "n2")
	happen("node n1 cpu=20 label=disk=ssd")
	happen("node n2 cpu=20")
	comes("p2", "n1", "n1")
	r.restart()
	happen("node n3 cpu=20 label=disk=ssd")
	happen("node n1 cpu=20")
	comes("p3", "n3", "n3")
	for _, pod := range []string{"p1", "p2", "p3"} {
		happen("lost %s", pod)
	}
	r.turn()
	for key := range r.world.shapes.sets.byKey {
		if strings.HasPrefix(key, "preferred ") {
			t.Errorf("the set %s is kept although nobody likes it", key)
		}
	}
	if err := r.core.View().Check(); err != nil {
		t.Error(err)
	}
}

// TestPreferredNodesOfOthers: where the policy does not price preferences upstream's scores decide, and the core is told of none.
func TestPreferredNodesOfOthers(t *testing.T) {
	r := newRig(t, newBench(t))
	s := &story{rig: r, lines: map[string]string{}, sent: map[string]flight{}}
	for _, line := range []string{"node n1 cpu=4 label=disk=ssd", "node n2 cpu=4", "pod p1 cpu=1 like=disk=ssd"} {
		if err := s.happen(line); err != nil {
			t.Fatal(err)
		}
	}
	p := r.world.Pod("uid-p1")
	if p.query == nil {
		t.Error("it needs no query")
	}
	r.turn()
	task := s.task(p)
	if on := r.core.View().NodeSpec(task.Node).Name; on != "n1" || len(r.core.View().Shape(task.Shape).Prefers) > 0 {
		t.Errorf("it is on %s, and prefers %v", on, r.core.View().Shape(task.Shape).Prefers)
	}
}
