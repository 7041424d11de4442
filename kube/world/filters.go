package world

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file says which filter keeps pods off a node, when a reason is asked for: upstream's
// verdict names the plugin, and the pod and the node say what is in its way.

// Filters says what keeps the pods of a node set off a node.
func Filters(w *World) sched.Filters {
	var of *nodeSet // that was asked of last, as it is of many nodes
	return func(id cluster.SetID, row cluster.NodeID) []sched.Filtered {
		if of == nil || of.id != id || w.shapes.sets.byKey[of.key] != of {
			of = nil
			for _, ns := range w.shapes.sets.byKey {
				if ns.id == id {
					of = ns
				}
			}
		}
		if of == nil {
			return []sched.Filtered{{Mechanism: "other pods, volumes or claims"}}
		}
		n := w.nodes.byRow[row]
		if n.contest.until > 0 && of.local.Admits(n.object.Name) {
			return []sched.Filtered{{Mechanism: "left to another scheduler for a moment"}}
		}
		return of.keepsOff(n)
	}
}

// keepsOff says what keeps pods of the set off a node that is not in it: what upstream stops at first, and then
// what else the pod and the node say.
func (ns *nodeSet) keepsOff(on *node) []sched.Filtered {
	n, pod := on.object, ns.local.Pod()
	far := ns.reach.lacking(on)
	verdict := ns.local.Verdict(n.Name)
	switch {
	case verdict.IsSuccess() && far != "":
		return []sched.Filtered{outOfReach(far)}
	case verdict.IsSuccess(): // but the node is to be avoided
		return []sched.Filtered{tainted(n, pod, softOnly)}
	}
	var all []sched.Filtered
	add := func(f sched.Filtered) {
		if !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	switch verdict.Plugin() {
	case names.NodeUnschedulable:
		add(sched.Filtered{Mechanism: "cordon"})
	case names.TaintToleration:
		add(tainted(n, pod, func(t *v1.Taint) bool { return !isSoft(*t) }))
	case names.NodeAffinity:
		add(sched.Filtered{Mechanism: "label", Wants: lacking(n, pod)})
	case "": // left out by PreFilter, which looks at the names of nodes
		return []sched.Filtered{{Mechanism: names.NodeAffinity, Wants: lacking(n, pod)}}
	default:
		add(sched.Filtered{Mechanism: verdict.Plugin()})
	}
	for i := range n.Spec.Taints {
		one := v1.Node{Spec: v1.NodeSpec{Taints: n.Spec.Taints[i : i+1]}}
		if f := tainted(&one, pod, func(t *v1.Taint) bool { return !isSoft(*t) }); f.Mechanism != workedOut {
			add(f)
		}
	}
	if wants := lacking(n, pod); wants != "" {
		add(sched.Filtered{Mechanism: "label", Wants: wants})
	}
	if far != "" {
		add(outOfReach(far))
	}
	return all
}

// outOfReach says that a volume asks something else of nodes. Of which claim is not said, as pods share sets.
func outOfReach(wants string) sched.Filtered {
	return sched.Filtered{Mechanism: "claim", Wants: "(" + wants + ")"}
}

// workedOut is the mechanism of a set of which nothing is known yet.
const workedOut = "being worked out"

// tainted names the first of the node's taints that the pod does not tolerate.
func tainted(n *v1.Node, pod *v1.Pod, of func(*v1.Taint) bool) sched.Filtered {
	taint, found := corev1.FindMatchingUntoleratedTaint(klog.Background(), n.Spec.Taints, pod.Spec.Tolerations, of, true)
	switch {
	case !found: // the set is cold
		return sched.Filtered{Mechanism: workedOut}
	case taint.Key == v1.TaintNodeUnschedulable:
		return sched.Filtered{Mechanism: "cordon"}
	case taint.Key == v1.TaintNodeNotReady, taint.Key == v1.TaintNodeUnreachable:
		return sched.Filtered{Mechanism: "not ready"}
	}
	return sched.Filtered{Mechanism: "taint", Wants: taint.ToString()}
}

// lacking is what the pod selects nodes by and this one does not have: the first label of its
// selector, or else the first of each term of its affinity, any of which would do.
func lacking(n *v1.Node, pod *v1.Pod) string {
	for _, key := range sortedKeys(pod.Spec.NodeSelector) {
		if text := unmet(n.Labels, key, v1.NodeSelectorOpIn, pod.Spec.NodeSelector[key]); text != "" {
			return text
		}
	}
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	return unmetTerms(n, affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
}

// unmetTerms is what the node lacks of each term, any of which would do.
func unmetTerms(n *v1.Node, by *v1.NodeSelector) string {
	var wants []string
	for _, term := range by.NodeSelectorTerms {
		text := "" // of a term without expressions, which no node meets
		for _, e := range term.MatchExpressions {
			text = cmp.Or(text, unmet(n.Labels, e.Key, e.Operator, e.Values...))
		}
		for _, e := range term.MatchFields {
			text = cmp.Or(text, unmet(labels.Set{"metadata.name": n.Name}, e.Key, e.Operator, e.Values...))
		}
		if text != "" && !slices.Contains(wants, text) {
			wants = append(wants, text)
		}
	}
	return strings.Join(wants, " or ")
}

// unmet is the requirement in words if the labels do not meet it, and else empty.
func unmet(has labels.Set, key string, op v1.NodeSelectorOperator, values ...string) string {
	of := map[v1.NodeSelectorOperator]selection.Operator{
		v1.NodeSelectorOpIn: selection.In, v1.NodeSelectorOpNotIn: selection.NotIn, v1.NodeSelectorOpExists: selection.Exists,
		v1.NodeSelectorOpDoesNotExist: selection.DoesNotExist, v1.NodeSelectorOpGt: selection.GreaterThan, v1.NodeSelectorOpLt: selection.LessThan,
	}[op]
	switch { // so that it reads zone=a, and not zone in (a)
	case len(values) == 1 && of == selection.In:
		of = selection.Equals
	case len(values) == 1 && of == selection.NotIn:
		of = selection.NotEquals
	}
	r, err := labels.NewRequirement(key, of, values)
	if err != nil { // which the API server refuses, or no node meets
		return key
	}
	if r.Matches(has) {
		return ""
	}
	return r.String()
}
