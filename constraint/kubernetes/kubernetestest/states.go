package kubernetestest

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
)

// This file finds end states: those to which pods can be led one at a time, and those that
// violate nothing. Both are found by going through all there are.

// Filters say which nodes a waiting pod may go to, by node, while pods are where at says.
type Filters func(at []int, pod int) []bool

// Difference is how the end states differ in which all pods are placed.
type Difference struct {
	States int // that can be reached
	// Unreachable violates nothing, and no order of pods leads there.
	Unreachable []int
	// Forbidden can be reached, and violates something.
	Forbidden []int
}

// Compare goes through all end states.
func (w *World) Compare(filters Filters) Difference {
	var diff Difference
	reached := w.reach(filters)
	at := slices.Clone(w.start)
	var visit func(pod int)
	visit = func(pod int) {
		if pod < len(at) && w.start[pod] != Nowhere {
			visit(pod + 1)
			return
		}
		if pod < len(at) {
			for n := range w.nodes {
				at[pod] = n
				visit(pod + 1)
			}
			at[pod] = Nowhere
			return
		}
		can, may := reached[fmt.Sprint(at)], w.Holds(at)
		if can {
			diff.States++
		}
		if may && !can && diff.Unreachable == nil {
			diff.Unreachable = slices.Clone(at)
		}
		if can && !may && diff.Forbidden == nil {
			diff.Forbidden = slices.Clone(at)
		}
	}
	visit(0)
	return diff
}

// Reaches reports whether the filters can lead to the state.
func (w *World) Reaches(filters Filters, at []int) bool { return w.reach(filters)[fmt.Sprint(at)] }

// reach finds all states to which the filters can lead.
func (w *World) reach(filters Filters) map[string]bool {
	reached := map[string]bool{}
	var visit func(at []int)
	visit = func(at []int) {
		key := fmt.Sprint(at)
		if reached[key] {
			return
		}
		reached[key] = true
		for pod := range at {
			if at[pod] != Nowhere {
				continue
			}
			for n, may := range filters(at, pod) {
				if may {
					next := slices.Clone(at)
					next[pod] = n
					visit(next)
				}
			}
		}
	}
	visit(w.start)
	return reached
}

// Holds reports whether every placed pod is on a node that it may use, and no hard
// constraint is violated.
func (w *World) Holds(at []int) bool {
	for pod, n := range at {
		if usable := w.Rules.Eligible[w.workload[pod]]; n != Nowhere && usable != nil && !usable[n] {
			return false
		}
	}
	for i := range w.Rules.Constraints {
		c := &w.Rules.Constraints[i]
		if c.Hard && !slices.ContainsFunc(c.Any, func(bounds []cluster.Bound) bool {
			return !slices.ContainsFunc(bounds, func(b cluster.Bound) bool { return !w.bounded(&b, at) })
		}) {
			return false
		}
	}
	return true
}

// bounded reports whether a bound holds.
func (w *World) bounded(b *cluster.Bound, at []int) bool { return w.violating(b, at) == 0 }

// violating is for how many of its subjects a bound does not hold.
func (w *World) violating(b *cluster.Bound, at []int) (subjects int) {
	counts := map[string]int32{}
	for n := range w.nodes {
		if set := w.set(b.Group, n); set != "" {
			counts[set] += 0
		}
	}
	for pod, n := range at {
		if _, target := b.Affects(w.Rules.Tags[w.workload[pod]]); n != Nowhere && target && w.set(b.Group, n) != "" {
			counts[w.set(b.Group, n)]++
		}
	}
	if len(b.Subject) == 0 {
		for _, count := range counts {
			if b.Misses(count) > 0 {
				subjects++
			}
		}
		return subjects
	}
	for pod, n := range at {
		subject, target := b.Affects(w.Rules.Tags[w.workload[pod]])
		if n == Nowhere || !subject {
			continue
		}
		others := counts[w.set(b.Group, n)]
		if target && !b.SelfCounted && others > 0 {
			others--
		}
		if b.Misses(others) > 0 {
			subjects++
		}
	}
	return subjects
}

// set is the set of the group that the node is in.
func (w *World) set(group string, n int) string {
	if group == cluster.EachNode {
		return w.nodes[n].Metadata.Name
	}
	for _, l := range w.Rules.Groups[n] {
		if l.Key == group {
			return l.Value
		}
	}
	return ""
}

// Draw is a picture of a state for messages.
func (w *World) Draw(at []int) string {
	var b strings.Builder
	for i, n := range w.Nodes {
		fmt.Fprintf(&b, "%s\n", n)
		for pod, on := range at {
			if on == i {
				fmt.Fprintf(&b, "    %s\n", w.Pods[pod])
			}
		}
	}
	for i := range w.Rules.Constraints {
		c := &w.Rules.Constraints[i]
		fmt.Fprintf(&b, "%s, hard %v: %+v\n", c.Name, c.Hard, c.Any)
	}
	fmt.Fprintf(&b, "tags %q\nnotes %+v\n", w.Rules.Tags, w.Rules.Notes)
	return b.String()
}
