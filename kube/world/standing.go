package world

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/constraints"
)

// This file keeps the constraints that objects of the cluster say, and no pod. They are constraints of the core as the rules of pods are, by the same selectors and groups of nodes, but bind those who
// run as well as who comes, and stand for as long as the object does.

// standing keeps them.
type standing struct {
	wanted *constraints.Set // what is to hold
	made   map[constraints.Key]*rule
}

// Constrain says which constraints hold from now on, and by which node groups they count.
func (w *World) Constrain(now *constraints.Set) {
	w.rules.constrain(now)
	w.MarkDirty()
}

// Constraints calls yield with each constraint that objects say, and its row in the core, in the order of their keys.
func Constraints(w *World, yield func(constraints.Key, cluster.ConstraintID)) {
	for i := range w.rules.standing.wanted.Constraints {
		key := w.rules.standing.wanted.Constraints[i].Key
		yield(key, w.rules.standing.made[key].row)
	}
}

// constrain takes over what is to hold: what says the same goes on as it is.
func (rs *rules) constrain(now *constraints.Set) {
	s := &rs.standing
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
		rs.drop(s.made[before.Key])
		delete(s.made, before.Key)
	}
	s.wanted = now
	rs.domains.divide(now.Groups)
	for i := range now.Constraints {
		if c := &now.Constraints[i]; !stays[c.Key] {
			rs.stand(c)
		}
	}
}

// beginStanding has a new core know of all.
func (rs *rules) beginStanding() {
	s := &rs.standing
	s.made = map[constraints.Key]*rule{}
	if s.wanted == nil {
		s.wanted = &constraints.Set{}
	}
	rs.domains.divide(s.wanted.Groups)
	for i := range s.wanted.Constraints {
		rs.stand(&s.wanted.Constraints[i])
	}
}

// restand makes those anew that count by host names, as these have begun or ceased to be the nodes' own.
func (rs *rules) restand() {
	s := &rs.standing
	for i := range s.wanted.Constraints {
		c := &s.wanted.Constraints[i]
		if slices.ContainsFunc(c.Any, func(bounds []constraints.Bound) bool {
			return slices.ContainsFunc(bounds, func(b constraints.Bound) bool { return b.Group.TopologyKey == v1.LabelHostname })
		}) {
			rs.drop(s.made[c.Key])
			rs.stand(c)
		}
	}
}

// stand makes a constraint in the core.
func (rs *rules) stand(c *constraints.Constraint) {
	r := &rule{key: "standing " + c.Key.Namespace + "/" + c.Key.Name, soft: !c.Hard}
	tag := func(of *constraints.Pods) []string {
		s := rs.selecting(namespacesIn(of), of.Labels)
		if !slices.Contains(r.selectors, s) {
			r.selectors = append(r.selectors, s)
			s.rules = append(s.rules, r)
		}
		return []string{s.tag}
	}
	spec := cluster.Constraint{Name: c.Key.String(), Hard: c.Hard, Weight: c.Weight}
	for _, bounds := range c.Any {
		var all []cluster.Bound
		for i := range bounds {
			b := &bounds[i]
			bound := cluster.Bound{Target: tag(&b.Target), Min: b.Min, Max: b.Max, Group: rs.groupOf(b.Group), SelfCounted: b.Counted}
			if b.Subject != nil {
				bound.Subject = tag(b.Subject)
			}
			all = append(all, bound)
		}
		spec.Any = append(spec.Any, all)
	}
	r.row = cluster.ConstraintID(rs.rows.Take())
	rs.standing.made[c.Key] = r
	rs.journal.emit(cluster.ConstraintDefined{Constraint: r.row, Spec: spec})
}

// groupOf is the group of nodes in the core.
func (rs *rules) groupOf(g constraints.Group) string {
	if g.NodeGroup != "" {
		return rs.domains.divided(g.NodeGroup)
	}
	group, _, _ := rs.domains.plain(g.TopologyKey)
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
