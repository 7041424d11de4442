package scheduler

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Whom others leave for is the pod, or its pod group, or the root of the composite ones above that, as kube-scheduler has it.
func TestPreemptorOf(t *testing.T) {
	group := func(name string, parent *string) *schedulingv1beta1.PodGroup {
		return &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)}, Spec: schedulingv1beta1.PodGroupSpec{ParentCompositePodGroupName: parent}}
	}
	composite := func(name string, parent *string) *schedulingv1alpha3.CompositePodGroup {
		return &schedulingv1alpha3.CompositePodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)}, Spec: schedulingv1alpha3.CompositePodGroupSpec{ParentCompositePodGroupName: parent}}
	}
	s := idle(t)
	s.world.PodGroups().See(group("single", nil))
	s.world.PodGroups().See(group("part", new("half")))
	s.world.PodGroups().SeeComposite(composite("half", new("whole")))
	s.world.PodGroups().SeeComposite(composite("whole", nil))
	for i, test := range []struct{ group, want string }{
		{"", "pod uid-0"},
		{"missing", "pod uid-1"},
		{"single", "podgroup uid-single"},
		{"part", "compositepodgroup uid-whole"},
	} {
		p := plainPod(i)
		if test.group != "" {
			p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &test.group}
		}
		s.world.SeePod(p)
		by := preemptorOf(s.world.Pod(p.UID))
		if got := string(by.kind) + " " + string(by.uid); got != test.want || by.pod != p {
			t.Errorf("of a pod of group %q others leave for %s, want %s", test.group, got, test.want)
		}
	}
}
