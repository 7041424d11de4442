package judge

// How an open case stays current.
//
// PreFilter is dear (up to 6 ms at 5,000 nodes) because two plugins count pods over the whole cluster: InterPodAffinity and PodTopologySpread. Both can be
// told of a single pod that came or went, so a case follows pods at a microsecond each. The rule for each kind of change:
//
//   - A pod comes or goes: the counting plugins that PreFilter did not skip take it in. Others hold nothing about other pods.
//   - A pod with required anti-affinity comes that matches the pods of the case, and PreFilter had skipped InterPodAffinity since no such pod existed:
//     there is no state to tell, and the case becomes stale.
//   - Nodes come, go, or change labels or taints: cases that count become stale. All others look at the node only in Filter, where it is always current;
//     except when a node with pods that require anti-affinity changes, whose new domain may concern any case.
//   - Volumes, claims and devices live in informers, which change at any time and for each pod apart: such cases are personal and compute PreFilter at
//     every query.
//
// A stale case computes its PreFilter anew at its next use, so that several changes in a row cost one PreFilter.

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// upkeep is what a case remembers to stay current.
type upkeep struct {
	// at is the index of the case in the judge's open cases.
	at     int
	closed bool
	stale  bool
	// affinity and spread tell whether the plugin is at work in this case, and so counts pods.
	affinity, spread bool
}

// counts tells whether any plugin of the case counts pods of the cluster.
func (u *upkeep) counts() bool { return u.affinity || u.spread }

// compute runs PreFilter for a pod of the case and notes which plugins count.
func (c *Case) compute(pod *v1.Pod) {
	if c.among != nil {
		c.judge.view.show(c.among())
		defer c.judge.view.hide()
	}
	if c.choice != nil {
		c.judge.steered.choice = c.choice
		defer func() { c.judge.steered.choice = nil }()
	}
	c.prefilter = c.judge.prefilter(c.judge.full, pod)
	skipped := c.state.GetSkipFilterPlugins()
	c.upkeep.stale, c.passed = false, passage{}
	c.upkeep.affinity = c.refusal == nil && !skipped.Has(names.InterPodAffinity)
	c.upkeep.spread = c.refusal == nil && !skipped.Has(names.PodTopologySpread)
}

// renew makes the state of the case right for a query about the pod. A device class may begin to provide a resource while the case is open.
func (c *Case) renew(pod *v1.Pod) {
	if c.personal || c.upkeep.stale || c.refusal != nil || c.judge.usesDeviceClass(pod) {
		c.compute(pod)
	}
}

// podAdded reports to the open cases a pod that was put on the node.
func (j *Judge) podAdded(pod *framework.PodInfo, node *framework.NodeInfo) {
	for _, c := range j.open {
		if c.personal || c.upkeep.stale {
			continue
		}
		if !c.upkeep.affinity && j.repels(pod, c.pod) {
			c.upkeep.stale = true
			continue
		}
		if c.upkeep.counts() {
			status := j.full.RunPreFilterExtensionAddPod(j.ctx, c.state, c.pod, pod, node)
			c.upkeep.stale = !status.IsSuccess()
		}
	}
}

// podRemoved reports to the open cases a pod that was taken off the node. A pod that repelled the case was counted, so there is no rule to find here.
func (j *Judge) podRemoved(pod *framework.PodInfo, node *framework.NodeInfo) {
	for _, c := range j.open {
		if !c.personal && !c.upkeep.stale && c.upkeep.counts() {
			status := j.full.RunPreFilterExtensionRemovePod(j.ctx, c.state, c.pod, pod, node)
			c.upkeep.stale = !status.IsSuccess()
		}
	}
}

// repels reports whether the added pod requires to be away from pods like the other.
func (j *Judge) repels(added *framework.PodInfo, other *v1.Pod) bool {
	if len(added.RequiredAntiAffinityTerms) == 0 {
		return false
	}
	namespace := interpodaffinity.GetNamespaceLabelsSnapshot(klog.FromContext(j.ctx), other.Namespace, j.namespaces)
	for i := range added.RequiredAntiAffinityTerms {
		if added.RequiredAntiAffinityTerms[i].Matches(other, namespace) {
			return true
		}
	}
	return false
}

// recount makes every case stale that counts pods, because nodes changed.
func (j *Judge) recount() {
	for _, c := range j.open {
		if c.upkeep.counts() {
			c.upkeep.stale = true
		}
	}
}

// Renew makes every open case compute its PreFilter at its next use. The caller calls it when the labels of a namespace changed, by which affinity terms
// select; changes of nodes and pods need no such call.
func (j *Judge) Renew() {
	for _, c := range j.open {
		c.upkeep.stale = true
	}
}
