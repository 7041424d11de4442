package scheduler

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
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
	if got := len(s.explainer.again); got != 1 {
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
