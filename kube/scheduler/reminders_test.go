package scheduler

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/metrics"
)

// Pods that wait in their thousands are looked at again some at a time, all of them in their turn, and none before its time.
func TestRemindersComeByAndBy(t *testing.T) {
	const pods = 3*remindMost - 7
	s, err := New(t.Context(), Options{
		Client: fake.NewClientset(), Config: config.Default(), Metrics: metrics.New(prometheus.NewRegistry()), Clock: clock.RealClock{},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := s.world
	r := reminders{has: map[types.UID]bool{}}
	for i := range pods {
		pod := plainPod(i)
		w.SeePod(pod)
		for range 2 {
			r.add(w.Pod(pod.UID), 0)
		}
	}
	if early := r.due(explainAgain - 1); len(early) > 0 {
		t.Errorf("%d pods are due before a minute is over", len(early))
	}
	var sizes []int
	came := map[types.UID]bool{}
	for now := r.wake(); now < cluster.Never && len(sizes) < 10; now = r.wake() {
		if len(sizes) > 0 && len(r.due(now-1)) > 0 {
			t.Errorf("pods are due before it is time for more")
		}
		some := r.due(now)
		sizes = append(sizes, len(some))
		for _, p := range some {
			came[p.Object().UID] = true
		}
	}
	if got, want := fmt.Sprint(sizes), fmt.Sprint([]int{remindMost, remindMost, remindMost - 7}); got != want || len(came) != pods {
		t.Errorf("%d of %d pods came, by %s, want %s", len(came), pods, got, want)
	}
}
