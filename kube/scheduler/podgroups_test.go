package scheduler

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// A pod group that lacks a pod says so in its condition, and is told to be placed once it has been; each of both is written once.
func TestConditionsOfPodGroups(t *testing.T) {
	group := &schedulingv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "gang", UID: "uid-gang"},
		Spec: schedulingv1beta1.PodGroupSpec{SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{
			Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: 2},
		}},
	}
	member := func(i int) *v1.Pod {
		p := plainPod(i)
		p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group.Name}
		return p
	}
	inBubble(t, []runtime.Object{bigNode(0), group, member(1)}, func(b *bubble) {
		b.run()
		b.pass(time.Minute)
		b.expectPlaced(group, metav1.ConditionFalse, schedulingv1beta1.PodGroupReasonUnschedulable)
		b.create(member(2))
		b.pass(time.Minute)
		b.expectBound("pod-1 pod-2")
		b.expectPlaced(group, metav1.ConditionTrue, scheduled)
		if got := b.writes("podgroups/status", "patch", "ok"); got != 2 {
			t.Errorf("the condition was written %v times, want 2", got)
		}
	})
}

// Autoscalers bring nodes for pods that are Unschedulable. A pod that comes before its group is not, nor is one of a gang of which others have yet
// to come; once they have, and there is no room, all of them are, at once.
func TestGangIsForAutoscalersOnceItIsWhole(t *testing.T) {
	group := &schedulingv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "gang", UID: "uid-gang"},
		Spec: schedulingv1beta1.PodGroupSpec{SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{
			Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: 3},
		}},
	}
	member := func(i int) *v1.Pod {
		p := plainPod(i)
		p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group.Name}
		return p
	}
	full := bigNode(0)
	full.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("150m"), v1.ResourceMemory: resource.MustParse("1Gi"), v1.ResourcePods: resource.MustParse("10")}
	inBubble(t, []runtime.Object{full, member(1)}, func(b *bubble) {
		b.run()
		b.pass(2 * time.Second)
		b.expectCondition("pod-1", heldReason, "its pod group gang is not there")
		if _, err := b.api.SchedulingV1beta1().PodGroups("default").Create(b.t.Context(), group, metav1.CreateOptions{}); err != nil {
			b.t.Fatal(err)
		}
		b.create(member(2))
		b.pass(2 * time.Second)
		for _, name := range []string{"pod-1", "pod-2"} {
			b.expectCondition(name, heldReason, "more have yet to come")
		}
		b.create(member(3))
		b.pass(2 * time.Second)
		for _, name := range []string{"pod-1", "pod-2", "pod-3"} {
			b.expectCondition(name, v1.PodReasonUnschedulable, "a gang of 3")
		}
	})
}

// expectPlaced fails unless the condition of the group that says whether it was placed stands so.
func (b *bubble) expectPlaced(group *schedulingv1beta1.PodGroup, status metav1.ConditionStatus, reason string) {
	b.t.Helper()
	g, err := b.api.SchedulingV1beta1().PodGroups(group.Namespace).Get(b.t.Context(), group.Name, metav1.GetOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	c := meta.FindStatusCondition(g.Status.Conditions, schedulingv1beta1.PodGroupInitiallyScheduled)
	if c == nil || c.Status != status || c.Reason != reason {
		b.t.Errorf("the condition of %s is %+v, want %s for %s", group.Name, c, status, reason)
	}
}

// writes is how often the metric says that something was written.
func (b *bubble) writes(to, verb, result string) float64 {
	b.t.Helper()
	return writes(b.t, b.registry, to, verb, result)
}

// writes is the same of what is counted in a registry.
func writes(t *testing.T, registry *prometheus.Registry, to, verb, result string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if family.GetName() == "fairlead_api_writes_total" && labels["resource"] == to && labels["verb"] == verb && labels["result"] == result {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

// A composite pod group says which of its parts lack pods, and is told to be placed, as each of its groups is, once all that it asks for are; a tree without a root says that it is invalid.
func TestConditionsOfCompositePodGroups(t *testing.T) {
	group := func(name, parent string) *schedulingv1beta1.PodGroup {
		return &schedulingv1beta1.PodGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
			Spec: schedulingv1beta1.PodGroupSpec{
				SchedulingPolicy:            schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: 1}},
				ParentCompositePodGroupName: &parent,
			},
		}
	}
	composite := func(name string, least int32) *schedulingv1alpha3.CompositePodGroup {
		return &schedulingv1alpha3.CompositePodGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
			Spec: schedulingv1alpha3.CompositePodGroupSpec{SchedulingPolicy: schedulingv1alpha3.CompositePodGroupSchedulingPolicy{
				Gang: &schedulingv1alpha3.CompositeGangSchedulingPolicy{MinGroupCount: least},
			}},
		}
	}
	member := func(i int, of string) *v1.Pod {
		p := plainPod(i)
		p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &of}
		return p
	}
	a, b2, lost, root, itself := group("a", "root"), group("b", "root"), group("lost", "itself"), composite("root", 2), composite("itself", 1)
	itself.Spec.ParentCompositePodGroupName = &itself.Name
	inBubble(t, []runtime.Object{bigNode(0), a, b2, lost, root, itself, member(1, "a"), member(9, "lost")}, func(b *bubble) {
		b.run()
		b.pass(2 * time.Second)
		b.expectCondition("pod-1", heldReason, "its composite pod group root needs 2 of its parts at once, and 1 of 2 have enough pods: b has 0 of 1 pods")
		b.expectPlaced(a, metav1.ConditionFalse, schedulingv1beta1.PodGroupReasonUnschedulable)
		b.expectComposite("root", metav1.ConditionFalse, schedulingv1beta1.PodGroupReasonUnschedulable)
		b.expectComposite("itself", metav1.ConditionFalse, invalidLayout)
		b.create(member(2, "b"))
		b.pass(2 * time.Second)
		b.expectBound("pod-1 pod-2")
		for _, g := range []*schedulingv1beta1.PodGroup{a, b2} {
			b.expectPlaced(g, metav1.ConditionTrue, scheduled)
		}
		b.expectComposite("root", metav1.ConditionTrue, scheduled)
		if got := b.writes("compositepodgroups/status", "patch", "ok"); got != 3 {
			t.Errorf("the conditions were written %v times, want 3", got)
		}
		// One that goes is missed by those who come later.
		b.must(b.api.SchedulingV1alpha3().CompositePodGroups("default").Delete(b.t.Context(), "root", metav1.DeleteOptions{}))
		b.pass(time.Second)
		b.create(member(3, "b"))
		b.pass(2 * time.Second)
		b.expectCondition("pod-3", heldReason, "its composite pod group root is not there")
	})
}

// expectComposite is expectPlaced for a composite pod group.
func (b *bubble) expectComposite(name string, status metav1.ConditionStatus, reason string) {
	b.t.Helper()
	g, err := b.api.SchedulingV1alpha3().CompositePodGroups("default").Get(b.t.Context(), name, metav1.GetOptions{})
	b.must(err)
	if c := meta.FindStatusCondition(g.Status.Conditions, compositeScheduled); c == nil || c.Status != status || c.Reason != reason {
		b.t.Errorf("the condition of %s is %+v, want %s for %s", name, c, status, reason)
	}
}

func (b *bubble) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}
