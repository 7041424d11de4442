package scheduler

import (
	"context"
	"errors"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"

	"fairlead.dev/fairlead/kube/world"
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
			err := s.binder.dismiss(t.Context(), departure{object: plainPod(1)})
			if asked != test.asked || (err == nil) != test.evicted {
				t.Errorf("asked %d times, and then %v; want %d and evicted %t", asked, err, test.asked, test.evicted)
			}
		})
	}
}

// The event on a pod that was evicted says for whom, in kube-scheduler's words.
func TestEvictedEvents(t *testing.T) {
	moved, high := plainPod(1), plainPod(2)
	for _, test := range []struct {
		of   departure
		says string
	}{
		{departure{object: moved, node: "n1", by: high}, "Normal Preempted Preempted by pod uid-2 on node n1"},
		{departure{object: moved, node: "n1"}, "Normal Preempted Preempted on node n1"},
		{departure{object: moved, node: "n1", moves: true}, "Normal Moved Evicted from node n1"},
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
	stripped, err := strip(mirror)
	if err != nil {
		t.Fatal(err)
	}
	s.world.SeePod(stripped.(*v1.Pod))
	if p := s.world.Pod(mirror.UID); p.Ours || p.Stage != world.Bound || metav1.HasAnnotation(mirror.ObjectMeta, "note") {
		t.Errorf("a mirror pod is ours: %t, %s, with annotations %v", p.Ours, p.Stage, mirror.Annotations)
	}
}
