package e2e

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/policies/chosen"
)

// overruling is a profile that evicts by that policy, whatever budgets say.
func overruling(policy string) settings {
	return settings{profile: func(p *config.Profile) {
		p.Policy = chosen.Policy{Name: policy}
		p.Evictions.Enabled, p.Evictions.Budgets = true, config.BestEffort
	}}
}

// Where budgets are overruled, who violates none leaves, though those are more and more important; and where nobody else helps, who violates one: it says
// so in its condition, as with kube-scheduler.
func TestBudgetsOverruled(t *testing.T) {
	for _, policy := range []string{"fairlead", "priority", "kube-scheduler"} {
		t.Run(policy, func(t *testing.T) {
			c := living(t)
			kept, free := c.twoNodes()
			f := c.start(overruling(policy))
			stays := func(p *v1.Pod) { p.Finalizers = []string{"example.com/stays"} }
			c.create(newPod("kept", label("app", "kept"), cpu("8"), on(kept), priority(c, -10), stays))
			c.create(several(2, "free", label("app", "free"), cpu("4"), on(free), priority(c, -5))...)
			c.awaitBound(time.Minute, 3)
			c.protect("kept")
			c.create(newPod("high", cpu("8"), on(kept, free), priority(c, 1000)))
			c.awaitBound(time.Minute, 1, named("high"))
			if high := c.pod("high"); high.Spec.NodeName != free || c.pod("kept").DeletionTimestamp != nil {
				t.Errorf("the pod is on node %s, want %s; the protected one: deleted %v", high.Spec.NodeName, free, c.pod("kept").DeletionTimestamp)
			}
			c.create(newPod("next", cpu("8"), on(kept, free), priority(c, 1000)))
			c.await(time.Minute, func() string {
				victim := c.pod("kept")
				for _, said := range victim.Status.Conditions {
					if said.Type == v1.DisruptionTarget && said.Status == v1.ConditionTrue && said.Reason == v1.PodReasonPreemptionByScheduler &&
						said.Message == config.DefaultSchedulerName+": preempting to accommodate a higher priority pod" && victim.DeletionTimestamp != nil {
						return ""
					}
				}
				return fmt.Sprintf("the protected pod to be deleted for another, and to say so: deleted %v, %v", victim.DeletionTimestamp, victim.Status.Conditions)
			})
			_, err := c.client.CoreV1().Pods(c.namespace).Patch(t.Context(), "kept", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			c.must(err)
			c.awaitBound(time.Minute, 1, named("next"))
			if next := c.pod("next"); next.Spec.NodeName != kept {
				t.Errorf("the second pod is on node %s, want %s", next.Spec.NodeName, kept)
			}
			if refused := f.sum("fairlead_evictions_total", "refused"); refused != 0 {
				t.Errorf("%d evictions were refused: the API server was asked", refused)
			}
			c.checkRoom()
		})
	}
}

// Where all victims violate a budget the fewest leave, though they are the more important.
func TestFewestViolationsFirst(t *testing.T) {
	for _, policy := range []string{"fairlead", "priority", "kube-scheduler"} {
		t.Run(policy, func(t *testing.T) {
			c := living(t)
			many, few := c.twoNodes()
			c.start(overruling(policy))
			c.create(several(2, "many", label("app", "many"), cpu("4"), on(many), priority(c, -10))...)
			c.create(newPod("few", label("app", "few"), cpu("8"), on(few), priority(c, -5)))
			c.awaitBound(time.Minute, 3)
			c.protect("few")
			c.protectAll("many", 2)
			c.create(newPod("high", cpu("8"), on(many, few), priority(c, 1000)))
			c.awaitBound(time.Minute, 1, named("high"))
			if high := c.pod("high"); high.Spec.NodeName != few {
				t.Errorf("the pod is on node %s, want %s", high.Spec.NodeName, few)
			}
			for _, name := range []string{"many-0", "many-1"} {
				if c.pod(name).DeletionTimestamp != nil {
					t.Errorf("pod %s is deleted", name)
				}
			}
			c.checkRoom()
		})
	}
}

// For a pod of default-scheduler one of another scheduler leaves that is less important; for a pod of another profile it does not, nor
// for either one that the cluster needs.
func TestOthersLeaveForDefaultScheduler(t *testing.T) {
	for _, name := range []string{v1.DefaultSchedulerName, config.DefaultSchedulerName} {
		t.Run(name, func(t *testing.T) {
			c := living(t)
			theirs, critical := c.twoNodes()
			c.start(settings{profile: func(p *config.Profile) {
				p.SchedulerName = name
				p.Evictions.Enabled, p.Evictions.Budgets = true, config.BestEffort
			}})
			by := scheduledBy(name)
			there := func(node string) option {
				return func(p *v1.Pod) { p.Spec.SchedulerName, p.Spec.NodeName = "other", node }
			}
			c.create(newPod("other", cpu("8"), there(theirs), priority(c, -10)))
			c.create(newPod("critical", cpu("8"), there(critical), func(p *v1.Pod) { p.Spec.PriorityClassName = "system-cluster-critical" }))
			c.awaitBound(time.Minute, 2)
			c.create(newPod("high", cpu("8"), on(theirs, critical), by, priority(c, 1000)))
			if name == v1.DefaultSchedulerName {
				c.awaitBound(time.Minute, 1, named("high"))
				if high := c.pod("high"); high.Spec.NodeName != theirs {
					t.Errorf("the pod is on node %s, want %s", high.Spec.NodeName, theirs)
				}
				c.await(20*time.Second, func() string {
					if said := c.events("Preempted")["other"]; len(said) != 1 {
						return fmt.Sprintf("the event Preempted of the other scheduler's pod, among %v", said)
					}
					return ""
				})
			} else {
				c.expectRefusal("high", ".*Insufficient cpu.*")
				if c.pod("other").DeletionTimestamp != nil {
					t.Error("the other scheduler's pod is deleted")
				}
			}
			if c.pod("critical").DeletionTimestamp != nil {
				t.Error("the critical pod is deleted")
			}
			c.checkRoom()
		})
	}
}
