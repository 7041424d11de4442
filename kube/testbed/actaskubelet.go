package testbed

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Upstream's tests count on what kubelets do beyond what kwok does: of extended resources that somebody adds to the capacity of a
// node the node lets as much be allocated, and a pod that is deleted goes by its uid. kwok deletes by name, and so now and then a pod that was
// made anew under that name. (That a pod goes at once is what pause containers do when they are told to; one with a hook that runs before stays for its grace period.) So on a bed for these tests kwok keeps the nodes alone (Options.NodesAlone), and this file does the rest.

// kubeletWorkers is how many requests are under way at once.
const kubeletWorkers = 8

// actAsKubelets lets pods that are bound run, and deleted ones go, and keeps what may be allocated, until the context ends.
func actAsKubelets(ctx context.Context, client kubernetes.Interface) {
	factory := informers.NewSharedInformerFactory(client, 0)
	workers := make(chan struct{}, kubeletWorkers)
	do := func(work func()) {
		go func() {
			select {
			case <-ctx.Done():
				return
			case workers <- struct{}{}:
			}
			work()
			<-workers
		}()
	}
	// A request that fails is made again when the object changes, or by the second look at all of them.
	see := func(object any) {
		switch o := object.(type) {
		case *corev1.Pod:
			if o.Spec.NodeName != "" && (o.DeletionTimestamp != nil || o.Status.Phase == corev1.PodPending) {
				do(func() { runOrEnd(ctx, client, o) })
			}
		case *corev1.Node:
			if n := o.DeepCopy(); reallocate(&n.Status) {
				do(func() { _, _ = client.CoreV1().Nodes().UpdateStatus(ctx, n, metav1.UpdateOptions{}) })
			}
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, o any) { see(o) }}
	pods, nodes := factory.Core().V1().Pods().Informer(), factory.Core().V1().Nodes().Informer()
	for _, informer := range []cache.SharedIndexInformer{pods, nodes} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			panic("test bed: an informer that has not started takes no handler: " + err.Error())
		}
	}
	factory.Start(ctx.Done())
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
		for _, o := range append(pods.GetStore().List(), nodes.GetStore().List()...) {
			see(o)
		}
	}
}

// runOrEnd has the pod run, or go if it was deleted.
func runOrEnd(ctx context.Context, client kubernetes.Interface, p *corev1.Pod) {
	pods := client.CoreV1().Pods(p.Namespace)
	if p.DeletionTimestamp != nil {
		if hooked := func(c corev1.Container) bool { return c.Lifecycle != nil && c.Lifecycle.PreStop != nil }; slices.ContainsFunc(p.Spec.Containers, hooked) && time.Now().Before(p.DeletionTimestamp.Time) {
			return // until the next look
		}
		_ = pods.Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64), Preconditions: metav1.NewUIDPreconditions(string(p.UID))})
		return
	}
	now := metav1.Now()
	status := corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &now, HostIP: "10.0.0.1", PodIP: "10.1.0.1", PodIPs: []corev1.PodIP{{IP: "10.1.0.1"}}}
	for _, condition := range []corev1.PodConditionType{corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Ready: true, Started: new(true), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": p.UID}, "status": status})
	if err != nil {
		panic("test bed: encode a status: " + err.Error())
	}
	_, _ = pods.Patch(ctx, p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
}

// reallocate brings the extended resources of a node up to date, and reports whether some were not.
func reallocate(s *corev1.NodeStatus) (changed bool) {
	amounts := corev1.ResourceList{}
	for name, has := range s.Capacity {
		if is, there := s.Allocatable[name]; extended(name) {
			amounts[name] = has
			changed = changed || !there || is.Cmp(has) != 0
		}
	}
	for name, is := range s.Allocatable {
		if _, there := s.Capacity[name]; !extended(name) {
			amounts[name] = is
		} else if !there {
			changed = true
		}
	}
	if changed {
		s.Allocatable = amounts
	}
	return changed
}

func extended(name corev1.ResourceName) bool { return strings.Contains(string(name), "/") }
