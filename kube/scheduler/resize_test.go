package scheduler

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	clienttesting "k8s.io/client-go/testing"
	kyaml "sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/kube/api/v1alpha1"
)

const elasticSpec = `{importance: 1, sizes: {cpu: "3"}, default: true}`

// begins has the pod's kubelet say that it runs.
func (b *bubble) begins(pod string) {
	b.t.Helper()
	b.must(b.api.change(pod, func(p *v1.Pod) { p.Status.Phase = v1.PodRunning }))
}

// expectSize fails unless the pod's spec requests so many thousandths of a core.
func (b *bubble) expectSize(pod string, want int64) {
	b.t.Helper()
	if has := b.pod(pod).Spec.Containers[0].Resources.Requests.Cpu().MilliValue(); has != want {
		b.t.Errorf("after %s pod %s requests %d, want %d", time.Since(b.began), pod, has, want)
	}
}

// sizedOf is what the pod's condition says of its size.
func (b *bubble) sizedOf(pod string) string {
	b.t.Helper()
	for _, c := range b.pod(pod).Status.Conditions {
		if c.Type == v1alpha1.Sized {
			return fmt.Sprintf("%s: %s", c.Status, c.Message)
		}
	}
	return ""
}

// What the API server refuses for a quota is said in an event, and asked for again after ten minutes, and after twice as long the next time; the pod stays as it is until it is let.
func TestQuotaRefusesResizes(t *testing.T) {
	var client dynamic.Interface
	inBubbleWith(t, withServiceClasses(&client, serviceClass(t, "elastic", 9, elasticSpec)), []runtime.Object{bigNode(0), plainPod(1)}, func(b *bubble) {
		refuses, asked := true, 0
		b.api.PrependReactor("patch", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
			if a.GetSubresource() != "resize" {
				return false, nil, nil
			}
			asked++
			return refuses, nil, apierrors.NewForbidden(v1.Resource("pods"), "pod-1", errors.New("exceeded quota: team, requested: requests.cpu=200m"))
		})
		b.run()
		b.pass(time.Second)
		b.begins("pod-1")
		at := time.Duration(0)
		for i, until := range []struct {
			passes time.Duration
			asked  int
		}{{time.Minute, 1}, {8 * time.Minute, 1}, {2 * time.Minute, 2}, {18 * time.Minute, 2}, {3 * time.Minute, 3}, {36 * time.Minute, 3}} {
			b.pass(until.passes)
			// Whatever else is seen of the pod does not begin the count anew.
			b.must(b.api.change("pod-1", func(p *v1.Pod) { p.Annotations = map[string]string{"seen": fmt.Sprint(i)} }))
			if at += until.passes; asked != until.asked {
				b.t.Errorf("within %s it was asked for %d times, want %d", at, asked, until.asked)
			}
			b.expectSize("pod-1", 100)
		}
		b.expectEvent("ResizeRefused", "exceeded quota: team")
		if denied := b.writes("pods/resize", "patch", "Forbidden"); denied != 3 {
			b.t.Errorf("%v requests are counted as refused, want 3", denied)
		}
		refuses = false
		b.pass(6 * time.Minute)
		b.expectSize("pod-1", 300)
	})
}

// autoscaler is a VerticalPodAutoscaler whose spec is as people write it.
func autoscaler(t *testing.T, name, spec string) *unstructured.Unstructured {
	t.Helper()
	text := fmt.Sprintf("{apiVersion: autoscaling.k8s.io/v1, kind: VerticalPodAutoscaler, metadata: {name: %s, namespace: default, uid: uid-%s}, spec: %s}", name, name, spec)
	u := &unstructured.Unstructured{}
	if err := kyaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// Pods whose workload a VerticalPodAutoscaler targets stay as they are, unless it only recommends, from when it is there until it is gone.
func TestAutoscalersOwnSizes(t *testing.T) {
	var client dynamic.Interface
	const targets = `targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}`
	objects := []*unstructured.Unstructured{serviceClass(t, "elastic", 9, elasticSpec), autoscaler(t, "vpa", "{"+targets+"}"), autoscaler(t, "advice", "{"+targets+", updatePolicy: {updateMode: \"Off\"}}")}
	inBubbleWith(t, withServiceClasses(&client, objects...), []runtime.Object{bigNode(0), replica(1, "5f"), plainPod(2)}, func(b *bubble) {
		of := client.Resource(Autoscalers()).Namespace("default")
		b.run()
		b.pass(time.Second)
		b.begins("pod-1")
		b.begins("pod-2")
		b.pass(time.Minute)
		b.expectSize("pod-1", 100)
		b.expectSize("pod-2", 300)
		if says := b.sizedOf("pod-1"); !strings.HasPrefix(says, "False: It stays as it is, though ServiceClass elastic has sizes: the VerticalPodAutoscaler vpa owns its size.") {
			b.t.Errorf("its condition says %q", says)
		}
		b.must(of.Delete(b.t.Context(), "vpa", metav1.DeleteOptions{}))
		b.pass(time.Minute)
		b.expectSize("pod-1", 300)
		_, err := of.Update(b.t.Context(), autoscaler(b.t, "advice", "{"+targets+", updatePolicy: {updateMode: Initial}}"), metav1.UpdateOptions{})
		b.must(err)
		b.pass(time.Minute)
		b.expectSize("pod-1", 300)
		if says := b.sizedOf("pod-1"); !strings.HasPrefix(says, "False: It stays as it is, though ServiceClass elastic has sizes: the VerticalPodAutoscaler advice owns its size.") {
			b.t.Errorf("its condition says %q", says)
		}
	})
}
