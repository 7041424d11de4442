package scheduler

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"fairlead.dev/fairlead/kube/judge"
	"fairlead.dev/fairlead/kube/metrics"
)

func requests(cpu string) v1.ResourceRequirements {
	return v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}}
}

// What a pod takes of its node is the same before and after it is stripped,
// also while a resize of a running container is under way.
func TestStripKeepsRequests(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	for name, status := range map[string]v1.PodStatus{
		"pending":   {},
		"running":   {ContainerStatuses: []v1.ContainerStatus{{Name: "a", Resources: new(requests("1")), AllocatedResources: requests("1").Requests}}},
		"growing":   {ContainerStatuses: []v1.ContainerStatus{{Name: "a", Resources: new(requests("500m")), AllocatedResources: requests("500m").Requests}}},
		"shrinking": {ContainerStatuses: []v1.ContainerStatus{{Name: "a", Resources: new(requests("3")), AllocatedResources: requests("1").Requests}}},
		"too large": {
			ContainerStatuses: []v1.ContainerStatus{{Name: "a", Resources: new(requests("500m")), AllocatedResources: requests("500m").Requests}},
			Conditions:        []v1.PodCondition{{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: v1.PodReasonInfeasible}},
		},
		"sidecar growing": {InitContainerStatuses: []v1.ContainerStatus{{Name: "s", Resources: new(requests("2")), AllocatedResources: requests("2").Requests}}},
	} {
		pod := &v1.Pod{
			Spec: v1.PodSpec{
				Containers:     []v1.Container{{Name: "a", Resources: requests("1")}, {Name: "b", Resources: requests("250m")}},
				InitContainers: []v1.Container{{Name: "s", Resources: requests("1"), RestartPolicy: &always}},
				Overhead:       v1.ResourceList{v1.ResourceCPU: resource.MustParse("10m")},
			},
			Status: status,
		}
		pod.UID = "u"
		stripped := pod.DeepCopy()
		strip(stripped)
		if diff := cmp.Diff(requestsOf(t, pod), requestsOf(t, stripped)); diff != "" {
			t.Errorf("%s: stripping changes what the pod takes:\n%s", name, diff)
		}
	}
}

func requestsOf(t *testing.T, pod *v1.Pod) int64 {
	t.Helper()
	info, err := judge.NewPod(pod)
	if err != nil {
		t.Fatal(err)
	}
	return judge.Requests(info).MilliCPU
}

// An object that cannot be stripped is kept, and counted.
func TestPanickingStripKeepsTheObject(t *testing.T) {
	registry := prometheus.NewRegistry()
	counts := metrics.New(registry)
	object := (*v1.Pod)(nil) // which no informer has
	kept, err := stripping(&counts.Cluster)(object)
	if kept != any(object) || err != nil {
		t.Errorf("kept %#v, %v", kept, err)
	}
	b := &bubble{t: t, registry: registry}
	if b.sum("fairlead_panics_total", "watch") != 1 {
		t.Error("the panic is not counted")
	}
}
