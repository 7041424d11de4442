package sched

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file puts the domains in order of which one is to hold a gang (cluster.GangDomains), or would better hold it (cluster.GangPreferences). The fullest comes
// first, so that the others stay open for gangs that need more.

// Domain is a set of nodes that may hold all of a gang.
type Domain struct {
	Nodes []cluster.NodeID // ascending
	// Room is for how many tasks like the first there is room: node by node, by quantities alone.
	Room int64
	// Freed is the same with all gone who are there.
	Freed int64
}

// Has reports whether the node is in the domain.
func (d *Domain) Has(n cluster.NodeID) bool {
	_, in := slices.BinarySearch(d.Nodes, n)
	return in
}

// Split are the domains for a part of a gang within one for all of it, or anywhere, if that is nil; none where the part has no choice.
func (d *Domain) Split(s *cluster.View, part []cluster.TaskID) []Domain {
	domains, _ := GangDomains(s, part)
	if d == nil {
		return domains
	}
	for i := range domains {
		domains[i].Nodes = slices.DeleteFunc(domains[i].Nodes, func(n cluster.NodeID) bool { return !d.Has(n) })
	}
	return slices.DeleteFunc(domains, func(of Domain) bool { return len(of.Nodes) == 0 })
}

// GangDomains are the domains for these tasks of one gang: that with the least room first, then that with the first node. It is false where the
// tasks need not stand in one, or others of theirs stand in one.
func GangDomains(s *cluster.View, tasks []cluster.TaskID) (domains []Domain, bound bool) {
	sets, bound := cluster.GangDomains(s, tasks)
	return measured(s, tasks, sets), bound
}

// GangPreferences are the domains in one of which these tasks of one gang would rather stand, level by level, the narrowest first (cluster.GangPreferences). Where they
// have to stand in one domain as well, each is the part of a preferred one that lies within that.
func GangPreferences(s *cluster.View, tasks []cluster.TaskID) (levels [][]Domain) {
	preferred := cluster.GangPreferences(s, tasks)
	if len(preferred) == 0 {
		return nil
	}
	required, bound := cluster.GangDomains(s, tasks)
	for _, sets := range preferred {
		if bound {
			sets = inside(sets, required)
		}
		levels = append(levels, measured(s, tasks, sets))
	}
	return levels
}

// inside are the parts of the sets that lie within one of the others, those that have nodes.
func inside(sets, others [][]cluster.NodeID) (parts [][]cluster.NodeID) {
	for _, set := range sets {
		for _, other := range others {
			part := slices.DeleteFunc(slices.Clone(set), func(n cluster.NodeID) bool {
				_, in := slices.BinarySearch(other, n)
				return !in
			})
			if len(part) > 0 {
				parts = append(parts, part)
			}
		}
	}
	return parts
}

// measured are the sets as domains for these tasks: that with the least room first, then that which came first.
func measured(s *cluster.View, tasks []cluster.TaskID, sets [][]cluster.NodeID) (domains []Domain) {
	for _, nodes := range sets {
		d := Domain{Nodes: nodes}
		for _, n := range nodes {
			limit, used := s.Limit(n), s.Used(n)
			room, freed := int64(-1), int64(-1)
			for k, q := range s.Shape(s.Task(tasks[0]).Shape).Demand {
				if q > 0 {
					room, freed = fewer(room, max(limit[k]-used[k], 0)/q), fewer(freed, limit[k]/q)
				}
			}
			if room < 0 { // who asks for nothing fits as often as there are tasks
				room, freed = int64(len(tasks)), int64(len(tasks))
			}
			d.Room, d.Freed = d.Room+room, d.Freed+freed
		}
		domains = append(domains, d)
	}
	slices.SortStableFunc(domains, func(a, b Domain) int { return cmp.Compare(a.Room, b.Room) })
	return domains
}

// fewer is the lesser of two numbers, of which the first is below 0 while it is not known.
func fewer(a, b int64) int64 {
	if a < 0 {
		return b
	}
	return min(a, b)
}
