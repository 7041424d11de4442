package kubernetes

import (
	"maps"

	"fairlead.dev/fairlead/internal/manifest"
)

// This file is volumes that are on nodes, and wait for claims: of a class that makes none, each of whose volumes can
// be reached from one node. Two pods cannot have the same, so that they are a resource for each class, of which a pod
// that waits asks for one for each of its claims that is not bound. Volumes of different sizes count alike: two claims
// may both be counted on for which one volume is large enough.

// available is the name of the resource of a class.
func available(class string) string { return "available volumes of class " + class }

// countLocal adds the resources to what pods ask for, and nodes offer.
func (s *mounter) countLocal() {
	offers := map[string][]int64{} // by class and node
	for class, c := range s.storage.classes {
		if !c.Makes() {
			offers[class] = s.localOf(class)
		}
	}
	wanted := map[string]bool{}
	for i := range s.pods {
		p := &s.pods[i]
		count := map[string]int64{}
		for k := range p.volumes {
			name, c := s.storage.claimOf(p, &p.volumes[k].Volume)
			if c != nil && p.node == "" && c.Volume == "" && c.Node == "" && s.all.kept[name] == nil && offers[c.Class] != nil {
				count[available(c.Class)]++
				wanted[c.Class] = true
			}
		}
		p.requests = with(p.requests, count)
	}
	for class := range wanted {
		for i := range s.nodes {
			s.nodes[i].capacity = with(s.nodes[i].capacity, map[string]int64{available(class): offers[class][i]})
		}
	}
}

// with is what there is with other resources beside it.
func with(all manifest.Amounts, more map[string]int64) manifest.Amounts {
	if len(more) == 0 {
		return all
	}
	all = maps.Clone(all)
	for name, n := range more {
		all[name] = manifest.Amount{Whole: n}
	}
	return all
}

// localOf counts the volumes of the class that no claim has, by node; nil if one of them can be reached from
// several.
func (s *mounter) localOf(class string) []int64 {
	offers := make([]int64, len(s.nodes))
	for _, v := range s.all.ofClass[class] {
		if !v.Available || v.Leaving || v.For() != "" {
			continue
		}
		rows := s.all.reached(v)
		if len(rows) > 1 {
			return nil
		}
		for _, row := range rows {
			offers[row]++
		}
	}
	return offers
}
