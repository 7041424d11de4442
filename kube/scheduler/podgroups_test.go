package scheduler

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
	families, err := b.registry.Gather()
	if err != nil {
		b.t.Fatal(err)
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
