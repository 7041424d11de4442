package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
)

// This file holds composite pod groups to what Kubernetes says of them, found out anew from the objects that there are: a tree counts as placed where enough of its
// parts do, recursively, and so whoever is the first of a tree to come to a node comes with all that it asks for.

// enough reports whether as many pods of each of as many parts as are asked for do, below the composite pod group of that name.
func (r *rig) enough(name string, counts func(*Pod) bool) bool {
	c := r.composites[name]
	if c == nil {
		return false
	}
	want, has := 1, 0
	if gang := c.Spec.SchedulingPolicy.Gang; gang != nil {
		want = int(gang.MinGroupCount)
	}
	for _, g := range r.groups {
		if of := g.Spec.ParentCompositePodGroupName; of != nil && *of == name && r.enoughOf(g.Name, counts) {
			has++
		}
	}
	for _, part := range r.composites {
		if of := part.Spec.ParentCompositePodGroupName; of != nil && *of == name && r.enough(part.Name, counts) {
			has++
		}
	}
	return has >= want
}

// enoughOf reports whether as many pods of the group do as it asks for.
func (r *rig) enoughOf(name string, counts func(*Pod) bool) bool {
	want, has := 1, 0
	if gang := r.groups[name].Spec.SchedulingPolicy.Gang; gang != nil {
		want = int(gang.MinCount)
	}
	for _, p := range r.membersOf(name) {
		if counts(p) {
			has++
		}
	}
	return has >= want
}

// membersOf are the pods that name the group.
func (r *rig) membersOf(name string) (pods []*Pod) {
	for _, p := range inOrder(r.world.pods.byUID) {
		if of := p.object.Spec.SchedulingGroup; p.Ours && of != nil && *of.PodGroupName == name && p.object.Namespace == "default" {
			pods = append(pods, p)
		}
	}
	return pods
}

// rootOf is the root above a group; empty if it has none that is there.
func (r *rig) rootOf(group string) string {
	of, seen := r.groups[group].Spec.ParentCompositePodGroupName, map[string]bool{}
	for of != nil && !seen[*of] && r.composites[*of] != nil {
		seen[*of] = true
		above := r.composites[*of].Spec.ParentCompositePodGroupName
		if above == nil {
			return *of
		}
		of = above
	}
	return ""
}

// bare are the roots below which nobody has a place, nor has ever had one in this core.
func (r *rig) bare() (roots []string) {
	for name, c := range r.composites {
		if c.Spec.ParentCompositePodGroupName == nil && !r.anyBelow(name) {
			roots = append(roots, name)
		}
	}
	slices.Sort(roots)
	return roots
}

// anyBelow reports whether somebody below the root has a place, or a job of the core there has somebody who is done, or is kept room for.
func (r *rig) anyBelow(root string) bool {
	v := r.core.View()
	for _, g := range r.world.groups.byName { // of groups that are not there any more
		of := g.parent
		for range maxDepth { // they may be parts of each other
			if of != nil && of.parent != nil {
				of = of.parent
			}
		}
		if of != nil && of.Name == root && slices.ContainsFunc(g.own.Members(), (*Pod).placed) {
			return true
		}
	}
	for name := range r.groups {
		if r.rootOf(name) != root {
			continue
		}
		for _, p := range r.membersOf(name) {
			if p.placed() || p.slot != nil && r.reserved(p.slot.task) || p.group != nil && slices.ContainsFunc(p.group.of.jobs, func(j *job) bool { return cluster.GangHas(v, j.row) > 0 }) {
				return true
			}
		}
	}
	return false
}

// checkFirst wants of each of these roots that nobody below has a place by now, or that the tree counts as placed; room that is kept counts, as it is somebody's.
func (r *rig) checkFirst(roots []string) {
	r.tb.Helper()
	has := func(p *Pod) bool { return p.placed() || p.slot != nil && r.reserved(p.slot.task) }
	for _, root := range roots {
		some, all := false, []string{}
		for name := range r.groups {
			if r.rootOf(name) == root {
				for _, p := range r.membersOf(name) {
					some, all = some || has(p), append(all, fmt.Sprintf("%s of %s is %s", p.object.Name, name, p.Stage))
				}
			}
		}
		if some {
			r.trees++
		}
		if some && !r.enough(root, has) {
			slices.Sort(all)
			r.tb.Fatalf("at %v: some pods below composite pod group %s have places, and too few for it: %v\n%s", r.now, root, all, r.forest())
		}
	}
}

// keptFirst are the pods below each root of whom some are kept room and nobody has a place.
func (r *rig) keptFirst() map[string][]*Pod {
	roots := map[string][]*Pod{}
	for name, c := range r.composites {
		if all := r.below(name); c.Spec.ParentCompositePodGroupName == nil && !slices.ContainsFunc(all, (*Pod).placed) && slices.ContainsFunc(all, func(p *Pod) bool { return p.slot != nil && r.reserved(p.slot.task) }) {
			roots[name] = all
		}
	}
	return roots
}

// below are the pods below a root.
func (r *rig) below(root string) (pods []*Pod) {
	for _, name := range slices.Sorted(maps.Keys(r.groups)) {
		if r.rootOf(name) == root {
			pods = append(pods, r.membersOf(name)...)
		}
	}
	return pods
}

// stillFirst are the roots of which the turn before left only places that are kept, and nobody has got one elsewhere, come below it with one, or is done since.
func (r *rig) stillFirst() (roots []string) {
	for _, root := range slices.Sorted(maps.Keys(r.first)) {
		lost := func(p *Pod) bool { return p.placed() || r.pods[p.object.UID] == nil }
		if !slices.ContainsFunc(r.first[root], lost) && !slices.ContainsFunc(r.below(root), (*Pod).placed) {
			roots = append(roots, root)
		}
	}
	return roots
}

// checkKept wants of each of these roots that nobody below has come to a node by now, or that the tree counts as placed.
func (r *rig) checkKept(roots []string) {
	r.tb.Helper()
	for _, root := range roots {
		all := r.below(root)
		if slices.ContainsFunc(all, (*Pod).placed) && !r.enough(root, func(p *Pod) bool { return p.placed() || p.slot != nil && r.reserved(p.slot.task) }) {
			r.tb.Fatalf("at %v: pods below composite pod group %s had places kept, and too few for it have come to them\n%s", r.now, root, r.forest())
		}
	}
	r.first = r.keptFirst()
}

// checkTries wants that whoever wants to be arranged at once was not left so by the turn before.
func (r *rig) checkTries() {
	r.tb.Helper()
	before := r.overdue
	r.overdue = map[*Composite]bool{}
	for _, c := range r.world.groups.forest.byName {
		if r.overdue[c] = c.attempt.due() <= r.now; r.overdue[c] && before[c] {
			r.tb.Fatalf("at %v: the loop turns for ever, as other parts of composite pod group %s are to be chosen at %v\n%s", r.now, c.Name, c.attempt.due(), r.forest())
		}
	}
}

// forest prints how groups are arranged.
func (r *rig) forest() string {
	var out strings.Builder
	for _, c := range r.world.groups.forest.byName {
		fmt.Fprintf(&out, "%s: a gang of %d of %s, way %d of %d, stands %t\n", c.Name, c.gang.least, someOf(c.gang.groups), c.attempt.way, c.attempt.ways, c.attempt.stands)
	}
	for _, g := range r.world.groups.byName {
		fmt.Fprintf(&out, "%s: placed %d of %d, stood %t, of %s, %s\n", g.Name, g.placed(), g.number(), g.stood, g.of.name, g.why)
	}
	return out.String()
}

// checkComposites compares what is known of composite pod groups with those that there are, and wants pods of each tree to be let in that has enough of them, and of no other.
func (r *rig) checkComposites() error {
	f := &r.world.groups.forest
	groups, parts := 0, 0
	for key, c := range f.byName {
		groups, parts = groups+len(c.groups), parts+len(c.parts)
		if there := r.composites[key.Name] != nil; there != (c.Object != nil) || !there && len(c.groups)+len(c.parts)+len(c.gang.jobs) == 0 {
			return fmt.Errorf("it is %t that composite pod group %s is there, and the world knows of it: %t", there, key.Name, c.Object != nil)
		}
	}
	for _, g := range r.world.groups.byName {
		if c := g.of.composite; c != nil && f.byName[c.compositeKey] != c {
			return fmt.Errorf("group %s is of the gang of composite pod group %s, which nobody knows any more", g.Name, c.Name)
		}
		if g.parent != nil {
			groups--
			if !g.parent.groups[g] {
				return fmt.Errorf("composite pod group %s does not know of its part %s", g.parent.Name, g.Name)
			}
		}
	}
	for _, c := range f.byName {
		if c.parent != nil {
			parts--
			if !c.parent.parts[c] {
				return fmt.Errorf("composite pod group %s does not know of its part %s", c.parent.Name, c.Name)
			}
		}
	}
	if groups != 0 || parts != 0 {
		return fmt.Errorf("composite pod groups have %d groups and %d composite ones more than there are", groups, parts)
	}
	if len(f.touched) > 0 {
		return nil // it is for the next turn
	}
	for name, c := range r.composites {
		if c.Spec.ParentCompositePodGroupName != nil || r.anyBelow(name) {
			continue
		}
		in := 0
		for group := range r.groups {
			if r.rootOf(group) == name {
				for _, p := range r.membersOf(group) {
					if p.letIn && p.Stage != Gated {
						in++
					}
				}
			}
		}
		if ready := r.enough(name, func(p *Pod) bool { return p.group.why == "" && p.comes() }); ready != (in > 0) && f.byName[compositeKey{"default", name}].binds() {
			return fmt.Errorf("that composite pod group %s has enough pods is %t, and %d are let in", name, ready, in)
		}
	}
	return nil
}

// Composite pod groups, their parts and their pods come, change and go in any order; where few other things happen, most trees are placed.
func TestAHostileHistoryOfCompositePodGroups(t *testing.T) {
	setCases(t, "300")
	b := newBench(t, library()...)
	placed, restarts, trees := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		h := &history{rig: newRig(t, b), t: t, old: map[types.UID][]*v1.Pod{}}
		h.choosePolicy()
		for i := range 3 {
			h.seeNode(drawNode(t, i))
		}
		all, actions := h.actions(), map[string]func(*rapid.T){}
		for _, name := range []string{"turn", "turn soon", "turn at once", "lose group", "lose composite", "lose pod", "end pod", "outcome", "eviction", "restart", "node", "new urgent pod", "change pod"} {
			actions[name] = all[name]
		}
		for i := range 8 {
			actions[fmt.Sprint("new pod of a group ", i)] = all["new pod of a group"]
		}
		actions["group"] = func(t *rapid.T) { h.drawGroup(t, pick(t, "parent", "", " parent=r", " parent=r", " parent=s")) }
		actions["root"] = func(t *rapid.T) { h.drawComposite(t, "r", "") }
		actions["part"] = func(t *rapid.T) { h.drawComposite(t, "s", pick(t, "parent", "", " parent=r", " parent=r")) }
		for _, name := range []string{"root", "part", "group", "group", "group"} {
			actions[name](t)
		}
		for range number(t, 120, "steps") {
			name := pick(t, "action", slices.Sorted(maps.Keys(actions))...)
			t.Logf("at %v: %s", h.now, name)
			actions[name](t)
		}
		h.calm()
		placed, restarts, trees = placed+h.placedCount, restarts+h.restarts-1, trees+h.trees
	})
	t.Logf("%d pods placed, %d new cores, %d composite pod groups placed", placed, restarts, trees)
	if placed == 0 || restarts == 0 || trees == 0 {
		t.Errorf("%d pods placed, %d new cores, %d composite pod groups placed: nothing was tested", placed, restarts, trees)
	}
}

// A group that was of the gang of a composite pod group which is gone is a gang of its own at once: a pod of it may come on a node before it is arranged anew.
func TestGroupsOfAForgottenComposite(t *testing.T) {
	s := newStory(t)
	report := func(lines ...string) {
		t.Helper()
		for _, text := range lines {
			if err := s.happen(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	report("node n1 cpu=4", "composite r least=1", "group a least=1 parent=r", "pod a1 group=a cpu=1")
	s.turn()
	report("lost a1", "lost-composite r", "group a least=1", "pod a2 group=a cpu=1 node=n1")
	for _, check := range []func() error{s.checkGroups, s.checkComposites} {
		if err := check(); err != nil {
			t.Error(err)
		}
	}
}

// Where the API server serves no composite pod groups, pods of groups with a parent are held, and say why; others are placed.
func TestWithoutCompositePodGroups(t *testing.T) {
	s := newStory(t)
	s.world.PodGroups().WithoutComposites("none are served")
	for _, text := range []string{"node n1 cpu=4", "group a parent=r", "group b", "pod a1 group=a cpu=1", "pod b1 group=b cpu=1"} {
		if err := s.happen(text); err != nil {
			t.Fatal(err)
		}
	}
	s.turn()
	const want = "its pod group has spec.parentCompositePodGroupName r, and composite pod groups are not known: none are served"
	if a, b := s.world.Pod("uid-a1"), s.world.Pod("uid-b1"); a.Why != want || b.Stage != Assumed {
		t.Errorf("the pod with a parent waits as %q, and the other is %s", a.Why, b.Stage)
	}
}
