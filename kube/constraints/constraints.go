// Package constraints is what the PlacementConstraints of a cluster say, those of its namespaces and those of all of it, and the NodeGroups that they count by. It reads them, says of each whether it counts,
// and finds those that cannot hold together.
package constraints

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Set is all constraints that count, and the node groups. It must not be changed once it is made.
type Set struct {
	Constraints []Constraint // in the order of their keys
	Groups      []NodeGroup  // by name
}

// Constraint is one of them: at least one of the alternatives holds, in all of its bounds.
type Constraint struct {
	// Key is the same as long as the object is, and no other's: its namespace, empty of one of the cluster, and its name.
	Key Key
	// Object is what says it, as it was when that was read; nil if nothing does.
	Object metav1.Object
	// Hard constraints are never violated by what is placed; of others each violation costs Weight thousandths.
	Hard   bool
	Weight int64
	Any    [][]Bound
}

// Key names a constraint.
type Key struct{ Namespace, Name string }

// String is what people are told who wait for the sake of it: they may not see what is of the cluster.
func (k Key) String() string {
	if k.Namespace == "" {
		return "a ClusterPlacementConstraint"
	}
	return "PlacementConstraint " + k.Name
}

// Bound is how many pods of the target there are beside each of the subject, in one set of the group.
type Bound struct {
	// Subject are the pods that are bound; nil binds every set.
	Subject  *Pods
	Target   Pods
	Min, Max int32 // cluster.Unbounded is no Max
	Group    Group
	Counted  bool // a subject counts itself
}

// Pods are those that have such labels, in one namespace or in those that have such labels.
type Pods struct {
	Namespace  string          // empty: by labels
	Namespaces labels.Selector // nil where there is one
	Labels     labels.Selector
}

// Group is a family of sets of nodes: by the values of a label, or those of a NodeGroup.
type Group struct {
	TopologyKey string
	NodeGroup   string // empty: by the label
}

// NodeGroup is sets of nodes by their labels. A node is in the first that selects it.
type NodeGroup struct {
	Name string
	Sets []NodeSet
}

// NodeSet is one of them.
type NodeSet struct {
	Name  string
	Nodes labels.Selector
}

// SetOf is the set of a node with these labels; false if it is in none.
func (g *NodeGroup) SetOf(node labels.Set) (string, bool) {
	at := slices.IndexFunc(g.Sets, func(s NodeSet) bool { return s.Nodes.Matches(node) })
	if at < 0 {
		return "", false
	}
	return g.Sets[at].Name, true
}

// Same reports whether both have the same sets.
func (g *NodeGroup) Same(o *NodeGroup) bool {
	return slices.EqualFunc(g.Sets, o.Sets, func(a, b NodeSet) bool { return a.Name == b.Name && same(a.Nodes, b.Nodes) })
}

// Same reports whether both say the same.
func (c *Constraint) Same(o *Constraint) bool {
	return c.Hard == o.Hard && c.Weight == o.Weight && slices.EqualFunc(c.Any, o.Any, func(a, b []Bound) bool {
		return slices.EqualFunc(a, b, func(x, y Bound) bool { return x.same(&y) })
	})
}

func (b *Bound) same(o *Bound) bool {
	return (b.Subject == nil) == (o.Subject == nil) && (b.Subject == nil || b.Subject.same(o.Subject)) && b.Target.same(&o.Target) &&
		b.Min == o.Min && b.Max == o.Max && b.Group == o.Group && b.Counted == o.Counted
}

func (p *Pods) same(o *Pods) bool {
	return p.Namespace == o.Namespace && same(p.Namespaces, o.Namespaces) && same(p.Labels, o.Labels)
}

// same reports whether two selectors select the same; one that selects nothing and one that selects all have the same text.
func same(a, b labels.Selector) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.String() == b.String() && a.Empty() == b.Empty()
}
