package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// This file draws what is in clusters beside pods that our scheduler may place: those that belong to nodes, those behind
// scheduling gates, and those of other schedulers. They take room or will want some, so that they count for where others go.

// beside says what there is beside plain pods.
type beside struct {
	daemons bool // pods of DaemonSets, and static ones, on each node
	gated   bool // pods of which some wait behind scheduling gates
	others  bool // pods of other schedulers, on nodes and waiting
	company bool // pods that are kept away from others or beside them, or are spread
}

// String names what there is.
func (b beside) String() string {
	names := []string{"plain"}
	for _, of := range []struct {
		is   bool
		name string
	}{{b.daemons, "daemons"}, {b.gated, "gated"}, {b.others, "others"}, {b.company, "company"}} {
		if of.is {
			names = append(names, of.name)
		}
	}
	return strings.Join(names, ",")
}

// theirs are the names of other schedulers.
var theirs = []string{v1.DefaultSchedulerName, "another"}

// daemons are the pods that belong to a node: of a DaemonSet of ours, of another scheduler's, and a static one.
func (w *workloads) daemons(node string) []*v1.Pod {
	if !w.beside.daemons {
		return nil
	}
	belongs := func(kind, name string) option {
		return func(p *v1.Pod) {
			p.Namespace, p.Spec.NodeName = w.c.namespace, node
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: types.UID("uid-" + name), Controller: new(true)}}
		}
	}
	keptTo := func(p *v1.Pod) {
		affinity(p).NodeAffinity = &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
			NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{
				{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{node}},
			}}},
		}}
	}
	return []*v1.Pod{
		newPod("agent-"+node, belongs("DaemonSet", "agent"), keptTo, cpu("300m"), request(v1.ResourceMemory, "700Mi"), hostPort(9100)),
		newPod("proxy-"+node, belongs("DaemonSet", "proxy"), keptTo, cpu("150m"), scheduledBy(v1.DefaultSchedulerName), hostPort(10256)),
		newPod("static-"+node, belongs("Node", node), cpu("100m"), func(p *v1.Pod) {
			p.OwnerReferences[0].APIVersion = "v1"
			p.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "hash", "kubernetes.io/config.source": "file"}
		}),
	}
}

// isDaemon reports whether the pod belongs to its node.
func isDaemon(p *v1.Pod) bool { return p.OwnerReferences[0].Kind != "StatefulSet" }

// standing draws by whom pods of a new owner are placed, and makes them wait for that, by chance.
func (w *workloads) standing(pods []*v1.Pod) {
	if w.beside.gated && w.random.IntN(4) == 0 {
		for _, p := range pods[w.random.IntN(len(pods)):] {
			p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/quota"}}
		}
	}
	if w.beside.others && w.random.IntN(4) == 0 {
		by := theirs[w.random.IntN(len(theirs))]
		for _, p := range pods {
			p.Spec.SchedulerName = by
		}
	}
}

// placeTheirs places some pods of other schedulers that wait, each on a node whose kubelet would admit it.
func (w *workloads) placeTheirs() {
	c := w.c
	pods, nodes := c.now(), c.nodes()
	for i := range pods {
		p := &pods[i]
		if p.Spec.NodeName != "" || !slices.Contains(theirs, p.Spec.SchedulerName) || len(p.Spec.SchedulingGates) > 0 || w.random.IntN(3) == 0 {
			continue
		}
		w.random.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		at := slices.IndexFunc(nodes, func(n v1.Node) bool { return len(n.Spec.Taints) == 0 && !n.Spec.Unschedulable && admits(&n, pods, p) })
		if at < 0 {
			continue
		}
		p.Spec.NodeName = nodes[at].Name
		c.must(c.client.CoreV1().Pods(p.Namespace).Bind(context.Background(), &v1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: p.Name}, Target: v1.ObjectReference{Kind: "Node", Name: p.Spec.NodeName},
		}, metav1.CreateOptions{}))
	}
}

// admits reports whether the node, with those of the pods that are on it, has room for one more.
func admits(n *v1.Node, pods []v1.Pod, p *v1.Pod) bool {
	info := framework.NewNodeInfo()
	info.SetNode(n)
	for i := range pods {
		if pods[i].Spec.NodeName == n.Name {
			on, err := framework.NewPodInfo(&pods[i])
			if err != nil {
				panic(fmt.Sprintf("pod %s cannot be read: %v", pods[i].Name, err))
			}
			info.AddPodInfo(on)
		}
	}
	return len(scheduler.AdmissionCheck(p, info, false)) == 0
}

// company draws what pods of an owner want of each other: to be apart, on nodes or in zones, together in a zone, or spread over zones.
func (w *workloads) company(name string) []option {
	if !w.beside.company || w.random.IntN(2) == 0 {
		return nil
	}
	return [][]option{
		{awayFrom(name, v1.LabelHostname)}, {awayFrom(name, v1.LabelTopologyZone)}, {near(name, v1.LabelTopologyZone)}, {spread(name, v1.LabelTopologyZone)},
	}[w.random.IntN(4)]
}
