package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/metrics"
	"fairlead.dev/fairlead/kube/world"
	"fairlead.dev/fairlead/recording"
)

// What the API server says decides whether a request to evict is sent again; what
// it refuses is final for now, and names the pod by its uid.
func TestEvictionAnswers(t *testing.T) {
	pods := v1.Resource("pods")
	for _, test := range []struct {
		name    string
		answers []error // the last one goes on
		asked   int
		evicted bool
	}{
		{"evicted", []error{nil}, 1, true},
		{"kept by a budget", []error{apierrors.NewTooManyRequests("the disruption budget", 0)}, 1, false},
		{"gone", []error{apierrors.NewNotFound(pods, "pod-1")}, 1, false},
		{"another of its name", []error{apierrors.NewConflict(pods, "pod-1", errors.New("uid"))}, 1, false},
		{"not allowed", []error{apierrors.NewForbidden(pods, "pod-1", nil)}, 1, false},
		{"no answer at first", []error{context.DeadlineExceeded, nil}, 2, true},
		{"never an answer", []error{apierrors.NewInternalError(errors.New("etcd"))}, bindTries, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := idle(t)
			if err := s.Client.(*fake.Clientset).Tracker().Add(plainPod(1)); err != nil {
				t.Fatal(err)
			}
			asked := 0
			s.Client.(*fake.Clientset).PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
				e, ok := a.(clienttesting.CreateAction).GetObject().(*policyv1.Eviction)
				if !ok || a.GetSubresource() != "eviction" || string(*e.DeleteOptions.Preconditions.UID) != "uid-1" {
					t.Errorf("asked for %+v", a)
				}
				err := test.answers[min(asked, len(test.answers)-1)]
				asked++
				return true, nil, err
			})
			s.binder.begin(t.Context())
			err := s.binder.dismiss(t.Context(), &departure{object: plainPod(1)})
			if asked != test.asked || (err == nil) != test.evicted {
				t.Errorf("asked %d times, and then %v; want %d and evicted %t", asked, err, test.asked, test.evicted)
			}
		})
	}
}

// Whatever budgets say, a pod that makes room for another says so in its condition, in kube-scheduler's words, and is then deleted, by its uid. If it is gone or cannot be
// told, it is not deleted; and nothing is sent that asks a budget.
func TestEvictedAnyhow(t *testing.T) {
	for _, test := range []struct {
		name   string
		by     metrics.Preemptor
		told   error // the answer to that
		sent   string
		result metrics.EvictionResult
	}{
		{"deleted", metrics.OfPod, nil, "patch pods/status, delete pods", metrics.Evicted},
		{"deleted for a group", metrics.OfPodGroup, nil, "patch pods/status, delete pods", metrics.Evicted},
		{"gone", metrics.OfPod, apierrors.NewNotFound(v1.Resource("pods"), "pod-1"), "patch pods/status", metrics.EvictionGone},
		{"no budgets are served", metrics.OfPod, apierrors.NewGenericServerResponse(404, "list", policyv1.Resource("poddisruptionbudgets"), "", "", 0, true), "patch pods/status", metrics.EvictionError},
		{"another of its name", metrics.OfPod, apierrors.NewConflict(v1.Resource("pods"), "pod-1", errors.New("uid")), "patch pods/status", metrics.EvictionGone},
		{"not allowed", metrics.OfPod, apierrors.NewForbidden(v1.Resource("pods"), "pod-1", nil), "patch pods/status", metrics.EvictionError},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, registry := idle(t), prometheus.NewRegistry()
			s.Metrics = metrics.New(registry)
			var sent []string
			s.Client.(*fake.Clientset).PrependReactor("*", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
				what := a.GetVerb() + " pods"
				switch a := a.(type) {
				case clienttesting.PatchAction:
					what += "/" + a.GetSubresource()
					var pod v1.Pod
					if err := json.Unmarshal(a.GetPatch(), &pod); err != nil || pod.UID != "uid-1" || len(pod.Status.Conditions) != 1 {
						t.Fatalf("the patch is %s: %v", a.GetPatch(), err)
					}
					if says := pod.Status.Conditions[0]; says.Type != v1.DisruptionTarget || says.Status != v1.ConditionTrue || says.Reason != "PreemptionByScheduler" ||
						says.Message != "fairlead: preempting to accommodate a higher priority "+string(test.by) || says.LastTransitionTime.IsZero() {
						t.Errorf("the condition is %+v", says)
					}
				case clienttesting.DeleteActionImpl:
					if *a.DeleteOptions.Preconditions.UID != "uid-1" || a.DeleteOptions.GracePeriodSeconds != nil {
						t.Errorf("deleted by %+v", a.DeleteOptions)
					}
				}
				sent = append(sent, what)
				return true, nil, test.told
			})
			s.binder.begin(t.Context())
			high := plainPod(2)
			high.Spec.SchedulerName = "fairlead"
			err := s.binder.dismiss(t.Context(), &departure{object: plainPod(1), by: &preemptor{high, high, high.UID, test.by}, anyhow: true})
			if got := strings.Join(sent, ", "); got != test.sent || evictionResult(err) != test.result {
				t.Errorf("sent %s, and it was %s (%v); want %s and %s", got, evictionResult(err), err, test.sent, test.result)
			}
			if deleted, want := writes(t, registry, "pods", "delete", "ok"), strings.Count(test.sent, "delete pods"); int(deleted) != want {
				t.Errorf("the metric counts %v deleted pods, want %d", deleted, want)
			}
		})
	}
}

// The event on a pod that was evicted says for whom, in kube-scheduler's words.
func TestEvictedEvents(t *testing.T) {
	moved, high := plainPod(1), plainPod(2)
	group := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "gang", UID: "uid-gang"}}
	for _, test := range []struct {
		of   *departure
		says string
	}{
		{&departure{object: moved, node: "n1", by: &preemptor{high, high, high.UID, metrics.OfPod}}, "Normal Preempted Preempted by pod uid-2 on node n1"},
		{&departure{object: moved, node: "n1", by: &preemptor{high, group, group.UID, metrics.OfPodGroup}}, "Normal Preempted Preempted by podgroup uid-gang on node n1"},
		{&departure{object: moved, node: "n1"}, "Normal Preempted Preempted on node n1"},
		{&departure{object: moved, node: "n1", moves: true}, "Normal Moved Evicted from node n1"},
	} {
		said := events.NewFakeRecorder(1)
		recorder{EventRecorderLogger: said}.evicted(test.of)
		if got := <-said.Events; !strings.HasPrefix(got, test.says) {
			t.Errorf("the event is %q, want %q", got, test.says)
		}
	}
}

// What the informers keep of a pod is enough to tell a static pod's picture.
func TestMirrorsAreNotOurs(t *testing.T) {
	s := idle(t)
	mirror := plainPod(1)
	mirror.Spec.NodeName = bigNode(0).Name
	mirror.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "hash", "note": "long"}
	strip(mirror)
	s.world.SeePod(mirror)
	if p := s.world.Pod(mirror.UID); p.Ours || p.Stage != world.Bound || metav1.HasAnnotation(mirror.ObjectMeta, "note") {
		t.Errorf("a mirror pod is ours: %t, %s, with annotations %v", p.Ours, p.Stage, mirror.Annotations)
	}
}

// pressed is a node of two pods, of which one that is more important needs all room, where
// evictions come one a minute, unless what is done before says otherwise; under two policies.
func pressed(t *testing.T, before, test func(b *bubble, high *v1.Pod)) {
	t.Helper()
	for _, policy := range []string{"priority", "fairlead"} {
		t.Run(policy, func(t *testing.T) { pressedBy(t, policy, before, test) })
	}
}

// pressedBy is pressed under a policy.
func pressedBy(t *testing.T, policy string, before, test func(b *bubble, high *v1.Pod)) {
	t.Helper()
	node, high := bigNode(0), plainPod(3)
	node.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("200m")
	high.Spec.Priority = new(int32(100))
	high.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse("200m")
	objects := []runtime.Object{node}
	for i := range 2 {
		low := plainPod(1 + i)
		low.Spec.NodeName = node.Name
		objects = append(objects, low)
	}
	inBubble(t, objects, func(b *bubble) {
		p := &b.Config.Profiles[0]
		p.Policy.Name, p.Evictions.Enabled, p.Evictions.AtOnce, p.Evictions.PerMinute = policy, true, 1, 1
		before(b, high)
		b.run()
		b.pass(time.Second)
		b.create(high)
		b.pass(time.Second)
		if queued, requested := b.world.Exits().Lingering(); queued+requested == 0 || len(b.api.sent) != 1 {
			b.t.Errorf("%d pods are queued, %d asked for, and %v were sent; want one of two", queued, requested, b.api.sent)
		}
		test(b, high)
	})
}

// oneByOne is for evictions that come one a minute.
func oneByOne(*bubble, *v1.Pod) {}

// Who leaves serves the pod that comes: nothing leaves for nobody.
func TestEvictionsServe(t *testing.T) {
	pressed(t, oneByOne, func(b *bubble, _ *v1.Pod) {
		b.pass(2 * time.Minute)
		b.expectBound("pod-3")
		if n := b.sum("fairlead_evictions_without_placement_total"); n != 0 || len(b.api.sent) != 3 {
			b.t.Errorf("%v were sent, and %v evictions were without a placement", b.api.sent, n)
		}
	})
}

// The pod for which others leave is deleted: who was not asked yet never is, and runs as
// far as the core knows. Who was asked has left for nobody.
func TestEvictionsAreTakenBack(t *testing.T) {
	pressed(t, oneByOne, func(b *bubble, high *v1.Pod) {
		t := b.t
		if err := b.api.Tracker().Delete(v1.SchemeGroupVersion.WithResource("pods"), "default", high.Name); err != nil {
			t.Fatal(err)
		}
		b.pass(5 * time.Minute)
		left := b.api.sent[0].evict
		stays := map[string]string{"pod-1": "pod-2", "pod-2": "pod-1"}[left]
		queued, requested := b.world.Exits().Lingering()
		if len(b.api.sent) != 1 || queued+requested != 0 {
			t.Errorf("%v were sent, %d evictions are queued and %d asked for", b.api.sent, queued, requested)
		}
		p := b.world.Pod(types.UID("uid-" + stays[len("pod-"):]))
		if p == nil {
			t.Fatalf("%s has left, too", stays)
		}
		task := b.epochs.core.View().Task(p.Task())
		if task.Phase != cluster.Running || task.Protection().Until != 0 {
			t.Errorf("%s is %s, protected until %v", stays, task.Phase, task.Protection().Until)
		}
		if n := b.sum("fairlead_evictions_without_placement_total"); n != 1 {
			t.Errorf("%v evictions were without a placement, want 1", n)
		}
	})
}

// Where more than 20 leave for nobody, nobody is asked for a minute.
func TestStormsOfEvictionsStop(t *testing.T) {
	const many = 21 // that are asked to leave, of one more
	crowded, other := bigNode(0), bigNode(1)
	crowded.Status.Allocatable[v1.ResourceCPU] = *resource.NewMilliQuantity(100*(many+1), resource.DecimalSI)
	other.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("100m")
	objects := []runtime.Object{crowded, other}
	for i := range many + 2 {
		low := plainPod(1 + i)
		if low.Spec.NodeName = crowded.Name; i > many {
			low.Spec.NodeName = other.Name
		}
		objects = append(objects, low)
	}
	comes := func(i int, n *v1.Node) *v1.Pod {
		high := plainPod(i)
		high.Spec.Priority, high.Spec.NodeSelector = new(int32(100)), map[string]string{v1.LabelHostname: n.Name}
		high.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = n.Status.Allocatable[v1.ResourceCPU]
		return high
	}
	inBubble(t, objects, func(b *bubble) {
		p := &b.Config.Profiles[0]
		p.Policy.Name, p.Evictions.Enabled, p.Evictions.AtOnce, p.Evictions.PerMinute = "fairlead", true, many, 2
		b.run()
		b.pass(time.Second)
		high := comes(100, crowded)
		b.create(high)
		b.pass(time.Second)
		if err := b.api.Tracker().Delete(v1.SchemeGroupVersion.WithResource("pods"), "default", high.Name); err != nil {
			b.t.Fatal(err)
		}
		b.pass(time.Second)
		if n := b.sum("fairlead_evictions_without_placement_total"); n != many {
			b.t.Fatalf("%v left for nobody, want %d", n, many)
		}
		b.create(comes(101, other))
		b.pass(55 * time.Second) // a request is due after 30
		if len(b.api.sent) != many || b.sum("fairlead_evictions_stopped") != 1 {
			b.t.Errorf("%d requests were sent while evictions are stopped, want %d; stopped is %v", len(b.api.sent), many, b.sum("fairlead_evictions_stopped"))
		}
		b.pass(10 * time.Second)
		b.expectBound("pod-1 pod-101") // of the first node one is left
		if b.sum("fairlead_evictions_stopped") != 0 {
			b.t.Error("evictions are stopped still")
		}
	})
}

// An eviction that waits for a worker is called back, too, when nobody waits for its room: it
// is never sent, and the pod runs on as far as the core knows.
func TestUnsentEvictionsAreCalledBack(t *testing.T) {
	var gate chan struct{}
	together := func(b *bubble, _ *v1.Pod) {
		gate = make(chan struct{})
		b.Config.Profiles[0].Evictions.AtOnce = 2
		b.api.evict = func(context.Context, string, int) error { <-gate; return nil }
	}
	pressed(t, together, func(b *bubble, high *v1.Pod) {
		t := b.t
		if _, requested := b.world.Exits().Lingering(); requested != 2 || len(b.api.sent) != 1 {
			t.Fatalf("%d evictions were asked for and %v sent, want one that waits for the only worker", requested, b.api.sent)
		}
		if err := b.api.Tracker().Delete(v1.SchemeGroupVersion.WithResource("pods"), "default", high.Name); err != nil {
			t.Fatal(err)
		}
		b.pass(time.Second)
		if queued, requested := b.world.Exits().Lingering(); queued != 0 || requested != 1 {
			t.Errorf("%d evictions are queued and %d asked for, want the one that was sent", queued, requested)
		}
		close(gate)
		b.pass(5 * time.Minute)
		left := b.api.sent[0].evict
		stays := map[string]types.UID{"pod-1": "uid-2", "pod-2": "uid-1"}[left]
		p := b.world.Pod(stays)
		if p == nil || len(b.api.sent) != 1 {
			t.Fatalf("%v were sent", b.api.sent)
		}
		if task := b.epochs.core.View().Task(p.Task()); task.Phase != cluster.Running {
			t.Errorf("the pod that stays is %s", task.Phase)
		}
		if queued, requested := b.world.Exits().Lingering(); queued+requested != 0 {
			t.Errorf("%d evictions are queued and %d asked for", queued, requested)
		}
		if n := b.sum("fairlead_evictions_total", "called-back"); n != 1 {
			t.Errorf("%v evictions count as called back, want 1", n)
		}
	})
}

// No recording has the name of a pod, not even of one without an owner whose eviction was refused.
func TestRefusedEvictionIsRecordedWithoutNames(t *testing.T) {
	dir := t.TempDir()
	refusing := func(b *bubble, high *v1.Pod) {
		b.Config.Record.Path, high.OwnerReferences = dir, nil
		b.api.evict = func(context.Context, string, int) error {
			return apierrors.NewTooManyRequests("the disruption budget", 0)
		}
	}
	pressedBy(t, "fairlead", refusing, func(b *bubble, _ *v1.Pod) { b.pass(2 * time.Minute) })
	in := onlyRecording(t, dir)
	r, err := recording.NewReader(in, in.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var said strings.Builder
	for {
		call, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&said, "%+v\n", call)
	}
	text := said.String()
	if !strings.Contains(text, "refused to evict") {
		t.Fatal("no refused eviction is recorded")
	}
	for _, name := range []string{"pod-1", "pod-2", "pod-3"} {
		if strings.Contains(text, name) {
			t.Errorf("%s is in the recording", name)
		}
	}
}

// The event on a pod that was bound is the one that kube-scheduler reports, so that whoever waits for
// it finds it.
func TestScheduledEvent(t *testing.T) {
	said := events.NewFakeRecorder(1)
	pod := plainPod(1)
	recorder{said, &sink{}}.scheduled(pod, "n1", "")
	want := "Normal Scheduled Successfully assigned " + pod.Namespace + "/" + pod.Name + " to n1"
	if got := <-said.Events; !strings.HasPrefix(got, want) {
		t.Errorf("the event is %q, want %q", got, want)
	}
}

// The API server goes away after it was asked for the first of two pods. It has refused nothing, so that the other is asked for when it is back, and nobody elsewhere.
func TestEvictionsOutlastTheAPIServer(t *testing.T) {
	const away = 20 * time.Second
	high := plainPod(100)
	high.Spec.Priority = new(int32(100))
	high.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse("200m")
	var objects []runtime.Object
	for i := range 2 {
		node := bigNode(i)
		node.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("200m")
		objects = append(objects, node)
		for j := range 2 {
			low := plainPod(1 + 2*i + j)
			low.Spec.NodeName = node.Name
			objects = append(objects, low)
		}
	}
	inBubble(t, objects, func(b *bubble) {
		b.Config.Profiles[0].Evictions.Enabled, b.api.linger = true, true
		var asked time.Time // first
		absent := func() error {
			if since := time.Since(asked); since > 0 && since < away {
				return errors.New("connection refused")
			}
			return nil
		}
		b.api.evict = func(context.Context, string, int) error {
			if asked.IsZero() {
				asked = time.Now()
				time.Sleep(time.Millisecond)
				return nil
			}
			return absent()
		}
		b.api.read = func(string) error { return absent() }
		b.run()
		b.pass(time.Second)
		b.create(high)
		b.pass(time.Minute)
		var left []string
		for i := range 4 {
			if name := fmt.Sprintf("pod-%d", 1+i); b.pod(name).DeletionTimestamp != nil {
				left = append(left, name)
			}
		}
		if len(left) != 2 || b.pod(left[0]).Spec.NodeName != b.pod(left[1]).Spec.NodeName {
			b.t.Fatalf("%v were told to leave, want both of a node", left)
		}
		b.expectNominated(high.Name, b.pod(left[0]).Spec.NodeName, "is kept for it")
		for _, name := range left {
			if err := b.api.remove(name); err != nil {
				b.t.Fatal(err)
			}
		}
		b.pass(time.Minute)
		if on := b.pod(high.Name).Spec.NodeName; on == "" || b.sum("fairlead_evictions_without_placement_total") != 0 {
			b.t.Errorf("the pod is on node %q, and %v have left in vain", on, b.sum("fairlead_evictions_without_placement_total"))
		}
	})
}
