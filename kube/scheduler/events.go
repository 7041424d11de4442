package scheduler

import (
	"context"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
)

// recorder writes the events that people see in kubectl describe pod, in
// kube-scheduler's words. Repeated ones are counted up, not written anew.
type recorder struct {
	events.EventRecorderLogger
	sink *sink
}

// sink writes to the API server. It counts pods that were reported to be scheduled
// until that is written, so that a scheduler that stops can wait for it.
type sink struct {
	events.EventSinkImpl
	wrote     func(resource, verb, result string)
	unwritten atomic.Int64
}

// Create writes an event of its own.
func (s *sink) Create(ctx context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	written, err := s.EventSinkImpl.Create(ctx, e)
	s.wrote("events", "create", outcome(err))
	// Without an answer the broadcaster tries again; a refusal is the end of it.
	if answered := err == nil || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown; answered && e.Reason == scheduled {
		s.unwritten.Add(-1)
	}
	return written, err
}

const (
	scheduled = "Scheduled"
	// lastEvents is how long a scheduler that stops waits for its events.
	lastEvents = 2 * time.Second
)

// startEvents makes a recorder for each profile. The returned function waits
// until what was reported is written, but not long, and stops them.
func (s *Scheduler) startEvents(ctx context.Context) func() {
	to := &sink{EventSinkImpl: events.EventSinkImpl{Interface: s.Client.EventsV1()}, wrote: s.Metrics.Binds.Wrote}
	broadcaster := events.NewBroadcaster(to)
	writing, end := context.WithCancel(context.WithoutCancel(ctx))
	if notesOf(s) != nil {
		// A shadow's events are dropped.
	} else if err := broadcaster.StartRecordingToSinkWithContext(writing); err != nil {
		klog.FromContext(ctx).Error(err, "no events will be written")
	}
	for _, p := range s.Config.Profiles {
		s.recorders[p.SchedulerName] = recorder{broadcaster.NewRecorder(scheme.Scheme, p.SchedulerName), to}
	}
	return func() {
		until := s.Clock.Now().Add(lastEvents)
		for to.unwritten.Load() > 0 && s.Clock.Now().Before(until) {
			<-s.Clock.After(10 * time.Millisecond)
		}
		broadcaster.Shutdown()
		end()
	}
}

// scheduled says that a pod is bound, in kube-scheduler's words, and how it was placed, if there is more to say.
func (r recorder) scheduled(pod *v1.Pod, node, how string) {
	r.sink.unwritten.Add(1)
	if how != "" {
		how = ", " + how
	}
	r.Eventf(pod, nil, v1.EventTypeNormal, scheduled, "Binding", "Successfully assigned %s/%s to %s%s", pod.Namespace, pod.Name, node, how)
}

func (r recorder) failed(pod *v1.Pod, message string) {
	r.Eventf(pod, nil, v1.EventTypeWarning, "FailedScheduling", "Scheduling", "%s", shortened(message))
}

// keepsClass says that a pod keeps the class with which it was placed.
func (r recorder) keepsClass(pod *v1.Pod, message string) {
	r.Eventf(pod, nil, v1.EventTypeWarning, "ClassKept", "Relabelling", "%s", shortened(message))
}

// shortened keeps a message within what an event may hold.
func shortened(message string) string {
	const most = 1024
	if len(message) <= most {
		return message
	}
	const more = " ..."
	return message[:most-len(more)] + more
}
