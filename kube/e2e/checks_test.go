package e2e

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/kubernetes/pkg/scheduler/util"
)

// This file holds what must be true of a cluster after every fault, read from
// the API server itself.

// checkRoom fails if the pods of some node ask for more than it has, or share a
// host port.
func (c *cluster) checkRoom() {
	c.t.Helper()
	pods := map[string][]v1.Pod{}
	list, err := c.client.CoreV1().Pods("").List(c.t.Context(), metav1.ListOptions{})
	c.must(err)
	for _, p := range list.Items {
		if p.Status.Phase != v1.PodSucceeded && p.Status.Phase != v1.PodFailed {
			pods[p.Spec.NodeName] = append(pods[p.Spec.NodeName], p)
		}
	}
	for _, n := range c.nodes() {
		if what := crowded(&n, pods[n.Name]); what != "" {
			c.t.Errorf("node %s: %s", n.Name, what)
		}
	}
}

// crowded says what the pods of a node have too little of; empty if nothing.
func crowded(n *v1.Node, pods []v1.Pod) string {
	left := n.Status.Allocatable.DeepCopy()
	ports := map[string]string{}
	take := func(name v1.ResourceName, p *v1.Pod) {
		q := left[name]
		wanted := resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})[name]
		q.Sub(wanted)
		left[name] = q
	}
	for i := range pods {
		p := &pods[i]
		for name := range n.Status.Allocatable {
			take(name, p)
		}
		for _, port := range util.GetHostPorts(p) {
			key := fmt.Sprint(port.Protocol, port.HostPort)
			if other, taken := ports[key]; taken {
				return fmt.Sprintf("the pods %s and %s share host port %d", other, p.Name, port.HostPort)
			}
			ports[key] = p.Name
		}
	}
	for name, q := range left {
		if q.Sign() < 0 {
			return fmt.Sprintf("its %d pods ask for more %s than its %s by %s", len(pods), name, quantityOf(n, name), q.String())
		}
	}
	if room := n.Status.Allocatable.Pods(); int64(len(pods)) > room.Value() {
		return fmt.Sprintf("%d pods where %s may be", len(pods), room)
	}
	return ""
}

// checkScheduledOnce waits until every bound pod that matches has an event
// Scheduled, and fails if it has another, or one that names another node.
func (c *cluster) checkScheduledOnce(match ...func(*v1.Pod) bool) {
	c.t.Helper()
	bound := c.bound(match...)
	c.await(20*time.Second, func() string {
		events := c.events("Scheduled")
		silent := slices.IndexFunc(bound, func(p v1.Pod) bool { return len(events[p.Name]) == 0 })
		if silent >= 0 {
			return "the event Scheduled of pod " + bound[silent].Name
		}
		return ""
	})
	events := c.events("Scheduled")
	for _, p := range bound {
		for _, e := range events[p.Name] {
			want := fmt.Sprintf("Successfully assigned %s/%s to %s", p.Namespace, p.Name, p.Spec.NodeName)
			if e.Note != want || e.Series != nil || len(events[p.Name]) > 1 || e.Type != v1.EventTypeNormal || e.Action != "Binding" {
				c.t.Errorf("pod %s has %d events Scheduled, one of them %s %s %q (series %v), want one Normal Binding %q",
					p.Name, len(events[p.Name]), e.Type, e.Action, e.Note, e.Series, want)
			}
		}
	}
}

// perNode counts pods by node, and perLabel by a label of their node.
func perNode(pods []v1.Pod) map[string]int {
	counts := map[string]int{}
	for _, p := range pods {
		counts[p.Spec.NodeName]++
	}
	return counts
}

func (c *cluster) perLabel(pods []v1.Pod, key string) map[string]int {
	c.t.Helper()
	labels := map[string]string{}
	for _, n := range c.nodes() {
		labels[n.Name] = n.Labels[key]
	}
	counts := map[string]int{}
	for _, p := range pods {
		counts[labels[p.Spec.NodeName]]++
	}
	return counts
}

func quantityOf(n *v1.Node, name v1.ResourceName) string {
	q := n.Status.Allocatable[name]
	return q.String()
}
