package greedy

import (
	"math"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
)

// This file is J-Kube, Medea's rebuilding of Kubernetes' scheduler: one container at a time, in
// the order of arrival, on the node with the highest sum of two marks from 0 to 100: its
// own affinity and anti-affinity, twice, and how much of the node is left. Affinity is "at least
// one" and anti-affinity "none"; of numbers between it knows nothing. J-Kube++ honours them, too.
// Neither asks what the container does to constraints of others.

// kubernetes is J-Kube, or with cardinality J-Kube++.
func kubernetes(cardinality bool) func(*run) {
	return func(r *run) {
		k := &kube{run: r, cardinality: cardinality, marks: make([]int64, len(r.problem.Nodes))}
		r.inTurn(k.choose)
	}
}

type kube struct {
	*run
	cardinality bool
	marks       []int64 // by node, of the container at hand; unfit where it does not fit
}

const unfit = math.MinInt64

func (k *kube) choose(container int32) int32 {
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	for n := range k.marks {
		k.marks[n] = unfit
		if k.board.Fits(container, int32(n)) {
			k.marks[n] = k.affinity(container, int32(n))
			low, high = min(low, k.marks[n]), max(high, k.marks[n])
		}
	}
	k.ticks += int64(len(k.marks))
	node, most := constraint.Nowhere, int64(-1)
	for n, mark := range k.marks {
		if mark == unfit {
			continue
		}
		sum := k.left(container, int32(n))
		if high > low {
			sum += 2 * (100 * (mark - low) / (high - low))
		}
		if sum > most {
			node, most = int32(n), sum
		}
	}
	return node
}

// affinity is the weight of the container's own bounds that would hold on the node, less that of those
// that would not.
func (k *kube) affinity(container, node int32) int64 {
	sum := int64(0)
	for _, role := range k.roles.Of[k.problem.Containers[container].Shape] {
		b := &k.roles.Bounds[role.Bound]
		plain := b.Min == 1 && b.Max == cluster.Unbounded || b.Min == 0 && b.Max == 0
		if !role.Subject || !plain && !k.cardinality {
			continue
		}
		count := k.board.Targets(role.Bound, node)
		if role.Target && b.SelfCounted {
			count++
		}
		weight := max(k.problem.Constraints[b.Constraint].Weight, 1)
		if b.Misses(count) > 0 {
			weight = -weight
		}
		sum += weight
	}
	return sum
}

// left is the mean share of the node's kinds that would be left, in hundredths.
func (k *kube) left(container, node int32) int64 {
	sum, kinds := int64(0), int64(0)
	free := k.board.Free(node)
	for i, q := range k.problem.Shapes[k.problem.Containers[container].Shape].Demand {
		if capacity := k.problem.Nodes[node].Capacity[i]; q > 0 && capacity > 0 {
			sum += 100 * max(free[i]-q, 0) / capacity
			kinds++
		}
	}
	return sum / max(kinds, 1)
}
