package scheduler

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
)

// recorder writes the events that people see in kubectl describe pod, in
// kube-scheduler's words. Repeated ones are counted up, not written anew.
type recorder struct{ events.EventRecorderLogger }

// startEvents makes a recorder for each profile. The returned function stops
// them.
func (s *Scheduler) startEvents(ctx context.Context) func() {
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: s.Client.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "no events will be written")
	}
	for _, p := range s.Config.Profiles {
		s.recorders[p.SchedulerName] = recorder{broadcaster.NewRecorder(scheme.Scheme, p.SchedulerName)}
	}
	return broadcaster.Shutdown
}

func (r recorder) scheduled(pod *v1.Pod, node string) {
	r.Eventf(pod, nil, v1.EventTypeNormal, "Scheduled", "Binding", "Successfully assigned %s/%s to %s", pod.Namespace, pod.Name, node)
}

func (r recorder) failed(pod *v1.Pod, message string) {
	r.Eventf(pod, nil, v1.EventTypeWarning, "FailedScheduling", "Scheduling", "%s", shortened(message))
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
