package judge

import (
	"context"
	"slices"
	"testing"

	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
)

// emptyZones is a judge with one node in each of three zones and a case that spreads over them, and the zones: the two first that upstream recorded as
// lowest, which depends on the order of a map, then the third.
func emptyZones(t *testing.T) (judge *Judge, c *Case, zones []string) {
	t.Helper()
	judge = newBench(t, namespace("default", "red")).judge
	rest := []string{"a", "b", "c"}
	for _, zone := range rest {
		judge.SetNode(makeNode("node-"+zone, "zone="+zone))
	}
	c = mustCase(t, judge, spreading(makePod("p", "app=web"), "zone", "app=web"))
	counts, err := readSpread(c.state)
	if err != nil {
		t.Fatal(err)
	}
	for which := range 2 {
		zones = append(zones, counts.lowest[0][which].TopologyValue)
	}
	rest = slices.DeleteFunc(rest, func(zone string) bool { return slices.Contains(zones, zone) })
	return judge, c, append(zones, rest...)
}

// A pod goes to each of the two zones that are recorded as lowest. The lowest count is still 0, of the third zone, so that only it may take another pod.
func TestSpreadFollowsPodsInManyDomains(t *testing.T) {
	judge, c, zones := emptyZones(t)
	put(t, judge, makePod("x", "app=web"), "node-"+zones[0])
	put(t, judge, makePod("y", "app=web"), "node-"+zones[1])
	uneven := "Unschedulable by PodTopologySpread: " + podtopologyspread.ErrReasonConstraintsNotMatch
	for i, want := range []string{uneven, uneven, "yes"} {
		if got := words(c.LastWord(c.pod, "node-"+zones[i])); got != want {
			t.Errorf("zone %d of 3: %s, want %s", i+1, got, want)
		}
	}
}

// Upstream alone loses the third zone from sight. Should this fail, then its extensions have become exact, and spread.go can go.
func TestUpstreamLosesTheLowestCount(t *testing.T) {
	judge, c, zones := emptyZones(t)
	counts, err := readSpread(c.state)
	if err != nil {
		t.Fatal(err)
	}
	upstream := &podtopologyspread.PodTopologySpread{}
	for _, zone := range zones[:2] {
		info, err := NewPod(makePod("x-"+zone, "app=web"))
		if err != nil {
			t.Fatal(err)
		}
		upstream.AddPod(context.Background(), c.state, c.pod, info, judge.view.byName["node-"+zone])
	}
	if empty, lowest := counts.domains[0][zones[2]], counts.minima()[0]; empty != 0 || lowest != 1 {
		t.Errorf("upstream records %d as the lowest count with %d pods in the third zone; it used to record 1 with 0 there", lowest, empty)
	}
}
