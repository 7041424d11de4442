package kubernetes

import (
	"fmt"
	"strings"
	"testing"

	"fairlead.dev/fairlead/sim/trace"
)

// zones are nodes of two zones, and one of none.
const zones = `
kind: List
items:
- {kind: Node, metadata: {name: n1, labels: {zone: a}}}
- {kind: Node, metadata: {name: n2, labels: {zone: b}}}
- {kind: Node, metadata: {name: n3}}
---
`

// companion is a pod of a controller, with a label of its own that nobody asks for.
func companion(name, owner, node, rules string) string {
	return fmt.Sprintf("{kind: Pod, metadata: {name: %[1]s, labels: {app: %[2]s, pod: %[1]s}, ownerReferences: [{kind: StatefulSet, name: %[2]s}]}, spec: {nodeName: %[3]q, %[4]s}}\n---\n", name, owner, node, rules)
}

const (
	evenly = "topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]"
	beside = "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {matchLabels: {app: web}}}]}}"
)

// What pods ask of others is a constraint, before the pods; these have the tags that it names,
// and nodes the groups. Pods that run have it, too.
func TestCompany(t *testing.T) {
	all, s, err := readText(t, zones+companion("web-0", "web", "n1", evenly)+companion("web-1", "web", "", evenly)+companion("db-0", "db", "", beside)+companion("etc-0", "etc", "", ""))
	if err != nil {
		t.Fatal(err)
	}
	want := `
0 n1 [zone=a] {zone=a}
1 n2 [zone=b] {zone=b}
2 n3
default/statefulset/db: required podAffinity: {"k8s:default/statefulset/db: required podAffinity", {k8s:default/app=web, 1, inf}, zone}: arriving
default/statefulset/web: topologySpreadConstraints: {"k8s:default/statefulset/web: topologySpreadConstraints", {k8s:default/app=web, 0, 1}, zone, over-fewest}: arriving counted
default/db-0 0/0 of 1 pods=1 [zone!=] <k8s:default/statefulset/db: required podAffinity>
default/etc-0 1/0 of 1 pods=1
default/web-0 2/0 of 2 pods=1 on 0 [zone!=] <k8s:default/app=web> <k8s:default/statefulset/web: topologySpreadConstraints>
default/web-1 2/1 of 2 pods=1 [zone!=] <k8s:default/app=web> <k8s:default/statefulset/web: topologySpreadConstraints>
`
	if got := strings.ReplaceAll(picture(s, all), " user=default class=0 priority=0", ""); got != want[1:] {
		t.Errorf("got\n%swant%s", got, want)
	}
	if len(s.Notes()) > 0 {
		t.Errorf("notes %q", s.Notes())
	}
}

// A thousand pods with the same rules have one constraint, whoever owns them, and the same tags.
func TestOneConstraintForMany(t *testing.T) {
	var b strings.Builder
	b.WriteString(zones)
	for i := range 1000 {
		b.WriteString(companion(fmt.Sprintf("db-%d", i), fmt.Sprintf("db-%d", i), "", beside))
	}
	b.WriteString(companion("web-0", "web", "", ""))
	all, _, err := readText(t, b.String())
	if err != nil {
		t.Fatal(err)
	}
	tags := map[string]int{}
	constraints := 0
	for _, r := range all {
		switch r.What {
		case trace.ConstraintAdded:
			constraints++
		case trace.TaskSubmitted:
			tags[fmt.Sprint(r.Task.Tags)]++
		default:
		}
	}
	if constraints != 1 || len(tags) != 2 {
		t.Errorf("%d constraints, and %v", constraints, tags)
	}
}

// Labels of namespaces are those of the files, if they have any; and where the nodes are
// another's, nobody knows who is near whom.
func TestUnknownCompany(t *testing.T) {
	team := strings.Replace(evenly+", "+beside, "labelSelector: {matchLabels: {app: web}}}]}}", "labelSelector: {}, namespaceSelector: {matchLabels: {team: a}}}]}}", 1)
	pods := companion("db-0", "db", "", team) + companion("db-1", "db", "", team)
	const unknown = "pod default/db-0: spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespaceSelector: want a field that is simulated: the labels of namespaces are not in the files"
	if _, _, err := readText(t, zones+pods); err == nil || !strings.Contains(err.Error(), unknown) {
		t.Errorf("got %v, want %s", err, unknown)
	}
	all, s, err := readText(t, zones+"{kind: Namespace, metadata: {name: default, labels: {team: a}}}\n---\n"+pods)
	if err != nil || !strings.Contains(picture(s, all), "<k8s:default/statefulset/db: required podAffinity>") {
		t.Errorf("%v\n%s", err, picture(s, all))
	}
	file := write(t, "a.yaml", zones+pods)
	_, _, err = read(t, file, Options{Elsewhere: true})
	for _, want := range []string{"who is near whom is known only of nodes in the same files", "spec.topologySpreadConstraints[0]: want a field that is simulated: over what it spreads"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("elsewhere: %v, want %s", err, want)
		}
	}
	all, _, err = read(t, file, Options{Elsewhere: true, Lenient: true})
	if err != nil || len(all[len(all)-1].Task.Requirements)+len(all[len(all)-1].Task.Tags) > 0 {
		t.Errorf("elsewhere, lenient: %+v, %v", all[len(all)-1].Task, err)
	}
}
