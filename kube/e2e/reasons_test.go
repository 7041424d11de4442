package e2e

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// This file tests what users are told of pods that wait.

// A pod that fits nowhere is told why by a condition and an event, in
// kube-scheduler's grammar and then in a sentence of ours; and is bound as soon
// as there is room, by which the condition turns.
func TestReasons(t *testing.T) {
	c := living(t)
	f := c.start(settings{})
	c.create(
		newPod("large", cpu("9")),
		newPod("choosy", selecting("disk", "ssd")),
		newPod("both", cpu("9"), func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{zone: "z0"} }),
	)
	c.expectRefusal("large", `0/30 nodes are available: 30 Insufficient cpu\. preemption: 0/30 nodes are available: 30 Preemption is not helpful for scheduling\.`)
	c.expectRefusal("choosy", `0/30 nodes are available: 30 node\(s\) didn't match Pod's node affinity/selector\. preemption: 0/30 nodes are available: 30 Preemption is not helpful for scheduling\.`)
	c.expectRefusal("both", `0/30 nodes are available: 10 Insufficient cpu, 20 node\(s\) didn't match Pod's node affinity/selector\.`)

	label := []byte(`{"metadata":{"labels":{"disk":"ssd"}}}`)
	unlabel := []byte(`{"metadata":{"labels":{"disk":null}}}`)
	_, err := c.client.CoreV1().Nodes().Patch(t.Context(), "node-00007", types.MergePatchType, label, metav1.PatchOptions{})
	c.must(err)
	c.awaitBound(20*time.Second, 1)
	_, err = c.client.CoreV1().Nodes().Patch(t.Context(), "node-00007", types.MergePatchType, unlabel, metav1.PatchOptions{})
	c.must(err)
	p := c.pod("choosy")
	if p.Spec.NodeName != "node-00007" || condition(p).Status != v1.ConditionTrue {
		t.Errorf("pod choosy is on node %q with the condition %+v", p.Spec.NodeName, condition(p))
	}
	c.checkScheduledOnce()
	c.await(10*time.Second, func() string {
		if left := f.sum("scheduler_unschedulable_pods", "NodeAffinity"); left != 1 {
			return fmt.Sprintf("the gauge of pods refused by NodeAffinity is %d, want 1", left)
		}
		return ""
	})
}

// A pod with scheduling gates waits without complaint from us, and is placed
// when the last gate is gone.
func TestSchedulingGates(t *testing.T) {
	c := living(t)
	c.start(settings{})
	c.create(newPod("gated", func(p *v1.Pod) { p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "e2e/a"}, {Name: "e2e/b"}} }), newPod("free"))
	c.awaitBound(20*time.Second, 1)
	ungate := func(gates string) {
		_, err := c.client.CoreV1().Pods(c.namespace).Patch(t.Context(), "gated", types.JSONPatchType,
			fmt.Appendf(nil, `[{"op":"replace","path":"/spec/schedulingGates","value":%s}]`, gates), metav1.PatchOptions{})
		c.must(err)
	}
	ungate(`[{"name":"e2e/b"}]`)
	c.create(newPod("later"))
	c.awaitBound(20*time.Second, 2)
	p := c.pod("gated")
	if said := condition(p); p.Spec.NodeName != "" || said.Reason != v1.PodReasonSchedulingGated {
		t.Errorf("the gated pod is on node %q with the condition %+v", p.Spec.NodeName, said)
	}
	ungate(`[]`)
	c.awaitBound(20*time.Second, 3)
	if events := c.events("FailedScheduling"); len(events) > 0 {
		t.Errorf("events of failure: %v", events)
	}
}

// expectRefusal waits until a pod's condition and event say why it waits, in
// these words and a sentence of ours.
func (c *cluster) expectRefusal(pod, words string) {
	c.t.Helper()
	c.expect(pod, v1.PodReasonUnschedulable, regexp.MustCompile(`^`+words+`( preemption: .+\.)? Fairlead: .+\.$`))
}

// expect waits until a pod's condition, with this reason, and its event say why it waits.
func (c *cluster) expect(pod, reason string, want *regexp.Regexp) {
	c.t.Helper()
	if said := c.awaitCondition(pod, reason); !want.MatchString(said) {
		c.t.Errorf("the condition of pod %s says\n%s\nwant\n%s", pod, said, want)
	}
	c.await(20*time.Second, func() string {
		if len(c.events("FailedScheduling")[pod]) == 0 {
			return "an event FailedScheduling of pod " + pod
		}
		return ""
	})
	for _, e := range c.events("FailedScheduling")[pod] {
		if e.Type != v1.EventTypeWarning || e.Action != "Scheduling" || !want.MatchString(e.Note) {
			c.t.Errorf("an event of pod %s says %s %s\n%s\nwant\n%s", pod, e.Type, e.Action, e.Note, want)
		}
	}
}

// theWaiting is the name of the only pod that is not bound.
func (c *cluster) theWaiting() string {
	c.t.Helper()
	var names []string
	for _, p := range c.pods() {
		if p.Spec.NodeName == "" {
			names = append(names, p.Name)
		}
	}
	if len(names) != 1 {
		c.t.Fatalf("the pods %v wait, want one", names)
	}
	return names[0]
}

func (c *cluster) delete(pod string) {
	c.t.Helper()
	now := int64(0)
	c.must(c.client.CoreV1().Pods(c.namespace).Delete(c.t.Context(), pod, metav1.DeleteOptions{GracePeriodSeconds: &now}))
}
