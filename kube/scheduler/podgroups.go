package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/metrics"
	"fairlead.dev/fairlead/kube/world"
)

// This file takes in pod groups and composite ones, and writes the condition of each that says whether it was ever placed, of pod groups as kube-scheduler does.

// bindGangs sends the binds of gangs that have been placed as a whole, and returns their pods.
func (s *Scheduler) bindGangs(ctx context.Context, gangs *world.Gangs) []*world.Pod {
	send, takeBack := gangs.Whole(s.epochs.core.View())
	companies := companiesOf(send)
	for _, p := range send {
		s.binder.bind(ctx, p, companies[p.Gang()])
		s.explainer.tellGroup(s, p, "")
	}
	for _, p := range takeBack {
		s.subject.handling(p.Object())
		p.Reservation().Unreserve(ctx)
		s.world.Binds().TakeBack(p)
	}
	return send
}

// countedGang is what the pod is placed with, as kube-scheduler counts attempts by pod groups; nil of one without a group.
func countedGang(p *world.Pod) *world.Gang {
	if g := p.Group(); g == nil || g.Object == nil {
		return nil
	}
	return p.Gang()
}

// countPlaced counts the pod groups of which binds are sent, each once, unless more of its places come free later.
func countPlaced(s *Scheduler, sent []*world.Pod, began time.Time) {
	seen := map[*world.Gang]bool{nil: true}
	for _, p := range sent {
		g := countedGang(p)
		if seen[g] {
			continue
		}
		if seen[g] = true; g.Placed() >= g.Least() {
			s.Metrics.PodGroups.Attempted(metrics.Scheduled, p.Object().Spec.SchedulerName, s.Clock.Since(began))
		}
	}
}

// companiesOf are the gangs of the pods for some of which something is to be prepared, with who is bound together.
func companiesOf(pods []*world.Pod) map[*world.Gang]*company {
	many, prepare := map[*world.Gang]int{}, map[*world.Gang]bool{}
	for _, p := range pods {
		many[p.Gang()]++
		prepare[p.Gang()] = prepare[p.Gang()] || !p.Reservation().Empty()
	}
	companies := map[*world.Gang]*company{}
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

// surveyComposites takes in all composite pod groups that the informers hold.
func (in *intake) surveyComposites() {
	if !in.s.CompositePodGroups {
		return
	}
	all := listed(in.informers.Scheduling().V1alpha3().CompositePodGroups().Lister().List(labels.Everything()))
	slices.SortFunc(all, func(a, b *schedulingv1alpha3.CompositePodGroup) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, c := range all {
		in.seeComposite(c)
	}
}

// seeComposite takes in a composite pod group, and has the pods below it reported as they wait by now.
func (in *intake) seeComposite(object *schedulingv1alpha3.CompositePodGroup) {
	in.s.subject.handling(nil)
	in.s.explainer.wantNow(in.s.world.PodGroups().SeeComposite(object))
}

// loseComposite takes in that a composite pod group is gone.
func (in *intake) loseComposite(object *schedulingv1alpha3.CompositePodGroup) {
	in.s.subject.handling(nil)
	delete(in.s.explainer.told, object.UID)
	in.s.explainer.wantNow(in.s.world.PodGroups().LoseComposite(object.Namespace, object.Name))
}

// compositeScheduled is of composite pod groups what PodGroupInitiallyScheduled is of pod groups, and invalidLayout the reason where their tree is no good.
const (
	compositeScheduled = "CompositePodGroupInitiallyScheduled"
	invalidLayout      = "Invalid"
)

// groupObject is a pod group, or a composite one, with a condition that says whether it was ever placed.
type groupObject struct {
	metav1.Object
	condition  string
	conditions []metav1.Condition // as they were last seen
}

// groupTold is what was written last of a group.
type groupTold struct {
	scheduled bool
	reason    string // why not
	message   string
}

// groupRetry is what could not be written of a group.
type groupRetry struct {
	condition condition
	at        cluster.Time
}

// tellGroup writes whether the pod's group has been placed, and those that it is a part of, where that is new; if not, in what words the pod waits.
func (e *explainer) tellGroup(s *Scheduler, p *world.Pod, message string) {
	g := p.Group()
	if g == nil {
		return
	}
	if g.Object != nil {
		e.tell(&groupObject{g.Object, schedulingv1beta1.PodGroupInitiallyScheduled, g.Object.Status.Conditions}, g.Whole(), groupTold{reason: schedulingv1beta1.PodGroupReasonUnschedulable, message: message})
	}
	for _, c := range g.Above() {
		not := groupTold{reason: schedulingv1beta1.PodGroupReasonUnschedulable, message: message}
		wrong := s.world.PodGroups().Invalid(c)
		if wrong != "" && message != "" {
			not.reason = invalidLayout
		}
		e.tell(&groupObject{c.Object, compositeScheduled, c.Object.Status.Conditions}, wrong == "" && c.Whole(), not)
	}
}

// tell writes whether a group has been placed, if that is new, or why it was not. Once it has been, that stays.
func (e *explainer) tell(g *groupObject, scheduled bool, now groupTold) {
	if e.told[g.GetUID()].scheduled || meta.IsStatusConditionTrue(g.conditions, g.condition) {
		return
	}
	if scheduled {
		now = groupTold{scheduled: true}
	}
	if e.told[g.GetUID()] == now || !scheduled && now.message == "" {
		return
	}
	e.told[g.GetUID()] = now
	e.writer.put(condition{group: g, told: now})
}

// retryGroups writes again what could not be written of groups, unless something else is to be said of them by now.
func (e *explainer) retryGroups(s *Scheduler) {
	for len(e.groupRetries) > 0 && e.groupRetries[0].at <= s.now() {
		c := e.groupRetries[0].condition
		e.groupRetries = e.groupRetries[1:]
		if e.told[c.group.GetUID()] == c.told {
			e.writer.put(c)
		}
	}
}

// writeGroup sets the condition of a group, and reports whether that needs no repetition.
func (c *condition) writeGroup(s *Scheduler) bool {
	set := metav1.Condition{
		Type: c.group.condition, Status: metav1.ConditionTrue, Reason: scheduled,
		LastTransitionTime: metav1.NewTime(s.Clock.Now()), ObservedGeneration: c.group.GetGeneration(),
	}
	if !c.told.scheduled {
		set.Status, set.Reason, set.Message = metav1.ConditionFalse, c.told.reason, c.told.message
	}
	if last := meta.FindStatusCondition(c.group.conditions, set.Type); last != nil && last.Status == set.Status {
		set.LastTransitionTime = last.LastTransitionTime
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": c.group.GetUID()}, "status": map[string]any{"conditions": []metav1.Condition{set}}})
	if err != nil {
		panic(fmt.Sprintf("scheduler: a status does not marshal: %v", err))
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.Config.BindTimeout.Duration)
	defer cancel()
	namespace, name, resource := c.group.GetNamespace(), c.group.GetName(), "podgroups/status"
	if c.group.condition == compositeScheduled {
		resource = "compositepodgroups/status"
		_, err = s.Client.SchedulingV1alpha3().CompositePodGroups(namespace).Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	} else {
		_, err = s.Client.SchedulingV1beta1().PodGroups(namespace).Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	}
	s.Metrics.Binds.Wrote(resource, "patch", outcome(err))
	done := err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) // another one of that name is there by now
	if !done {
		klog.Background().V(1).Info("cannot write how a pod group stands", "podGroup", klog.KObj(c.group), "err", err)
	}
	return done
}
