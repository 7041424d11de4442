package scheduler

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/cluster"
)

// This file writes the conditions of objects that are no pods: pod groups, composite ones and ServiceClasses. Each has one that Fairlead writes.

// conditioned is such an object.
type conditioned struct {
	metav1.Object
	resource   string
	condition  string
	conditions []metav1.Condition // as they were last seen
}

// stand is what a condition says: whether it holds, and in what words.
type stand struct {
	holds           bool
	reason, message string
	generation      int64 // of the object, where what is said is said anew for each
}

// standRetry is what could not be written.
type standRetry struct {
	condition condition
	at        cluster.Time
}

// state has the condition written.
func (e *explainer) state(o *conditioned, now stand) {
	e.told[o.GetUID()] = now
	e.writer.put(condition{object: o, told: now})
}

// retryStands writes again what could not be written, unless something else is to be said by now.
func (e *explainer) retryStands(s *Scheduler) {
	for len(e.standRetries) > 0 && e.standRetries[0].at <= s.now() {
		c := e.standRetries[0].condition
		e.standRetries = e.standRetries[1:]
		if e.told[c.object.GetUID()] == c.told {
			e.writer.put(c)
		}
	}
}

// write sets the condition, and reports whether that needs no repetition.
func (o *conditioned) write(s *Scheduler, now stand) bool {
	set := metav1.Condition{
		Type: o.condition, Status: metav1.ConditionFalse, Reason: now.reason, Message: now.message,
		LastTransitionTime: metav1.NewTime(s.Clock.Now()), ObservedGeneration: o.GetGeneration(),
	}
	if now.holds {
		set.Status = metav1.ConditionTrue
	}
	if last := meta.FindStatusCondition(o.conditions, set.Type); last != nil && last.Status == set.Status {
		set.LastTransitionTime = last.LastTransitionTime
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": o.GetUID()}, "status": map[string]any{"conditions": []metav1.Condition{set}}})
	if err != nil {
		panic(fmt.Sprintf("scheduler: a status does not marshal: %v", err))
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.Config.BindTimeout.Duration)
	defer cancel()
	err = o.patch(ctx, s, patch)
	s.Metrics.Binds.Wrote(o.resource+"/status", "patch", outcome(err))
	done := err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) // another one of that name is there by now
	if !done {
		klog.Background().V(1).Info("cannot write a condition", "resource", o.resource, "object", klog.KObj(o), "condition", o.condition, "err", err)
	}
	return done
}

// patch sends it.
func (o *conditioned) patch(ctx context.Context, s *Scheduler, patch []byte) (err error) {
	const status = "status"
	switch o.resource {
	case podGroupsResource:
		_, err = s.Client.SchedulingV1beta1().PodGroups(o.GetNamespace()).Patch(ctx, o.GetName(), types.StrategicMergePatchType, patch, metav1.PatchOptions{}, status)
	case compositesResource:
		_, err = s.Client.SchedulingV1alpha3().CompositePodGroups(o.GetNamespace()).Patch(ctx, o.GetName(), types.StrategicMergePatchType, patch, metav1.PatchOptions{}, status)
	default:
		// Nobody else writes a condition of these, so that the list may be replaced as a whole.
		_, err = s.ServiceClasses.Resource(ServiceClasses()).Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}, status)
	}
	return err
}
