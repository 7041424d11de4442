package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/features"

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

// Served is which of the optional APIs there are that the scheduler itself reads.
type Served struct {
	PodGroups, CompositePodGroups bool
	// OlderPodGroups is the Kubernetes whose pod groups there are instead; empty for none.
	OlderPodGroups string
	// Coscheduling says that there are pod groups of the coscheduling plugin.
	Coscheduling bool
}

// CoschedulingClient is a client of the coscheduling plugin's pod groups; nil where there are none.
func (s Served) CoschedulingClient(to *rest.Config) (dynamic.Interface, error) {
	if !s.Coscheduling {
		return nil, nil
	}
	return dynamic.NewForConfig(to)
}

// Adapt does without the optional APIs that the server does not serve, and says so.
func Adapt(ctx context.Context, server discovery.ServerResourcesInterface) (Served, error) {
	devices, known, err := resourcesOf(ctx, askFor, server, resourcev1.SchemeGroupVersion.String())
	switch {
	case err != nil:
		return Served{}, err
	case known && devices == nil:
		return Served{}, fmt.Errorf("the API server does not serve %s, from which upstream's filters learn of devices; it is served by default since Kubernetes 1.34", resourcev1.SchemeGroupVersion)
	case known && utilfeature.DefaultFeatureGate.Enabled(features.DRADeviceTaintRules) && !slices.Contains(devices, "devicetaintrules"):
		klog.FromContext(ctx).Info("The API server does not serve devicetaintrules of " + resourcev1.SchemeGroupVersion.String() + ": taints of devices are those of their slices alone")
		if err := utilfeature.DefaultMutableFeatureGate.Set(string(features.DRADeviceTaintRules) + "=false"); err != nil {
			return Served{}, err
		}
	}
	of := scheduler.CoschedulingGroups()
	coscheduling, known, err := resourcesOf(ctx, askFor, server, of.GroupVersion().String())
	if err != nil {
		return Served{}, err
	}
	served, err := podGroups(ctx, server)
	served.Coscheduling = !known || slices.Contains(coscheduling, of.Resource)
	return served, err
}

// podGroups asks which pod groups of Kubernetes there are.
func podGroups(ctx context.Context, server discovery.ServerResourcesInterface) (Served, error) {
	// Off by default in Kubernetes 1.37, so that nobody who does not use them is told that they are missing.
	groups, known, err := resourcesOf(ctx, askForGroups, server, schedulingv1beta1.SchemeGroupVersion.String())
	if known && err == nil && !slices.Contains(groups, "podgroups") {
		if err := withoutGroupClaims(ctx); err != nil {
			return Served{}, err
		}
		older, err := olderGroups(ctx, server)
		return Served{OlderPodGroups: older}, err
	}
	if !known && err == nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(nil, "the API server does not say whether it serves podgroups; pods of groups are not placed until fairlead-scheduler begins anew")
	}
	serves := Served{PodGroups: slices.Contains(groups, "podgroups")}
	if !serves.PodGroups || err != nil {
		return serves, err
	}
	if !utilfeature.DefaultFeatureGate.Enabled(features.CompositePodGroup) {
		return serves, nil
	}
	composites, known, err := resourcesOf(ctx, askForGroups, server, schedulingv1alpha3.SchemeGroupVersion.String())
	if !known && err == nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(nil, "the API server does not say whether it serves compositepodgroups; pods of groups that are parts of one are not placed until fairlead-scheduler begins anew")
	}
	serves.CompositePodGroups = slices.Contains(composites, "compositepodgroups")
	return serves, err
}

// withoutGroupClaims has upstream's filters not look for pod groups that may share claims, as none is served.
func withoutGroupClaims(ctx context.Context) error {
	if !utilfeature.DefaultFeatureGate.Enabled(features.DRAWorkloadResourceClaims) {
		return nil
	}
	klog.FromContext(ctx).Info("The API server does not serve podgroups of " + schedulingv1beta1.SchemeGroupVersion.String() + ": the feature gate DRAWorkloadResourceClaims is off")
	return utilfeature.DefaultMutableFeatureGate.Set(string(features.DRAWorkloadResourceClaims) + "=false")
}

// olderGroups names the Kubernetes whose pod groups the server serves, of those that are not read; and says in the log what becomes of their pods.
func olderGroups(ctx context.Context, server discovery.ServerResourcesInterface) (string, error) {
	const group, upgrade = "scheduling.k8s.io/", "Fairlead reads pod groups of Kubernetes 1.37 on (scheduling.k8s.io/v1beta1)"
	for _, of := range []struct{ version, resource, kubernetes, becomes string }{
		{"v1alpha2", "podgroups", "1.36", "pods with spec.schedulingGroup are held"},
		{"v1alpha1", "workloads", "1.35", "pods with spec.workloadRef are placed each by itself"},
	} {
		resources, _, err := resourcesOf(ctx, askFor, server, group+of.version)
		if err != nil {
			return "", err
		}
		if slices.Contains(resources, of.resource) {
			klog.FromContext(ctx).Error(nil, upgrade+"; upgrade the cluster, or do without groups", "served", group+of.version, "kubernetes", of.kubernetes, "untilThen", of.becomes)
			return of.kubernetes, nil
		}
	}
	return "", nil
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
	if of := scheduler.CoschedulingGroups(); name == of.GroupResource().String() {
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
