package trace

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
)

// Taints is the key of the label that stands for a node's taints, as kubectl prints them, with
// commas. No label of a node itself has it.
const Taints = "spec.taints"

// SoftTaint is what the keys of labels begin with that say whether a node has a taint which keeps nobody off, and says where
// tasks had rather not be. What follows is the taint, as kubectl prints it. No label of a node itself has it.
const SoftTaint = "spec.taints "

// OutOfUse says of a taint, as Taints has it, what it stands for where Kubernetes has put it on a node that takes no pods for the
// time being: "cordon" or "not ready"; empty of any other.
func OutOfUse(taint string) string {
	switch key, _, _ := strings.Cut(taint, ":"); key {
	case "node.kubernetes.io/unschedulable":
		return "cordon"
	case "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable":
		return "not ready"
	}
	return ""
}

// Claims is what the keys of labels begin with that say whether a node is one that some claims of volumes let
// their pods go to. What follows says in words which claims these are. No label of a node itself has it.
const Claims = "spec.volumes: "

// Untolerated are those of a node's taints for which a requirement on them is not met. The requirement
// names sets of taints, those that are tolerated or those that are not, and single ones among them; of
// one that names no single one, it is the set as a whole.
func Untolerated(r cluster.Requirement, taints string) []string {
	named := strings.Split(r.Value, "|")
	var list []string
	for taint := range strings.SplitSeq(taints, ",") {
		if slices.Contains(named, taint) == (r.Op == cluster.NotEqual) {
			list = append(list, taint)
		}
	}
	if len(list) == 0 {
		return []string{taints}
	}
	return list
}
