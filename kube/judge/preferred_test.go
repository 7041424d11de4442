package judge

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
)

func TestPreferred(t *testing.T) {
	judge := newBench(t, namespace("default", "red")).judge
	judge.SetNode(makeNode("n1", "zone=a", "role=db:PreferNoSchedule"))
	judge.SetNode(makeNode("n2", "zone=b"))
	judge.SetNode(makeNode("n3", "zone=a"))
	plain := makePod("plain")
	likes := makePod("likes")
	likes.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{
		Weight: 1, Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "zone", Operator: v1.NodeSelectorOpIn, Values: []string{"b"}}}},
	}}}}
	put(t, judge, wanting(makePod("big"), "3"), "n2")
	for _, test := range []struct {
		pod  *v1.Pod
		want []string
		why  string
	}{
		{plain, []string{"n2", "n3"}, "the soft taint counts, a full node does not"},
		{likes, []string{"n2"}, "the preferred zone counts"},
	} {
		c := mustCase(t, judge, test.pod)
		feasible := c.Feasible(0)
		if want := []string{"n1", "n2", "n3"}; !slices.Equal(feasible, want) {
			t.Fatalf("pod %s: feasible are %v, want %v", test.pod.Name, feasible, want)
		}
		if got := c.Preferred(feasible); !slices.Equal(got, test.want) {
			t.Errorf("pod %s prefers %v, want %v: %s", test.pod.Name, got, test.want, test.why)
		}
		c.Close()
	}
	if len(judge.open) > 0 {
		t.Errorf("%d cases are open after all were closed", len(judge.open))
	}
}
