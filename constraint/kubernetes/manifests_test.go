package kubernetes_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint/kubernetes"
	"fairlead.dev/fairlead/constraint/kubernetes/kubernetestest"
)

// documents are the objects of a file of YAML, as JSON.
func documents(t *testing.T, text string) (all []json.RawMessage) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(text))
	for {
		var document any
		err := d.Decode(&document)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if document == nil {
			continue
		}
		object, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, object)
	}
}

// read is the cluster of the objects.
func read(t *testing.T, text string) (*kubernetes.Cluster, error) {
	t.Helper()
	var objects kubernetes.Objects
	for _, object := range documents(t, text) {
		if err := objects.Add(object); err != nil {
			return nil, err
		}
	}
	return objects.Cluster()
}

func translate(t *testing.T, text string) (*kubernetes.Cluster, *kubernetes.Translation) {
	t.Helper()
	c, err := read(t, text)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := kubernetes.Translate(c)
	if err != nil {
		t.Fatal(err)
	}
	return c, rules
}

// text is a constraint as people write it.
func text(c *cluster.Constraint) string {
	var alternatives []string
	for _, bounds := range c.Any {
		var all []string
		for _, b := range bounds {
			most := fmt.Sprint(b.Max)
			if b.Max == cluster.Unbounded {
				most = "inf"
			}
			subject := strings.Join(b.Subject, " & ")
			if subject == "" {
				subject = "*"
			}
			words := ""
			for word, is := range map[string]bool{", or the first": b.OrFirst, ", over the fewest": b.OverFewest} {
				if is {
					words += word
				}
			}
			all = append(all, fmt.Sprintf("{%s, {%s, %d, %s}, %s%s}", subject, strings.Join(b.Target, " & "), b.Min, most, b.Group, words))
		}
		alternatives = append(alternatives, strings.Join(all, " & "))
	}
	end := ": hard"
	if c.Arriving {
		end = ": arriving"
	}
	if !c.Hard {
		end = strings.TrimSuffix(end, " hard") + fmt.Sprintf(" %d.%03d", c.Weight/1000, c.Weight%1000)
	}
	return strings.Join(alternatives, " | ") + end
}

// threeZones are a node in each of the zones a, b and c, and one without a zone.
const threeZones = `
{kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1, zone: a}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}}
---
{kind: Node, metadata: {name: n2, labels: {kubernetes.io/hostname: n2, zone: b}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}}
---
{kind: Node, metadata: {name: n3, labels: {kubernetes.io/hostname: n3, zone: c, disk: ssd}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}}
---
{kind: Node, metadata: {name: n4, labels: {kubernetes.io/hostname: n4}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}}
---
`

// deployment is so many pods with a label app that is their name.
func deployment(name string, replicas int, spec string) string {
	return fmt.Sprintf("{kind: Deployment, metadata: {name: %s}, spec: {replicas: %d, template: {metadata: {labels: {app: %s}}, spec: {%s}}}}\n---\n", name, replicas, name, spec)
}

func affinity(kind, terms string) string {
	return "affinity: {" + kind + ": {requiredDuringSchedulingIgnoredDuringExecution: [" + terms + "]}}"
}

func preferred(kind, terms string) string {
	return "affinity: {" + kind + ": {preferredDuringSchedulingIgnoredDuringExecution: [" + terms + "]}}"
}

// Each rule of a pod, and what it becomes.
func TestTranslate(t *testing.T) {
	const web, byZone, byNode = "labelSelector: {matchLabels: {app: web}}", "topologyKey: zone", "topologyKey: kubernetes.io/hostname"
	const running = "{kind: Pod, metadata: {name: old, labels: {app: web}}, spec: {nodeName: n1}}\n---\n"
	for _, c := range []struct{ name, objects, want string }{
		{
			"replicas on nodes of their own", deployment("web", 3, affinity("podAntiAffinity", "{"+web+", "+byNode+"}")),
			"{app:default/deployment/web, {k8s:default/app=web, 0, 0}, node}: hard",
		},
		{
			"away from others, wherever they are", deployment("db", 1, affinity("podAntiAffinity", "{"+web+", "+byZone+", namespaces: [b, a]}")),
			"{app:default/deployment/db, {k8s:a,b/app=web, 0, 0}, zone}: hard",
		},
		{
			"away from all of all namespaces", deployment("db", 1, affinity("podAntiAffinity", "{labelSelector: {}, namespaceSelector: {}, "+byZone+"}")),
			"{app:default/deployment/db, {k8s:*, 0, 0}, zone}: hard",
		},
		{
			"what one label cannot say", deployment("db", 1, affinity("podAntiAffinity", "{labelSelector: {matchLabels: {tier: front}, matchExpressions: [{key: app, operator: NotIn, values: [web, api]}]}, "+byZone+"}")),
			"{app:default/deployment/db, {k8s:default/app not in api,web & k8s:default/tier=front, 0, 0}, zone}: hard",
		},
		{
			"no selector selects nobody", deployment("db", 1, affinity("podAntiAffinity", "{"+byZone+"}")),
			"{app:default/deployment/db, {k8s:nobody, 0, 0}, zone}: hard",
		},
		{
			"away from other revisions", deployment("web", 2, affinity("podAntiAffinity", "{"+web+", "+byNode+", mismatchLabelKeys: [pod-template-hash]}")),
			"{app:default/deployment/web, {k8s:default/app=web & k8s:default/pod-template-hash not in web, 0, 0}, node}: hard",
		},
		{
			"beside others", deployment("db", 2, affinity("podAffinity", "{"+web+", "+byZone+"}")) + deployment("web", 1, ""),
			"{app:default/deployment/db, {k8s:default/app=web, 1, inf}, zone}: hard",
		},
		{
			"several terms mean pods that all select", deployment("db", 2, affinity("podAffinity", "{"+web+", "+byZone+"}, {labelSelector: {matchLabels: {tier: front}}, "+byNode+"}")),
			"{app:default/deployment/db, {k8s:default/app=web & k8s:default/tier=front, 1, inf}, node} & {app:default/deployment/db, {k8s:default/app=web & k8s:default/tier=front, 1, inf}, zone}: hard",
		},
		{
			"together, the first goes anywhere", deployment("web", 4, affinity("podAffinity", "{"+web+", "+byZone+"}")),
			"{app:default/deployment/web, {app:default/deployment/web, 3, inf}, zone}: hard",
		},
		{
			"one alone needs nobody", deployment("web", 1, affinity("podAffinity", "{"+web+", "+byZone+"}")), "",
		},
		{
			"beside those that run", running + deployment("web", 4, affinity("podAffinity", "{"+web+", "+byZone+"}")),
			"{app:default/deployment/web, {k8s:anchor/app:default/deployment/web, 1, inf}, zone}: hard",
		},
		{
			"those that run outside all zones are no company", strings.Replace(running, "n1", "n4", 1) + deployment("web", 4, affinity("podAffinity", "{"+web+", "+byZone+"}")),
			"{app:default/deployment/web, {app:default/deployment/web, 3, inf}, zone} | {app:default/deployment/web, {k8s:anchor/app:default/deployment/web, 1, inf}, zone}: hard",
		},
		{
			"each waits for the other, for ever",
			deployment("db", 1, affinity("podAffinity", "{"+web+", "+byZone+"}")) + deployment("web", 1, affinity("podAffinity", "{labelSelector: {matchLabels: {app: db}}, "+byZone+"}")),
			"{app:default/deployment/db, {k8s:nobody, 1, inf}, zone}: hard\n{app:default/deployment/web, {k8s:default/app=db, 1, inf}, zone}: hard",
		},
		{
			"spread evenly", deployment("web", 100, "topologySpreadConstraints: [{maxSkew: 1, "+byZone+", whenUnsatisfiable: DoNotSchedule, "+web+"}]"),
			"{app:default/deployment/web, {k8s:default/app=web, 0, 0}, zone} | {*, {k8s:default/app=web, 33, inf}, zone} & {app:default/deployment/web, {k8s:default/app=web, 0, 33}, zone}: hard",
		},
		{
			"spread within two", deployment("web", 5, "topologySpreadConstraints: [{maxSkew: 2, "+byZone+", whenUnsatisfiable: DoNotSchedule, "+web+"}]"),
			"{app:default/deployment/web, {k8s:default/app=web, 0, 1}, zone} | {*, {k8s:default/app=web, 1, inf}, zone} & {app:default/deployment/web, {k8s:default/app=web, 0, 2}, zone}: hard",
		},
		{
			"at most so many, by minDomains that are never there", deployment("web", 100, "topologySpreadConstraints: [{maxSkew: 3, minDomains: 9, "+byZone+", whenUnsatisfiable: DoNotSchedule, "+web+"}]"),
			"{app:default/deployment/web, {k8s:default/app=web, 0, 2}, zone}: hard",
		},
		{
			"over the zones that may be used", deployment("web", 2, "nodeSelector: {disk: ssd}, topologySpreadConstraints: [{maxSkew: 1, "+byZone+", whenUnsatisfiable: DoNotSchedule, "+web+"}]"),
			"{app:default/deployment/web, {k8s:default/app=web, 0, 0}, zone for default/deployment/web} | {*, {k8s:default/app=web, 1, inf}, zone for default/deployment/web} & {app:default/deployment/web, {k8s:default/app=web, 0, 1}, zone for default/deployment/web} | {*, {k8s:default/app=web, 2, inf}, zone for default/deployment/web} & {app:default/deployment/web, {k8s:default/app=web, 0, 2}, zone for default/deployment/web}: hard",
		},
		{
			"rather even", deployment("web", 3, "topologySpreadConstraints: [{maxSkew: 1, "+byZone+", whenUnsatisfiable: ScheduleAnyway, "+web+"}]"),
			"{app:default/deployment/web, {k8s:default/app=web, 0, 0}, zone} | {*, {k8s:default/app=web, 1, inf}, zone} & {app:default/deployment/web, {k8s:default/app=web, 0, 1}, zone}: 1.000",
		},
		{
			"over the zones without taints", "{kind: Node, metadata: {name: n5, labels: {zone: d}}, spec: {taints: [{key: old, effect: NoSchedule}]}}\n---\n" +
				deployment("web", 7, "topologySpreadConstraints: [{maxSkew: 1, "+byZone+", nodeTaintsPolicy: Honor, whenUnsatisfiable: DoNotSchedule, "+web+"}]"),
			"{app:default/deployment/web, {k8s:default/app=web, 0, 0}, zone for default/deployment/web} | {*, {k8s:default/app=web, 2, inf}, zone for default/deployment/web} & {app:default/deployment/web, {k8s:default/app=web, 0, 2}, zone for default/deployment/web}: hard",
		},
		{
			"a host port of one address", deployment("dns", 2, "containers: [{ports: [{hostPort: 53, protocol: UDP, hostIP: 10.0.0.1}]}]"),
			"{app:default/deployment/dns, {k8s:host port UDP/53 on 10.0.0.1, 0, 0}, node}: hard\n{app:default/deployment/dns, {k8s:host port UDP/53 on every address, 0, 0}, node}: hard",
		},
		{
			"rather beside", deployment("db", 3, preferred("podAffinity", "{weight: 50, podAffinityTerm: {"+web+", "+byZone+"}}")),
			"{app:default/deployment/db, {k8s:default/app=web, 1, inf}, zone}: 0.500",
		},
		{
			"rather away", deployment("db", 3, preferred("podAntiAffinity", "{weight: 100, podAffinityTerm: {"+web+", "+byNode+"}}")),
			"{app:default/deployment/db, {k8s:default/app=web, 0, 0}, node}: 1.000",
		},
		{
			"rather on some nodes, and on others that are not there", deployment("db", 3, preferred("nodeAffinity", "{weight: 80, preference: {matchExpressions: [{key: zone, operator: In, values: [a]}]}}, {weight: 9, preference: {matchExpressions: [{key: gpu, operator: Exists}]}}")),
			"{app:default/deployment/db, {app:default/deployment/db, 1, inf}, nodes that default/deployment/db prefers}: 0.800",
		},
	} {
		_, rules := translate(t, threeZones+c.objects)
		var got []string
		for i := range rules.Constraints {
			got = append(got, text(&rules.Constraints[i]))
		}
		if got := strings.Join(got, "\n"); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// Pods that follow each other may do so in one zone, and in another follow somebody else: that is
// what Kubernetes can reach and the constraint rules out, and the note says so.
func TestMixedCompanyIsRuledOut(t *testing.T) {
	pod := func(name, rules string) string {
		return "{kind: Pod, metadata: {name: " + name + ", labels: {app: web}, ownerReferences: [{kind: ReplicaSet, name: " + strings.TrimRight(name, "-0123456789") + "}]}, spec: {" + rules + "}}\n---\n"
	}
	follows := affinity("podAffinity", "{labelSelector: {matchLabels: {app: web}}, topologyKey: zone}")
	pods := documents(t, pod("follower-1", follows)+pod("follower-2", follows)+pod("other-1", ""))
	w := kubernetestest.Read(t, documents(t, threeZones), pods)
	for _, c := range []struct {
		name     string
		end      []int
		may, can bool
	}{
		{"together, the other elsewhere", []int{0, 0, 1}, true, true},
		{"each beside the other", []int{1, 1, 1}, true, true},
		{"the one first, the other beside", []int{0, 1, 1}, false, true},
		{"each alone", []int{0, 1, 2}, false, false},
		{"outside all zones", []int{3, 3, 3}, false, false},
	} {
		if may := w.Holds(c.end); may != c.may {
			t.Errorf("%s: the constraints allow it: %v, want %v", c.name, may, c.may)
		}
		if can := w.Reaches(w.Model, c.end); can != c.can {
			t.Errorf("%s: Kubernetes reaches it: %v, want %v", c.name, can, c.can)
		}
	}
	if len(w.Rules.Notes) != 1 || !strings.Contains(w.Rules.Notes[0].Text, "Kubernetes may also let some do the one, some the other") {
		t.Errorf("notes %+v", w.Rules.Notes)
	}
}

// At most so many per set is what a spread with minDomains beyond all domains asks.
func TestAtMost(t *testing.T) {
	c := kubernetes.AtMost("default/deployment/web", 3, "zone")
	if err := cluster.CheckConstraint(&c); err != nil {
		t.Fatal(err)
	}
	if b := c.Any[0][0]; b.Max != 3 || !b.SelfCounted || !slices.Equal(b.Subject, b.Target) {
		t.Errorf("bound %+v", b)
	}
}

// What manifests come to: pods of a controller that is there are not made again, those that
// are done are left out, and requests are added up.
func TestCluster(t *testing.T) {
	c, err := read(t, threeZones+`
{kind: Pod, metadata: {name: db-1, namespace: prod, labels: {app: db}, ownerReferences: [{kind: ReplicaSet, name: db-5f, controller: true}]}, spec: {nodeName: n2, containers: [{resources: {requests: {cpu: 500m, nvidia.com/gpu: 1}}}]}}
---
{kind: ReplicaSet, metadata: {name: db-5f, namespace: prod, ownerReferences: [{kind: Deployment, name: db, controller: true}]}, spec: {replicas: 3}}
---
{kind: Deployment, metadata: {name: db, namespace: prod}, spec: {replicas: 3}}
---
{kind: StatefulSet, metadata: {name: queue}, spec: {replicas: 2, template: {spec: {tolerations: [{key: old}], volumes: [{persistentVolumeClaim: {}}]}}}}
---
{kind: Job, metadata: {name: sum}, spec: {parallelism: 5, completions: 3}}
---
{kind: List, items: [{kind: Pod, metadata: {name: done}, status: {phase: Succeeded}}, {kind: Service, metadata: {name: s}}]}
---
{kind: Deployment, metadata: {name: none}, spec: {replicas: 0}}
`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range c.Workloads {
		names := ""
		for _, p := range w.Pods {
			names += fmt.Sprintf(" %s@%d", p.Name, p.Node)
		}
		got = append(got, fmt.Sprint(w.Application, " ", w.Demand, names))
	}
	want := `prod/replicaset/db-5f [500 0 1 1000] db-1@1
default/statefulset/queue [0 0 1 0] queue-0@-1 queue-1@-1
default/job/sum [0 0 1 0] sum-0@-1 sum-1@-1 sum-2@-1`
	if got := strings.Join(got, "\n"); got != want {
		t.Errorf("workloads\n%s\nwant\n%s", got, want)
	}
	notes := strings.Join(c.Notes, "\n")
	for _, want := range []string{
		"default/statefulset/queue: spec.volumes is not honoured: where the volume behind a claim can be is not known",
		"passed over 1 objects of kind Service", "left out 2 controllers whose pods are there", "left out 1 pods that are done",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note %q in\n%s", want, notes)
		}
	}
}

// Tags, groups and nodes of one workload.
func TestTagsAndGroups(t *testing.T) {
	_, rules := translate(t, threeZones+deployment("web", 3, affinity("podAffinity", "{labelSelector: {matchExpressions: [{key: app, operator: Exists}]}, topologyKey: zone}")+", nodeSelector: {disk: ssd}")+
		deployment("db", 1, "tolerations: [{operator: Exists}]"))
	if got, want := fmt.Sprint(rules.Tags[0]), "[app:default/deployment/web k8s:default k8s:default/app exists k8s:default/app=web k8s:default/pod-template-hash=web]"; got != want {
		t.Errorf("tags %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(rules.Eligible), "[[false false true false] [true true true true]]"; got != want {
		t.Errorf("eligible %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(rules.Groups), "[[{zone a}] [{zone b}] [{zone c}] []]"; got != want {
		t.Errorf("groups %s, want %s", got, want)
	}
}

// Wrong manifests are refused by the name of the field.
func TestRefusals(t *testing.T) {
	pod := func(spec string) string { return "{kind: Pod, metadata: {name: p}, spec: {" + spec + "}}" }
	spread := func(more string) string {
		return pod("topologySpreadConstraints: [{topologyKey: zone, " + more + "}]")
	}
	for _, c := range []struct{ object, want string }{
		{"{kind: DaemonSet, metadata: {name: d}}", "DaemonSet d: its pods go to every node that they may use"},
		{"{kind: CronJob, metadata: {name: d}}", "CronJob d: it has no pods until its time comes"},
		{"{metadata: {name: d}}", `object d: kind: want Node, Pod`},
		{"{kind: Pod}", "metadata.name: want a name"},
		{"{kind: Deployment, metadata: {name: d}, spec: {replicas: -1}}", `Deployment d: spec.replicas: want 0 to 1000000, got "-1"`},
		{"{kind: Deployment, metadata: {name: d}, spec: {replicas: many}}", `Deployment d: spec.replicas: want a value of type int32, got "string"`},
		{"{kind: Deployment, metadata: {name: d}, spec: {template: {spec: {containers: [{resources: {requests: {cpu: x}}}]}}}}", `Deployment d: spec.template: spec.containers[0].resources.requests.cpu: want a quantity`},
		{pod("nodeName: n9"), `Pod p: spec.nodeName: want a node that is there, got "n9"`},
		{pod(affinity("podAffinity", "{labelSelector: {}}")), `podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: want a label's key`},
		{pod(affinity("podAntiAffinity", "{topologyKey: z, labelSelector: {matchExpressions: [{key: a, operator: Gt}]}}")), `[0].labelSelector.matchExpressions[0].operator: want one of`},
		{pod(preferred("podAffinity", "{weight: 101, podAffinityTerm: {topologyKey: z}}")), `[0].weight: want 1 to 100, got "101"`},
		{spread("whenUnsatisfiable: DoNotSchedule"), `topologySpreadConstraints[0].maxSkew: want at least 1, got "0"`},
		{spread("maxSkew: 1"), `whenUnsatisfiable: want DoNotSchedule or ScheduleAnyway, got ""`},
		{spread("maxSkew: 1, whenUnsatisfiable: ScheduleAnyway, minDomains: 2"), `minDomains: want at least 1, and only beside DoNotSchedule`},
		{spread("maxSkew: 1, whenUnsatisfiable: ScheduleAnyway, nodeTaintsPolicy: honor"), `nodeTaintsPolicy: want Honor or Ignore, got "honor"`},
		{threeZones[:strings.Index(threeZones, "---")] + "---\n" + threeZones[:strings.Index(threeZones, "---")], `Node n1: metadata.name: want each object once`},
	} {
		if _, err := read(t, c.object); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n got %v\nwant %s", c.object, err, c.want)
		}
	}
}
