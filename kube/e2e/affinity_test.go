package e2e

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

const (
	zone = v1.LabelTopologyZone
	host = v1.LabelHostname
)

// Pods that are to be near a leader end in its zone.
func TestNear(t *testing.T) {
	c := living(t)
	c.start(settings{})
	c.create(newPod("leader", label("app", "leader")))
	c.awaitBound(20*time.Second, 1)
	c.create(several(12, "follower", near("leader", zone))...)
	c.awaitBound(20*time.Second, 13)
	if zones := c.perLabel(c.bound(), zone); len(zones) != 1 {
		t.Errorf("leader and followers are in the zones %v, want one", zones)
	}
	c.checkRoom()
}

// Pods that keep apart take a node each; the one too many is told so in
// kube-scheduler's words, and placed when another is gone.
func TestApart(t *testing.T) {
	c := living(t)
	c.start(settings{})
	c.create(several(livingNodes+1, "apart", label("app", "apart"), awayFrom("apart", host))...)
	c.awaitBound(30*time.Second, livingNodes)
	if nodes := perNode(c.bound()); len(nodes) != livingNodes {
		t.Errorf("%d pods that keep apart are on %d nodes", livingNodes, len(nodes))
	}
	waiting := c.theWaiting()
	c.expectRefusal(waiting, `0/30 nodes are available: 30 node\(s\) didn't match pod anti-affinity rules\. preemption: 0/30 nodes are available: 30 No preemption victims found for incoming pod\.`)
	c.delete(c.bound()[0].Name)
	c.await(30*time.Second, func() string {
		if c.pod(waiting).Spec.NodeName == "" {
			return "a node for " + waiting
		}
		return ""
	})
}

// Pods spread evenly over the zones, whichever are the fullest before.
func TestSpread(t *testing.T) {
	c := living(t)
	c.start(settings{})
	c.create(several(20, "spread", label("app", "spread"), spread("spread", zone))...)
	c.awaitBound(30*time.Second, 20)
	var counts []int
	for _, n := range c.perLabel(c.bound(), zone) {
		counts = append(counts, n)
	}
	slices.Sort(counts)
	if !slices.Equal(counts, []int{6, 7, 7}) {
		t.Errorf("20 pods spread over three zones as %v", counts)
	}
	c.checkRoom()
}

// A preference decides while there is a choice, and no longer.
func TestPreferredZone(t *testing.T) {
	c := living(t)
	c.start(settings{})
	prefer := func(p *v1.Pod) {
		affinity(p).NodeAffinity = &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{
			Weight:     100,
			Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: zone, Operator: v1.NodeSelectorOpIn, Values: []string{"z1"}}}},
		}}}
	}
	// Ten nodes of eight cores are in the zone.
	c.create(several(24, "picky", cpu("4"), prefer)...)
	c.awaitBound(30*time.Second, 24)
	if zones := c.perLabel(c.bound(), zone); zones["z1"] != 20 {
		t.Errorf("the pods are in the zones %v, want z1 full with 20", zones)
	}
	c.checkRoom()
}

// A host port is given once on each node.
func TestHostPorts(t *testing.T) {
	c := living(t)
	c.start(settings{})
	c.create(several(livingNodes+1, "port", cpu("100m"), hostPort(8080))...)
	c.awaitBound(30*time.Second, livingNodes)
	c.expectRefusal(c.theWaiting(), `0/30 nodes are available: 30 node\(s\) didn't have free ports for the requested pod ports\.`)
	c.create(newPod("other", cpu("100m"), hostPort(8081)))
	c.awaitBound(10*time.Second, livingNodes+1)
	c.checkRoom()
}
