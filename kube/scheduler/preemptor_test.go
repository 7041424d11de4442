package scheduler

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/kube/config"
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

// Preemptions are counted under kube-scheduler's names. A gang needs the places of three pods, of which a budget can spare one and two are of a group whose pods leave all
// at once; then a pod needs one of the gang's.
func TestPreemptionsAreCounted(t *testing.T) {
	group := func(name string, priority int32, disruption *schedulingv1beta1.DisruptionMode) *schedulingv1beta1.PodGroup {
		return &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)}, Spec: schedulingv1beta1.PodGroupSpec{
			Priority: &priority, DisruptionMode: disruption,
			SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: 2}},
		}}
	}
	of := func(name string, p *v1.Pod) *v1.Pod {
		p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &name}
		return p
	}
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1},
	}
	objects := []runtime.Object{
		smallNode(0, 3), budget, group("low", 0, &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}), group("gang", 10, nil),
		of("low", on(0, plain(1, 0, 1))), of("low", on(0, plain(2, 0, 1))), on(0, plain(3, 0, 1)),
	}
	c := config.Default()
	c.Profiles[0].Policy.Name, c.Profiles[0].Evictions = "fairlead", config.Evictions{Enabled: true, Pace: config.Pace{AtOnce: 16, PerMinute: 600}, Moves: config.Pace{AtOnce: 16, PerMinute: 60}, Budgets: config.BestEffort}
	inBubbleOf(t, c, objects, func(b *bubble) {
		b.run()
		b.pass(time.Second)
		b.create(of("gang", plain(4, 10, 1)), of("gang", plain(5, 10, 2)))
		b.pass(time.Minute)
		b.expectBound("pod-4 pod-5")
		for _, test := range []struct {
			name   string
			labels []string
			want   float64
		}{
			{"scheduler_preemption_attempts_total", nil, 0},
			{"scheduler_workload_preemption_attempts_total", []string{"Success"}, 1},
			{"scheduler_workload_preemption_victims", nil, 1},
			{"scheduler_preemption_workload_disruptions", []string{"podgroup"}, 1},
			{"scheduler_preemption_pdb_violations_total", []string{"podgroup"}, 2},
			{"scheduler_preemption_execution_duration_seconds", []string{"podgroup", "success"}, 1},
			{"scheduler_podgroup_schedule_attempts_total", []string{"waiting_on_preemption"}, 1},
			{"scheduler_podgroup_schedule_attempts_total", []string{"scheduled"}, 1},
			{"scheduler_podgroup_schedule_attempts_total", []string{"unschedulable"}, 0},
		} {
			if got := b.sum(test.name, test.labels...); got != test.want {
				b.t.Errorf("%s%v is %v, want %v", test.name, test.labels, got, test.want)
			}
		}
		b.create(plain(6, 20, 1))
		b.pass(time.Minute)
		if attempts, took := b.sum("scheduler_preemption_attempts_total"), b.sum("scheduler_preemption_execution_duration_seconds", "pod", "success"); attempts != 1 || took != 1 {
			b.t.Errorf("%v pods had others leave, and %v were executed, want one", attempts, took)
		}
	})
}

// A pod group that finds no room is counted once, however many pods it has, and not while it lacks pods.
func TestUnplacedPodGroupsAreCounted(t *testing.T) {
	group := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "gang", UID: "uid-gang"}, Spec: schedulingv1beta1.PodGroupSpec{
		SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: 2}},
	}}
	member := func(i int) *v1.Pod {
		p := plainPod(i)
		p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group.Name}
		return p
	}
	inBubble(t, []runtime.Object{smallNode(0, 1), group, member(1)}, func(b *bubble) {
		b.run()
		b.pass(time.Minute)
		before := b.sum("scheduler_podgroup_schedule_attempts_total")
		b.create(member(2))
		b.pass(5 * time.Minute)
		if after := b.sum("scheduler_podgroup_schedule_attempts_total", "unschedulable"); before != 0 || after != 1 {
			b.t.Errorf("%v attempts while a pod is missing, and %v then, want none and one", before, after)
		}
	})
}
