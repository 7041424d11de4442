package world

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// This file reads composite pod groups, of which pod groups and other composite ones of their namespace are parts. The root of such a tree has the priority of all pods
// below it, and says whether others are evicted for them. Each topology key on the way up is a rule of its own. Which of the pods
// are placed together, and in which order they are let in, see arrange.go.
//
// Parts may come before what they are parts of, whose pods wait then. So do those of a tree that has no root, as its composite pod groups are parts of each other, or that is deeper than
// Kubernetes lets them be.

// maxDepth is how many levels of groups a tree has at most, pod groups included.
const maxDepth = schedulingv1alpha3.WorkloadMaxTreeDepth

// Composite is a composite pod group that is there, or of which others say that they are parts.
type Composite struct {
	compositeKey
	// Object is the group as it was last seen; nil if it was not, or is gone.
	Object *schedulingv1alpha3.CompositePodGroup

	said    *schedulingv1alpha3.CompositePodGroup // as it was last seen, though it be gone; nil if it never was
	parent  *Composite
	groups  map[*Group]bool
	parts   map[*Composite]bool
	gang    Gang // of the pods below it that are placed together
	attempt attempt
}

type compositeKey struct{ Namespace, Name string }

// forest keeps all composite pod groups.
type forest struct {
	byName map[compositeKey]*Composite
	unread string // why none is ever seen; empty if they are
	// touched are those below which something has changed that arrange is to look at.
	touched map[*Composite]bool
	tried   map[*Composite]bool // of which a choice was made when pods were last let in
	// rearranged are the pods that wait for another reason since that was last asked for.
	rearranged []*Pod
	fresh      bool            // a new core is told of no pod yet
	left       map[*Group]bool // that are no part of any more
	stray      *Pod            // has its place in another job than it is of by now; nil if none has
	astray     map[*Pod]bool   // had so as soon as the core began, for which another core would be no better
}

// begin forgets the jobs of the core before.
func (f *forest) begin() {
	f.stray, f.astray = nil, nil
	for _, c := range f.byName {
		c.gang.jobs, c.gang.groups, c.gang.least, c.gang.together = nil, nil, 0, false
		c.attempt = attempt{}
		f.touched[c] = true
		f.forget(c)
	}
}

// named is the composite pod group of that name, which may be yet to come.
func (f *forest) named(key compositeKey) *Composite {
	c := f.byName[key]
	if c == nil {
		c = &Composite{compositeKey: key, groups: map[*Group]bool{}, parts: map[*Composite]bool{}}
		c.gang.name, c.gang.composite = c.Namespace+"/"+c.Name, c
		f.byName[key] = c
	}
	return c
}

// forget gives up one of which nobody says to be a part and that is not there. Groups that were of its gang are gangs of their own from now on: a pod of
// theirs may come on a node before arrange looks at them.
func (f *forest) forget(c *Composite) {
	if c.Object != nil || len(c.groups)+len(c.parts)+len(c.gang.jobs) > 0 || f.byName[c.compositeKey] != c {
		return
	}
	for _, g := range c.gang.groups {
		if g.of == &c.gang {
			g.of, g.stood = &g.own, false
		}
	}
	delete(f.byName, c.compositeKey)
	delete(f.touched, c)
	f.put(c, nil)
}

// adopt makes the group a part of the composite one of that name, or of none.
func (f *forest) adopt(g *Group, name *string) {
	before := g.parent
	if g.parent = nil; name != nil {
		g.parent = f.named(compositeKey{g.Namespace, *name})
		g.parent.groups[g] = true
	}
	if before != nil && before != g.parent {
		f.touched[before], f.left[g] = true, true
		delete(before.groups, g)
		f.forget(before)
	}
}

// put makes a composite pod group a part of the one of that name, or of none.
func (f *forest) put(c *Composite, name *string) {
	before := c.parent
	if c.parent = nil; name != nil {
		c.parent = f.named(compositeKey{c.Namespace, *name})
		c.parent.parts[c] = true
	}
	if before != nil && before != c.parent {
		f.touched[before] = true
		delete(before.parts, c)
		f.forget(before)
	}
}

// touch has arrange look at the tree of the group, if it is in one.
func (f *forest) touch(g *Group) {
	if g.parent != nil {
		f.touched[g.parent] = true
	}
}

// SeeComposite takes in a composite pod group as it is now, for the first time or again. It returns the pods of ours that wait for another reason than before, or for none.
func (gs *PodGroups) SeeComposite(object *schedulingv1alpha3.CompositePodGroup) []*Pod {
	c := gs.forest.named(compositeKey{object.Namespace, object.Name})
	c.Object, c.said = object, object
	gs.forest.put(c, object.Spec.ParentCompositePodGroupName)
	return gs.rereadBelow(c)
}

// LoseComposite takes in that a composite pod group is gone. Pods below it that have a place keep it, and the others wait until there is one of that name again.
func (gs *PodGroups) LoseComposite(namespace, name string) []*Pod {
	c := gs.forest.byName[compositeKey{namespace, name}]
	if c == nil || c.Object == nil {
		return nil
	}
	c.Object = nil
	defer gs.forest.forget(c)
	return gs.rereadBelow(c)
}

// WithoutComposites takes in why no composite pod group will ever be seen.
func (gs *PodGroups) WithoutComposites(why string) { gs.forest.unread = why }

// rereadBelow rereads all groups below a composite one.
func (gs *PodGroups) rereadBelow(c *Composite) (pods []*Pod) {
	gs.forest.touched[c] = true
	for _, g := range c.leaves() {
		pods = append(pods, gs.reread(g)...)
	}
	return pods
}

// leaves are the pod groups below, each once, in an order that does not change as long as they are the same.
func (c *Composite) leaves() (list []*Group) {
	c.walk(map[*Composite]bool{}, func(g *Group) { list = append(list, g) })
	return list
}

func (c *Composite) walk(seen map[*Composite]bool, visit func(*Group)) {
	if seen[c] { // in a cycle
		return
	}
	seen[c] = true
	for _, p := range c.children() {
		if p.group != nil {
			visit(p.group)
		} else {
			p.composite.walk(seen, visit)
		}
	}
}

// child is a part of a composite pod group: either of both.
type child struct {
	group     *Group
	composite *Composite
}

// name is that of either.
func (p child) name() string {
	if p.group != nil {
		return p.group.Name
	}
	return p.composite.Name
}

// made is when it was created, as far as that is known.
func (p child) made() (at metav1.Time) {
	if p.group != nil && p.group.Object != nil {
		return p.group.Object.CreationTimestamp
	}
	if p.composite != nil && p.composite.said != nil {
		return p.composite.said.CreationTimestamp
	}
	return at
}

// children are the parts, the oldest first.
func (c *Composite) children() []child {
	list := make([]child, 0, len(c.groups)+len(c.parts))
	for g := range c.groups {
		list = append(list, child{group: g})
	}
	for p := range c.parts {
		list = append(list, child{composite: p})
	}
	slices.SortFunc(list, func(a, b child) int {
		return cmp.Or(a.made().Compare(b.made().Time), cmp.Compare(a.name(), b.name()), cmp.Compare(kindOf(a), kindOf(b)))
	})
	return list
}

func kindOf(p child) int {
	if p.group != nil {
		return 0
	}
	return 1
}

// lineage are the composite pod groups above, from this one up to the root, and what is wrong with them, if they are no good.
func (f *forest) lineage(c *Composite) (above []*Composite, wrong string) {
	for ; c != nil; c = c.parent {
		if slices.Contains(above, c) {
			return above, fmt.Sprintf("its composite pod groups %s are parts of each other", namesOf(above))
		}
		above = append(above, c)
		switch {
		case f.unread != "":
			return above, fmt.Sprintf("its pod group has spec.parentCompositePodGroupName %s, and composite pod groups are not known: %s", c.Name, f.unread)
		case c.Object == nil:
			return above, fmt.Sprintf("its composite pod group %s is not there", c.Name)
		case len(above) == maxDepth:
			return above, fmt.Sprintf("it is below %d composite pod groups or more (%s), and Kubernetes lets %d be above a pod group", maxDepth, namesOf(above), maxDepth-1)
		}
	}
	return above, ""
}

// top is the last composite pod group on the way up; nil if there is none, as they are parts of each other.
func (c *Composite) top() *Composite {
	for seen := map[*Composite]bool{}; !seen[c]; c = c.parent {
		if seen[c] = true; c.parent == nil {
			return c
		}
	}
	return nil
}

// namesOf are the names, for people.
func namesOf(list []*Composite) string {
	var names []string
	for _, c := range list {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// Above are the composite pod groups that a group is a part of, from the nearest on, as far as they are there.
func (g *Group) Above() (above []*Composite) {
	for c := g.parent; c != nil && c.Object != nil && !slices.Contains(above, c); c = c.parent {
		above = append(above, c)
	}
	return above
}

// Invalid says what is wrong with the tree of a composite pod group, if it is the tree itself; empty if nothing is.
func (gs *PodGroups) Invalid(c *Composite) string {
	above, wrong := gs.forest.lineage(c)
	if wrong == "" || slices.ContainsFunc(above, func(c *Composite) bool { return c.Object == nil }) {
		return ""
	}
	return wrong
}

// inherit takes over for a group what those say that it is a part of.
func (f *forest) inherit(g *Group) {
	above, wrong := f.lineage(g.parent)
	for i, c := range above {
		if c.said == nil || i+1 >= maxDepth {
			break
		}
		spec := &c.said.Spec
		if of := spec.SchedulingConstraints; of != nil && len(of.Topology) > 0 {
			g.topology[i+1] = topology{of.Topology[0].Key, "composite pod group " + c.Name}
		}
		if spec.ParentCompositePodGroupName == nil { // the root
			g.rank(spec.Priority)
			g.never = spec.PreemptionPolicy != nil && *spec.PreemptionPolicy == schedulingv1alpha3.PreemptNever
		}
	}
	if wrong != "" && g.why == "" {
		g.why = wrong
	}
}

// atLeast is of how many parts at least the composite pod group is made when it is placed.
func (c *Composite) atLeast() int {
	if gang := c.said.Spec.SchedulingPolicy.Gang; gang != nil {
		return int(max(gang.MinGroupCount, 1))
	}
	return 1
}

// together reports whether all pods below may leave only all at once.
func (c *Composite) together() bool {
	return c.said.Spec.DisruptionMode != nil && c.said.Spec.DisruptionMode.All != nil
}

// Whole reports whether as many parts of the composite pod group are placed as it asks for.
func (c *Composite) Whole() bool {
	if c.Object == nil {
		return false
	}
	whole := 0
	for _, p := range c.children() {
		if p.group != nil && p.group.Whole() || p.composite != nil && p.composite.Whole() {
			whole++
		}
	}
	return whole >= c.atLeast()
}

// roots are the tops of the trees of those that were touched, in order.
func (f *forest) roots() []*Composite {
	found := map[*Composite]bool{}
	for c := range f.touched {
		if top := c.top(); top != nil {
			found[top] = true
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b *Composite) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}
