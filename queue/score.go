package queue

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// Score says how good a node is for one more task of a shape; larger is
// better. It is asked only of nodes where the task fits. Scores lie between -(1<<30)
// and 1<<30, in fixed point, so that they are the same on every machine.
type Score func(s *cluster.View, shape *cluster.Shape, n cluster.NodeID) int64

// one is the number 1 in the fixed point of cluster.Fraction.
const one = 1 << cluster.FractionBits

// fractions reports the mean, the smallest and the largest share of the node's
// limit that is taken once the shape is on it, over the kinds the node has.
// Less is what will have left by then; nil is nothing.
func fractions(s *cluster.View, shape *cluster.Shape, n cluster.NodeID, less cluster.Vector) (mean, low, high int64) {
	limit, used := s.Limit(n), s.Used(n)
	kinds := int64(0)
	low = one
	for k, need := range shape.Demand {
		if limit[k] == 0 {
			continue
		}
		taken := used[k] + need
		if less != nil {
			taken -= less[k]
		}
		f := min(cluster.Fraction(taken, limit[k]), 2*one)
		mean += f
		low, high = min(low, f), max(high, f)
		kinds++
	}
	if kinds > 0 {
		mean /= kinds
	}
	return mean, low, high
}

// KubeScore is Kubernetes' LeastRequested plus BalancedAllocation: prefer nodes
// that are empty, and whose resources are taken in equal shares. With more
// than two kinds the balance is that of the most and the least taken one.
func KubeScore(s *cluster.View, shape *cluster.Shape, n cluster.NodeID) int64 {
	return kubeScoreLess(s, shape, n, nil)
}

func kubeScoreLess(s *cluster.View, shape *cluster.Shape, n cluster.NodeID, less cluster.Vector) int64 {
	mean, low, high := fractions(s, shape, n, less)
	score := max(one-mean, 0)
	if high < one {
		score += one - max(high-low, 0)
	}
	return score
}

// SpreadScore is Docker Swarm's spread: the node whose shares are lowest.
func SpreadScore(s *cluster.View, shape *cluster.Shape, n cluster.NodeID) int64 {
	mean, _, _ := fractions(s, shape, n, nil)
	return max(one-mean, 0)
}

// BinpackScore is Docker Swarm's binpack: the node whose shares are highest.
func BinpackScore(s *cluster.View, shape *cluster.Shape, n cluster.NodeID) int64 {
	mean, _, _ := fractions(s, shape, n, nil)
	return mean
}

// AnyScore makes every node equal, so that the tie-break decides.
func AnyScore(*cluster.View, *cluster.Shape, cluster.NodeID) int64 { return 0 }

// bestFit prefers the node that is left with least, measured in absolute
// terms: in shares of the largest quantity that any node offers. Unlike
// BinpackScore it therefore prefers a small node to a large one.
func bestFit(known *offers) Score {
	return func(s *cluster.View, shape *cluster.Shape, n cluster.NodeID) int64 {
		limit, used := s.Limit(n), s.Used(n)
		left, kinds := int64(0), int64(0)
		for k, need := range shape.Demand {
			if known.most[k] == 0 {
				continue
			}
			left += min(cluster.Fraction(limit[k]-used[k]-need, known.most[k]), one)
			kinds++
		}
		if kinds == 0 {
			return 0
		}
		return one - left/kinds
	}
}

// offers remembers, kind by kind, the largest limit that any node has had.
type offers struct{ most cluster.Vector }

// learn looks at the changed nodes, and reports whether one of them offers
// more than any did before.
func (o *offers) learn(s *cluster.View, c *sched.Changed, _ func(cluster.NodeID)) bool {
	if c.All || o.most == nil {
		o.most = make(cluster.Vector, len(s.Kinds()))
	}
	grown := false
	for _, n := range c.Nodes {
		if !s.NodeLive(n) {
			continue
		}
		for k, q := range s.Limit(n) {
			if q > o.most[k] {
				o.most[k], grown = q, true
			}
		}
	}
	return grown
}
