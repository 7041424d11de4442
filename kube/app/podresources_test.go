package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/scheduler"
)

// What pods request is served as kube-scheduler does, by the one that leads: of those that wait and run, not of those that are over.
func TestPodResources(t *testing.T) {
	pod := func(name, node string, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
			Spec: corev1.PodSpec{SchedulerName: "other", NodeName: node, Priority: new(int32(7)), Containers: []corev1.Container{{
				Name: "c", Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m")}, Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
				},
			}}},
			Status: corev1.PodStatus{Phase: phase},
		}
	}
	factory := informers.NewSharedInformerFactory(fake.NewClientset(pod("waits", "", corev1.PodPending), pod("runs", "n", corev1.PodRunning), pod("over", "n", corev1.PodSucceeded)), 0)
	pods := factory.Core().V1().Pods().Lister()
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	leads := false
	e := endpoints{config: config.Default, registry: prometheus.NewRegistry(), resources: podResources(pods, func() bool { return leads })}
	server := httptest.NewServer(e.handler())
	defer server.Close()
	if status, body := get(t, server.Client(), server.URL+"/metrics/resources"); status != http.StatusOK || body != "" {
		t.Errorf("of one that does not lead: status %d, %q; want nothing", status, body)
	}
	leads = true
	status, body := get(t, server.Client(), server.URL+"/metrics/resources")
	var found []string
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, "#") {
			found = append(found, line)
		}
	}
	want := `kube_pod_resource_limit{namespace="shop",node="",pod="waits",priority="7",resource="memory",scheduler="other",unit="bytes"} 1.073741824e+09
kube_pod_resource_limit{namespace="shop",node="n",pod="runs",priority="7",resource="memory",scheduler="other",unit="bytes"} 1.073741824e+09
kube_pod_resource_request{namespace="shop",node="",pod="waits",priority="7",resource="cpu",scheduler="other",unit="cores"} 0.25
kube_pod_resource_request{namespace="shop",node="n",pod="runs",priority="7",resource="cpu",scheduler="other",unit="cores"} 0.25
`
	if got := strings.Join(found, ""); status != http.StatusOK || got != want {
		t.Errorf("status %d, got\n%swant\n%s", status, got, want)
	}
	shadow := config.Default()
	shadow.Profiles[0].Mode = config.Shadow
	if served := podResources(podsOf(shadow, &scheduler.Scheduler{}), func() bool { return true }); served != nil {
		t.Error("a shadow serves it")
	}
}
