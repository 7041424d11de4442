package plugin

import (
	"strings"
	"testing"
)

// A shadow is found wherever it runs, by the label of its pods, and the pod that leads by the name of its host; who may not look, or has named another, goes by what he says.
func TestShadowIsFound(t *testing.T) {
	const pods = `
{apiVersion: v1, kind: Pod, metadata: {name: mine-a, namespace: systems, labels: {app.kubernetes.io/name: mine, app.kubernetes.io/component: shadow}}, spec: {containers: [{name: c, ports: [{name: https, containerPort: 10300}]}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: mine-b, namespace: systems, labels: {app.kubernetes.io/name: mine, app.kubernetes.io/component: shadow}}, spec: {hostNetwork: true, nodeName: n7, containers: [{name: c, ports: [{name: https, containerPort: 10301}]}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: other, namespace: systems, labels: {app.kubernetes.io/name: other}}, spec: {containers: [{name: c}]}}
`
	const another = pods + `---
{apiVersion: v1, kind: Pod, metadata: {name: second-a, namespace: tests, labels: {app.kubernetes.io/name: second, app.kubernetes.io/component: shadow}}, spec: {containers: [{name: c}]}}
`
	for _, tc := range []struct {
		name, objects, host string
		forbidden           []string
		told                differ
		want                differ
		pod                 string
	}{
		{"by its label", pods, "mine-a", nil, differ{}, differ{namespace: "systems", lease: "mine", account: "mine-reader", port: 10300}, "mine-a"},
		{"on the network of its node", pods, "n7", nil, differ{}, differ{namespace: "systems", lease: "mine", account: "mine-reader", port: 10301}, "mine-b"},
		{"one of two", another, "second-a", nil, differ{namespace: "tests"}, differ{namespace: "tests", lease: "second", account: "second-reader", port: 10259}, "second-a"},
		{"by its name", another, "mine-a", nil, differ{lease: "mine", port: 1}, differ{namespace: "systems", lease: "mine", account: "mine-reader", port: 1}, "mine-a"},
		{"unseen", pods, "x", []string{"pods"}, differ{}, differ{namespace: "kube-system", lease: "fairlead-shadow", account: "fairlead-shadow-reader", port: 10259}, "x"},
		{"named, and unseen", pods, "x", []string{"pods"}, differ{namespace: "a", lease: "b", account: "c"}, differ{namespace: "a", lease: "b", account: "c", port: 10259}, "x"},
		{"none", "", "x", nil, differ{}, differ{namespace: "kube-system", lease: "fairlead-shadow", account: "fairlead-shadow-reader", port: 10259}, "x"},
	} {
		d := tc.told
		if err := d.find(t.Context(), clientOf(t, tc.objects, tc.forbidden...)); err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		pod := d.pod(tc.host)
		if d.pods = nil; pod != tc.pod || d.namespace != tc.want.namespace || d.lease != tc.want.lease || d.account != tc.want.account || d.port != tc.want.port {
			t.Errorf("%s: pod %s by %+v, want %s by %+v", tc.name, pod, d, tc.pod, tc.want)
		}
	}
	if err := (&differ{}).find(t.Context(), clientOf(t, another)); err == nil || !strings.Contains(err.Error(), "there are several shadows, systems/mine, tests/second: say which by --shadow-namespace and --lease") {
		t.Error(err)
	}
}
