package kubernetes

import (
	"bytes"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

const preferring = `
kind: Node
metadata: {name: n1, labels: {zone: a, disk: ssd, kubernetes.io/hostname: n1}}
spec: {taints: [{key: old, value: "yes", effect: PreferNoSchedule}, {key: dedicated, value: gpu, effect: NoSchedule}]}
---
kind: Node
metadata: {name: n2, labels: {zone: b, cores: many, kubernetes.io/hostname: n2}}
spec: {taints: [{key: noisy, effect: PreferNoSchedule}, {key: old, value: "yes", effect: PreferNoSchedule}]}
---
kind: Pod
metadata: {name: a}
---
kind: Pod
metadata: {name: b, labels: {app: web}}
spec:
  tolerations: [{key: old, operator: Exists}]
  affinity:
    nodeAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 30, preference: {matchExpressions: [{key: disk, operator: In, values: [ssd, nvme]}, {key: cores, operator: Lt, values: ["4"]}]}}
      - {weight: 1, preference: {matchFields: [{key: metadata.name, operator: In, values: [n2]}]}}
      - {weight: 9, preference: {}}
    podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 7, podAffinityTerm: {topologyKey: zone, labelSelector: {matchLabels: {app: db}}}}]}
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 60, podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}}
      - {weight: 50, podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}}
  topologySpreadConstraints: [{maxSkew: 3, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}]
---
kind: Pod
metadata: {name: c}
spec: {tolerations: [{operator: Exists}]}
`

// TestPreferences: preferred nodes and taints that keep nobody off are preferences of tasks, the company that pods prefer and soft spread are
// soft constraints; no node is out of reach for that, as node n2 has no disk.
func TestPreferences(t *testing.T) {
	all, s, err := readText(t, preferring)
	if err != nil {
		t.Fatal(err)
	}
	const want = `
0 n1 [disk=ssd] [spec.taints=dedicated=gpu:NoSchedule] [spec.taints old=yes:PreferNoSchedule=yes] [zone=a] {zone=a}
1 n2 [cores=many] [spec.taints noisy:PreferNoSchedule=yes] [spec.taints old=yes:PreferNoSchedule=yes] [zone=b] {zone=b}
default/pod/b: preferred podAffinity: {"k8s:default/pod/b: preferred podAffinity", {k8s:default/app=db, 1, inf}, zone}: arriving 0.07
default/pod/b: preferred podAntiAffinity: {"k8s:default/pod/b: preferred podAntiAffinity", {k8s:default/app=web, 0, 0}, node}: arriving 1.1
default/pod/b: topologySpreadConstraints, soft: {"k8s:default/pod/b: topologySpreadConstraints, soft", {k8s:default/app=web, 0, 3}, zone, over-fewest}: arriving 1 counted
default/a 0/0 of 1 pods=1 -100 for[spec.taints noisy:PreferNoSchedule=yes] -100 for[spec.taints old=yes:PreferNoSchedule=yes] [spec.taints!=dedicated=gpu:NoSchedule]
default/b 1/0 of 1 pods=1 30 for[disk=nvme|ssd cores<4 cores!=|many] 1 for[metadata.name=n2] -100 for[spec.taints noisy:PreferNoSchedule=yes] [spec.taints!=dedicated=gpu:NoSchedule] <k8s:default/app=web> <k8s:default/pod/b: preferred podAffinity> <k8s:default/pod/b: preferred podAntiAffinity> <k8s:default/pod/b: topologySpreadConstraints, soft>
default/c 2/0 of 1 pods=1
`
	got := strings.ReplaceAll(picture(s, all), " user=default class=0 priority=0", "")
	if diff := gocmp.Diff(want[1:], got); diff != "" {
		t.Error(diff)
	}
	if len(s.Notes()) > 0 {
		t.Errorf("notes %q", s.Notes())
	}
}

// TestRedactKeepsPreferences: what is read of a redacted dump is what was read of the dump.
func TestRedactKeepsPreferences(t *testing.T) {
	file := write(t, "me.yaml", preferring)
	all, s, err := read(t, file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := Redact(&b, file, false, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	again, redacted, err := read(t, write(t, "redacted.json", b.String()), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(picture(s, all), picture(redacted, again)); diff != "" {
		t.Error(diff)
	}
}

// TestPreferencesThatCannotBeKnown: of nodes that are elsewhere nobody knows who is near whom.
func TestPreferencesThatCannotBeKnown(t *testing.T) {
	_, s, err := read(t, write(t, "me.yaml", preferring), Options{Elsewhere: true})
	if err != nil {
		t.Fatal(err)
	}
	const want = `ignored a preference: spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution of pods (1)
ignored a preference: spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution of pods (1)
ignored a preference: spec.topologySpreadConstraints with ScheduleAnyway of pods (1)`
	if got := strings.Join(s.Notes(), "\n"); got != want {
		t.Errorf("notes:\n%s", got)
	}
}
