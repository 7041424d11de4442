package judge

import (
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// This file finds the nodes where nothing keeps a pod off but what whoever decides who leaves counts by itself: room, which is requests, ports and the number of
// pods, and what some filters say of others.

// FeasibleBut returns the nodes that would pass every filter but these if whoever is there took no room but of the resources that stay, in the order in which they first
// reached the judge.
func (c *Case) FeasibleBut(stays []v1.ResourceName, filters ...string) []string {
	c.renew(c.pod)
	if c.refusal != nil {
		return nil
	}
	nodes := c.left(c.judge.view.all)
	emptied := make([]fwk.NodeInfo, len(nodes))
	for i, info := range nodes {
		emptied[i] = withoutUse(info.(*framework.NodeInfo), stays)
	}
	state := c.state
	if len(filters) > 0 {
		state = c.state.Clone()
		skip(state, filters)
	}
	return c.feasible(state, emptied, nil)
}

// skip leaves out these filters as well.
func skip(state fwk.CycleState, filters []string) {
	state.SetSkipFilterPlugins(state.GetSkipFilterPlugins().Union(sets.New(filters...)))
}

// withoutUse is the node with all of its pods, which take no room but of the resources that stay. What it shares with the node is not to be changed.
func withoutUse(info *framework.NodeInfo, stays []v1.ResourceName) *framework.NodeInfo {
	emptied, allocatable := *info, *info.Allocatable
	allocatable.AllowedPodNumber = math.MaxInt
	emptied.Allocatable = &allocatable
	emptied.Requested, emptied.NonZeroRequested, emptied.UsedPorts = &framework.Resource{}, &framework.Resource{}, nil
	for _, name := range stays {
		emptied.Requested.SetScalar(name, info.Requested.ScalarResources[name])
	}
	emptied.Pods = slices.Clip(info.Pods)
	return &emptied
}
