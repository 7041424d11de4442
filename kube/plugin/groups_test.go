package plugin

import (
	"bytes"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"fairlead.dev/fairlead/kube/constraints"
)

// withoutGroups has the cluster serve no pod groups of Kubernetes, as before 1.37.
func withoutGroups(client *fake.FakeDynamicClient) {
	client.PrependReactor("*", "podgroups", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.GetResource() != podGroups() {
			return false, nil, nil
		}
		return true, nil, apierrors.NewNotFound(podGroups().GroupResource(), "")
	})
}

// A group of the coscheduling plugin is told of as one of Kubernetes is; where a cluster has no groups that are read, that is said of one that is asked for.
func TestToldOfGroups(t *testing.T) {
	const groups = `
{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: early, namespace: ml}, spec: {minMember: 3}}
---
{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: train, namespace: ml}, spec: {schedulingPolicy: {gang: {minCount: 2}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: ml, labels: {scheduling.x-k8s.io/pod-group: early}}, spec: {schedulerName: fairlead}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b, namespace: ml, labels: {scheduling.x-k8s.io/pod-group: early}}, spec: {schedulerName: fairlead, nodeName: n1}}
---
{apiVersion: v1, kind: Pod, metadata: {name: c, namespace: ml}, spec: {schedulerName: fairlead, schedulingGroup: {podGroupName: train}}}
`
	client := clientOf(t, groups)
	r := &reader{client, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	for name, words := range map[string]string{
		"early": "podgroup ml/early has 2 pods, of which 1 wait; at least 3 come together or none does",
		"train": "podgroup ml/train has 1 pod, of which 1 wait; at least 2 come together or none does",
	} {
		told, err := r.read(t.Context(), subject{podGroupKind, "ml", name})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := told.write(&out, "text"); err != nil || !strings.HasPrefix(out.String(), words) {
			t.Errorf("%s: %v, %s", name, err, &out)
		}
	}
	if _, err := r.read(t.Context(), subject{podGroupKind, "ml", "trian"}); err == nil || err.Error() != "there is no podgroup ml/trian; did you mean train?" {
		t.Error(err)
	}
	withoutGroups(client)
	if _, err := r.read(t.Context(), subject{podGroupKind, "ml", "train"}); err == nil || !strings.Contains(err.Error(), "there is no podgroup ml/train; the cluster serves no podgroups of scheduling.k8s.io/v1beta1") {
		t.Error(err)
	}
	for served, client := range map[bool]*fake.FakeDynamicClient{true: clientOf(t, groups, "podgroups"), false: client} { // who may not list them is not told that there are none
		if got, err := servesGroups(t.Context(), client, ""); got != served || err != nil {
			t.Errorf("served: %t, %v; want %t", got, err, served)
		}
	}
}

// Where groups are not read, pods that wait and name one are held, and none is said to lack its group.
func TestPodsOfUnreadGroupsAreHeld(t *testing.T) {
	m := newMarker(nil, standingOf(&constraints.Set{}, ""))
	m.unread = true
	for _, tc := range []struct {
		spec map[string]any
		held bool
	}{
		{map[string]any{"schedulingGroup": map[string]any{"podGroupName": "train"}}, true},
		{map[string]any{"workloadRef": map[string]any{"name": "w", "podGroup": "train"}}, true},
		{map[string]any{"schedulingGroup": map[string]any{"podGroupName": "train"}, "nodeName": "n1"}, false},
		{map[string]any{}, false},
	} {
		before := m.held
		o := &unstructured.Unstructured{Object: map[string]any{"kind": "Pod", "spec": tc.spec}}
		m.mark(o)
		gates, _, _ := unstructured.NestedSlice(o.Object, "spec", "schedulingGates")
		if len(gates) > 0 != tc.held || m.held-before > 0 != tc.held {
			t.Errorf("%v: %d are held", o.Object, m.held-before)
		}
		if spec := o.Object["spec"].(map[string]any); spec["schedulingGroup"] != nil || spec["workloadRef"] != nil {
			t.Errorf("%v names a group still", o.Object)
		}
	}
}
