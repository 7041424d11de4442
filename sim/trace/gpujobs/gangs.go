package gpujobs

import (
	"cmp"
	"math"
	"slices"
)

// This file finds the gangs that the nodes could not hold even if all were empty. How many nodes are made up goes by what
// all ask for in sum, and four pods of five GPUs each, in sum two nodes and a half of eight, take four.
//
// Pods are placed largest first, each on the first node that has room, which for pods of few kinds on nodes that are alike is
// seldom more nodes than it takes; pods and nodes that are alike are counted, not placed one by one.

// stock is so many nodes, each with as much free.
type stock struct {
	nodes int64
	free  [3]int64
}

// tooWide counts the gangs that do not fit on all nodes together, but for those of which a pod fits on none.
func (s *Source) tooWide() {
	if s.options.Loose {
		return
	}
	for i := range s.jobs {
		pods := s.jobs[i].Pods
		if (len(pods) > 1 || len(pods) == 1 && pods[0].Count > 1) && !s.isTooLarge(pods) && !s.holds(pods) {
			s.wide++
		}
	}
}

// holds reports whether the nodes, if all are empty, hold the pods at the same time.
func (s *Source) holds(pods []Pods) bool {
	capacity := s.capacity()
	left := []stock{{int64(s.nodes), capacity}}
	pods = slices.Clone(pods)
	share := func(p *Pods) (largest float64) {
		for d, q := range p.taken() {
			if s.counted[d] && capacity[d] > 0 {
				largest = max(largest, float64(q)/float64(capacity[d]))
			}
		}
		return largest
	}
	slices.SortStableFunc(pods, func(a, b Pods) int { return cmp.Compare(share(&b), share(&a)) })
	for k := range pods {
		waiting := pods[k].Count
		var after []stock
		for _, nodes := range left {
			after, waiting = s.fill(after, nodes, &pods[k], waiting)
		}
		if waiting > 0 {
			return false
		}
		left = after
	}
	return true
}

// fill places so many pods on nodes that are alike, as many on each as it has room for, appends what the nodes have left, and
// returns how many pods wait still.
func (s *Source) fill(after []stock, nodes stock, p *Pods, waiting int64) ([]stock, int64) {
	take := p.taken()
	each := int64(math.MaxInt64)
	for d, q := range take {
		if s.counted[d] && q > 0 {
			each = min(each, nodes.free[d]/q)
		}
	}
	put := func(n, pods int64) {
		if n == 0 {
			return
		}
		of := stock{n, nodes.free}
		for d, q := range take {
			of.free[d] -= q * pods
		}
		after = append(after, of)
		nodes.nodes -= n
		waiting -= n * pods
	}
	if each > 0 {
		put(min(waiting/each, nodes.nodes), each)
	}
	if each > 0 && waiting > 0 && nodes.nodes > 0 {
		put(1, waiting)
	}
	put(nodes.nodes, 0)
	return after, waiting
}

// taken is what a pod takes of a node: of a share of a GPU the part of the device that as many such shares as it holds leave each.
func (p *Pods) taken() [3]int64 {
	of := p.demand()
	if gpu := &of[2]; *gpu > 0 && *gpu < Device {
		*gpu = Device / (Device / *gpu)
	}
	return of
}
