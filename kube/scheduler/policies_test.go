package scheduler

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/policies/chosen"
)

// TestEveryPolicyPlaces: whatever policy a profile names, its pods are placed.
func TestEveryPolicyPlaces(t *testing.T) {
	for _, info := range policies.All() {
		c := config.Default()
		p := &c.Profiles[0]
		p.Policy, p.Evictions.Enabled = chosen.Policy{Name: info.Name}, true
		p.Policy.Check(policies.All())
		if errs := c.Validate(); len(errs) > 0 {
			t.Logf("%s is refused: %v", info.Name, errs)
			continue
		}
		t.Run(info.Name, func(t *testing.T) {
			inBubbleOf(t, c, []runtime.Object{bigNode(0), plainPod(1), plainPod(2)}, func(b *bubble) {
				b.run()
				b.pass(30 * time.Second)
				b.expectBound("pod-1 pod-2")
			})
		})
	}
}

// TestPreferredNodes: policies that price nodes by what pods prefer are told of it. The first node is the one that they would take else.
func TestPreferredNodes(t *testing.T) {
	for _, policy := range []string{"fairlead", "kube-scheduler", "cpu-mem", "ecsched-dp"} {
		liked, pod := bigNode(1), plainPod(1)
		liked.Labels = map[string]string{"disk": "ssd"}
		term := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "disk", Operator: v1.NodeSelectorOpIn, Values: []string{"ssd"}}}}
		pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 100, Preference: term}}}}
		// A pod on the liked node makes it the fuller one.
		filler := plainPod(2)
		filler.Spec.NodeName = liked.Name
		c := config.Default()
		c.Profiles[0].Policy = chosen.Policy{Name: policy}
		c.Profiles[0].Policy.Check(policies.All())
		inBubbleOf(t, c, []runtime.Object{bigNode(0), liked, bigNode(2), pod, filler}, func(b *bubble) {
			b.run()
			b.pass(30 * time.Second)
			got, err := b.api.Clientset.CoreV1().Pods("default").Get(b.t.Context(), pod.Name, metav1.GetOptions{})
			if err != nil || got.Spec.NodeName != liked.Name {
				t.Errorf("%s places the pod on %q, want %q (%v)", policy, got.Spec.NodeName, liked.Name, err)
			}
			told, s := false, b.epochs.core.View() // otherwise it took a query over all nodes
			for id := range s.ShapeRows() {
				told = told || len(s.Shape(cluster.ShapeID(id)).Prefers) > 0
			}
			if !told {
				t.Errorf("%s was not told what the pod prefers", policy)
			}
		})
	}
}
