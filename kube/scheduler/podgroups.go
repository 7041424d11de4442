package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/world"
)

// This file takes in pod groups, and writes the condition of a group that says whether it was ever placed, as kube-scheduler does.

// bindGangs sends the binds of gangs that have been placed as a whole.
func (s *Scheduler) bindGangs(ctx context.Context, gangs *world.Gangs) {
	send, takeBack := gangs.Whole(s.epochs.core.View())
	companies := companiesOf(send)
	for _, p := range send {
		s.binder.bind(ctx, p, companies[p.Group()])
		s.explainer.tellGroup(p.Group(), "")
	}
	for _, p := range takeBack {
		s.subject.handling(p.Object())
		p.Reservation().Unreserve(ctx)
		s.world.Binds().TakeBack(p)
	}
}

// companiesOf are the groups of the pods for some of which something is to be prepared, with who is bound together.
func companiesOf(pods []*world.Pod) map[*world.Group]*company {
	many, prepare := map[*world.Group]int{}, map[*world.Group]bool{}
	for _, p := range pods {
		many[p.Group()]++
		prepare[p.Group()] = prepare[p.Group()] || !p.Reservation().Empty()
	}
	companies := map[*world.Group]*company{}
	for g, n := range many {
		if g != nil && n > 1 && prepare[g] {
			companies[g] = newCompany(n)
		}
	}
	return companies
}

// surveyPodGroups takes in all pod groups that the informers hold.
func (in *intake) surveyPodGroups() {
	if !in.s.PodGroups {
		return
	}
	all := listed(in.informers.Scheduling().V1beta1().PodGroups().Lister().List(labels.Everything()))
	slices.SortFunc(all, func(a, b *schedulingv1beta1.PodGroup) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, g := range all {
		in.seePodGroup(g)
	}
}

// seePodGroup takes in a pod group, and has its pods reported as they wait by now.
func (in *intake) seePodGroup(object *schedulingv1beta1.PodGroup) {
	in.s.subject.handling(nil)
	in.s.explainer.wantNow(in.s.world.PodGroups().See(object))
}

// losePodGroup takes in that a pod group is gone.
func (in *intake) losePodGroup(object *schedulingv1beta1.PodGroup) {
	in.s.subject.handling(nil)
	delete(in.s.explainer.told, object.UID)
	in.s.explainer.wantNow(in.s.world.PodGroups().Lose(object.Namespace, object.Name))
}

// groupTold is what was written last of a group.
type groupTold struct {
	scheduled bool
	message   string // why not
}

// groupRetry is what could not be written of a group.
type groupRetry struct {
	condition condition
	at        cluster.Time
}

// tellGroup writes whether the group has been placed, if that is new, or in what words one of its pods waits. Once it has been, that stays.
func (e *explainer) tellGroup(g *world.Group, message string) {
	if g == nil || g.Object == nil || e.told[g.Object.UID].scheduled || meta.IsStatusConditionTrue(g.Object.Status.Conditions, schedulingv1beta1.PodGroupInitiallyScheduled) {
		return
	}
	now := groupTold{scheduled: g.Placed() >= max(g.Least(), 1), message: message}
	if now.scheduled {
		now.message = ""
	}
	if e.told[g.Object.UID] == now || now == (groupTold{}) {
		return
	}
	e.told[g.Object.UID] = now
	e.writer.put(condition{group: g.Object, told: now})
}

// retryGroups writes again what could not be written of groups, unless something else is to be said of them by now.
func (e *explainer) retryGroups(s *Scheduler) {
	for len(e.groupRetries) > 0 && e.groupRetries[0].at <= s.now() {
		c := e.groupRetries[0].condition
		e.groupRetries = e.groupRetries[1:]
		if e.told[c.group.UID] == c.told {
			e.writer.put(c)
		}
	}
}

// writeGroup sets the condition of a group, and reports whether that needs no repetition.
func (c *condition) writeGroup(s *Scheduler) bool {
	set := metav1.Condition{
		Type: schedulingv1beta1.PodGroupInitiallyScheduled, Status: metav1.ConditionTrue, Reason: scheduled,
		LastTransitionTime: metav1.NewTime(s.Clock.Now()), ObservedGeneration: c.group.Generation,
	}
	if !c.told.scheduled {
		set.Status, set.Reason, set.Message = metav1.ConditionFalse, schedulingv1beta1.PodGroupReasonUnschedulable, c.told.message
	}
	if last := meta.FindStatusCondition(c.group.Status.Conditions, set.Type); last != nil && last.Status == set.Status {
		set.LastTransitionTime = last.LastTransitionTime
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": c.group.UID}, "status": map[string]any{"conditions": []metav1.Condition{set}}})
	if err != nil {
		panic(fmt.Sprintf("scheduler: a status does not marshal: %v", err))
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.Config.BindTimeout.Duration)
	defer cancel()
	_, err = s.Client.SchedulingV1beta1().PodGroups(c.group.Namespace).Patch(ctx, c.group.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	s.Metrics.Binds.Wrote("podgroups/status", "patch", outcome(err))
	done := err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) // another one of that name is there by now
	if !done {
		klog.Background().V(1).Info("cannot write how a pod group stands", "podGroup", klog.KObj(c.group), "err", err)
	}
	return done
}
