package world

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/constraints"
)

// This file keeps the groups of nodes over whose sets rules between pods count: the nodes with a topology key, by its value; and of spread those that all of a
// pod's keys, its own choice of nodes and its tolerations leave; and those of a NodeGroup (standing.go). A group is made when the first rule needs it, which reports each of its nodes anew,
// and stays for as long as the core does.

// mostDomains is how many groups there may be that are not plain: each makes every node longer.
const mostDomains = 64

// domain is one group.
type domain struct {
	key  string // topology key
	text string // what else it depends on; "" of plain ones
	name string // in the core
	// admits says which nodes with the key are in it; nil is all.
	admits func(*v1.Node) bool

	nodeGroup string // that says what the sets are, which no label does then
	sets      constraints.NodeGroup
}

// domains keeps all groups.
type domains struct {
	nodes *nodes
	list  []*domain
	named map[string]*domain // by key and text
	// special counts those that are not plain.
	special int
	groups  []constraints.NodeGroup // that there are
}

// begin forgets all groups, for a new core.
func (d *domains) begin() { d.list, d.named, d.special = nil, map[string]*domain{}, 0 }

// plain is the group of all nodes with the key, and what it goes by in words; false if there is none. As long as each node has its own name for a host name, each
// is a set by itself.
func (d *domains) plain(key string) (group, words string, there bool) {
	switch {
	case key == v1.LabelHostname && d.nodes.misnamed == 0:
		return cluster.EachNode, key, true
	case key == v1.LabelHostname:
		key, words = v1.LabelHostname, "the label "
	}
	group, there = d.group(key, "", nil)
	return group, words + key, there
}

// group is the group of nodes with the key that are admitted.
func (d *domains) group(key, text string, admits func(*v1.Node) bool) (string, bool) {
	of := d.named[key+"\n"+text]
	if of == nil {
		if text != "" && d.special == mostDomains {
			return "", false
		}
		if text != "" {
			d.special++
		}
		of = &domain{key: key, text: text, admits: admits}
		d.add(of)
	}
	return of.name, true
}

// add adds a group, and reports the nodes that are in it.
func (d *domains) add(of *domain) {
	of.name = tagPrefix + of.key
	if of.text != "" {
		of.name += " " + strconv.Itoa(len(d.list))
	}
	d.list, d.named[of.key+"\n"+of.text] = append(d.list, of), of
	for _, n := range d.nodes.byRow {
		if n == nil {
			continue
		}
		if _, in := of.setOf(n.object); in {
			d.nodes.journal.emit(cluster.NodeChanged{Node: n.row, Spec: d.nodes.spec(n)})
		}
	}
}

// everywhere is the group of which all nodes are one set.
func (d *domains) everywhere() string {
	group, _ := d.group(wholeCluster, "", nil)
	return group
}

// wholeCluster is the key that all nodes have; no label may be called so.
const wholeCluster = "cluster: all"

// setOf is the set of the node, false if it is in none.
func (d *domain) setOf(n *v1.Node) (string, bool) {
	if d.key == wholeCluster {
		return "all", true
	}
	if d.nodeGroup != "" {
		return d.sets.SetOf(n.Labels)
	}
	value, in := n.Labels[d.key]
	return value, in && (d.admits == nil || d.admits(n))
}

// of are the sets that the node is in, added to others.
func (d *domains) of(n *v1.Node, groups []cluster.Label) []cluster.Label {
	for _, one := range d.list {
		if value, in := one.setOf(n); in {
			groups = append(groups, cluster.Label{Key: one.name, Value: value})
		}
	}
	cluster.SortLabels(groups)
	return groups
}

// spread is the group of a topology spread constraint of the pod, and what it goes by in words; false if there is none.
func (d *domains) spread(pod *v1.Pod, of *v1.TopologySpreadConstraint) (group, words string, there bool) {
	var others []string
	for i := range pod.Spec.TopologySpreadConstraints {
		if o := &pod.Spec.TopologySpreadConstraints[i]; o.WhenUnsatisfiable == of.WhenUnsatisfiable && o.TopologyKey != of.TopologyKey {
			others = append(others, o.TopologyKey)
		}
	}
	slices.Sort(others)
	others = slices.Compact(others)
	byNodes := (of.NodeAffinityPolicy == nil || *of.NodeAffinityPolicy == v1.NodeInclusionPolicyHonor) && selectsNodes(pod)
	byTaints := of.NodeTaintsPolicy != nil && *of.NodeTaintsPolicy == v1.NodeInclusionPolicyHonor
	if len(others) == 0 && !byNodes && !byTaints {
		return d.plain(of.TopologyKey)
	}
	text := ""
	if len(others) > 0 {
		text = " with " + strings.Join(others, " and ")
	}
	var required nodeaffinity.RequiredNodeAffinity
	if byNodes {
		required = nodeaffinity.GetRequiredNodeAffinity(pod)
		text += " of nodes " + nodesOf(pod)
	}
	tolerations := pod.Spec.Tolerations
	if byTaints {
		text += " tolerating " + textOf(tolerations)
	}
	group, there = d.group(of.TopologyKey, text, func(n *v1.Node) bool {
		for _, key := range others {
			if _, has := n.Labels[key]; !has {
				return false
			}
		}
		if byNodes {
			if match, _ := required.Match(n); !match {
				return false
			}
		}
		if byTaints {
			_, hostile := corev1.FindMatchingUntoleratedTaint(klog.Background(), n.Spec.Taints, tolerations, func(t *v1.Taint) bool { return !isSoft(*t) }, true)
			return !hostile
		}
		return true
	})
	return group, of.TopologyKey + text, there
}

// selectsNodes reports whether the pod says itself to which nodes it may go.
func selectsNodes(pod *v1.Pod) bool {
	affinity := pod.Spec.Affinity
	return len(pod.Spec.NodeSelector) > 0 || affinity != nil && affinity.NodeAffinity != nil && affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil
}

// nodesOf is what the pod says of the nodes to which it may go, the same for all that say the same.
func nodesOf(pod *v1.Pod) (text string) {
	for _, key := range sortedKeys(pod.Spec.NodeSelector) {
		text += key + "=" + pod.Spec.NodeSelector[key] + " "
	}
	if affinity := pod.Spec.Affinity; affinity != nil && affinity.NodeAffinity != nil && affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		text += textOf(affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms)
	}
	return text
}

func textOf(of any) string {
	text, err := json.Marshal(of)
	if err != nil {
		panic("world: a part of a pod does not marshal: " + err.Error())
	}
	return string(text)
}
