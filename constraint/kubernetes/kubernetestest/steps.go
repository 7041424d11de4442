package kubernetestest

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint/kubernetes"
)

// This file goes through all steps, pod by pod, and asks of each whether the filters allow it
// and whether the constraints do: those that bind who comes have to hold for it, and of others a step may not make
// more subjects violate the alternative that the fewest violate.

// Stepwise makes the rules those of kubernetes.Stepwise.
func (w *World) Stepwise(t TB) {
	var err error
	if w.Rules, err = kubernetes.Stepwise(w.Cluster); err != nil {
		t.Fatalf("%v", err)
	}
}

// Step is a pod that goes to a node.
type Step struct {
	At        []int // where pods are before
	Pod, Node int
}

// Steps are how steps differ from what filters allow.
type Steps struct {
	Same int // alike either way
	// Lax is allowed by the constraints alone, Strict by the filters alone.
	Lax, Strict *Step
}

// CompareSteps goes through all steps from states to which both lead.
func (w *World) CompareSteps(filters Filters) (diff Steps) {
	seen := map[string]bool{}
	var visit func(at []int)
	visit = func(at []int) {
		if seen[fmt.Sprint(at)] {
			return
		}
		seen[fmt.Sprint(at)] = true
		for pod := range at {
			if at[pod] != Nowhere {
				continue
			}
			admitted := w.Admits(at, pod)
			for n, may := range filters(at, pod) {
				admits := admitted[n]
				switch {
				case admits == may:
					diff.Same++
				case admits && diff.Lax == nil:
					diff.Lax = &Step{slices.Clone(at), pod, n}
				case may && diff.Strict == nil:
					diff.Strict = &Step{slices.Clone(at), pod, n}
				}
				if may && admits {
					next := slices.Clone(at)
					next[pod] = n
					visit(next)
				}
			}
		}
	}
	visit(w.start)
	return diff
}

// Admits is the constraints as filters.
func (w *World) Admits(at []int, pod int) []bool {
	may := make([]bool, len(w.nodes))
	next := slices.Clone(at)
	for n := range may {
		next[pod] = n
		may[n] = w.Rules.Eligible[w.workload[pod]][n] && !w.worse(at, next) && w.comes(at, pod, n)
	}
	return may
}

// comes reports whether all constraints that bind who comes let the pod come to the node.
func (w *World) comes(at []int, pod, n int) bool {
	for i := range w.Rules.Constraints {
		c := &w.Rules.Constraints[i]
		if c.Hard && c.Arriving && slices.ContainsFunc(c.Any[0], func(b cluster.Bound) bool { return !w.meets(&b, at, pod, n) }) {
			return false
		}
	}
	return true
}

// meets reports whether the bound lets the pod come to the node.
func (w *World) meets(b *cluster.Bound, at []int, pod, n int) bool {
	subject, target := b.Affects(w.Rules.Tags[w.workload[pod]])
	if !subject {
		return true
	}
	counts, everywhere := map[string]int32{}, int32(0)
	for m := range w.nodes {
		if set := w.set(b.Group, m); set != "" {
			counts[set] += 0
		}
	}
	for other, m := range at {
		_, counted := b.Affects(w.Rules.Tags[w.workload[other]])
		if m == Nowhere || !counted {
			continue
		}
		if set := w.set(b.Group, m); set != "" {
			counts[set]++
			everywhere++
		}
	}
	set, fewest := w.set(b.Group, n), int32(0)
	if b.OverFewest && len(counts) >= int(b.LeastSets) && len(counts) > 0 {
		fewest = slices.Min(slices.Collect(maps.Values(counts)))
	}
	count := counts[set]
	if target && b.SelfCounted {
		count++
	}
	switch {
	case b.OverFewest:
		return set != "" && count <= fewest+b.Max
	case count >= b.Min && count <= b.Max:
		return true
	}
	return b.OrFirst && target && set != "" && everywhere == 0
}

// worse reports whether some constraint is violated by more subjects than before.
func (w *World) worse(before, after []int) bool {
	return slices.ContainsFunc(w.Rules.Constraints, func(c cluster.Constraint) bool {
		return c.Hard && !c.Arriving && w.least(&c, after) > w.least(&c, before)
	})
}

// least is how many subjects violate the alternative that the fewest violate.
func (w *World) least(c *cluster.Constraint, at []int) int {
	least := math.MaxInt
	for _, bounds := range c.Any {
		sum := 0
		for i := range bounds {
			sum += w.violating(&bounds[i], at)
		}
		least = min(least, sum)
	}
	return least
}
