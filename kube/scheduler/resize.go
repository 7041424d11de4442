package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/kube/sizes"
	"fairlead.dev/fairlead/kube/world"
)

// This file has pods grow and shrink by their subresource resize, as the world asks for it, and has binds wait for the room that others give up. What a pod came with is written into its condition first, so that the next leader knows it.

// Resizes is the subresource of pods by which they are resized.
func Resizes() schema.GroupVersionResource {
	return v1.SchemeGroupVersion.WithResource("pods/resize")
}

// resize asks for what is to be asked for now, and lets those be bound that have their room.
func resize(ctx context.Context, s *Scheduler) {
	if notesOf(s) != nil {
		return // a shadow changes no pod, and says nothing of it
	}
	z := world.SizesOf(s.world)
	for _, c := range z.Due() {
		s.binder.resize(ctx, c)
	}
	for _, r := range z.Refused() {
		pod := r.Pod.Object()
		klog.FromContext(ctx).V(1).Info("a pod was not resized", "pod", klog.KObj(pod), "why", r.Why)
		s.recorders[pod.Spec.SchedulerName].notResized(pod, r.Why)
	}
	for f := range s.binder.rooms {
		if ready, err := z.Room(f.pod); ready || err != nil {
			openRoom(s.binder, f, err)
		}
	}
}

// errStopping says that a bind that waited for room is not sent any more.
var errStopping = errors.New("fairlead-scheduler stops")

// holdForRoom has the bind wait if others on its node have yet to become smaller.
func holdForRoom(b *binder, f *flight) {
	if z := world.SizesOf(b.s.world); z.Owes(f.pod) {
		if ready, _ := z.Room(f.pod); !ready {
			f.room = make(chan error, 1)
			b.rooms[f] = true
		}
	}
}

// openRoom lets a bind go on that waited for room, or fail.
func openRoom(b *binder, f *flight, err error) {
	if b.rooms[f] {
		delete(b.rooms, f)
		f.room <- err
	}
}

// openAllRooms has no bind wait for room any more.
func openAllRooms(b *binder) {
	for f := range b.rooms {
		openRoom(b, f, errStopping)
	}
}

// awaitRoom waits for the room, if others have yet to give it up.
func (f *flight) awaitRoom(ctx context.Context) error {
	if f.room == nil {
		return nil
	}
	select {
	case err := <-f.room:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// resize sends what is asked for and returns at once.
func (b *binder) resize(ctx context.Context, c *world.Change) {
	b.all.Go(func() {
		err := b.change(b.life, c)
		b.s.inbox.put(func() { resized(ctx, b.s, c, err) })
	})
}

// change asks until it is known what came of it, but not for ever.
func (b *binder) change(ctx context.Context, c *world.Change) error {
	if err := b.takeWorker(ctx); err != nil {
		return err
	}
	defer b.giveWorker()
	for try := 1; ; try++ {
		err := b.reportAndResize(ctx, c)
		pause, busy := overloaded(err)
		if err == nil || answered(err) && !busy || try == bindTries || !b.sleep(ctx, pause) {
			return err
		}
	}
}

// reportAndResize writes the pod's condition, unless that says the same already, and resizes the pod.
func (b *binder) reportAndResize(ctx context.Context, c *world.Change) error {
	if !sizes.Said(c.Object, c.Says) {
		says := c.Says
		says.LastTransitionTime, says.ObservedGeneration = metav1.NewTime(b.s.Clock.Now()), c.Object.Generation
		if err := patchPod(ctx, b, c, "status", map[string]any{"status": map[string]any{"conditions": []v1.PodCondition{says}}}); err != nil {
			return err
		}
	}
	if c.To == nil {
		return nil
	}
	var containers []map[string]any
	for i, to := range c.To {
		if len(to.Requests) > 0 {
			containers = append(containers, map[string]any{"name": c.Object.Spec.Containers[i].Name, "resources": to})
		}
	}
	return patchPod(ctx, b, c, "resize", map[string]any{"spec": map[string]any{"containers": containers}})
}

// patchPod changes a subresource of the pod.
func patchPod(ctx context.Context, b *binder, c *world.Change, part string, with map[string]any) error {
	request, cancel, err := newRequest(ctx, b)
	if err != nil {
		return err
	}
	defer cancel()
	with["metadata"] = map[string]any{"uid": c.Object.UID}
	patch, err := json.Marshal(with)
	if err != nil {
		panic(fmt.Sprintf("scheduler: a pod does not marshal: %v", err))
	}
	_, err = b.s.Client.CoreV1().Pods(c.Object.Namespace).Patch(request, c.Object.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, part)
	b.s.Metrics.Binds.Wrote("pods/"+part, "patch", outcome(err))
	return err
}

// resized takes the outcome to the world.
func resized(ctx context.Context, s *Scheduler, c *world.Change, err error) {
	s.subject.handling(c.Object)
	_, busy := overloaded(err)
	why := ""
	switch {
	case err == nil, isGone(err), apierrors.IsConflict(err), busy, !answered(err): // if it was done the watch will show it, and else it is asked for again
	default:
		why = err.Error()
	}
	if err != nil {
		klog.FromContext(ctx).V(1).Info("cannot resize a pod", "pod", klog.KObj(c.Object), "err", err)
	}
	world.SizesOf(s.world).Answered(c, why)
}

// notResized says that a pod has not grown, or shrunk, as it was to.
func (r recorder) notResized(pod *v1.Pod, why string) {
	r.Eventf(pod, nil, v1.EventTypeWarning, "ResizeRefused", "Resizing", "%s", shortened(why))
}
