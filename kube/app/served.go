package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/features"

	"fairlead.dev/fairlead/kube/api/v1alpha1"
	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/scheduler"
)

// This file asks which APIs the server serves, before anything waits for them: an informer of one that is
// absent never lists, and the scheduler would never be ready, without a word of why.

const (
	// askAgain is the pause before the server is asked again, if it does not answer.
	askAgain = time.Second
	// askFor is how long it is asked for devices, and for the coscheduling plugin's groups; after that it is taken to serve them, and absentOf finds out. For pod groups it is asked longer, as
	// pods of groups would not be placed until the scheduler begins anew.
	askFor       = 20 * time.Second
	askForGroups = 5 * time.Minute
)

// taintRules is a type that devices have beside those without which there are none, and with135 the Kubernetes whose pods name workloads.
const (
	taintRules = "devicetaintrules"
	with135    = "1.35"
)

// Served is which of the optional APIs there are that the scheduler itself reads.
type Served struct {
	PodGroups, CompositePodGroups bool
	// OlderPodGroups is the Kubernetes whose pod groups there are instead; empty for none.
	OlderPodGroups string
	// Coscheduling says that there are pod groups of the coscheduling plugin, ServiceClasses and WorkloadAccounts that there are these.
	Coscheduling, ServiceClasses, WorkloadAccounts bool
	// PlacementConstraints says that there are these, those of the cluster, and NodeGroups.
	PlacementConstraints bool
	// Lacks says why types are not read that are not.
	Lacks map[schema.GroupVersionResource]string
}

// Apply sets what a scheduler that reaches the API server in this way may use.
func (s *Served) Apply(o *scheduler.Options, to *rest.Config) error {
	o.PodGroups, o.CompositePodGroups, o.Lacks = s.PodGroups, s.CompositePodGroups, s.Lacks
	client, err := dynamic.NewForConfig(to)
	if err != nil {
		return fmt.Errorf("cannot make a client of %s: %w", to.Host, err)
	}
	if s.Coscheduling {
		o.Coscheduling = client
	}
	if s.ServiceClasses {
		o.ServiceClasses = client
	}
	if s.WorkloadAccounts {
		o.WorkloadAccounts = client
	}
	if s.PlacementConstraints {
		o.PlacementConstraints = client
	}
	if s.OlderPodGroups == with135 {
		o.Workloads = client
	}
	return nil
}

// Adapt does without the optional APIs that the server does not serve, or that the role may not read, and says so. It is an error where that is not safe.
func Adapt(ctx context.Context, client kubernetes.Interface, c *config.SchedulerConfiguration) (Served, error) {
	server, s := client.Discovery(), Served{Lacks: map[schema.GroupVersionResource]string{}}
	for _, ask := range []func() error{
		func() error { return s.devices(ctx, server) },
		func() error { return s.volumes(ctx, server) },
		func() error { return s.budgets(ctx, server, c) },
		func() error { return s.extensions(ctx, server) },
		func() error { return s.podGroups(ctx, server) },
		func() error { return s.honourRights(ctx, client.AuthorizationV1().SelfSubjectAccessReviews(), c) },
	} {
		if err := ask(); err != nil {
			return Served{}, err
		}
	}
	return s, nil
}

// devices asks for devices and claims of them.
func (s *Served) devices(ctx context.Context, server discovery.ServerResourcesInterface) error {
	of := resourcev1.SchemeGroupVersion
	served, known, err := resourcesOf(ctx, askFor, server, of.String())
	if err != nil || !known {
		return err
	}
	for _, r := range scheduler.Optional(of.Group) {
		if r.Resource != taintRules && !slices.Contains(served, r.Resource) {
			return s.withoutDevices(ctx, absent(r)+"; it is served by default since Kubernetes 1.34")
		}
	}
	if utilfeature.DefaultFeatureGate.Enabled(features.DRADeviceTaintRules) && !slices.Contains(served, taintRules) {
		return switchOff(ctx, features.DRADeviceTaintRules, absent(of.WithResource(taintRules)), "taints of devices are those of their slices alone")
	}
	return nil
}

// withoutDevices has no device read, nor any claim, as the gate of upstream's filters for them cannot be switched off any more.
func (s *Served) withoutDevices(ctx context.Context, why string) error {
	for _, r := range scheduler.Optional(resourcev1.SchemeGroupVersion.Group) {
		s.Lacks[r] = why
	}
	return switchOff(ctx, features.DRADeviceTaintRules, why, "pods with claims of devices are held")
}

// volumes asks for what there is to know of storage. Of what is not served there is none.
func (s *Served) volumes(ctx context.Context, server discovery.ServerResourcesInterface) error {
	of := storagev1.SchemeGroupVersion
	served, known, err := resourcesOf(ctx, askFor, server, of.String())
	if err != nil || !known {
		return err
	}
	for _, r := range scheduler.Optional(of.Group) {
		if !slices.Contains(served, r.Resource) {
			s.Lacks[r] = absent(r)
			report(ctx, absent(r), "pods with volumes are placed as if there were none of these")
		}
	}
	return nil
}

// budgets asks for PodDisruptionBudgets, where some profile's pods may be evicted. The Eviction API looks for them, and lets nobody go where there are none to be looked for.
func (s *Served) budgets(ctx context.Context, server discovery.ServerResourcesInterface, c *config.SchedulerConfiguration) error {
	hard, bestEffort := evicting(c)
	if hard+bestEffort == "" {
		return nil
	}
	of := policyv1.SchemeGroupVersion
	served, known, err := resourcesOf(ctx, askFor, server, of.String())
	if err != nil || !known {
		return err
	}
	for _, r := range scheduler.Optional(of.Group) {
		switch {
		case slices.Contains(served, r.Resource):
		case hard != "":
			return fmt.Errorf("%s, without which its Eviction API lets no pod go, and the profile %s asks that (evictions.budgets: hard); have the API server serve it, or say budgets: bestEffort there, or enabled: false", absent(r), hard)
		default:
			s.Lacks[r] = absent(r)
			report(ctx, absent(r), "no pod is kept by one, and none is moved, as the Eviction API lets nobody go")
		}
	}
	return nil
}

// evicting names the first profile whose pods are evicted if their budgets let them, and the first whose pods are whatever budgets say; empty if there is none.
func evicting(c *config.SchedulerConfiguration) (hard, bestEffort string) {
	for _, p := range c.Profiles {
		switch {
		case !p.Evictions.Enabled:
		case p.Evictions.Budgets == config.BestEffort:
			bestEffort = cmp.Or(bestEffort, p.SchedulerName)
		default:
			hard = cmp.Or(hard, p.SchedulerName)
		}
	}
	return hard, bestEffort
}

// extensions asks for the types that are no part of Kubernetes: pod groups of the coscheduling plugin, and the objects of our own.
func (s *Served) extensions(ctx context.Context, server discovery.ServerResourcesInterface) error {
	for _, of := range []struct {
		schema.GroupVersionResource
		there *bool
	}{{scheduler.CoschedulingGroups(), &s.Coscheduling}, {scheduler.ServiceClasses(), &s.ServiceClasses}, {scheduler.WorkloadAccounts(), &s.WorkloadAccounts}} {
		served, known, err := resourcesOf(ctx, askFor, server, of.GroupVersion().String())
		if err != nil {
			return err
		}
		*of.there = !known || slices.Contains(served, of.Resource)
		if !*of.there && of.Group == v1alpha1.GroupVersion.Group {
			report(ctx, absent(of.GroupVersionResource), "there are none (kubectl apply -f kube/deploy/api/)")
		}
	}
	s.PlacementConstraints = true
	for _, of := range scheduler.PlacementConstraints() {
		served, known, err := resourcesOf(ctx, askFor, server, of.GroupVersion().String())
		if err != nil {
			return err
		}
		if known && !slices.Contains(served, of.Resource) {
			s.PlacementConstraints = false
			report(ctx, absent(of), "constraints count for nobody (kubectl apply -f kube/deploy/api/)")
		}
	}
	if !s.ServiceClasses {
		return nil
	}
	served, known, err := resourcesOf(ctx, askFor, server, scheduler.Resizes().GroupVersion().String())
	if err != nil {
		return err
	}
	if known && !slices.Contains(served, scheduler.Resizes().Resource) {
		s.Lacks[scheduler.Resizes()] = absent(scheduler.Resizes()) + "; it is there by default since Kubernetes 1.33"
		report(ctx, absent(scheduler.Resizes()), podsFixed)
	}
	served, known, err = resourcesOf(ctx, askFor, server, scheduler.Autoscalers().GroupVersion().String())
	if known && !slices.Contains(served, scheduler.Autoscalers().Resource) { // they are no part of Kubernetes, so that nobody is told that they are missing
		s.Lacks[scheduler.Autoscalers()] = absent(scheduler.Autoscalers())
	}
	return err
}

// absent says that a type is not served.
func absent(r schema.GroupVersionResource) string {
	return fmt.Sprintf("the API server served no %s of %s when fairlead-scheduler began", r.Resource, r.GroupVersion())
}

// report says in the log what is done without, and what becomes of that.
func report(ctx context.Context, why, becomes string) {
	klog.FromContext(ctx).Info("Does without an API", "why", why, "so", becomes)
}

// switchOff switches a feature gate of upstream's filters off, unless it is, and says why in any case.
func switchOff(ctx context.Context, gate featuregate.Feature, why, becomes string) error {
	report(ctx, why, becomes)
	if !utilfeature.DefaultFeatureGate.Enabled(gate) {
		return nil
	}
	return utilfeature.DefaultMutableFeatureGate.Set(string(gate) + "=false")
}

// podGroups asks which pod groups of Kubernetes there are.
func (s *Served) podGroups(ctx context.Context, server discovery.ServerResourcesInterface) error {
	// Off by default in Kubernetes 1.37, so that nobody who does not use them is told that they are missing.
	groups, known, err := resourcesOf(ctx, askForGroups, server, podGroups().GroupVersion().String())
	if err != nil {
		return err
	}
	if known && !slices.Contains(groups, podGroups().Resource) {
		if err := withoutGroupClaims(ctx, absent(podGroups())); err != nil {
			return err
		}
		return s.olderGroups(ctx, server)
	}
	if !known && ctx.Err() == nil {
		klog.FromContext(ctx).Error(nil, "the API server does not say whether it serves podgroups; pods of groups are not placed until fairlead-scheduler begins anew")
	}
	s.PodGroups = slices.Contains(groups, podGroups().Resource)
	if !s.PodGroups || !utilfeature.DefaultFeatureGate.Enabled(features.CompositePodGroup) {
		return nil
	}
	composites, known, err := resourcesOf(ctx, askForGroups, server, compositePodGroups().GroupVersion().String())
	if !known && err == nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(nil, "the API server does not say whether it serves compositepodgroups; pods of groups that are parts of one are not placed until fairlead-scheduler begins anew")
	}
	s.CompositePodGroups = slices.Contains(composites, compositePodGroups().Resource)
	return err
}

// podGroups are the pod groups of Kubernetes that are read.
func podGroups() schema.GroupVersionResource {
	return schedulingv1beta1.SchemeGroupVersion.WithResource("podgroups")
}

// compositePodGroups are those that consist of pod groups.
func compositePodGroups() schema.GroupVersionResource {
	return schedulingv1alpha3.SchemeGroupVersion.WithResource("compositepodgroups")
}

// withoutGroupClaims has upstream's filters not look for pod groups that may share claims, as none is read.
func withoutGroupClaims(ctx context.Context, why string) error {
	if !utilfeature.DefaultFeatureGate.Enabled(features.DRAWorkloadResourceClaims) {
		return nil
	}
	return switchOff(ctx, features.DRAWorkloadResourceClaims, why, "the feature gate DRAWorkloadResourceClaims is off")
}

// olderGroups finds out which Kubernetes' pod groups the server serves, of those that are not read; and says in the log what becomes of their pods.
func (s *Served) olderGroups(ctx context.Context, server discovery.ServerResourcesInterface) error {
	const group, upgrade = "scheduling.k8s.io/", "Fairlead reads pod groups of Kubernetes 1.37 on (scheduling.k8s.io/v1beta1)"
	for _, of := range []struct{ version, resource, kubernetes, field string }{
		{"v1alpha2", "podgroups", "1.36", "spec.schedulingGroup"},
		{"v1alpha1", "workloads", with135, "spec.workloadRef"},
	} {
		resources, _, err := resourcesOf(ctx, askFor, server, group+of.version)
		if err != nil {
			return err
		}
		if slices.Contains(resources, of.resource) {
			klog.FromContext(ctx).Error(nil, upgrade+"; upgrade the cluster, or do without groups", "served", group+of.version, "kubernetes", of.kubernetes, "untilThen", "pods with "+of.field+" are held")
			s.OlderPodGroups = of.kubernetes
			s.Lacks[podGroups()] = fmt.Sprintf("%s, but those of Kubernetes %s; upgrade it to 1.37, or take %s off the pod", absent(podGroups()), of.kubernetes, of.field)
			return nil
		}
	}
	return nil
}

// resourcesOf lists the resources that the server serves of a version of a group, nil if it serves none. It is not known where the server
// did not answer in time.
func resourcesOf(ctx context.Context, atMost time.Duration, server discovery.ServerResourcesInterface, version string) (names []string, known bool, err error) {
	ctx, end := context.WithTimeout(ctx, atMost)
	defer end()
	err = wait.PollUntilContextCancel(ctx, askAgain, true, func(context.Context) (bool, error) {
		list, err := server.ServerResourcesForGroupVersion(version)
		if err != nil && !apierrors.IsNotFound(err) {
			klog.FromContext(ctx).Info("Cannot ask which APIs are served; asking again", "err", err)
			return false, nil
		}
		if err == nil {
			for _, r := range list.APIResources {
				names = append(names, r.Name)
			}
		}
		return true, nil
	})
	if ctx.Err() != nil {
		return nil, false, nil
	}
	return names, err == nil, err
}

// absentOf is an error if the server says that it does not serve some of these types, which are named as in Go, or as resources of a group.
func absentOf(server discovery.ServerResourcesInterface, types []string) error {
	for _, name := range types {
		if versions := absentIn(server, name); len(versions) > 0 {
			return fmt.Errorf("the API server does not serve %s (%s), which it did not say at the start; ending, to begin anew without it", name, strings.Join(versions, ", "))
		}
	}
	return nil
}

// absentIn are the versions of groups that have a type of that name, or none if one of them serves it, or does not say.
func absentIn(server discovery.ServerResourcesInterface, name string) []string {
	var versions []string
	for _, of := range append(scheduler.PlacementConstraints(), scheduler.CoschedulingGroups(), scheduler.ServiceClasses(), scheduler.Autoscalers()) {
		if name != of.GroupResource().String() {
			continue
		}
		list, err := server.ServerResourcesForGroupVersion(of.GroupVersion().String())
		if err != nil && !apierrors.IsNotFound(err) || err == nil && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == of.Resource }) {
			return nil
		}
		return []string{of.GroupVersion().String()}
	}
	for kind, of := range scheme.Scheme.AllKnownTypes() {
		if "*"+of.String() != name || kind.Version == runtime.APIVersionInternal {
			continue
		}
		list, err := server.ServerResourcesForGroupVersion(kind.GroupVersion().String())
		if err != nil && !apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Kind == kind.Kind }) {
			return nil
		}
		versions = append(versions, kind.GroupVersion().String())
	}
	slices.Sort(versions)
	return versions
}
