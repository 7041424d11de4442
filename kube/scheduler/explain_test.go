package scheduler

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"github.com/prometheus/client_golang/prometheus"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/metrics"
)

// However often a pod is explained within a minute, it is looked over once in
// the next.
func TestOneReminderForEachPod(t *testing.T) {
	s, err := New(t.Context(), Options{
		Client: fake.NewClientset(), Config: config.Default(), Metrics: metrics.New(prometheus.NewRegistry()), Clock: clock.RealClock{},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.recorders[config.DefaultSchedulerName] = recorder{events.NewFakeRecorder(10), &sink{}}
	member, group := plainPod(0), "gang"
	member.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group}
	s.world.SeePod(member)
	defer s.explainer.stop(s)
	p := s.world.Pod(member.UID)
	for range 3 {
		s.explainer.explain(s, p)
	}
	if got := len(s.explainer.again.list); got != 1 {
		t.Errorf("%d reminders for one pod, want 1", got)
	}
}

// What is reported of a pod names the filter that keeps it off nodes.
func TestFiltersAreReported(t *testing.T) {
	tainted := bigNode(0)
	tainted.Spec.Taints = []v1.Taint{{Key: "gpu", Value: "yes", Effect: v1.TaintEffectNoSchedule}}
	picky := plainPod(1)
	picky.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	inBubble(t, []runtime.Object{tainted, bigNode(1), bigNode(2), picky}, func(b *bubble) {
		b.run()
		b.pass(time.Second)
		const want = " Fairlead: unplaceable on any of 3 nodes: 2 lack the label disk=ssd, 1 have the taint gpu=yes:NoSchedule; it would fit without asking for disk=ssd on any of 2 nodes."
		if got := b.explainer.reported["uid-1"].message; !strings.HasSuffix(got, want) {
			b.t.Errorf("reported: %s", got)
		}
	})
}

// Where pods may be evicted, a pod that waits says in kube-scheduler's words why that does not help, if that is known without a look at the pods of each node.
func TestPreemptionIsSaidNotToHelp(t *testing.T) {
	picky := func(p *v1.Pod) *v1.Pod {
		p.Spec.NodeSelector = map[string]string{"disk": "ssd"}
		return p
	}
	polite := func(p *v1.Pod) *v1.Pod {
		p.Spec.PreemptionPolicy = new(v1.PreemptNever)
		return p
	}
	ssd := smallNode(1, 2)
	ssd.Labels = map[string]string{"disk": "ssd"}
	for _, test := range []struct {
		name, policy string
		pod          *v1.Pod
		says         string // of preemption
	}{
		{"nobody is less important", "fairlead", plain(3, 0, 1), "preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."},
		{"nor on the only node", "fairlead", picky(plain(3, 0, 1)), "preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling."},
		{"somebody is, and that is too little", "fairlead", plain(3, 10, 2), ""},
		{"nodes are too small", "fairlead", plain(3, 10, 3), "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."},
		{"nobody is to be evicted", "fairlead", polite(plain(3, 10, 1)), "preemption: not eligible due to preemptionPolicy=Never."},
		{"nobody ever is", "kube", plain(3, 0, 1), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, []runtime.Object{smallNode(0, 2), ssd, on(0, plain(1, 0, 1)), on(0, plain(4, 10, 1)), on(1, plain(2, 0, 1)), on(1, plain(5, 10, 1)), test.pod}, func(b *bubble) {
				b.Config.Profiles[0].Policy.Name = test.policy
				b.allowEvictions()
				b.run()
				b.pass(time.Second)
				kube, _, _ := strings.Cut(b.explainer.reported["uid-3"].message, " Fairlead: ")
				if _, says, _ := strings.Cut(kube, ". "); says != test.says || kube == "" {
					t.Errorf("reported: %s\nwant of preemption: %s", b.explainer.reported["uid-3"].message, test.says)
				}
			})
		})
	}
}

// A pod that no node takes is told why in its condition, and is counted under the plugin that refuses
// it for as long as it waits.
func TestWaitingPodIsToldAndCounted(t *testing.T) {
	picky := plainPod(1)
	picky.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	inBubble(t, []runtime.Object{bigNode(0), picky}, func(b *bubble) {
		t := b.t
		b.run()
		b.pass(5 * time.Second)
		pod, err := b.api.Clientset.CoreV1().Pods("default").Get(t.Context(), picky.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if c := pod.Status.Conditions; len(c) != 1 || c[0].Type != v1.PodScheduled || c[0].Status != v1.ConditionFalse ||
			c[0].Reason != v1.PodReasonUnschedulable || !strings.Contains(c[0].Message, "1 lack the label disk=ssd") {
			t.Errorf("the conditions of the waiting pod are %+v", c)
		}
		const gauge = "scheduler_unschedulable_pods"
		if got := b.series(gauge); got != "plugin=NodeAffinity profile=fairlead 1" {
			t.Errorf("refused by a plugin are: %s", got)
		}
		fitting := bigNode(1)
		fitting.Labels["disk"] = "ssd"
		if _, err := b.api.Clientset.CoreV1().Nodes().Create(t.Context(), fitting, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		b.pass(2 * time.Minute)
		b.expectBound("pod-1")
		if got := b.series(gauge); got != "" {
			t.Errorf("once the pod is bound, refused by a plugin are: %s", got)
		}
	})
}

// A pod that waits again after a bind that failed is Unschedulable again, although that is what was said of it before: autoscalers go by what
// the API server has.
func TestUnschedulableAgainAfterABind(t *testing.T) {
	picky := plainPod(1)
	picky.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	inBubble(t, []runtime.Object{bigNode(0), picky}, func(b *bubble) {
		nodes := b.api.Clientset.CoreV1().Nodes()
		b.api.bind = func(context.Context, string, int) error {
			_ = nodes.Delete(b.t.Context(), "node-1", metav1.DeleteOptions{}) // before it is known, the bind may be tried again
			return apierrors.NewInternalError(errors.New("the node is gone"))
		}
		b.run()
		b.pass(2 * time.Second)
		b.expectCondition(picky.Name, v1.PodReasonUnschedulable, "1 lack the label disk=ssd")
		fitting := bigNode(1)
		fitting.Labels["disk"] = "ssd"
		if _, err := nodes.Create(b.t.Context(), fitting, metav1.CreateOptions{}); err != nil {
			b.t.Fatal(err)
		}
		b.pass(20 * time.Second)
		if len(b.api.requests(binds, picky.Name)) == 0 {
			b.t.Error("no bind was sent")
		}
		b.expectCondition(picky.Name, v1.PodReasonUnschedulable, "1 lack the label disk=ssd")
	})
}
