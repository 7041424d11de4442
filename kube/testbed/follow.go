package testbed

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// Pods are followed by a list and a watch of our own. It is not an informer, because in a burst the API server closes the watches that it
// cannot serve at once, and an informer waits up to a second before it asks again: that second would show in every latency.

// follower sees the pods of a label.
type follower struct {
	pods     typedcorev1.PodInterface
	selector string
	see      func(pod *corev1.Pod, gone bool)
	there    map[types.UID]*corev1.Pod // as last seen
}

// FollowPods calls see with all pods of a label, as they are and then with every change, until the context ends: first from here, then from one
// goroutine. A pod that is gone is seen as it was last.
func FollowPods(ctx context.Context, pods typedcorev1.PodInterface, selector string, see func(pod *corev1.Pod, gone bool)) error {
	f := &follower{pods, selector, see, map[types.UID]*corev1.Pod{}}
	version, err := f.list(ctx)
	if err != nil {
		return fmt.Errorf("test bed: watch pods: %w", err)
	}
	go func() {
		for ctx.Err() == nil {
			var err error
			version, err = f.follow(ctx, version)
			if err == nil {
				continue
			}
			// The API server is away, or has forgotten this version: start over.
			// Whoever waits loses patience if that never works.
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
			if latest, err := f.list(ctx); err == nil {
				version = latest
			}
		}
	}()
	return nil
}

// list sees all pods as they are, and which are gone, and returns the version of that picture.
func (f *follower) list(ctx context.Context) (version string, err error) {
	list, err := f.pods.List(ctx, metav1.ListOptions{LabelSelector: f.selector})
	if err != nil {
		return "", err
	}
	before := f.there
	f.there = map[types.UID]*corev1.Pod{}
	for i := range list.Items {
		pod := &list.Items[i]
		delete(before, pod.UID)
		f.there[pod.UID] = pod
		f.see(pod, false)
	}
	for _, pod := range before {
		f.see(pod, true)
	}
	return list.ResourceVersion, nil
}

// follow sees changes since a version until the server closes the watch, and returns the version of the last.
func (f *follower) follow(ctx context.Context, from string) (version string, err error) {
	version = from
	changes, err := f.pods.Watch(ctx, metav1.ListOptions{LabelSelector: f.selector, ResourceVersion: from})
	if err != nil {
		return version, err
	}
	defer changes.Stop()
	for event := range changes.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok {
			return version, apierrors.FromObject(event.Object)
		}
		version = pod.ResourceVersion
		gone := event.Type == watch.Deleted
		if gone {
			delete(f.there, pod.UID)
		} else {
			f.there[pod.UID] = pod
		}
		f.see(pod, gone)
	}
	return version, nil
}
