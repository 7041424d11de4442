package scheduler

import (
	"os"
	"testing"

	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/prometheus/client_golang/prometheus"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/metrics"
)

func idle(t *testing.T) *Scheduler {
	t.Helper()
	s, err := New(t.Context(), Options{
		Client: fake.NewClientset(), Config: config.Default(), Metrics: metrics.New(prometheus.NewRegistry()), Clock: clock.RealClock{},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.explainer.stop(s) })
	s.world.SeeNode(bigNode(0))
	return s
}

// A watch that was interrupted tells of a pod that was deleted and made anew
// under its name as of one change. The old one must give back its room.
func TestRecreatedUnderTheSameName(t *testing.T) {
	s := idle(t)
	before, after := plainPod(1), plainPod(1)
	before.Spec.NodeName = bigNode(0).Name
	after.UID, after.ResourceVersion = "another", "2"
	handler := handle(s, s.intake.seePod, s.intake.losePod).(cache.ResourceEventHandlerFuncs)
	handler.OnAdd(before, true)
	handler.OnUpdate(before, after)
	for _, happened := range s.inbox.take() {
		happened()
	}
	if s.world.Pod(before.UID) != nil {
		t.Error("the deleted pod is still known")
	}
	if s.world.Pod(after.UID) == nil {
		t.Error("the new pod is not known")
	}
	if on := s.world.Counts().OnNodes; on != 0 {
		t.Errorf("%d pods are on nodes, want none", on)
	}
}

// A pod that goes while the survey is taken is heard of, as the watch began
// before it.
func TestLostDuringTheSurvey(t *testing.T) {
	s := idle(t)
	pods := s.intake.informers.Core().V1().Pods().Informer()
	stop, err := s.intake.watch()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	p := plainPod(1)
	if err := pods.GetStore().Add(p); err != nil {
		t.Fatal(err)
	}
	s.intake.survey()
	if s.world.Pod(p.UID) == nil {
		t.Fatal("the survey did not see the pod")
	}
	handle(s, s.intake.seePod, s.intake.losePod).OnDelete(cache.DeletedFinalStateUnknown{Obj: p})
	for _, happened := range s.inbox.take() {
		happened()
	}
	if s.world.Pod(p.UID) != nil {
		t.Error("the pod is still known")
	}
}

// A disk that fails when the next file is begun ends the recording, and not the
// scheduling.
func TestLostDisk(t *testing.T) {
	s := idle(t)
	dir := t.TempDir() + "/recording"
	s.Config.Record.Path = dir
	if err := s.restart(atStart); err != nil {
		t.Fatal(err)
	}
	if s.epochs.tape.writer == nil {
		t.Fatal("nothing is recorded")
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := s.restart("columns"); err != nil {
		t.Fatalf("the scheduler ends: %v", err)
	}
	if s.epochs.tape.writer != nil {
		t.Error("the recording goes on, into nothing")
	}
	s.Config.Record.Path = dir + "\x00"
	if err := s.restart(atStart); err == nil {
		t.Error("a recording that cannot begin is no error at the start")
	}
}
