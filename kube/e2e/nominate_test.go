package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/kube/config"
)

// A pod whose victim takes its time to leave says so by its nominated node, its condition and an event. Once it is
// bound, no node is nominated for it.
func TestNominatedWhileVictimsLeave(t *testing.T) {
	c := bare(t)
	c.start(settings{profile: func(p *config.Profile) { p.Evictions.Enabled = true }})
	c.addNodes(1, "n", "10")
	c.create(newPod("low", cpu("8"), takesItsTime, priority(c, -10)))
	c.awaitBound(time.Minute, 1)
	c.create(newPod("high", cpu("8"), priority(c, 1000)))
	node := c.pod("low").Spec.NodeName
	c.await(20*time.Second, func() string {
		status, said := c.pod("high").Status, c.events("FailedScheduling")["high"]
		const words = "is kept for it until 1 pod has left (low)."
		if status.NominatedNodeName != node || len(status.Conditions) == 0 || !strings.Contains(status.Conditions[0].Message, words) {
			return fmt.Sprintf("the node %s nominated and %q, among %+v", node, words, status)
		}
		if len(said) == 0 || !strings.Contains(said[len(said)-1].Note, words) {
			return fmt.Sprintf("%q among the events %v", words, said)
		}
		return ""
	})
	c.letGo("low")
	c.awaitBound(time.Minute, 1, named("high"))
	if on := c.pod("high").Status.NominatedNodeName; on != "" {
		t.Errorf("the bound pod has the nominated node %s", on)
	}
}

// The room that another scheduler makes for its pod is left to it by a pod that is not above it, until that scheduler gives up.
func TestNominationsOfOthersAreRespected(t *testing.T) {
	c := bare(t)
	c.start(settings{})
	c.addNodes(1, "n", "10")
	c.create(newPod("ours", cpu("1")))
	c.awaitBound(time.Minute, 1)
	node := c.pod("ours").Spec.NodeName
	c.create(newPod("theirs", cpu("8"), func(p *v1.Pod) { p.Spec.SchedulerName = "other" }))
	nominate := func(patch string) {
		_, err := c.client.CoreV1().Pods(c.namespace).Patch(t.Context(), "theirs", types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
		c.must(err)
	}
	nominate(fmt.Sprintf(`{"status":{"nominatedNodeName":%q}}`, node))
	time.Sleep(time.Second) // until our scheduler has seen it
	c.create(newPod("waits", cpu("4")))
	c.await(20*time.Second, func() string {
		if status := c.pod("waits").Status; len(status.Conditions) == 0 || status.Conditions[0].Reason != v1.PodReasonUnschedulable {
			return fmt.Sprintf("the pod waits, and its status is %+v", status)
		}
		return ""
	})
	nominate(`{"status":{"nominatedNodeName":null}}`)
	c.awaitBound(time.Minute, 1, named("waits"))
}
