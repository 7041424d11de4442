package judge

import (
	"math"
	"slices"

	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// This file finds the nodes where nothing but room keeps a pod off: requests, ports and the number of pods. Whoever decides who leaves counts these itself.

// FeasibleButForRoom returns the nodes that would pass every filter if whoever is there took no room, in the order in which they first reached the judge.
func (c *Case) FeasibleButForRoom() []string {
	c.renew(c.pod)
	if c.refusal != nil {
		return nil
	}
	nodes := c.left(c.judge.view.all)
	emptied := make([]fwk.NodeInfo, len(nodes))
	for i, info := range nodes {
		emptied[i] = withoutUse(info.(*framework.NodeInfo))
	}
	return c.feasible(emptied, nil)
}

// withoutUse is the node with all of its pods, which take no room. What it shares with the node is not to be changed.
func withoutUse(info *framework.NodeInfo) *framework.NodeInfo {
	emptied, allocatable := *info, *info.Allocatable
	allocatable.AllowedPodNumber = math.MaxInt
	emptied.Allocatable = &allocatable
	emptied.Requested, emptied.NonZeroRequested, emptied.UsedPorts = &framework.Resource{}, &framework.Resource{}, nil
	emptied.Pods = slices.Clip(info.Pods)
	return &emptied
}
