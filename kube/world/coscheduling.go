package world

import (
	"fmt"
	"strconv"
)

// This file reads the groups of the coscheduling plugin. A label of a pod names its group. How many of the group's pods are placed together an object of
// scheduling.x-k8s.io says, or a second label, as early versions of the plugin had it.

const (
	coschedulingName = "scheduling.x-k8s.io/pod-group"
	// The labels of early versions. No object says anything of their groups.
	earlyName  = "pod-group.scheduling.sigs.k8s.io/name"
	earlyLeast = "pod-group.scheduling.sigs.k8s.io/min-available"
)

// groupSource is who says how many of a group's pods are placed together.
type groupSource uint8

const (
	ofPodGroup     groupSource = iota // a pod group of Kubernetes
	ofLabels                          // a label of the pods
	ofCoscheduling                    // a pod group of the coscheduling plugin
)

// labelledGroup is the group that labels of the pod name, those of the coscheduling plugin's objects if such are seen; its name is empty if there are none.
func (p *Pod) labelledGroup(coscheduling bool) groupKey {
	labels := p.object.Labels
	if name := labels[coschedulingName]; name != "" && coscheduling {
		return groupKey{p.object.Namespace, name, ofCoscheduling}
	}
	return groupKey{p.object.Namespace, labels[earlyName], ofLabels}
}

// WithCoscheduling has the label by which the coscheduling plugin knows a pod's group read. Where no such groups are seen it says nothing, as with kube-scheduler.
func (gs *PodGroups) WithCoscheduling() { gs.coscheduling = true }

// SeeCoscheduling takes in how many pods of a group of the coscheduling plugin are placed together. It returns the pods of ours that wait for another reason
// than before, or for none.
func (gs *PodGroups) SeeCoscheduling(namespace, name string, least int32) []*Pod {
	g := gs.named(groupKey{namespace, name, ofCoscheduling})
	g.members = &least
	return gs.reread(g)
}

// LoseCoscheduling takes in that such a group is gone, as Lose does.
func (gs *PodGroups) LoseCoscheduling(namespace, name string) []*Pod {
	g := gs.byName[groupKey{namespace, name, ofCoscheduling}]
	if g == nil || g.members == nil {
		return nil
	}
	g.members = nil
	defer gs.forget(g)
	return gs.reread(g)
}

// readCoscheduling takes in the number that the plugin's object says. A group that is gone keeps the number that it had.
func (g *Group) readCoscheduling() {
	if g.why = ""; g.members == nil {
		g.why = fmt.Sprintf("its pod group %s of scheduling.x-k8s.io is not there", g.Name)
		return
	}
	g.least = max(*g.members, 0)
}

// readLabel takes in the number that a label says, which is that of the pod that came last.
func (g *Group) readLabel() {
	least, err := strconv.ParseInt(g.label, 10, 32)
	if g.least, g.why = int32(least), ""; err != nil || least < 1 {
		g.least = 0
		g.why = fmt.Sprintf("its label %s is %q, want how many pods of the group are placed together, 1 or more", earlyLeast, g.label)
	}
}
