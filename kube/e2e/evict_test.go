package e2e

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/policies/chosen"
)

// A pod that is more important takes the room of others where their
// PodDisruptionBudget allows it. The node that costs the fewest pods, of the lowest priority, is passed over,
// or tried and refused as long as the scheduler has not heard of the budget; those of the other leave, each of them once and with an
// event that says for whom.
func TestEvictionsHonourBudgets(t *testing.T) {
	for _, policy := range []string{"fairlead", "priority", "quincy"} {
		t.Run(policy, func(t *testing.T) {
			c := living(t)
			kept, free := c.twoNodes()
			f := c.start(settings{profile: func(p *config.Profile) {
				p.Policy = chosen.Policy{Name: policy}
				p.Evictions.Enabled = true
			}})
			c.create(newPod("kept", label("app", "kept"), cpu("8"), on(kept), priority(c, -10)))
			c.create(several(2, "free", label("app", "free"), cpu("4"), on(free))...)
			c.awaitBound(time.Minute, 3)
			c.protect("kept")
			c.create(newPod("high", cpu("8"), on(kept, free), priority(c, 1000)))
			c.awaitBound(time.Minute, 1, named("high"))
			high, stays := c.pod("high"), c.pod("kept")
			if high.Spec.NodeName != free || stays.DeletionTimestamp != nil {
				t.Errorf("the pod is on node %s, want %s; the protected one: deleted %v", high.Spec.NodeName, free, stays.DeletionTimestamp)
			}
			if evicted, refused := f.sum("fairlead_evictions_total", "evicted"), f.sum("fairlead_evictions_total", "refused"); evicted != 2 || refused > 8 {
				t.Errorf("%d evictions and %d refusals, want 2, and a few at most", evicted, refused)
			}
			c.await(20*time.Second, func() string {
				for _, name := range []string{"free-0", "free-1"} {
					said := c.events("Preempted")[name]
					if len(said) != 1 || !strings.Contains(said[0].Note, string(high.UID)) {
						return fmt.Sprintf("the event Preempted of %s by %s, among %v", name, high.UID, said)
					}
				}
				return ""
			})
			c.checkRoom()
		})
	}
}

// A pod that leaves by the Eviction API says so in its condition, with the API server's reason.
func TestEvictedByEvictionAPI(t *testing.T) {
	c := bare(t)
	c.start(settings{profile: func(p *config.Profile) { p.Evictions.Enabled, p.Evictions.Budgets = true, config.Hard }})
	c.addNodes(1, "n", "4")
	c.create(newPod("low", cpu("3"), priority(c, -10), func(p *v1.Pod) { p.Finalizers = []string{"example.com/stays"} }))
	c.awaitBound(20*time.Second, 1)
	c.create(newPod("high", cpu("3"), priority(c, 1000)))
	c.await(30*time.Second, func() string {
		victim := c.pod("low")
		for _, said := range victim.Status.Conditions {
			if said.Type == v1.DisruptionTarget && said.Status == v1.ConditionTrue && said.Reason == "EvictionByEvictionAPI" && victim.DeletionTimestamp != nil {
				return ""
			}
		}
		return fmt.Sprintf("a pod that leaves by the Eviction API, and says so: deleted %v, %v", victim.DeletionTimestamp, victim.Status.Conditions)
	})
	_, err := c.client.CoreV1().Pods(c.namespace).Patch(t.Context(), "low", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	c.must(err)
	c.awaitBound(30*time.Second, 1, named("high"))
}

// A pod that is more important has those leave beside whom it must not stand, where the fewest of the lowest priority do, and no others. It
// is bound when they have gone, and stands where upstream's own filter lets it.
func TestEvictionsForRules(t *testing.T) {
	for _, policy := range []string{"fairlead", "priority", "kube-scheduler"} {
		t.Run(policy, func(t *testing.T) {
			c := living(t)
			many, few := c.twoNodes()
			c.start(settings{profile: func(p *config.Profile) {
				p.Policy = chosen.Policy{Name: policy}
				p.Evictions.Enabled = true
			}})
			c.create(several(2, "many", label("app", "web"), on(many), priority(c, -5))...)
			c.create(newPod("few", label("app", "web"), on(few), priority(c, -10)), newPod("beside", on(few), priority(c, -20)))
			c.awaitBound(time.Minute, 4)
			c.create(newPod("high", awayFrom("web", host), on(many, few), priority(c, 1000)))
			c.awaitBound(time.Minute, 1, named("high"))
			if high := c.pod("high"); high.Spec.NodeName != few {
				t.Errorf("the pod is on node %s, want %s", high.Spec.NodeName, few)
			}
			for _, p := range c.pods() {
				if p.DeletionTimestamp != nil || p.Name == "few" {
					t.Errorf("pod %s is there, deleted %v", p.Name, p.DeletionTimestamp)
				}
			}
			c.create(newPod("comes", label("app", "web"), on(few), priority(c, 500)))
			c.expectRefusal("comes", `.*node\(s\) didn't satisfy existing pods anti-affinity rules.*`)
			c.checkRoom()
		})
	}
}

// Every flow policy, and fairlead, places pods as far as there is room, and evicts nobody among equals.
func TestFlowPolicies(t *testing.T) {
	for _, policy := range []string{"fairlead", "load-spreading", "cpu-mem", "quincy", "ecsched-dp", "ecsched-ml"} {
		t.Run(policy, func(t *testing.T) {
			c := bare(t)
			f := c.start(settings{profile: func(p *config.Profile) {
				p.Policy = chosen.Policy{Name: policy}
				p.Evictions.Enabled = policy == "quincy" || policy == "fairlead"
			}})
			c.addNodes(4, "n", "10")
			c.create(several(50, "p")...)
			c.awaitBound(time.Minute, 40)
			c.checkRoom()
			if out := f.sum("fairlead_evictions_total"); out > 0 {
				t.Errorf("%d evictions were asked for among equals", out)
			}
		})
	}
}

// twoNodes names two nodes on which nothing runs.
func (c *cluster) twoNodes() (string, string) {
	c.t.Helper()
	taken := perNode(c.bound())
	var empty []string
	for _, n := range c.nodes() {
		if taken[n.Name] == 0 {
			empty = append(empty, n.Name)
		}
	}
	if len(empty) < 2 {
		c.t.Fatalf("%d nodes are empty, want 2", len(empty))
	}
	return empty[0], empty[1]
}

// protect gives the pods of an app a budget that lets none of them go, and waits
// until the controller has worked it out.
func (c *cluster) protect(app string) {
	c.t.Helper()
	c.protectAll(app, 1)
}

// protectAll is protect of an app with so many pods.
func (c *cluster) protectAll(app string, count int32) {
	c.t.Helper()
	budgets := c.client.PolicyV1().PodDisruptionBudgets(c.namespace)
	all := intstr.FromInt32(count)
	_, err := budgets.Create(c.t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: app},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &all, Selector: apps(app)},
	}, metav1.CreateOptions{})
	c.must(err)
	c.await(time.Minute, func() string {
		b, err := budgets.Get(c.t.Context(), app, metav1.GetOptions{})
		c.must(err)
		if b.Status.ObservedGeneration < b.Generation || b.Status.CurrentHealthy < count {
			return fmt.Sprintf("what the budget %s allows: %+v", app, b.Status)
		}
		return ""
	})
}

// priority gives the pod a priority, where those without have 0. The class counts once the API server admits pods
// that name it, which is somewhat later than when it has stored the class.
func priority(c *cluster, value int32) option {
	name := fmt.Sprintf("e2e-of-%d", int64(value)-math.MinInt32)
	_, err := c.client.SchedulingV1().PriorityClasses().Create(context.Background(), &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value,
	}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		c.must(err)
	}
	return c.admitted(func(p *v1.Pod) { p.Spec.PriorityClassName = name })
}

// admitted waits until the API server admits pods of a class that was made.
func (c *cluster) admitted(class option) option {
	c.t.Helper()
	c.await(time.Minute, func() string {
		_, err := c.client.CoreV1().Pods(c.namespace).Create(c.t.Context(), newPod("admitted", class), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return fmt.Sprintf("pods of the new class admitted: %v", err)
		}
		return ""
	})
	return class
}

// on keeps the pod to these nodes.
func on(nodes ...string) option {
	return func(p *v1.Pod) {
		affinity(p).NodeAffinity = &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
			NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
				{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: nodes},
			}}},
		}}
	}
}

func named(name string) func(*v1.Pod) bool { return func(p *v1.Pod) bool { return p.Name == name } }
