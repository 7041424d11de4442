package world

import (
	"fmt"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/cluster"
)

// This file reads pod groups. The pods of a group are one job in the core, whoever owns them; where the group asks
// that at least so many be placed together, or none, the job is a gang of that number, and the core holds to it.
// A group has one priority for all of its pods. Where it wants all of them in one domain of nodes, a rule of theirs says so (company.go).
//
// A pod may come before its group. It is held until the group is there, as upstream does. What a group asks for and is not done
// here keeps its pods from being placed, and the reason names the field.

// Group is a pod group that pods name, or that is there.
type Group struct {
	groupKey
	// Object is the group as it was last seen; nil if it was not, and of a group that only labels know.
	Object *schedulingv1beta1.PodGroup

	least    int32  // how many of its pods are placed together; 0 of a group whose pods are placed each by itself
	priority *int32 // of all of its pods; nil where each has its own
	domain   string // the label of nodes of which all its pods' nodes have one value; empty where they may be anywhere
	together bool   // its pods may leave only all at once
	never    bool   // nobody is evicted for them
	label    string // how many are placed together, of a group that labels make
	members  *int32 // how many are, of one of the coscheduling plugin; nil where it is not there
	why      string // it keeps its pods from being placed
	pods     map[types.UID]*Pod
	jobs     []*job // that the core has of it: one for each profile
}

// groupKey names a group.
type groupKey struct {
	Namespace, Name string
	source          groupSource
}

// PodGroups keeps all groups that there are, or that pods name.
type PodGroups struct {
	journal *journal
	waiting *waiting
	slots   *slots
	byName  map[groupKey]*Group
	unread  string // why no group is ever seen; empty if they are
	claims  bool   // the pods of a group may share claims of devices
	// coscheduling says that groups of the coscheduling plugin are seen.
	coscheduling bool
}

// begin forgets the jobs of the core before.
func (gs *PodGroups) begin() {
	for _, g := range gs.byName {
		g.jobs = nil
		gs.forget(g)
	}
}

// named is the group of that name, which may be yet to come.
func (gs *PodGroups) named(key groupKey) *Group {
	g := gs.byName[key]
	if g == nil {
		g = &Group{groupKey: key, pods: map[types.UID]*Pod{}}
		gs.byName[key] = g
		g.read(gs)
	}
	return g
}

// join finds the group of a pod of ours that was not known before. It stays the pod's for good.
func (gs *PodGroups) join(p *Pod) {
	key := gs.labelledGroup(p)
	if of := p.object.Spec.SchedulingGroup; of != nil && of.PodGroupName != nil {
		key = groupKey{p.object.Namespace, *of.PodGroupName, ofPodGroup}
	}
	if !p.Ours || key.Name == "" {
		return
	}
	p.group = gs.named(key)
	if least := p.object.Labels[earlyLeast]; key.source == ofLabels && p.group.label != least {
		p.group.label = least
		gs.reread(p.group)
	}
	p.group.pods[p.object.UID] = p
}

// leave takes a pod that is gone out of its group.
func (gs *PodGroups) leave(p *Pod) {
	if p.group != nil {
		delete(p.group.pods, p.object.UID)
		gs.forget(p.group)
	}
}

// forget gives up a group that nobody names and that is not there.
func (gs *PodGroups) forget(g *Group) {
	if len(g.pods)+len(g.jobs) == 0 && g.Object == nil && g.members == nil {
		delete(gs.byName, g.groupKey)
	}
}

// See takes in a pod group as it is now, for the first time or again. It returns the pods of ours that wait for another reason
// than before, or for none.
func (gs *PodGroups) See(object *schedulingv1beta1.PodGroup) []*Pod {
	g := gs.named(groupKey{Namespace: object.Namespace, Name: object.Name})
	g.Object = object
	return gs.reread(g)
}

// Lose takes in that a pod group is gone. Its pods that have a place keep it, and the others wait until there is one of that name again.
func (gs *PodGroups) Lose(namespace, name string) []*Pod {
	g := gs.byName[groupKey{Namespace: namespace, Name: name}]
	if g == nil || g.Object == nil {
		return nil
	}
	g.Object = nil
	defer gs.forget(g)
	return gs.reread(g)
}

// Without takes in why no pod group will ever be seen.
func (gs *PodGroups) Without(why string) { gs.unread = why }

// reread takes over what a group says by now, and lets the core know.
func (gs *PodGroups) reread(g *Group) []*Pod {
	before := g.terms()
	after := *g
	after.read(gs)
	if after.terms() == before {
		return nil
	}
	pods := inOrder(g.pods)
	for _, p := range pods {
		if !p.placed() && p.Stage != BackingOff {
			gs.waiting.retract(p) // by its priority so far
		}
	}
	moved := g.domain != after.domain
	*g = after
	if moved {
		gs.slots.shapes.rules.regroup(pods)
	}
	for _, j := range g.jobs {
		gs.journal.emit(cluster.JobChanged{Job: j.row, Disruption: gs.slots.disruption(j), Gang: g.least})
	}
	var ours []*Pod
	for _, p := range pods {
		switch {
		case p.placed():
			gs.slots.reshape(p, p.slot.shape)
		case p.Stage != BackingOff:
			gs.waiting.sort(p)
			ours = append(ours, p)
		}
	}
	gs.journal.changes++
	return ours
}

// groupTerms is what decisions depend on.
type groupTerms struct {
	least, priority int32
	ranked          bool
	together, never bool
	domain, why     string
}

// terms are what decisions depend on now.
func (g *Group) terms() groupTerms {
	t := groupTerms{least: g.least, ranked: g.priority != nil, together: g.together, never: g.never, domain: g.domain, why: g.why}
	if t.ranked {
		t.priority = *g.priority
	}
	return t
}

// read works out what the group says. A group that is gone keeps the number that it had.
func (g *Group) read(gs *PodGroups) {
	switch g.source {
	case ofLabels:
		g.readLabel()
		return
	case ofCoscheduling:
		g.readCoscheduling()
		return
	case ofPodGroup:
	}
	if g.Object == nil {
		g.why = fmt.Sprintf("its pod group %s is not there", g.Name)
		if gs.unread != "" {
			g.why = fmt.Sprintf("its pod group %s is not known: %s", g.Name, gs.unread)
		}
		return
	}
	spec := &g.Object.Spec
	g.least, g.priority, g.together = 0, spec.Priority, spec.DisruptionMode != nil && spec.DisruptionMode.All != nil
	g.domain, g.never = "", spec.PreemptionPolicy != nil && *spec.PreemptionPolicy == schedulingv1beta1.PreemptNever
	if gang := spec.SchedulingPolicy.Gang; gang != nil {
		g.least = gang.MinCount
	}
	of := spec.SchedulingConstraints
	if of != nil && len(of.Topology) == 1 {
		g.domain = of.Topology[0].Key
	}
	beyond := ""
	switch {
	case of != nil && len(of.Topology) > 1:
		beyond = fmt.Sprintf("schedulingConstraints.topology with %d keys", len(of.Topology))
	case spec.ParentCompositePodGroupName != nil:
		beyond = "parentCompositePodGroupName"
	case len(spec.ResourceClaims) > 0 && !gs.claims:
		beyond = "resourceClaims without --feature-gates=GenericWorkload=true,DRAWorkloadResourceClaims=true"
	}
	if g.why = ""; beyond != "" {
		g.why = fmt.Sprintf("its pod group %s has spec.%s, which this version of fairlead does not do", g.Name, beyond)
	}
}

// priority is that of the pod, or that of its group, if it has one.
func (p *Pod) priority() int32 {
	if p.group != nil && p.group.priority != nil {
		return *p.group.priority
	}
	return priority(p.object)
}

// gang is the group of the pod if some of it are placed together or not at all; else nil.
func (p *Pod) gang() *Group {
	if p.group == nil || p.group.least <= 1 {
		return nil
	}
	return p.group
}

// Group is the group of the pod; nil if it has none.
func (p *Pod) Group() *Group { return p.group }

// Least is how many of the group's pods are placed together or not at all; 0 or 1 of a group whose pods are placed each by itself.
func (g *Group) Least() int { return int(g.least) }

// Placed is how many pods of the group are on nodes or decided to be.
func (g *Group) Placed() int {
	placed := 0
	for _, p := range g.pods {
		if p.placed() {
			placed++
		}
	}
	return placed
}

// Pods is how many pods of the group there are.
func (g *Group) Pods() int { return len(g.pods) }

// Members are the pods of the group, in the order in which they came.
func (g *Group) Members() []*Pod { return inOrder(g.pods) }
