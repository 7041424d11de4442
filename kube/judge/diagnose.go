package judge

// Why a pod fits nowhere, in kube-scheduler's own words: the same Diagnosis that upstream's scheduling cycle collects, so that people, alerts and the cluster
// autoscaler read what they know. The judge does not preempt: who does says whether to add upstream's sentence on that.

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Diagnose runs every filter on the pod and all nodes now and returns the refusal, or nil when some node would take the pod. An error inside a plugin,
// which upstream reports instead of a refusal, is found in the message all the same.
func (j *Judge) Diagnose(pod *v1.Pod) *framework.FitError {
	nodes := j.view.all
	fit := &framework.FitError{
		Pod:         pod,
		NumAllNodes: len(nodes),
		Diagnosis:   framework.Diagnosis{NodeToStatus: framework.NewDefaultNodeToStatus()},
	}
	diagnosis := &fit.Diagnosis
	if len(nodes) == 0 {
		diagnosis.PreFilterMsg = "no nodes available to schedule pods"
		return fit
	}
	p := j.prefilter(j.full, pod)
	diagnosis.UnschedulablePlugins = p.limiters
	if p.refusal != nil {
		diagnosis.NodeToStatus.SetAbsentNodesStatus(p.refusal)
		diagnosis.PreFilterMsg = p.refusal.Message()
		diagnosis.AddPluginStatus(p.refusal)
		return fit
	}
	if p.names != nil {
		diagnosis.NodeToStatus.SetAbsentNodesStatus(p.absent())
		nodes = p.left(nodes)
	}
	for i, status := range j.sweep(p.state, pod, nodes) {
		switch {
		case status.IsSuccess():
			return nil
		case status.Code() == fwk.Error:
			diagnosis.PreFilterMsg = status.Message()
		}
		diagnosis.NodeToStatus.Set(nodes[i].Node().Name, status)
		diagnosis.AddPluginStatus(status)
	}
	return fit
}

// Resolvable is how many nodes refuse the pod for something that pods which leave them may change.
func Resolvable(fit *framework.FitError) (nodes int) {
	of := fit.Diagnosis.NodeToStatus
	of.ForEachExplicitNode(func(_ string, status *fwk.Status) {
		if status.Code() == fwk.Unschedulable {
			nodes++
		}
	})
	if of.AbsentNodesStatus().Code() == fwk.Unschedulable {
		nodes += fit.NumAllNodes - of.Len()
	}
	return nodes
}

// NoVictims is what upstream says of preemption where nobody on so many nodes, which are all that are resolvable, may leave for the pod.
func NoVictims(fit *framework.FitError, resolvable int) string {
	var reasons []string
	if resolvable > 0 {
		reasons = append(reasons, fmt.Sprintf("%d No preemption victims found for incoming pod", resolvable))
	}
	if rest := fit.NumAllNodes - resolvable; rest > 0 {
		reasons = append(reasons, fmt.Sprintf("%d Preemption is not helpful for scheduling", rest))
	}
	slices.Sort(reasons)
	return fmt.Sprintf(framework.NoNodeAvailableMsg+": %s.", fit.NumAllNodes, strings.Join(reasons, ", "))
}
