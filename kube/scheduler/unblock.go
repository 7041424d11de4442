package scheduler

import (
	"cmp"
	"fmt"
	"slices"

	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// This file says what a pod that is asked about node by node waits for. The core knows nothing of it that could be said; upstream's filters do: what keeps the
// pod off most of the nodes is what would have to change, there or elsewhere.

// need is what a filter that refuses a pod wants to happen.
type need struct{ filter, words string }

// needs of those filters whose mind may be changed by what becomes of pods, volumes and devices. Others look at the node alone.
func needs() []need {
	return []need{
		{names.NodeResourcesFit, "room"},
		{names.NodePorts, "a host port to come free"},
		{names.VolumeRestrictions, "the pod that uses its disk or claim to end"},
		{names.NodeVolumeLimits, "a volume to be detached"},
		{names.VolumeBinding, "a volume that its claims can be given"},
		{names.VolumeZone, "a node in the zone of its volumes"},
		{names.DynamicResources, "a device that its claims ask for to come free"},
		{names.InterPodAffinity, "a pod to come that its rules want beside it, or one to end that they keep it apart from"},
		{names.PodTopologySpread, "the pods that it is spread with to be more even"},
	}
}

// unblocks says what would have to happen so that a node takes the pod.
func unblocks(fit *framework.FitError) string {
	if fit == nil {
		return "some node takes it by itself, and it is tried again"
	}
	refused := map[string]int{}
	fit.Diagnosis.NodeToStatus.ForEachExplicitNode(func(_ string, status *fwk.Status) { refused[status.Plugin()]++ })
	if absent := fit.Diagnosis.NodeToStatus.AbsentNodesStatus(); absent != nil {
		refused[absent.Plugin()] += fit.NumAllNodes - fit.Diagnosis.NodeToStatus.Len()
	}
	if fit.Diagnosis.PreFilterMsg != "" && fit.Diagnosis.UnschedulablePlugins.HasAny(names.VolumeRestrictions, names.VolumeBinding, names.VolumeZone, names.NodeVolumeLimits, names.DynamicResources) {
		return "it waits for the claims that it names" // nothing was asked of nodes
	}
	all := slices.DeleteFunc(needs(), func(n need) bool { return refused[n.filter] == 0 })
	if len(all) == 0 {
		return "it waits for a node that it may use"
	}
	most := slices.MaxFunc(all, func(a, b need) int {
		return cmp.Or(cmp.Compare(refused[a.filter], refused[b.filter]), cmp.Compare(b.filter, a.filter))
	})
	return fmt.Sprintf("it waits for %s, on one of %d nodes", most.words, refused[most.filter])
}
