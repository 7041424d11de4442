package app

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clientgotesting "k8s.io/client-go/testing"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"
)

// What is optional and absent is done without; what is needed and absent ends the program with a word.
func TestAbsentAPIs(t *testing.T) {
	slices, rules := metav1.APIResource{Name: "resourceslices"}, metav1.APIResource{Name: "devicetaintrules"}
	for _, test := range []struct {
		name   string
		served []*metav1.APIResourceList
		rules  bool
		groups bool
		older  string
		fails  string
		labels bool // of the coscheduling plugin
	}{
		{"all", []*metav1.APIResourceList{{GroupVersion: "resource.k8s.io/v1", APIResources: []metav1.APIResource{slices, rules}}}, true, false, "", "", false},
		{"no taint rules", []*metav1.APIResourceList{{GroupVersion: "resource.k8s.io/v1", APIResources: []metav1.APIResource{slices}}}, false, false, "", "", false},
		{"pod groups", []*metav1.APIResourceList{{GroupVersion: "resource.k8s.io/v1", APIResources: []metav1.APIResource{slices, rules}}, {GroupVersion: "scheduling.k8s.io/v1beta1", APIResources: []metav1.APIResource{{Name: "podgroups"}}}}, true, true, "", "", false},
		{"composite pod groups", []*metav1.APIResourceList{
			{GroupVersion: "resource.k8s.io/v1", APIResources: []metav1.APIResource{slices, rules}},
			{GroupVersion: "scheduling.k8s.io/v1beta1", APIResources: []metav1.APIResource{{Name: "podgroups"}}},
			{GroupVersion: "scheduling.k8s.io/v1alpha3", APIResources: []metav1.APIResource{{Name: "compositepodgroups"}}},
		}, true, true, "", "", false},
		{"composite pod groups without the gate", []*metav1.APIResourceList{
			{GroupVersion: "resource.k8s.io/v1", APIResources: []metav1.APIResource{slices, rules}},
			{GroupVersion: "scheduling.k8s.io/v1beta1", APIResources: []metav1.APIResource{{Name: "podgroups"}}},
			{GroupVersion: "scheduling.k8s.io/v1alpha3", APIResources: []metav1.APIResource{{Name: "compositepodgroups"}}},
		}, true, true, "", "", false},
		{"pod groups of 1.36", []*metav1.APIResourceList{{GroupVersion: "resource.k8s.io/v1", APIResources: []metav1.APIResource{slices, rules}}, {GroupVersion: "scheduling.k8s.io/v1alpha2", APIResources: []metav1.APIResource{{Name: "podgroups"}}}}, true, false, "1.36", "", false},
		{"workloads of 1.35", []*metav1.APIResourceList{{GroupVersion: "resource.k8s.io/v1", APIResources: []metav1.APIResource{slices, rules}}, {GroupVersion: "scheduling.k8s.io/v1alpha1", APIResources: []metav1.APIResource{{Name: "workloads"}}}}, true, false, "1.35", "", false},
		{"groups of coscheduling", []*metav1.APIResourceList{{GroupVersion: "resource.k8s.io/v1", APIResources: []metav1.APIResource{slices, rules}}, {GroupVersion: "scheduling.x-k8s.io/v1alpha1", APIResources: []metav1.APIResource{{Name: "elasticquotas"}, {Name: "podgroups"}}}}, true, false, "", "", true},
		{"quotas of its plugins alone", []*metav1.APIResourceList{{GroupVersion: "resource.k8s.io/v1", APIResources: []metav1.APIResource{slices, rules}}, {GroupVersion: "scheduling.x-k8s.io/v1alpha1", APIResources: []metav1.APIResource{{Name: "elasticquotas"}}}}, true, false, "", "", false},
		{"no devices", nil, true, false, "", "does not serve resource.k8s.io/v1", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.DRADeviceTaintRules, true)
			featuregatetesting.SetFeatureGatesDuringTest(t, utilfeature.DefaultFeatureGate, featuregatetesting.FeatureOverrides{
				features.GenericWorkload: true, features.DRAWorkloadResourceClaims: true,
				features.TopologyAwareWorkloadScheduling: true, features.CompositePodGroup: test.name != "composite pod groups without the gate",
			})
			server := fake.NewClientset().Discovery().(*fakediscovery.FakeDiscovery)
			server.Resources = test.served
			serves, err := Adapt(t.Context(), server)
			if test.fails == "" && err != nil || test.fails != "" && (err == nil || !strings.Contains(err.Error(), test.fails)) {
				t.Errorf("the error is %v, want %q", err, test.fails)
			}
			if serves.PodGroups != test.groups || serves.OlderPodGroups != test.older {
				t.Errorf("pod groups are read: %t, and there are those of %q", serves.PodGroups, serves.OlderPodGroups)
			}
			client, err := serves.CoschedulingClient(&rest.Config{})
			if serves.Coscheduling != test.labels || (client != nil) != test.labels || err != nil {
				t.Errorf("groups of the coscheduling plugin are read: %t, by %v (%v)", serves.Coscheduling, client, err)
			}
			if serves.CompositePodGroups != (test.name == "composite pod groups") {
				t.Errorf("composite pod groups are read: %t", serves.CompositePodGroups)
			}
			if on := utilfeature.DefaultFeatureGate.Enabled(features.DRADeviceTaintRules); on != test.rules {
				t.Errorf("taint rules are followed: %t", on)
			}
			if on := utilfeature.DefaultFeatureGate.Enabled(features.DRAWorkloadResourceClaims); on != test.groups && test.fails == "" {
				t.Errorf("claims of pod groups are followed: %t", on)
			}
		})
	}
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
