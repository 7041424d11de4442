package queue

import (
	"math"

	"fairlead.dev/fairlead/cluster"
)

// This file is the scores of kube-scheduler's default plugins by what tasks prefer, each from 0 to 100 over the nodes found.
//
//   - NodeAffinity, weight 2: the weights of the preferences for nodes that a node meets, over the most of any node.
//   - TaintToleration, weight 3: how few sets a node is in where the task had rather not be.
//   - InterPodAffinity, weight 2: the weights of all company on the node and in its zone that the task likes, less what it shuns; and
//     likewise of what that company likes and shuns, and a weight of 1 for whom it requires. The best node has 100, the worst 0.
//   - PodTopologySpread, weight 2, of tasks with soft spread of their own: as by default, with their counts, skews and groups of nodes.
//     A node outside of any of these groups has 0.
//
// Company and spread are constraints, of which those are scored that have the form of the translation from Kubernetes
// (constraint/kubernetes, wishes.go and stepwise.go).

// The weights of the plugins.
const (
	nodesWeight   = 2
	taintsWeight  = 3
	companyWeight = 2
	// requiredWeight is that of company which others require, in thousandths as those of soft constraints: a point of 100.
	requiredWeight = cluster.DefaultWeight / 100
)

// kubeWishes is scratch for the scores.
type kubeWishes struct {
	bonds   []bond
	spreads []softSpread
	scores  []int64
}

// bond is company that a task likes, or shuns where the weight is below 0: the targets of a bound, or its subjects where it is
// these that like or shun the task.
type bond struct {
	constraint cluster.ConstraintID
	bound      int
	subjects   bool
	weight     int64
}

// softSpread is a spread that a task prefers: few targets of the first bound of the constraint. The skew is how many more do not matter.
type softSpread struct {
	constraint cluster.ConstraintID
	skew       int64
	weight     int64 // how much one more counts
}

// score adds the scores of the nodes to the sums. It reports whether tasks of the shape say themselves how they are to be spread.
func (w *kubeWishes) score(s *cluster.View, id cluster.ShapeID, nodes []cluster.NodeID, sums []int64) (spread bool) {
	if prefers := s.Shape(id).Prefers; len(prefers) > 0 {
		w.nodes(s, prefers, nodes, sums)
	}
	if spread = w.read(s, id); len(w.bonds) > 0 {
		w.company(s, nodes, sums)
	}
	if len(w.spreads) > 0 {
		w.spread(s, nodes, sums)
	}
	return spread
}

// nodes adds the scores of NodeAffinity and TaintToleration.
func (w *kubeWishes) nodes(s *cluster.View, prefers []cluster.Preference, nodes []cluster.NodeID, sums []int64) {
	for _, liked := range []bool{true, false} {
		w.scores = w.scores[:0]
		most := int64(0)
		for _, n := range nodes {
			sum := int64(0)
			for _, p := range prefers {
				switch {
				case p.Weight > 0 != liked || !s.Eligible(p.Set, n):
				case liked:
					sum += int64(p.Weight)
				default:
					sum++ // each taint counts once
				}
			}
			w.scores = append(w.scores, sum)
			most = max(most, sum)
		}
		for i, score := range w.scores {
			switch {
			case most == 0: // no node differs from another
			case liked:
				sums[i] += nodesWeight * (fullScore * score / most)
			default:
				sums[i] += taintsWeight * (fullScore - fullScore*score/most)
			}
		}
	}
}

// read finds what tasks of the shape prefer of others, and others of them. It reports whether they say themselves how they are to be spread.
func (w *kubeWishes) read(s *cluster.View, id cluster.ShapeID) (spread bool) {
	w.bonds, w.spreads = w.bonds[:0], w.spreads[:0]
	tags := s.Shape(id).Tags
	for _, c := range s.ConstraintsOf(id) {
		spec := s.Constraint(c)
		b := &spec.Any[0][0]
		subject, target := b.Affects(tags)
		switch {
		case spec.Hard:
			spread = w.required(c, spec, tags) || spread
		case len(spec.Any) > 1 || len(spec.Any[0]) > 1 || len(b.Subject) == 0:
		case b.OverFewest && subject:
			spread = true
			w.spreads = append(w.spreads, softSpread{constraint: c, skew: int64(b.Max) - 1})
		case b.SelfCounted:
		case b.Min > 0 && b.Max == cluster.Unbounded:
			w.bind(c, subject, target, spec.Weight)
		case b.Max == 0:
			w.bind(c, subject, target, -spec.Weight)
		}
	}
	return spread
}

// required adds company that requires tasks with these tags to be beside it, and reports whether they are to be spread.
func (w *kubeWishes) required(c cluster.ConstraintID, spec *cluster.Constraint, tags []string) (spread bool) {
	at := 0
	for i := range spec.Any {
		for k := range spec.Any[i] {
			b := &spec.Any[i][k]
			subject, target := b.Affects(tags)
			if target && b.Min > 0 && len(b.Subject) > 0 {
				w.bonds = append(w.bonds, bond{constraint: c, bound: at, subjects: true, weight: requiredWeight})
			}
			spread = spread || subject && b.OverFewest
			at++
		}
	}
	return spread
}

// bind adds company for both sides.
func (w *kubeWishes) bind(c cluster.ConstraintID, subject, target bool, weight int64) {
	if subject {
		w.bonds = append(w.bonds, bond{constraint: c, weight: weight})
	}
	if target {
		w.bonds = append(w.bonds, bond{constraint: c, weight: weight, subjects: true})
	}
}

// company adds the scores of InterPodAffinity.
func (w *kubeWishes) company(s *cluster.View, nodes []cluster.NodeID, sums []int64) {
	w.scores = w.scores[:0]
	least, most := int64(math.MaxInt64), int64(math.MinInt64)
	for _, n := range nodes {
		sum := int64(0)
		for _, b := range w.bonds {
			all, _, set := cluster.CountsOf(s, b.constraint, b.bound, n)
			switch {
			case set == 0: // nobody is in its company there
			case b.subjects:
				sum += b.weight * int64(all.Subjects)
			default:
				sum += b.weight * int64(all.Targets)
			}
		}
		w.scores = append(w.scores, sum)
		least, most = min(least, sum), max(most, sum)
	}
	if least == most {
		return
	}
	for i, score := range w.scores {
		sums[i] += companyWeight * int64(fullScore*(float64(score-least)/float64(most-least)))
	}
}

// spread adds the scores of PodTopologySpread.
func (w *kubeWishes) spread(s *cluster.View, nodes []cluster.NodeID, sums []int64) {
	const outside = -1
	w.weigh(s, nodes)
	w.scores = w.scores[:0]
	least, most := int64(math.MaxInt64), int64(0)
	for _, n := range nodes {
		sum, score := int64(0), int64(0)
		for _, one := range w.spreads {
			_, staying, set := cluster.CountsOf(s, one.constraint, 0, n)
			if set == 0 {
				score = outside
				break
			}
			sum += int64(staying.Targets) * one.weight
			score += one.skew
		}
		if score != outside {
			score += (sum + 1<<(weightBits-1)) >> weightBits
			least, most = min(least, score), max(most, score)
		}
		w.scores = append(w.scores, score)
	}
	for i, score := range w.scores {
		switch {
		case score == outside:
		case most == 0:
			sums[i] += spreadWeight * fullScore
		default:
			sums[i] += spreadWeight * (fullScore * (most + least - score) / most)
		}
	}
}

// weigh says how much one more counts in each spread: the more, the more sets there are of nodes that are in a set of every spread.
func (w *kubeWishes) weigh(s *cluster.View, nodes []cluster.NodeID) {
	for i := range w.spreads {
		sets := map[int32]bool{}
		for _, n := range nodes {
			own, inAll := int32(0), true
			for k := range w.spreads {
				_, _, set := cluster.CountsOf(s, w.spreads[k].constraint, 0, n)
				inAll = inAll && set != 0
				if k == i {
					own = set
				}
			}
			if inAll {
				sets[own] = true
			}
		}
		w.spreads[i].weight = weightOf(len(sets))
	}
}
