package world

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
)

// This file is of which namespaces rules between pods select pods: by name, or by labels, which may change.

// namespace is one, and its labels; nil until it was seen, as pods may be seen before.
type namespace struct {
	name   string
	labels labels.Set
	kins   int // that are in it
}

// among are the namespaces with these names, and those that have such labels.
type among struct {
	names sets.Set[string] // nil: all
	by    labels.Selector  // nil: none
}

func (a among) has(n *namespace) bool {
	return a.names == nil || a.names.Has(n.name) || a.by != nil && n.labels != nil && a.by.Matches(n.labels)
}

func (a among) String() string {
	if a.names == nil {
		return "any namespace"
	}
	names := strings.Join(sets.List(a.names), ",")
	switch {
	case a.by == nil:
		return names
	case names == "":
		return "namespaces with " + a.by.String()
	}
	return names + " and namespaces with " + a.by.String()
}

// space is the namespace of that name.
func (rs *rules) space(name string) *namespace {
	if rs.spaces[name] == nil {
		rs.spaces[name] = &namespace{name: name}
	}
	return rs.spaces[name]
}

// forgetSpace forgets a namespace that is gone, once its pods are.
func (rs *rules) forgetSpace(n *namespace) {
	if n.labels == nil && n.kins == 0 {
		delete(rs.spaces, n.name)
	}
}

// relabel takes in the labels of a namespace, nil if it is gone, and reports whether they are new: its pods are selected anew by whoever goes by them.
func (rs *rules) relabel(name string, now labels.Set) bool {
	n := rs.space(name)
	if maps.Equal(n.labels, now) && (n.labels == nil) == (now == nil) {
		return false
	}
	n.labels = now
	rs.forgetSpace(n)
	var met []*Pod
	for _, k := range rs.kins {
		if k.namespace == n && rs.meetAnew(k) {
			for p := range k.pods {
				met = append(met, p)
			}
		}
	}
	slices.SortFunc(met, byOrder)
	for _, p := range met {
		p.company.settle()
		rs.retag(p)
	}
	rs.readAnew(func(k *kin) bool { return k.namespace == n }) // whether they are their own company
	return true
}

// labelsOf are the labels of a namespace; none before it was seen.
func (rs *rules) labelsOf(name string) labels.Set {
	if n := rs.spaces[name]; n != nil {
		return n.labels
	}
	return nil
}

// meetAnew finds out which of the selectors that go by the labels of namespaces select the kin, and reports whether others do than before.
func (rs *rules) meetAnew(k *kin) (changed bool) {
	for _, s := range rs.selectors {
		if s.namespaces.by == nil || s.kins[k] == s.selects(k) {
			continue
		}
		if changed = true; s.kins[k] {
			delete(s.kins, k)
			k.tags = slices.DeleteFunc(slices.Clone(k.tags), func(tag string) bool { return tag == s.tag })
		} else {
			k.meet(s)
		}
	}
	slices.Sort(k.tags)
	return changed
}
