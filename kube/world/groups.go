package world

import (
	"fmt"
	"slices"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/cluster"
)

// This file reads pod groups. The pods of a group are one job in the core, whoever owns them; where the group asks
// that at least so many be placed together, or none, the job is a gang of that number, and the core holds to it. Groups of a
// composite pod group may be one job together (composites.go).
// A group has one priority for all of its pods. Where it wants all of them in one domain of nodes, a rule of theirs says so (company.go).
//
// A pod may come before its group. It is held until the group is there, as upstream does. What a group asks for and is not done
// here keeps its pods from being placed, and the reason names the field.

// Group is a pod group that pods name, or that is there.
type Group struct {
	groupKey
	groupTerms
	// Object is the group as it was last seen; nil if it was not, and of a group that only labels know.
	Object *schedulingv1beta1.PodGroup

	label   string     // how many are placed together, of a group that labels make
	members *int32     // how many are, of one of the coscheduling plugin; nil where it is not there
	parent  *Composite // of which it is a part; nil if it is of none
	pods    map[types.UID]*Pod
	own     Gang  // of its pods alone
	of      *Gang // with which its pods are placed: its own, or that of a composite pod group above it
	// stood says that the group had its number, and its gang still has some; of a part of a composite pod group.
	stood  bool
	notice string // why its pods wait that composite pod groups do not let in yet
}

// groupTerms is what decisions depend on that a group says, or those that it is a part of.
type groupTerms struct {
	least    int32 // how many of its pods are placed together; 0 of a group whose pods are placed each by itself
	priority int32 // of all of its pods, if they are ranked; else each has its own
	ranked   bool
	together bool // its pods may leave only all at once
	never    bool // nobody is evicted for them
	topology [maxDepth]topology
	why      string // it keeps its pods from being placed
}

// topology is a label of nodes of which all nodes of those who are of a group, in words, have one value; the zero value says nothing.
type topology struct{ key, of string }

// Gang is pods that the core has as one job in each profile: those of a pod group, or of several that are placed together or not at all.
type Gang struct {
	name      string // of its jobs
	least     int32  // how many of its pods are placed together
	together  bool   // its pods may leave only all at once
	groups    []*Group
	composite *Composite // whose it is; nil of one of a group alone
	jobs      []*job     // that the core has of it: one for each profile
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
	forest       forest
	recount      func(*Pod) // is told of pods on nodes that have another priority
}

// begin forgets the jobs of the core before.
func (gs *PodGroups) begin() {
	for _, g := range gs.byName {
		g.own.jobs, g.of, g.stood = nil, &g.own, false
		for _, p := range g.pods {
			p.letIn = p.letIn && p.placed() // others are by what is chosen now
		}
		gs.forget(g)
	}
	gs.forest.begin()
	gs.assign()
}

// named is the group of that name, which may be yet to come.
func (gs *PodGroups) named(key groupKey) *Group {
	g := gs.byName[key]
	if g == nil {
		g = &Group{groupKey: key, pods: map[types.UID]*Pod{}}
		g.own.name, g.own.groups = g.Namespace+"/"+g.Name, []*Group{g}
		g.of = &g.own
		gs.byName[key] = g
		g.read(gs)
	}
	return g
}

// join finds the group of a pod of ours that was not known before. It stays the pod's for good.
func (gs *PodGroups) join(p *Pod) {
	key := p.labelledGroup(gs.coscheduling)
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
	gs.forest.touch(p.group)
}

// leave takes a pod that is gone out of its group.
func (gs *PodGroups) leave(p *Pod) {
	if p.group != nil {
		delete(p.group.pods, p.object.UID)
		gs.forest.touch(p.group)
		gs.forget(p.group)
	}
}

// forget gives up a group that nobody names and that is not there.
func (gs *PodGroups) forget(g *Group) {
	if len(g.pods)+len(g.own.jobs) == 0 && g.Object == nil && g.members == nil {
		delete(gs.byName, g.groupKey)
		gs.forest.adopt(g, nil)
	}
}

// abandoned takes in that the core has no job of a gang any more.
func (gs *PodGroups) abandoned(of *Gang) {
	if of.composite != nil {
		gs.forest.forget(of.composite)
		return
	}
	gs.forget(of.groups[0])
}

// See takes in a pod group as it is now, for the first time or again. It returns the pods of ours that wait for another reason
// than before, or for none.
func (gs *PodGroups) See(object *schedulingv1beta1.PodGroup) []*Pod {
	g := gs.named(groupKey{Namespace: object.Namespace, Name: object.Name})
	g.Object = object
	gs.forest.adopt(g, object.Spec.ParentCompositePodGroupName)
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
	gs.forest.touch(g)
	before := g.groupTerms
	after := *g
	after.read(gs)
	if after.groupTerms == before {
		return nil
	}
	pods := inOrder(g.pods)
	for _, p := range pods {
		if !p.placed() && p.Stage != BackingOff {
			gs.waiting.retract(p) // by its priority so far
		}
	}
	g.groupTerms = after.groupTerms
	if g.topology != before.topology {
		gs.slots.shapes.rules.regroup(pods)
	}
	gs.size(&g.own, g.least, g.together)
	var ours []*Pod
	for _, p := range pods {
		switch {
		case p.placed():
			gs.slots.reshape(p, p.slot.shape)
			gs.recount(p)
		case p.Stage != BackingOff:
			gs.waiting.sort(p)
			ours = append(ours, p)
		}
	}
	gs.journal.changes++
	return ours
}

// size says anew how many pods of a gang are placed together, and how they leave.
func (gs *PodGroups) size(of *Gang, least int32, together bool) {
	if of.least == least && of.together == together {
		return
	}
	of.least, of.together = least, together
	for _, j := range of.jobs {
		gs.journal.emit(cluster.JobChanged{Job: j.row, Disruption: gs.slots.disruption(j), Gang: of.least})
	}
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
	g.groupTerms = groupTerms{together: spec.DisruptionMode != nil && spec.DisruptionMode.All != nil}
	g.never = spec.PreemptionPolicy != nil && *spec.PreemptionPolicy == schedulingv1beta1.PreemptNever
	g.rank(spec.Priority)
	if gang := spec.SchedulingPolicy.Gang; gang != nil {
		g.least = gang.MinCount
	}
	of := spec.SchedulingConstraints
	if of != nil && len(of.Topology) == 1 {
		g.topology[0] = topology{of.Topology[0].Key, "pod group " + g.Name}
	}
	beyond := ""
	switch {
	case of != nil && len(of.Topology) > 1:
		beyond = fmt.Sprintf("schedulingConstraints.topology with %d keys", len(of.Topology))
	case len(spec.ResourceClaims) > 0 && !gs.claims:
		beyond = "resourceClaims without --feature-gates=GenericWorkload=true,DRAWorkloadResourceClaims=true"
	}
	if beyond != "" {
		g.why = fmt.Sprintf("its pod group %s has spec.%s, which this version of fairlead does not do", g.Name, beyond)
	}
	if g.parent != nil {
		gs.forest.inherit(g)
	}
}

// rank gives all pods of the group that priority; nil is that each has its own.
func (g *Group) rank(priority *int32) {
	if g.ranked = priority != nil; g.ranked {
		g.priority = *priority
	}
}

// priority is that of the pod, or that of its group, if it has one.
func (p *Pod) priority() int32 {
	if p.group != nil && p.group.ranked {
		return p.group.priority
	}
	return priority(p.object)
}

// gang is what the pod is placed together with or not at all; nil if it is placed by itself.
func (p *Pod) gang() *Gang {
	if p.group == nil || p.group.of.least <= 1 {
		return nil
	}
	return p.group.of
}

// Group is the group of the pod; nil if it has none.
func (p *Pod) Group() *Group { return p.group }

// Gang is the pods with which the pod is one job; nil if it has no group.
func (p *Pod) Gang() *Gang {
	if p.group == nil {
		return nil
	}
	return p.group.of
}

// Whole reports whether as many pods of the group are on nodes, or decided to be, as it asks for.
func (g *Group) Whole() bool { return g.placed() >= g.number() }

// number is how many pods of the group have to be placed for it to count as placed.
func (g *Group) number() int { return int(max(g.least, 1)) }

// placed is how many pods of the group are on nodes or decided to be.
func (g *Group) placed() int {
	placed := 0
	for _, p := range g.pods {
		if p.placed() {
			placed++
		}
	}
	return placed
}

// Name is what the gang goes by.
func (of *Gang) Name() string { return of.name }

// Least is how many of the gang's pods are placed together or not at all; 0 or 1 where pods are placed each by itself.
func (of *Gang) Least() int { return int(of.least) }

// Placed is how many pods of the gang are on nodes or decided to be.
func (of *Gang) Placed() int {
	placed := 0
	for _, g := range of.groups {
		placed += g.placed()
	}
	return placed
}

// Pods is how many pods of the gang there are.
func (of *Gang) Pods() int {
	pods := 0
	for _, g := range of.groups {
		pods += len(g.pods)
	}
	return pods
}

// Members are the pods of the gang, in the order in which they came.
func (of *Gang) Members() []*Pod {
	var pods []*Pod
	for _, g := range of.groups {
		for _, p := range g.pods {
			pods = append(pods, p)
		}
	}
	slices.SortFunc(pods, byOrder)
	return pods
}
