package scheduler

import (
	"cmp"
	"context"
	"slices"
	"time"

	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"

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
		s.explainer.reportGroup(s, p, "")
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
	dealWith(in.s, object, func(g *schedulingv1beta1.PodGroup) { in.s.explainer.wantNow(in.s.world.PodGroups().See(g)) })
}

// losePodGroup takes in that a pod group is gone.
func (in *intake) losePodGroup(object *schedulingv1beta1.PodGroup) {
	delete(in.s.explainer.told, object.UID)
	dealWithLoss(in.s, object, func(g *schedulingv1beta1.PodGroup) {
		in.s.explainer.wantNow(in.s.world.PodGroups().Lose(g.Namespace, g.Name))
	})
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
	dealWith(in.s, object, func(c *schedulingv1alpha3.CompositePodGroup) {
		in.s.explainer.wantNow(in.s.world.PodGroups().SeeComposite(c))
	})
}

// loseComposite takes in that a composite pod group is gone.
func (in *intake) loseComposite(object *schedulingv1alpha3.CompositePodGroup) {
	delete(in.s.explainer.told, object.UID)
	dealWithLoss(in.s, object, func(c *schedulingv1alpha3.CompositePodGroup) {
		in.s.explainer.wantNow(in.s.world.PodGroups().LoseComposite(c.Namespace, c.Name))
	})
}

// compositeScheduled is of composite pod groups what PodGroupInitiallyScheduled is of pod groups, and invalidLayout the reason where their tree is no good.
const (
	podGroupsResource  = "podgroups"
	compositesResource = "compositepodgroups"
	compositeScheduled = "CompositePodGroupInitiallyScheduled"
	invalidLayout      = "Invalid"
)

// reportGroup writes whether the pod's group has been placed, and those that it is a part of, where that is new; if not, in what words the pod waits.
func (e *explainer) reportGroup(s *Scheduler, p *world.Pod, message string) {
	g := p.Group()
	if g == nil {
		return
	}
	if g.Object != nil {
		e.reportStanding(&conditioned{g.Object, podGroupsResource, schedulingv1beta1.PodGroupInitiallyScheduled, g.Object.Status.Conditions}, g.Whole(), stand{reason: schedulingv1beta1.PodGroupReasonUnschedulable, message: message})
	}
	for _, c := range g.Above() {
		not := stand{reason: schedulingv1beta1.PodGroupReasonUnschedulable, message: message}
		wrong := s.world.PodGroups().Invalid(c)
		if wrong != "" && message != "" {
			not.reason = invalidLayout
		}
		e.reportStanding(&conditioned{c.Object, compositesResource, compositeScheduled, c.Object.Status.Conditions}, wrong == "" && c.Whole(), not)
	}
}

// reportStanding writes whether a group has been placed, if that is new, or why it was not. Once it has been, that stays.
func (e *explainer) reportStanding(g *conditioned, scheduledNow bool, now stand) {
	if e.told[g.GetUID()].holds || meta.IsStatusConditionTrue(g.conditions, g.condition) {
		return
	}
	if scheduledNow {
		now = stand{holds: true, reason: scheduled}
	}
	if e.told[g.GetUID()] == now || !scheduledNow && now.message == "" {
		return
	}
	e.state(g, now)
}
