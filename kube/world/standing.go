package world

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/constraints"
)

// This file keeps the constraints that objects of the cluster say, and no pod. They are constraints of the core as the rules of pods are, by the same selectors and groups of nodes, but bind those who
// run as well as who comes, and stand for as long as the object does.

// A pod that goes on until somebody deletes it, and that they bind or count, is one of a loose application for the core, so that it is placed together with all others of these
// where a policy has a stage, or a profile a lane, for applications. A pod on a node stays what it was.

// standing keeps them.
type standing struct {
	rules    *rules
	wanted   *constraints.Set // what is to hold
	made     map[constraints.Key]*rule
	handling func(metav1.Object) // see Options
}

// Constrain says which constraints hold from now on, and by which node groups they count.
func Constrain(w *World, now *constraints.Set) {
	w.rules.standing.change(now)
	for _, p := range inOrder(w.pods.byUID) {
		if p.Ours && !p.placed() && p.Stage.sortable() && p.selected != w.slots.binds(p) {
			w.waiting.again(p)
		}
	}
	w.MarkDirty()
}

// binds reports whether such constraints bind or count the pod, which stays.
func (s *slots) binds(p *Pod) bool {
	rs := s.shapes.rules
	return len(rs.standing.made) > 0 && p.Ours && p.group == nil && stays(p.object) &&
		slices.ContainsFunc(rs.of(p).kin.tags, func(tag string) bool { return rs.selectors[tag] != nil && rs.selectors[tag].standing > 0 })
}

// Constraints calls yield with each constraint that objects say, and its row in the core, in the order of their keys.
func Constraints(w *World, yield func(constraints.Key, cluster.ConstraintID)) {
	for i := range w.rules.standing.wanted.Constraints {
		key := w.rules.standing.wanted.Constraints[i].Key
		yield(key, w.rules.standing.made[key].row)
	}
}

// change takes over what is to hold: what says the same goes on as it is.
func (s *standing) change(now *constraints.Set) {
	next, stays := map[constraints.Key]*constraints.Constraint{}, map[constraints.Key]bool{}
	for i := range now.Constraints {
		next[now.Constraints[i].Key] = &now.Constraints[i]
	}
	for i := range s.wanted.Constraints {
		before := &s.wanted.Constraints[i]
		if after := next[before.Key]; after != nil && after.Same(before) {
			stays[before.Key] = true
			continue
		}
		s.lift(before.Key)
	}
	s.wanted = now
	s.rules.domains.divide(now.Groups)
	for i := range now.Constraints {
		if c := &now.Constraints[i]; !stays[c.Key] {
			s.stand(c)
		}
	}
}

// begin has a new core know of all.
func (s *standing) begin() {
	s.made = map[constraints.Key]*rule{}
	if s.wanted == nil {
		s.wanted = &constraints.Set{}
	}
	s.rules.domains.divide(s.wanted.Groups)
	for i := range s.wanted.Constraints {
		s.stand(&s.wanted.Constraints[i])
	}
}

// rename makes those anew that count by host names, as these have begun or ceased to be the nodes' own.
func (s *standing) rename() {
	for i := range s.wanted.Constraints {
		c := &s.wanted.Constraints[i]
		if slices.ContainsFunc(c.Any, func(bounds []constraints.Bound) bool {
			return slices.ContainsFunc(bounds, func(b constraints.Bound) bool { return b.Group.TopologyKey == v1.LabelHostname })
		}) {
			s.lift(c.Key)
			s.stand(c)
		}
	}
}

// lift takes a constraint from the core.
func (s *standing) lift(key constraints.Key) {
	r := s.made[key]
	for _, by := range r.selectors {
		by.standing--
	}
	s.rules.drop(r)
	delete(s.made, key)
}

// stand makes a constraint in the core.
func (s *standing) stand(c *constraints.Constraint) {
	s.handling(c.Object)
	rs := s.rules
	r := &rule{key: "standing " + c.Key.Namespace + "/" + c.Key.Name, soft: !c.Hard}
	tag := func(of *constraints.Pods) []string {
		by := rs.selecting(namespacesIn(of), of.Labels)
		if !slices.Contains(r.selectors, by) {
			r.selectors = append(r.selectors, by)
			by.rules = append(by.rules, r)
			by.standing++
		}
		return []string{by.tag}
	}
	spec := cluster.Constraint{Name: c.Key.String(), Hard: c.Hard, Weight: c.Weight, Lenient: true} // or pods of a namespace could be kept from leaving for all others
	for _, bounds := range c.Any {
		var all []cluster.Bound
		for i := range bounds {
			b := &bounds[i]
			bound := cluster.Bound{Target: tag(&b.Target), Min: b.Min, Max: b.Max, Group: rs.domains.said(b.Group), SelfCounted: b.Counted}
			if b.Subject != nil {
				bound.Subject = tag(b.Subject)
			}
			all = append(all, bound)
		}
		spec.Any = append(spec.Any, all)
	}
	r.row = cluster.ConstraintID(rs.rows.Take())
	s.made[c.Key] = r
	rs.journal.emit(cluster.ConstraintDefined{Constraint: r.row, Spec: spec})
}

// said is the group of nodes in the core that a constraint counts by.
func (d *domains) said(g constraints.Group) string {
	if g.NodeGroup != "" {
		return d.divided(g.NodeGroup)
	}
	group, _, _ := d.plain(g.TopologyKey)
	return group
}

// namespacesIn are the namespaces in which the pods are.
func namespacesIn(of *constraints.Pods) among {
	switch {
	case of.Namespace != "":
		return among{names: sets.New(of.Namespace)}
	case of.Namespaces.Empty():
		return among{}
	}
	return among{names: sets.New[string](), by: of.Namespaces}
}

// divide has the nodes be in the sets of these groups, of those that constraints have named so far.
func (d *domains) divide(groups []constraints.NodeGroup) {
	d.groups = groups
	for _, of := range d.list {
		if of.nodeGroup == "" {
			continue
		}
		now := d.nodeGroup(of.nodeGroup)
		if of.sets.Same(&now) {
			continue
		}
		before := of.sets
		of.sets = now
		for _, n := range d.nodes.byRow {
			if n == nil {
				continue
			}
			was, wasIn := before.SetOf(labels.Set(n.object.Labels))
			if is, isIn := now.SetOf(labels.Set(n.object.Labels)); was != is || wasIn != isIn {
				d.nodes.journal.emit(cluster.NodeChanged{Node: n.row, Spec: d.nodes.spec(n)})
			}
		}
	}
}

// nodeGroup is the group of that name; one without a set if there is none.
func (d *domains) nodeGroup(name string) constraints.NodeGroup {
	at := slices.IndexFunc(d.groups, func(g constraints.NodeGroup) bool { return g.Name == name })
	if at < 0 {
		return constraints.NodeGroup{Name: name}
	}
	return d.groups[at]
}

// divided is the group of nodes that a NodeGroup makes.
func (d *domains) divided(name string) string {
	key := "node group: " + name // no label may be called so
	if d.named[key+"\n"] == nil {
		d.add(&domain{key: key, nodeGroup: name, sets: d.nodeGroup(name)})
	}
	return d.named[key+"\n"].name
}
