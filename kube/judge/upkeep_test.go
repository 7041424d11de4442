package judge

// The property that all of this package stands on: a case that was kept current answers like upstream's framework over a fresh snapshot of the same cluster.

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"pgregory.net/rapid"
)

func namespace(name, team string) *v1.Namespace {
	return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": team}}}
}

// placed is a pod on a node as both sides know it.
type placed struct {
	info *framework.PodInfo
	node string
}

// cluster is the state machine: it changes the judge step by step and can show the rival the whole.
type cluster struct {
	*bench
	nodes map[string]*v1.Node
	pods  map[string]placed
	cases []*Case
	count int
}

func TestKeptCasesAnswerLikeFreshOnes(t *testing.T) {
	namespaces := []string{"default", "other"}
	b := newBench(t, namespace("default", "red"), namespace("other", "blue"))
	rapid.Check(t, func(t *rapid.T) {
		c := &cluster{bench: b, nodes: map[string]*v1.Node{}, pods: map[string]placed{}}
		for name := range maps.Clone(c.judge.view.byName) {
			c.judge.RemoveNode(name)
		}
		for i := range rapid.IntRange(2, 5).Draw(t, "nodes") {
			c.setNode(drawNode(t, i))
		}
		for i := range rapid.IntRange(1, 4).Draw(t, "cases") {
			pod := drawPod(t, fmt.Sprintf("case-%d", i), namespaces)
			if opened, status := c.judge.Case(pod, nil); status.IsSuccess() {
				c.cases = append(c.cases, opened)
			}
		}
		defer func() {
			for _, open := range c.cases {
				open.Close()
			}
		}()
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				if len(c.nodes) == 0 {
					t.Skip("no node")
				}
				c.count++
				c.add(drawPod(t, fmt.Sprintf("pod-%d", c.count), namespaces), c.drawNodeName(t))
			},
			"add one of a case": func(t *rapid.T) {
				if len(c.nodes) == 0 || len(c.cases) == 0 {
					t.Skip("no node or case")
				}
				c.count++
				pod := c.cases[rapid.IntRange(0, len(c.cases)-1).Draw(t, "case")].pod.DeepCopy()
				pod.Name = fmt.Sprintf("pod-%d", c.count)
				pod.UID = types.UID("uid-" + pod.Name)
				c.add(pod, c.drawNodeName(t))
			},
			"remove": func(t *rapid.T) {
				if len(c.pods) == 0 {
					t.Skip("no pod")
				}
				c.remove(rapid.SampledFrom(slices.Sorted(maps.Keys(c.pods))).Draw(t, "pod"))
			},
			"terminate": func(t *rapid.T) {
				if len(c.pods) == 0 {
					t.Skip("no pod")
				}
				name := rapid.SampledFrom(slices.Sorted(maps.Keys(c.pods))).Draw(t, "pod")
				pod := c.pods[name].info.Pod.DeepCopy()
				pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
				node := c.pods[name].node
				c.remove(name)
				c.add(pod, node)
			},
			"node": func(t *rapid.T) {
				c.setNode(drawNode(t, rapid.IntRange(0, 5).Draw(t, "index")))
			},
			"lose": func(t *rapid.T) {
				if len(c.nodes) < 2 {
					t.Skip("too few nodes")
				}
				c.loseNode(c.drawNodeName(t))
			},
			"": func(t *rapid.T) { c.compare(t) },
		})
	})
}

func (c *cluster) drawNodeName(t *rapid.T) string {
	return rapid.SampledFrom(slices.Sorted(maps.Keys(c.nodes))).Draw(t, "node")
}

func (c *cluster) setNode(node *v1.Node) {
	c.nodes[node.Name] = node
	c.judge.SetNode(node)
}

func (c *cluster) loseNode(name string) {
	delete(c.nodes, name)
	maps.DeleteFunc(c.pods, func(_ string, p placed) bool { return p.node == name })
	c.judge.RemoveNode(name)
}

func (c *cluster) add(pod *v1.Pod, node string) {
	pod.Spec.NodeName = node
	info, err := NewPod(pod)
	if err != nil {
		panic(err)
	}
	c.pods[pod.Name] = placed{info, node}
	c.judge.AddPod(info, node)
}

func (c *cluster) remove(name string) {
	c.judge.RemovePod(c.pods[name].info, c.pods[name].node)
	delete(c.pods, name)
}

// compare asks both sides about every case and node.
func (c *cluster) compare(t *rapid.T) {
	var pods []*v1.Pod
	for _, name := range slices.Sorted(maps.Keys(c.pods)) {
		pods = append(pods, c.pods[name].info.Pod)
	}
	c.rival.show(slices.Collect(maps.Values(c.nodes)), pods)
	for _, open := range c.cases {
		want := c.rival.verdicts(open.pod)
		var feasible []string
		for name := range c.nodes {
			if got := words(open.LastWord(open.pod, name)); got != want[name] {
				t.Fatalf("pod %s on node %s: kept case says %q, fresh framework says %q", open.pod.Name, name, got, want[name])
			}
			if want[name] == "yes" {
				feasible = append(feasible, name)
			}
		}
		got := slices.Sorted(slices.Values(open.Feasible(0)))
		slices.Sort(feasible)
		if !slices.Equal(got, feasible) {
			t.Fatalf("pod %s: kept case finds %v feasible, fresh framework %v", open.pod.Name, got, feasible)
		}
	}
	c.compareButForRoom(t)
}

// compareButForRoom asks both sides about a case where all pods take nothing.
func (c *cluster) compareButForRoom(t *rapid.T) {
	open := c.cases[rapid.IntRange(0, len(c.cases)-1).Draw(t, "but for room")]
	var pods []*v1.Pod
	for _, name := range slices.Sorted(maps.Keys(c.pods)) {
		pod := c.pods[name].info.Pod.DeepCopy()
		pod.Spec.Containers[0].Resources, pod.Spec.Containers[0].Ports = v1.ResourceRequirements{}, nil
		pods = append(pods, pod)
	}
	var nodes []*v1.Node
	for _, node := range c.nodes {
		node = node.DeepCopy()
		node.Status.Allocatable[v1.ResourcePods] = resource.MustParse("1000")
		nodes = append(nodes, node)
	}
	c.rival.show(nodes, pods)
	var want []string
	for name, verdict := range c.rival.verdicts(open.pod) {
		if verdict == "yes" {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	if got := slices.Sorted(slices.Values(open.FeasibleBut(nil))); !slices.Equal(got, want) {
		t.Fatalf("pod %s: kept case finds %v feasible but for room, fresh framework %v", open.pod.Name, got, want)
	}
}

// drawNode draws a node of one of three zones or none, with or without a disk and a taint.
func drawNode(t *rapid.T, index int) *v1.Node {
	node := makeNode(fmt.Sprintf("node-%d", index))
	if zone := rapid.SampledFrom([]string{"a", "b", "c", ""}).Draw(t, "zone"); zone != "" {
		node.Labels["zone"] = zone
	}
	if rapid.Bool().Draw(t, "disk") {
		node.Labels["disk"] = "ssd"
	}
	if rapid.IntRange(0, 3).Draw(t, "tainted") == 0 {
		node.Spec.Taints = []v1.Taint{{Key: "role", Value: "db", Effect: v1.TaintEffectNoSchedule}}
	}
	node.Spec.Unschedulable = rapid.IntRange(0, 7).Draw(t, "cordoned") == 0
	return node
}

// drawPod draws a pod with any of the features that filters tell pods apart by, volumes and claims aside.
func drawPod(t *rapid.T, name string, namespaces []string) *v1.Pod {
	pod := makePod(name, "app="+rapid.SampledFrom([]string{"web", "db"}).Draw(t, "app"))
	pod.Namespace = rapid.SampledFrom(namespaces).Draw(t, "namespace")
	pod.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse(rapid.SampledFrom([]string{"100m", "2"}).Draw(t, "cpu"))
	if rapid.IntRange(0, 4).Draw(t, "port") == 0 {
		pod.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: 80, ContainerPort: 80, Protocol: v1.ProtocolTCP}}
	}
	if rapid.Bool().Draw(t, "tolerates") {
		pod.Spec.Tolerations = []v1.Toleration{{Key: "role", Operator: v1.TolerationOpExists}}
	}
	if rapid.IntRange(0, 3).Draw(t, "needs disk") == 0 {
		pod.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	}
	pod.Spec.Affinity = &v1.Affinity{}
	if terms := drawTerms(t, "near"); len(terms) > 0 {
		pod.Spec.Affinity.PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}
	}
	if terms := drawTerms(t, "away"); len(terms) > 0 {
		pod.Spec.Affinity.PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}
	}
	for range max(0, rapid.IntRange(-1, 2).Draw(t, "constraints")) {
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, drawConstraint(t))
	}
	return pod
}

// drawSelector draws a selector: of one label, of everything, or none at all.
func drawSelector(t *rapid.T) *metav1.LabelSelector {
	return rapid.SampledFrom([]*metav1.LabelSelector{
		selecting("app=web"), selecting("app=web"), selecting("app=db"), {}, nil,
	}).Draw(t, "selector")
}

func drawTopology(t *rapid.T) string {
	return rapid.SampledFrom([]string{"zone", "zone", v1.LabelHostname}).Draw(t, "topology")
}

// drawTerms draws no term more often than one or two.
func drawTerms(t *rapid.T, what string) []v1.PodAffinityTerm {
	var terms []v1.PodAffinityTerm
	for range max(0, rapid.IntRange(-3, 2).Draw(t, what)) {
		term := v1.PodAffinityTerm{TopologyKey: drawTopology(t), LabelSelector: drawSelector(t)}
		switch rapid.IntRange(0, 4).Draw(t, "namespaces") {
		case 0:
			term.Namespaces = []string{"other"}
		case 1:
			term.NamespaceSelector = selecting("team=red")
		case 2:
			term.NamespaceSelector = &metav1.LabelSelector{}
		}
		terms = append(terms, term)
	}
	return terms
}

func drawConstraint(t *rapid.T) v1.TopologySpreadConstraint {
	constraint := v1.TopologySpreadConstraint{
		MaxSkew:           int32(rapid.IntRange(1, 2).Draw(t, "skew")),
		TopologyKey:       drawTopology(t),
		WhenUnsatisfiable: rapid.SampledFrom([]v1.UnsatisfiableConstraintAction{v1.DoNotSchedule, v1.DoNotSchedule, v1.ScheduleAnyway}).Draw(t, "action"),
		LabelSelector:     drawSelector(t),
	}
	policies := []*v1.NodeInclusionPolicy{nil, new(v1.NodeInclusionPolicyHonor), new(v1.NodeInclusionPolicyIgnore)}
	constraint.NodeAffinityPolicy = rapid.SampledFrom(policies).Draw(t, "affinity policy")
	constraint.NodeTaintsPolicy = rapid.SampledFrom(policies).Draw(t, "taints policy")
	if constraint.WhenUnsatisfiable == v1.DoNotSchedule && rapid.IntRange(0, 3).Draw(t, "limits domains") == 0 {
		constraint.MinDomains = new(int32(rapid.IntRange(1, 4).Draw(t, "domains")))
	}
	if constraint.LabelSelector != nil && rapid.IntRange(0, 5).Draw(t, "match keys") == 0 {
		constraint.MatchLabelKeys = []string{"app"}
	}
	return constraint
}
