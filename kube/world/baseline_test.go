package world

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/setup"
	"fairlead.dev/fairlead/sim"
)

// This file holds the policy kube-scheduler to Kubernetes' own scheduler: the plugins that it has by default, unchanged, score the nodes of
// clusters drawn by chance for a pod, and the node that the policy takes is to be among the best.

// baselineApps are the ReplicaSets whose pods there are.
var baselineApps = []string{"web", "db", "cache"}

func replicaSet(app string) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: app, Namespace: "default", UID: types.UID("uid-" + app)},
		Spec:       appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
	}
}

// TestBaselineChoosesAmongTheBest wants the same pods placed, and their nodes among the best, in 99 of 100 cases.
func TestBaselineChoosesAmongTheBest(t *testing.T) {
	setCases(t, "1500")
	b := newBench(t, replicaSet("web"), replicaSet("db"), replicaSet("cache"))
	chosen, best, contested := 0, 0, 0
	var misses []string
	rapid.Check(t, func(t *rapid.T) {
		nodes, placed, pod := drawBaseline(t)
		scores := b.rival.scores(t, nodes, placed, pod)
		node := baselineNode(t, nodes, append(slices.Clone(placed), pod), pod)
		if (node == "") != (len(scores) == 0) {
			t.Fatalf("the pod is on %q, and upstream has the scores %v", node, scores)
		}
		if node == "" {
			return
		}
		top := int64(-1)
		for _, s := range scores {
			top = max(top, s)
		}
		if _, feasible := scores[node]; !feasible {
			t.Fatalf("the pod is on %s, which upstream does not admit: %v", node, scores)
		}
		chosen++
		if len(scores) > 1 {
			contested++
		}
		if scores[node] == top {
			best++
		} else {
			misses = append(misses, fmt.Sprintf("%s with %d: %v", node, scores[node], scores))
		}
	})
	t.Logf("of %d nodes chosen, %d of which among several, %d are among the best of upstream's scores", chosen, contested, best)
	if 100*best < 99*chosen || contested < chosen/2 {
		t.Errorf("%d of %d are among the best, want 99 of 100, such as not\n%s", best, chosen, strings.Join(misses[:min(len(misses), 10)], "\n"))
	}
}

// drawBaseline draws a cluster, and a pod that waits.
func drawBaseline(t *rapid.T) (nodes []*v1.Node, placed []*v1.Pod, pod *v1.Pod) {
	for i := range 2 + number(t, 10, "nodes") {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%02d", i), Labels: map[string]string{v1.LabelHostname: fmt.Sprintf("n%02d", i)}}}
		if zone := pick(t, "zone", "a", "b", "c", "a", "b", ""); zone != "" {
			n.Labels[v1.LabelTopologyZone] = zone
		}
		n.Labels["disk"] = pick(t, "disk", "ssd", "hdd")
		if often(t, 6, "taint") {
			n.Spec.Taints = []v1.Taint{{Key: "gpu", Value: "yes", Effect: v1.TaintEffectNoSchedule}}
		}
		for _, key := range []string{"noisy", "old"} {
			if often(t, 4, key) {
				n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: key, Value: pick(t, key, "", "yes"), Effect: v1.TaintEffectPreferNoSchedule})
			}
		}
		n.Spec.Unschedulable = often(t, 12, "cordoned")
		n.Status.Allocatable = v1.ResourceList{
			v1.ResourceCPU: resource.MustParse(pick(t, "cpu", "3920m", "7910m", "16", "2")), v1.ResourceMemory: resource.MustParse(pick(t, "mem", "7Gi", "15Gi", "63890Mi")),
			v1.ResourcePods: resource.MustParse(pick(t, "pods", "110", "110", "4")),
		}
		nodes = append(nodes, n)
	}
	templates := map[string]v1.PodSpec{}
	for _, app := range baselineApps {
		templates[app] = drawTemplate(t)
	}
	if others := templates["cache"]; often(t, 3, "required") {
		others.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = []v1.PodAffinityTerm{{
			TopologyKey: pick(t, "required key", v1.LabelHostname, v1.LabelTopologyZone), LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": pick(t, "required", "web", "db")}},
		}}
	}
	for i := range number(t, 40, "pods") {
		p := drawOwned(t, fmt.Sprintf("p%02d", i), templates)
		node := nodes[number(t, len(nodes), "node")]
		if disk := p.Spec.NodeSelector["disk"]; disk != "" && node.Labels["disk"] != disk {
			continue // it could not have come there
		}
		p.Spec.NodeName = node.Name
		p.Status.Phase = v1.PodRunning
		placed = append(placed, p)
	}
	return nodes, placed, drawOwned(t, "waits", templates)
}

// drawTemplate draws which nodes the pods of a ReplicaSet may go to, all of them to the same, and what they prefer.
func drawTemplate(t *rapid.T) v1.PodSpec {
	var spec v1.PodSpec
	if often(t, 3, "selector") {
		spec.NodeSelector = map[string]string{"disk": "ssd"}
	}
	if often(t, 3, "tolerates") {
		spec.Tolerations = []v1.Toleration{{Key: "gpu", Operator: v1.TolerationOpExists}}
	}
	if often(t, 3, "tolerates softly") {
		spec.Tolerations = append(spec.Tolerations, v1.Toleration{Key: "old", Value: "yes", Effect: pick(t, "effect", "", v1.TaintEffectPreferNoSchedule)})
	}
	spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{}, PodAffinity: &v1.PodAffinity{}, PodAntiAffinity: &v1.PodAntiAffinity{}}
	for range number(t, 3, "preferred nodes") {
		key := pick(t, "key", "disk", v1.LabelTopologyZone)
		spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution, v1.PreferredSchedulingTerm{
			Weight: int32(1 + number(t, 100, "weight")),
			Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{
				{Key: key, Operator: pick(t, "operator", v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn), Values: []string{pick(t, "value", "ssd", "a", "b")}},
			}},
		})
	}
	spec.Affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = drawLiked(t)
	spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = drawLiked(t)
	if often(t, 3, "spread") {
		for _, key := range [][]string{{v1.LabelTopologyZone}, {v1.LabelHostname}, {v1.LabelTopologyZone, v1.LabelHostname}}[number(t, 3, "keys")] {
			spec.TopologySpreadConstraints = append(spec.TopologySpreadConstraints, v1.TopologySpreadConstraint{
				MaxSkew: int32(1 + number(t, 4, "skew")), TopologyKey: key, WhenUnsatisfiable: v1.ScheduleAnyway, LabelSelector: drawSelector(t),
			})
		}
	}
	return spec
}

// drawLiked draws whom pods like to be beside, or not.
func drawLiked(t *rapid.T) (terms []v1.WeightedPodAffinityTerm) {
	for range max(number(t, 5, "company")-2, 0) {
		terms = append(terms, v1.WeightedPodAffinityTerm{
			Weight:          int32(1 + number(t, 100, "weight")),
			PodAffinityTerm: v1.PodAffinityTerm{TopologyKey: pick(t, "key", v1.LabelHostname, v1.LabelTopologyZone), LabelSelector: drawSelector(t)},
		})
	}
	return terms
}

// drawSelector draws which pods are selected: those of an application, or of a track of all of them.
func drawSelector(t *rapid.T) *metav1.LabelSelector {
	if often(t, 3, "by track") {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "track", Operator: metav1.LabelSelectorOpExists}}}
	}
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": pick(t, "selected", baselineApps...)}}
}

// drawOwned draws a pod of one of the ReplicaSets.
func drawOwned(t *rapid.T, name string, templates map[string]v1.PodSpec) *v1.Pod {
	app := pick(t, "app", baselineApps...)
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "default", UID: types.UID("uid-" + name), Labels: map[string]string{"app": app},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app, UID: types.UID("uid-" + app), Controller: new(true)}},
	}, Spec: templates[app]}
	if often(t, 3, "track") {
		p.Labels["track"] = "canary"
	}
	list := v1.ResourceList{}
	if cpu := pick(t, "cpu", "", "100m", "250m", "500m", "1", "1500m"); cpu != "" {
		list[v1.ResourceCPU] = resource.MustParse(cpu)
	}
	if mem := pick(t, "mem", "", "128Mi", "512Mi", "1Gi", "3Gi"); mem != "" {
		list[v1.ResourceMemory] = resource.MustParse(mem)
	}
	p.Spec.Containers = []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{Requests: list}}}
	return p
}

// scores are upstream's of the nodes that would take the pod.
func (r *rival) scores(t *rapid.T, nodes []*v1.Node, placed []*v1.Pod, pod *v1.Pod) map[string]int64 {
	r.snapshot.SharedLister = cache.NewSnapshot(placed, nodes)
	infos, _ := r.snapshot.NodeInfos().List()
	state := framework.NewCycleState()
	result, status, _ := r.framework.RunPreFilterPlugins(r.ctx, state, pod)
	if !status.IsSuccess() {
		return nil
	}
	var feasible []fwk.NodeInfo
	for _, info := range infos {
		if (result.AllNodes() || result.NodeNames.Has(info.Node().Name)) && r.framework.RunFilterPlugins(r.ctx, state, pod, info).IsSuccess() {
			feasible = append(feasible, info)
		}
	}
	if len(feasible) == 0 {
		return nil
	}
	if status := r.framework.RunPreScorePlugins(r.ctx, state, pod, feasible); !status.IsSuccess() {
		t.Fatal(status)
	}
	list, status := r.framework.RunScorePlugins(r.ctx, state, pod, feasible)
	if !status.IsSuccess() {
		t.Fatal(status)
	}
	scores := map[string]int64{}
	for _, s := range list {
		scores[s.Name] = s.TotalScore
	}
	return scores
}

// baselineNode is the node that the policy gives the pod, empty if none.
func baselineNode(t *rapid.T, nodes []*v1.Node, pods []*v1.Pod, pod *v1.Pod) string {
	list := map[string]any{"apiVersion": "v1", "kind": "List"}
	var items []any
	for _, n := range nodes {
		n.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}
		items = append(items, n)
	}
	for _, p := range pods {
		p.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		items = append(items, p)
	}
	list["items"] = items
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "baseline")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "me.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	spec := setup.Default()
	spec.Source.Cluster = "kubernetes:" + file
	spec.Policies = spec.Policies[:1]
	spec.Policies[0].Name, spec.Policies[0].Options = "kube-scheduler", nil
	plan, err := spec.Plan(policies.All())
	if err != nil {
		t.Fatal(err)
	}
	source, err := plan.Sources.Open(1)
	if err != nil {
		t.Fatal(err)
	}
	config, err := plan.Config(plan.Runs()[0], source, setup.Env{})
	if err != nil {
		t.Fatal(err)
	}
	var end sim.Ending
	config.Finished = func(e sim.Ending) { end = e }
	if _, err := sim.Run(config); err != nil {
		t.Fatal(err)
	}
	for row, name := range end.Names {
		if name == pod.Namespace+"/"+pod.Name {
			if task := end.Core.View().Task(cluster.TaskID(row)); task.Placed() {
				return end.Core.View().NodeSpec(task.Node).Name
			}
		}
	}
	return ""
}
