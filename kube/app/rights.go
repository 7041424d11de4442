package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/features"

	"fairlead.dev/fairlead/kube/api/v1alpha1"
	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/scheduler"
)

// This file asks whether the role may read the optional types that are served, as an informer that may not would never list. What is not known for that counts as not being there only where nothing
// is done wrong by it: pods that would need it are held, or the API server honours it itself.

// honourRights does without the types that the role may not read. It is an error where pods would be placed, or evicted, that must not be.
func (s *Served) honourRights(ctx context.Context, reviews authorizationclient.SelfSubjectAccessReviewInterface, c *config.SchedulerConfiguration) error {
	hard, bestEffort := evicting(c)
	if c.Shadow() {
		s.WorkloadAccounts = false // which it does not write
	}
	asked := s.read(hard, bestEffort)
	if c.Shadow() { // nobody leaves, or is resized
		asked = slices.DeleteFunc(asked, func(r schema.GroupVersionResource) bool {
			return r == scheduler.Resizes() || slices.Contains(podsLeaving(bestEffort), r)
		})
	}
	forbidden := missingRights(ctx, reviews, asked)
	for _, r := range asked {
		why := forbidden[r]
		if _, lacks := s.Lacks[r]; why == "" || lacks { // with one of the devices' types all are lacking
			continue
		}
		if err := s.unreadable(ctx, r, why, bestEffort); err != nil {
			return err
		}
	}
	return nil
}

// podsLeaving are what has pods leave: evictions, and where budgets are overruled, deleting them with a condition that says why.
func podsLeaving(bestEffort string) (all []schema.GroupVersionResource) {
	all = append(all, corev1.SchemeGroupVersion.WithResource("pods/eviction"))
	if bestEffort != "" {
		all = append(all, corev1.SchemeGroupVersion.WithResource("pods"), corev1.SchemeGroupVersion.WithResource("pods/status"))
	}
	return all
}

// statusOfAccounts is what is written of workloads.
func statusOfAccounts() schema.GroupVersionResource {
	return v1alpha1.GroupVersion.WithResource(scheduler.WorkloadAccounts().Resource + "/status")
}

// verbsOf are what is done with a type.
func verbsOf(r schema.GroupVersionResource) []string {
	switch {
	case r == scheduler.WorkloadAccounts():
		return []string{"list", "create", "delete"}
	case r == statusOfAccounts():
		return []string{"patch"}
	case r.Group != corev1.GroupName:
		return []string{"list", "watch"}
	case r.Resource == "pods/eviction":
		return []string{"create"}
	case r == scheduler.Resizes():
		return []string{"patch"}
	case r.Resource == "pods/status":
		return []string{"patch"}
	}
	return []string{"delete"}
}

// read are the optional types that are read, as far as is known by now, and what has pods leave, if some profile's may.
func (s *Served) read(hard, bestEffort string) []schema.GroupVersionResource {
	all := slices.Concat(scheduler.Optional(resourcev1.SchemeGroupVersion.Group), scheduler.Optional(storagev1.SchemeGroupVersion.Group))
	if hard+bestEffort != "" {
		all = append(all, scheduler.Optional(policyv1.SchemeGroupVersion.Group)...)
		all = append(all, podsLeaving(bestEffort)...)
	}
	if s.PodGroups {
		all = append(all, podGroups())
	}
	if s.CompositePodGroups {
		all = append(all, compositePodGroups())
	}
	if s.Coscheduling {
		all = append(all, scheduler.CoschedulingGroups())
	}
	if s.ServiceClasses {
		all = append(all, scheduler.ServiceClasses(), scheduler.Resizes(), scheduler.Autoscalers())
	}
	if s.PlacementConstraints {
		all = append(all, scheduler.PlacementConstraints()...)
	}
	if s.WorkloadAccounts {
		all = append(all, scheduler.WorkloadAccounts(), statusOfAccounts())
	}
	return slices.DeleteFunc(all, func(r schema.GroupVersionResource) bool {
		_, lacks := s.Lacks[r]
		return lacks || r.Resource == taintRules && !utilfeature.DefaultFeatureGate.Enabled(features.DRADeviceTaintRules)
	})
}

// podsFixed is what becomes of pods where none may be resized.
const podsFixed = "pods stay as they are whose ServiceClass has sizes"

// unreadable does without a type that the role may not read. Overrule is a profile that evicts whatever budgets say; empty if there is none.
func (s *Served) unreadable(ctx context.Context, r schema.GroupVersionResource, why, bestEffort string) error {
	switch {
	case r == scheduler.Resizes():
		s.Lacks[r] = why
		report(ctx, why, podsFixed)
		return nil
	case r == scheduler.Autoscalers():
		s.Lacks[r] = why
		report(ctx, why, "which pods a VerticalPodAutoscaler owns is seen by its annotations alone")
		return nil
	case r.Group == corev1.GroupName:
		return fmt.Errorf("%s; without it no pod leaves for another: allow it, or say evictions: {enabled: false} in each profile", why)
	case r.Group == resourcev1.SchemeGroupVersion.Group:
		return s.withoutDevices(ctx, why)
	case r == podGroups():
		s.PodGroups, s.CompositePodGroups, s.Lacks[r] = false, false, why
		report(ctx, why, "pods with spec.schedulingGroup are held")
		return withoutGroupClaims(ctx, why)
	case r == compositePodGroups():
		s.CompositePodGroups, s.Lacks[r] = false, why
		report(ctx, why, "pods of groups that are parts of one are held")
		return nil
	case r.Group == policyv1.SchemeGroupVersion.Group && bestEffort == "":
		s.Lacks[r] = why
		report(ctx, why, "it is learnt by the Eviction API's refusals whom a budget keeps")
		return nil
	case r.Group == policyv1.SchemeGroupVersion.Group:
		return fmt.Errorf("%s; without it nobody would honour budgets for the profile %s (evictions.budgets: bestEffort): allow it, or say budgets: hard there", why, bestEffort)
	case r == scheduler.WorkloadAccounts() || r == statusOfAccounts():
		s.WorkloadAccounts = false
		report(ctx, why, "how replicas have spent their time is forgotten with the leader, and with their workload")
		return nil
	case r == scheduler.ServiceClasses():
		return fmt.Errorf("%s; without it pods would be placed as if nothing was promised to them: allow it, or remove the definition of ServiceClasses", why)
	case slices.Contains(scheduler.PlacementConstraints(), r):
		return fmt.Errorf("%s; without it pods would be placed where constraints forbid it: allow it, or remove the definition", why)
	case r.Group == storagev1.SchemeGroupVersion.Group:
		return fmt.Errorf("%s; without it pods would be placed where their volumes cannot be used: allow it", why)
	}
	return fmt.Errorf("%s; without it pods of groups would be placed each by itself: allow it", why)
}

// missingRights says of each of the types that the role may not list or watch what it may not. A role may be bound a moment later than its user begins, so that it is asked again for a while.
func missingRights(ctx context.Context, reviews authorizationclient.SelfSubjectAccessReviewInterface, types []schema.GroupVersionResource) map[schema.GroupVersionResource]string {
	var missing map[schema.GroupVersionResource]string
	for until := time.Now().Add(askFor); ; {
		found, err := askRights(ctx, reviews, types)
		switch {
		case err != nil: // what was found before is still so
			klog.FromContext(ctx).Info("Cannot ask for the rights of the role; asking again", "err", err)
		case len(found) == 0:
			return nil
		default:
			missing = found
			klog.FromContext(ctx).Info("The role lacks rights; asking again", "types", len(found))
		}
		select {
		case <-ctx.Done():
			return missing
		case <-time.After(askAgain):
		}
		if time.Now().After(until) {
			return missing
		}
	}
}

// askRights asks once. The error is that of an API server that does not answer.
func askRights(ctx context.Context, reviews authorizationclient.SelfSubjectAccessReviewInterface, types []schema.GroupVersionResource) (map[schema.GroupVersionResource]string, error) {
	missing := map[schema.GroupVersionResource]string{}
	for _, r := range types {
		var verbs []string
		for _, verb := range verbsOf(r) {
			not, err := mayNot(ctx, reviews, verb, r)
			if err != nil {
				return nil, err
			}
			if not {
				verbs = append(verbs, verb)
			}
		}
		if len(verbs) > 0 {
			missing[r] = fmt.Sprintf("the role of fairlead-scheduler may not %s %s of %s, as kube/deploy/rbac.yaml lets it", strings.Join(verbs, " and "), r.Resource, r.GroupVersion())
		}
	}
	return missing, nil
}

// mayNot reports whether the API server says that the role lacks a right. Where nobody may ask for that, whoever uses the right finds out.
func mayNot(ctx context.Context, reviews authorizationclient.SelfSubjectAccessReviewInterface, verb string, r schema.GroupVersionResource) (bool, error) {
	resource, part, _ := strings.Cut(r.Resource, "/")
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: r.Group, Version: r.Version, Resource: resource, Subresource: part},
	}}
	answer, err := reviews.Create(ctx, review, metav1.CreateOptions{})
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, err
	}
	return !answer.Status.Allowed, nil
}
