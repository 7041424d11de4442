package scheduler

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// This file reads of pods the workload that they name, where the API server is of Kubernetes 1.35 and has the gate for it on. The types of 1.37 have no field spec.workloadRef, so that
// decoding drops it; there, and only there, pods come as JSON, and what they name is taken for a pod group, so that they are held as all pods are whose groups
// are not read. It is the one watch of pods, as with a second one a pod might be placed before that has seen it.

// readWorkloads has the factory read pods so.
func readWorkloads(factory informers.SharedInformerFactory, client dynamic.Interface) {
	pods := client.Resource(v1.SchemeGroupVersion.WithResource("pods"))
	of := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := pods.List(ctx, o)
			if err != nil {
				return nil, err
			}
			read := &v1.PodList{Items: make([]v1.Pod, len(list.Items))}
			read.ResourceVersion, read.Continue, read.RemainingItemCount = list.GetResourceVersion(), list.GetContinue(), list.GetRemainingItemCount()
			for i := range list.Items {
				if err := readPod(&list.Items[i], &read.Items[i]); err != nil {
					return nil, err
				}
			}
			return read, nil
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			seen, err := pods.Watch(ctx, o)
			if err != nil {
				return nil, err
			}
			return watch.Filter(seen, readEvent), nil
		},
	}
	factory.InformerFor(&v1.Pod{}, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
		return informerOf(cache.ToListWatcherWithWatchListSemantics(of, client), &v1.Pod{})
	})
}

// readEvent reads the pod of an event; what is none stays as it is. A pod that cannot be read ends the watch, as one that cannot be decoded does.
func readEvent(e watch.Event) (watch.Event, bool) {
	object, is := e.Object.(*unstructured.Unstructured)
	if !is || e.Type == watch.Error {
		return e, true
	}
	pod := &v1.Pod{}
	if err := readPod(object, pod); err != nil {
		status := apierrors.NewInternalError(err).Status()
		return watch.Event{Type: watch.Error, Object: &status}, true
	}
	e.Object = pod
	return e, true
}

// readPod reads a pod, with the workload that it names, and the group in it, as its pod group.
func readPod(from *unstructured.Unstructured, into *v1.Pod) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, into); err != nil {
		return err
	}
	if names, is, _ := unstructured.NestedStringMap(from.Object, "spec", "workloadRef"); is {
		name := names["name"] + "/" + names["podGroup"]
		into.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &name}
	}
	return nil
}
