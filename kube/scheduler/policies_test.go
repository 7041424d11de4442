package scheduler

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/policies/chosen"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
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

// blind is a policy of somebody else's that never asks whether what it plans fits: all waiting tasks
// are to go to the first node.
type blind struct{}

func (blind) Why(*sched.Trial, cluster.TaskID) sched.Reason { return sched.Reason{} }

func (blind) Plan(t *sched.Trial, c *sched.Changed, _ int64, out *sched.Plan) {
	for _, id := range c.Tasks {
		if task := t.View().Task(id); task.Phase == cluster.Waiting {
			out.Add(sched.Action{Kind: sched.Place, Task: id, Attempt: task.Attempt})
		}
	}
	out.Close()
}

// TestRefusedBundlesAreCounted: what a policy planned and commit refused does not happen, and is counted, so
// that whoever wrote the policy sees it.
func TestRefusedBundlesAreCounted(t *testing.T) {
	large := plainPod(2)
	large.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse("1001")
	inBubble(t, []runtime.Object{bigNode(0), plainPod(1)}, func(b *bubble) {
		b.epochs.policy = func(*recording.Lane) (sched.Policy, *recording.Races, error) { return blind{}, nil, nil }
		b.run()
		b.pass(10 * time.Second)
		b.expectBound("pod-1")
		const counter = "fairlead_bundles_refused_total"
		if got := b.sum(counter); got != 0 {
			b.t.Errorf("%v bundles were refused, and all fitted", got)
		}
		b.create(large)
		b.pass(10 * time.Second)
		b.expectBound("pod-1")
		if got := b.sum(counter); got == 0 || int64(got) != b.epochs.core.Counts().Refused {
			b.t.Errorf("%v refused bundles were counted, the core refused %d", got, b.epochs.core.Counts().Refused)
		}
	})
}

// TestWhoTakesTurns: the world knows of which profiles the pods take turns.
func TestWhoTakesTurns(t *testing.T) {
	for _, info := range policies.All() {
		c := config.Default()
		c.Profiles[0].Policy = chosen.Policy{Name: info.Name}
		want := info.Name == "qos" || info.Name == "qos-flow"
		if got := evictions(Options{Config: c})[config.DefaultSchedulerName].TakesTurns; got != want {
			t.Errorf("%s has pods take turns: %v, want %v", info.Name, got, want)
		}
	}
}
