package judge

import (
	"fmt"
	"slices"
	"testing"
)

// TestSomeFeasible: as many nodes as are enough are found, if there are so many, each of which is feasible; and each has its turn.
func TestSomeFeasible(t *testing.T) {
	const nodes = 700
	j := newBench(t, namespace("default", "red")).judge
	var open []string
	for i := range nodes {
		node := makeNode(fmt.Sprintf("n%03d", i))
		if node.Spec.Unschedulable = i%3 == 0; !node.Spec.Unschedulable {
			open = append(open, node.Name)
		}
		j.SetNode(node)
	}
	c := mustCase(t, j, makePod("p"))
	defer c.Close()
	found := map[string]bool{}
	for range 8 {
		some := c.Feasible(100)
		if len(some) < 100 || len(some) > 200 {
			t.Errorf("%d nodes, want 100, or a few more", len(some))
		}
		for _, name := range some {
			if found[name] = true; !slices.Contains(open, name) {
				t.Errorf("node %s is cordoned", name)
			}
		}
	}
	if len(found) != len(open) {
		t.Errorf("of %d nodes %d have their turn", len(open), len(found))
	}
	for _, enough := range []int{0, len(open), len(open) + 1, nodes, 10 * nodes} {
		if all := slices.Sorted(slices.Values(c.Feasible(enough))); !slices.Equal(all, open) {
			t.Errorf("of %d nodes %d are found where %d are enough", len(open), len(all), enough)
		}
	}
}
