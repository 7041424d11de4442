package scheduler

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/scheme"

	"fairlead.dev/fairlead/kube/config"
)

// A scheduler that lacks every type that it may do without asks for none of them, and places pods. Those with claims of devices are held, and say why.
func TestLackingTypes(t *testing.T) {
	claiming := plainPod(2)
	claiming.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu"}, {Name: "nic"}}
	lacks := func(o *Options) {
		o.Config = config.Default()
		o.Config.Profiles[0].Evictions.Enabled = true
		o.Lacks = map[schema.GroupVersionResource]string{}
		for _, of := range optionals() {
			o.Lacks[of.resource] = "there are no " + of.resource.Resource
		}
	}
	inBubbleWith(t, lacks, []runtime.Object{bigNode(0), plainPod(1), claiming}, func(b *bubble) {
		b.run()
		b.pass(time.Minute)
		b.expectBound("pod-1")
		b.expectCondition("pod-2", heldReason, "it has claims of devices (2 in spec.resourceClaims), and none is read: there are no resourceclaims")
		for _, a := range b.api.Actions() {
			if _, lacking := b.Lacks[a.GetResource()]; lacking {
				b.t.Errorf("it asked to %s %s", a.GetVerb(), a.GetResource())
			}
		}
	})
}

// inWorkload is a pod as the API server of Kubernetes 1.35 has it.
func inWorkload(t *testing.T, i int, workload map[string]any) *unstructured.Unstructured {
	t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(plainPod(i))
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{Object: fields}
	object.SetAPIVersion("v1")
	object.SetKind("Pod")
	if workload != nil {
		if err := unstructured.SetNestedMap(fields, workload, "spec", "workloadRef"); err != nil {
			t.Fatal(err)
		}
	}
	return object
}

// Pods that name a workload of Kubernetes 1.35 are held, be they there when the scheduler begins or come later; others are placed.
func TestPodsOfWorkloadsAreHeld(t *testing.T) {
	of := map[string]any{"name": "training", "podGroup": "workers", "podGroupReplicaKey": "0"}
	var pods *dynamicfake.FakeDynamicClient
	with := func(o *Options) {
		pods = dynamicfake.NewSimpleDynamicClient(scheme.Scheme, inWorkload(t, 1, nil), inWorkload(t, 2, of))
		o.PodGroups, o.Workloads = false, pods
		o.Lacks = map[schema.GroupVersionResource]string{{Group: "scheduling.k8s.io", Version: "v1beta1", Resource: "podgroups"}: "take spec.workloadRef off the pod"}
	}
	inBubbleWith(t, with, []runtime.Object{bigNode(0), plainPod(1), plainPod(2)}, func(b *bubble) {
		b.run()
		b.pass(time.Minute)
		b.create(plainPod(3), plainPod(4))
		for _, p := range []*unstructured.Unstructured{inWorkload(t, 3, of), inWorkload(t, 4, nil)} {
			if _, err := pods.Resource(v1.SchemeGroupVersion.WithResource("pods")).Namespace("default").Create(b.t.Context(), p, metav1.CreateOptions{}); err != nil {
				b.t.Fatal(err)
			}
		}
		b.pass(time.Minute)
		b.expectBound("pod-1 pod-4")
		for _, name := range []string{"pod-2", "pod-3"} {
			b.expectCondition(name, heldReason, "its pod group training/workers is not known: take spec.workloadRef off the pod")
		}
		for _, a := range b.api.Actions() {
			if a.GetResource().Resource == "pods" && a.GetVerb() == "watch" {
				b.t.Error("pods are watched twice")
			}
		}
	})
}
