package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/kube/testbed"
)

// This file is Karpenter beside our scheduler: pods that wait bring nodes, the pods are placed on them, what is of no use goes, and then nothing
// moves any more. `make karpenter` runs it.

// Pods that wait bring nodes, whatever keeps them apart or to a zone, and are placed on them; then nothing comes or goes.
func TestKarpenterBringsNodes(t *testing.T) {
	a := autoscaling(t)
	a.deploy("plain", 12)
	a.deploy("zoned", 3, selecting(v1.LabelTopologyZone, "test-zone-b"))
	a.deploy("apart", 3, awayFrom("apart", v1.LabelHostname))
	a.deploy("spread", 7, spread("spread", v1.LabelTopologyZone))
	a.settle(25, "pods of four kinds")
	if zones := a.perLabel(a.bound(of("zoned")), v1.LabelTopologyZone); zones["test-zone-b"] != 3 {
		t.Errorf("pods of one zone are in %v", zones)
	}
	if hosts := a.perLabel(a.bound(of("apart")), v1.LabelHostname); len(hosts) != 3 {
		t.Errorf("pods that keep apart are on %v", hosts)
	}
	if zones := slices.Sorted(maps.Values(a.perLabel(a.bound(of("spread")), v1.LabelTopologyZone))); !slices.Equal(zones, []int{2, 2, 3}) {
		t.Errorf("7 pods that are spread over 3 zones have %v in each", zones)
	}
}

// Of pods that are left on many nodes Karpenter evicts some, whose successors are placed where it counted on it: nodes go, until nothing comes or goes.
// Without pods no node is left.
func TestKarpenterTakesNodesBack(t *testing.T) {
	a := autoscaling(t)
	a.deploy("web", 60)
	a.deploy("steady", 6, cpu("1500m"), awayFrom("steady", v1.LabelHostname))
	a.settle(66, "66 pods")
	before := a.claims.live()
	a.scale("web", 10)
	a.settle(16, "16 of them")
	if after := a.claims.live(); after >= before {
		t.Errorf("16 pods are on %d nodes, where 66 were on %d", after, before)
	}
	if hosts := perNode(a.bound(of("steady"))); len(hosts) != 6 {
		t.Errorf("pods that keep apart are on %v", hosts)
	}
	a.scale("web", 0)
	a.scale("steady", 0)
	a.awaitNoNodes()
}

// Pods that no node would help bring none: one whose group is not there, and those of a gang of which others have yet to come.
func TestKarpenterLeavesHeldPods(t *testing.T) {
	a := autoscaling(t)
	a.create(newPod("early", scheduledBy(defaultScheduler), member("absent"), cpu("5")))
	a.group("gang", 3)
	a.create(several(2, "gang", scheduledBy(defaultScheduler), member("gang"), cpu("5"))...)
	for _, pod := range []string{"early", "gang-0", "gang-1"} {
		a.awaitCondition(pod, held)
	}
	// A pod that a node would help shows that Karpenter has had time to look.
	a.deploy("free", 1, cpu("1500m"))
	a.settle(1, "one pod that is free, beside three that are held")
	if came, _ := a.claims.counts(); came != 1 {
		t.Errorf("%d nodes came for one pod and three that are held", came)
	}
}

// A gang brings a node for each of its pods that needs one, as each is Unschedulable, and is placed as a whole when they are there.
func TestKarpenterBringsNodesForGang(t *testing.T) {
	a := autoscaling(t)
	a.group("gang", 5)
	a.create(several(5, "gang", scheduledBy(defaultScheduler), member("gang"), cpu("5"))...)
	a.awaitRefused("gang-0") // the others may have nodes by then
	a.settle(5, "a gang of 5")
	if nodes := perNode(a.bound()); len(nodes) != 5 {
		t.Errorf("5 pods of 5 cores are on %d nodes", len(nodes))
	}
	a.awaitGroup("gang", metav1.ConditionTrue, "")
}

// Karpenter does not know of gangs: of one that never fits, as one pod is too large for any node, the others bring nodes all the same, which stand idle.
// They do not come and go.
func TestKarpenterGangThatFitsNowhere(t *testing.T) {
	a := autoscaling(t)
	a.group("gang", 3)
	a.create(several(2, "gang", scheduledBy(defaultScheduler), member("gang"), cpu("5"))...)
	a.create(newPod("huge", scheduledBy(defaultScheduler), member("gang"), cpu("100")))
	a.await(2*time.Minute, func() string {
		if ready := a.readyNodes(); ready < 2 {
			return fmt.Sprintf("2 nodes for 2 pods of a gang; there are %d", ready)
		}
		return ""
	})
	a.settle(0, "a gang that fits nowhere")
	if came, went := a.claims.counts(); came > 2 || went > 0 {
		t.Errorf("for a gang that fits nowhere nodes come and go: %s", a.claims)
	}
}

// Workloads of all kinds grow and shrink for a while, pods that prefer something and pods that evict others among them, on nodes that have a daemon each. Then
// all are placed, and nothing comes or goes.
func TestKarpenterSettles(t *testing.T) {
	a := autoscaling(t)
	_, err := a.client.AppsV1().DaemonSets(a.namespace).Create(t.Context(), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "agent"},
		Spec:       appsv1.DaemonSetSpec{Selector: apps("agent"), Template: template("agent", cpu("100m"), scheduledBy(defaultScheduler))},
	}, metav1.CreateOptions{})
	a.must(err)
	replicas := map[string]int{}
	for _, w := range []struct {
		name    string
		options []option
	}{
		{"plain", nil},
		{"wishes", []option{cpu("700m"), wishing("wishes")}},
		{"apart", []option{cpu("300m"), awayFrom("apart", v1.LabelHostname)}},
		{"spread", []option{cpu("1500m"), spread("spread", v1.LabelTopologyZone)}},
		{"urgent", []option{cpu("2500m"), priority(a.cluster, 1000)}},
	} {
		a.deploy(w.name, 0, w.options...)
		replicas[w.name] = 0
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range normally(10, 40) {
		names := slices.Sorted(maps.Keys(replicas))
		for _, at := range random.Perm(len(names))[:3] {
			name := names[at]
			replicas[name] = random.IntN(21)
			a.scale(name, replicas[name])
		}
		time.Sleep(time.Duration(5+random.IntN(20)) * time.Second) // what Karpenter does takes about as long
	}
	pods := 0
	for _, n := range replicas {
		pods += n
	}
	a.settle(pods, fmt.Sprintf("workloads of %v replicas", replicas))
	if hosts := perNode(a.bound(of("apart"))); len(hosts) != replicas["apart"] {
		t.Errorf("%d pods that keep apart are on %v", replicas["apart"], hosts)
	}
}

// ofNoDaemon is for pods that no DaemonSet has made.
func ofNoDaemon(p *v1.Pod) bool {
	return !slices.ContainsFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "DaemonSet" })
}

// wishing would have the pods of an app apart over hosts and spread over zones.
func wishing(app string) option {
	return func(p *v1.Pod) {
		affinity(p).PodAntiAffinity = &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{
			{Weight: 50, PodAffinityTerm: term(app, v1.LabelHostname)[0]},
		}}
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, v1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.ScheduleAnyway, LabelSelector: apps(app),
		})
	}
}

// capacityBuffer keeps room for three pods of a core and a half.
const capacityBuffer = `
apiVersion: v1
kind: PodTemplate
metadata: {name: chunk}
template:
  spec:
    containers:
    - name: c
      image: pause
      resources: {requests: {cpu: 1500m, memory: 256Mi}}
---
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: spare}
spec: {podTemplateRef: {name: chunk}, replicas: 3}
`

// A CapacityBuffer brings nodes before there are pods, on which pods are placed at once; and the buffer is filled again.
func TestKarpenterCapacityBuffer(t *testing.T) {
	a := autoscaling(t)
	a.must(testbed.Kubectl(t.Context(), a.bed, capacityBuffer, "--namespace="+a.namespace, "create", "-f", "-"))
	a.await(2*time.Minute, func() string {
		if ready := a.readyNodes(); ready == 0 {
			return "nodes for a buffer"
		}
		return ""
	})
	a.settle(0, "a buffer alone")
	before, _ := a.claims.counts()
	began := time.Now()
	a.deploy("web", 3, cpu("1500m"))
	a.awaitBound(time.Minute, 3)
	took := time.Since(began)
	if came, _ := a.claims.counts(); len(perNode(a.bound())) > before {
		t.Errorf("the pods wanted nodes: %d before, %d since", before, came)
	}
	t.Logf("3 pods were bound on spare nodes after %s", took.Round(10*time.Millisecond))
	a.settle(3, "the pods, and the buffer filled again")
	if after, _ := a.claims.counts(); after == before {
		t.Error("no node came to fill the buffer again")
	}
	// Not deleted: of a buffer that is gone Karpenter keeps the nodes until it looks for another reason.
	a.must(testbed.Kubectl(t.Context(), a.bed, "", "--namespace="+a.namespace, "patch", "capacitybuffer", "spare", "--type=merge", `--patch={"spec":{"replicas":0}}`))
	a.scale("web", 0)
	a.awaitNoNodes()
}

// readyNodes is how many nodes are ready.
func (a *autoscaled) readyNodes() int {
	a.t.Helper()
	ready := 0
	for _, n := range a.nodes() {
		for _, c := range n.Status.Conditions {
			if c.Type == v1.NodeReady && c.Status == v1.ConditionTrue {
				ready++
			}
		}
	}
	return ready
}
