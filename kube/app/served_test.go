package app

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clientgotesting "k8s.io/client-go/testing"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/scheduler"
)

// groupVersions are the APIs that an API server serves: "resource.k8s.io/v1 resourceslices devicetaintrules".
func groupVersions(served ...string) []*metav1.APIResourceList {
	var all []*metav1.APIResourceList
	for _, of := range served {
		words := strings.Fields(of)
		list := &metav1.APIResourceList{GroupVersion: words[0]}
		for _, name := range words[1:] {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: name})
		}
		all = append(all, list)
	}
	return all
}

const (
	servedDevices = "resource.k8s.io/v1 deviceclasses resourceclaims resourceslices"
	servedVolumes = "storage.k8s.io/v1 csidrivers csinodes csistoragecapacities storageclasses volumeattachments"
	servedBudgets = "policy/v1 poddisruptionbudgets"
	servedGroups  = "scheduling.k8s.io/v1beta1 podgroups"
)

// fakeServer serves these APIs, and lets a role do all but what is named: "list csinodes".
func fakeServer(served []string, forbidden string) *fake.Clientset {
	client := fake.NewClientset()
	client.Discovery().(*fakediscovery.FakeDiscovery).Resources = groupVersions(served...)
	client.PrependReactor("create", "selfsubjectaccessreviews", func(a clientgotesting.Action) (bool, runtime.Object, error) {
		review := a.(clientgotesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		asked := review.Spec.ResourceAttributes
		review.Status.Allowed = forbidden != asked.Verb+" "+asked.Resource
		return true, review, nil
	})
	return client
}

// adapt adapts in a bubble, where whoever waits for a right waits for no time.
func adapt(t *testing.T, client *fake.Clientset, c *config.SchedulerConfiguration) (serves Served, err error) {
	t.Helper()
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.DRADeviceTaintRules, true)
	synctest.Test(t, func(t *testing.T) { serves, err = Adapt(t.Context(), client, c) })
	return serves, err
}

// What is optional and absent is done without.
func TestAbsentAPIs(t *testing.T) {
	const rules = " devicetaintrules"
	for _, test := range []struct {
		name   string
		served []string
		rules  bool
		groups bool
		older  string
		labels bool     // of the coscheduling plugin
		lacks  []string // resources
	}{
		{name: "all", served: []string{servedDevices + rules}, rules: true},
		{name: "no taint rules", served: []string{servedDevices}},
		{name: "pod groups", served: []string{servedDevices + rules, servedGroups}, rules: true, groups: true},
		{name: "composite pod groups", served: []string{servedDevices + rules, servedGroups, "scheduling.k8s.io/v1alpha3 compositepodgroups"}, rules: true, groups: true},
		{name: "composite pod groups without the gate", served: []string{servedDevices + rules, servedGroups, "scheduling.k8s.io/v1alpha3 compositepodgroups"}, rules: true, groups: true},
		{name: "pod groups of 1.36", served: []string{servedDevices + rules, "scheduling.k8s.io/v1alpha2 podgroups"}, rules: true, older: "1.36", lacks: []string{"podgroups"}},
		{name: "workloads of 1.35", served: []string{servedDevices + rules, "scheduling.k8s.io/v1alpha1 workloads"}, rules: true, older: "1.35", lacks: []string{"podgroups"}},
		{name: "groups of coscheduling", served: []string{servedDevices + rules, "scheduling.x-k8s.io/v1alpha1 elasticquotas podgroups"}, rules: true, labels: true},
		{name: "quotas of its plugins alone", served: []string{servedDevices + rules, "scheduling.x-k8s.io/v1alpha1 elasticquotas"}, rules: true},
		{name: "no devices", lacks: []string{"deviceclasses", "devicetaintrules", "resourceclaims", "resourceslices"}},
		{name: "no claims", served: []string{"resource.k8s.io/v1 deviceclasses resourceslices"}, lacks: []string{"deviceclasses", "devicetaintrules", "resourceclaims", "resourceslices"}},
		{name: "no CSINodes", served: []string{servedDevices, "storage.k8s.io/v1 csidrivers csistoragecapacities storageclasses volumeattachments"}, lacks: []string{"csinodes"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			featuregatetesting.SetFeatureGatesDuringTest(t, utilfeature.DefaultFeatureGate, featuregatetesting.FeatureOverrides{
				features.GenericWorkload: true, features.DRAWorkloadResourceClaims: true,
				features.TopologyAwareWorkloadScheduling: true, features.CompositePodGroup: test.name != "composite pod groups without the gate",
			})
			if test.name != "no CSINodes" {
				test.served = append(test.served, servedVolumes)
			}
			serves, err := adapt(t, fakeServer(test.served, ""), quiet())
			if err != nil {
				t.Fatal(err)
			}
			if serves.PodGroups != test.groups || serves.OlderPodGroups != test.older {
				t.Errorf("pod groups are read: %t, and there are those of %q", serves.PodGroups, serves.OlderPodGroups)
			}
			var told scheduler.Options
			if err := serves.Apply(&told, &rest.Config{}); serves.Coscheduling != test.labels || (told.Coscheduling != nil) != test.labels || err != nil {
				t.Errorf("groups of the coscheduling plugin are read: %t, by %v (%v)", serves.Coscheduling, told.Coscheduling, err)
			}
			if (told.Workloads != nil) != (test.older == "1.35") {
				t.Errorf("workloads of pods are read by %v", told.Workloads)
			}
			if serves.CompositePodGroups != (test.name == "composite pod groups") {
				t.Errorf("composite pod groups are read: %t", serves.CompositePodGroups)
			}
			if on := utilfeature.DefaultFeatureGate.Enabled(features.DRADeviceTaintRules); on != test.rules {
				t.Errorf("taint rules are followed: %t", on)
			}
			if on := utilfeature.DefaultFeatureGate.Enabled(features.DRAWorkloadResourceClaims); on != test.groups {
				t.Errorf("claims of pod groups are followed: %t", on)
			}
			if lacks := lacking(serves); !slices.Equal(lacks, test.lacks) {
				t.Errorf("it lacks %v, want %v", lacks, test.lacks)
			}
		})
	}
}

// lacking are the types that are not read, in order.
func lacking(s Served) []string {
	var all []string
	for r := range s.Lacks {
		all = append(all, r.Resource)
	}
	slices.Sort(all)
	return all
}

// What the role may not read is done without where nothing is done wrong by that, and else ends the program with a word on what to do. So does an Eviction API without budgets.
func TestMissingRights(t *testing.T) {
	all := []string{servedDevices, servedVolumes, servedBudgets, servedGroups, "scheduling.x-k8s.io/v1alpha1 podgroups"}
	devices := []string{"deviceclasses", "devicetaintrules", "resourceclaims", "resourceslices"}
	for _, test := range []struct {
		forbidden, budgets string
		without            string // an API that is not served
		lacks              []string
		fails              string
	}{
		{budgets: config.Hard},
		{forbidden: "list poddisruptionbudgets"},
		{forbidden: "list poddisruptionbudgets", budgets: config.Hard, lacks: []string{"poddisruptionbudgets"}},
		{forbidden: "watch poddisruptionbudgets", budgets: config.BestEffort, fails: "may not watch poddisruptionbudgets of policy/v1, as kube/deploy/rbac.yaml lets it; without it nobody would honour budgets for the profile fairlead (evictions.budgets: bestEffort): allow it, or say budgets: hard there"},
		{forbidden: "create pods"},
		{forbidden: "create pods", budgets: config.Hard, fails: "may not create pods/eviction of v1, as kube/deploy/rbac.yaml lets it; without it no pod leaves for another: allow it, or say evictions: {enabled: false} in each profile"},
		{forbidden: "delete pods", budgets: config.Hard},
		{forbidden: "delete pods", budgets: config.BestEffort, fails: "may not delete pods of v1"},
		{without: servedBudgets},
		{without: servedBudgets, budgets: config.BestEffort, lacks: []string{"poddisruptionbudgets"}},
		{without: servedBudgets, budgets: config.Hard, fails: "the API server served no poddisruptionbudgets of policy/v1 when fairlead-scheduler began, without which its Eviction API lets no pod go, and the profile fairlead asks that"},
		{forbidden: "list resourceslices", lacks: devices},
		{forbidden: "watch resourceclaims", lacks: devices},
		{forbidden: "list csinodes", fails: "may not list csinodes of storage.k8s.io/v1, as kube/deploy/rbac.yaml lets it; without it pods would be placed where their volumes cannot be used: allow it"},
		{forbidden: "list podgroups", fails: "pods of groups would be placed each by itself"}, // those of the plugin, which go by the same name
	} {
		t.Run(test.forbidden+" "+test.budgets+" "+test.without, func(t *testing.T) {
			c := quiet()
			c.Profiles[0].Evictions.Enabled, c.Profiles[0].Evictions.Budgets = test.budgets != "", test.budgets
			served := slices.DeleteFunc(slices.Clone(all), func(of string) bool { return of == test.without })
			serves, err := adapt(t, fakeServer(served, test.forbidden), c)
			if test.fails == "" && err != nil || test.fails != "" && (err == nil || !strings.Contains(err.Error(), test.fails)) {
				t.Errorf("the error is %v, want %q", err, test.fails)
			}
			if lacks := lacking(serves); !slices.Equal(lacks, test.lacks) {
				t.Errorf("it lacks %v, want %v", lacks, test.lacks)
			}
		})
	}
	serves, err := adapt(t, fakeServer(all[:4], "list podgroups"), quiet())
	if err != nil || serves.PodGroups || !slices.Equal(lacking(serves), []string{"podgroups"}) {
		t.Errorf("pod groups that may not be listed are read: %t; it lacks %v (%v)", serves.PodGroups, lacking(serves), err)
	}
}

// What was found of rights holds though the API server does not answer any more when it is asked again; and one that lets nobody ask is taken to allow all.
func TestRightsThatCannotBeAsked(t *testing.T) {
	for name, test := range map[string]struct {
		after int // answers
		err   error
		fails bool
	}{
		"away later":      {11, errors.New("away"), true},
		"away for good":   {0, errors.New("away"), false},
		"not to be asked": {0, apierrors.NewForbidden(schema.GroupResource{Resource: "selfsubjectaccessreviews"}, "", nil), false},
	} {
		t.Run(name, func(t *testing.T) {
			client := fakeServer([]string{servedVolumes}, "list csinodes")
			asked := 0
			client.PrependReactor("create", "selfsubjectaccessreviews", func(clientgotesting.Action) (bool, runtime.Object, error) {
				asked++
				return asked > test.after, nil, test.err
			})
			if _, err := adapt(t, client, quiet()); (err != nil) != test.fails {
				t.Errorf("after %d answers: %v, want an error: %t", test.after, err, test.fails)
			}
		})
	}
}

// quiet is a configuration under which nobody is evicted, so that budgets do not matter.
func quiet() *config.SchedulerConfiguration {
	c := config.Default()
	c.Profiles[0].Evictions.Enabled = false
	return c
}

// What is not served is told by name. Nothing is said of what is served, of a type that another group has under the same name, nor where the server does not answer.
func TestAbsentOf(t *testing.T) {
	server := fake.NewClientset().Discovery().(*fakediscovery.FakeDiscovery)
	server.Resources = []*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "pods", Kind: "Pod"}}},
		{GroupVersion: "events.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "events", Kind: "Event"}}},
		{GroupVersion: "resource.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "resourceslices", Kind: "ResourceSlice"}}},
	}
	for _, test := range []struct {
		types []string
		want  string
	}{
		{nil, ""},
		{[]string{"*v1.Pod", "*v1.Event", "*v1.ResourceSlice"}, ""},
		{[]string{"*v1.Pod", "*v1.DeviceTaintRule"}, "the API server does not serve *v1.DeviceTaintRule (resource.k8s.io/v1), "},
		{[]string{"podgroups.scheduling.x-k8s.io"}, "the API server does not serve podgroups.scheduling.x-k8s.io (scheduling.x-k8s.io/v1alpha1), "},
		{[]string{"*v1beta1.PodGroup"}, "the API server does not serve *v1beta1.PodGroup (scheduling.k8s.io/v1beta1), "},
	} {
		err := absentOf(server, test.types)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
			t.Errorf("%v: %v, want %q", test.types, err, test.want)
		}
	}
	server.PrependReactor("*", "*", func(clientgotesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("away") })
	if err := absentOf(server, []string{"*v1.DeviceTaintRule", "podgroups.scheduling.x-k8s.io"}); err != nil {
		t.Errorf("a server that does not answer: %v", err)
	}
}

// VerticalPodAutoscalers are read where there are classes by which pods could grow, they are served, and the role may; it is done without them otherwise.
func TestAutoscalersAreRead(t *testing.T) {
	const ours, theirs, resizes = "fairlead.dev/v1alpha1 serviceclasses", "autoscaling.k8s.io/v1 verticalpodautoscalers", "v1 pods pods/resize"
	all := []string{servedDevices + " devicetaintrules", servedVolumes, resizes}
	for name, test := range map[string]struct {
		served    []string
		forbidden string
		lacks     []string
	}{
		"read":         {served: []string{ours, theirs}},
		"not served":   {served: []string{ours, "autoscaling.k8s.io/v1beta2 verticalpodautoscalers"}, lacks: []string{"verticalpodautoscalers"}},
		"forbidden":    {served: []string{ours, theirs}, forbidden: "watch verticalpodautoscalers", lacks: []string{"verticalpodautoscalers"}},
		"for no class": {served: []string{theirs}},
	} {
		t.Run(name, func(t *testing.T) {
			serves, err := adapt(t, fakeServer(slices.Concat(all, test.served), test.forbidden), quiet())
			if lacks := lacking(serves); err != nil || !slices.Equal(lacks, test.lacks) {
				t.Errorf("it lacks %v, want %v (%v)", lacks, test.lacks, err)
			}
		})
	}
}
