package queue

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/promethee"
)

// This file ranks what waits under the policy sla, by PROMETHEE II (package promethee).
// The criteria look at nothing but the levels of a task's class. So the classes are
// ranked, each with how many of it wait, which gives each task the very net flow that
// it has among all of them.

// SLA is what the policy sla orders its queue by.
type SLA struct {
	// Criteria are how much a class's urgency, tier, size and redundancy count, in this
	// order, and one for each. Nil is the same for all, by the usual preference: the
	// paper gives no weights. The authors' code has 2 for urgency, 1 for size and nothing
	// for the others. A threshold is a number of levels.
	Criteria []promethee.Criterion
}

// dimensions are the levels of a class that the criteria look at.
func dimensions(c *cluster.Class) [4]cluster.Level {
	return [...]cluster.Level{c.Urgency, c.Tier, c.Size, c.Redundancy}
}

// Validate says what is wrong with the criteria.
func (o *SLA) Validate() error {
	if n := len(dimensions(&cluster.Class{})); o.Criteria != nil && len(o.Criteria) != n {
		return fmt.Errorf("there are %d criteria, want one each for urgency, tier, size and redundancy", len(o.Criteria))
	}
	return promethee.Validate(o.criteria())
}

// criteria are those that are asked for, or all the same.
func (o *SLA) criteria() []promethee.Criterion {
	if o.Criteria == nil {
		return slices.Repeat([]promethee.Criterion{{Weight: 1}}, len(dimensions(&cluster.Class{})))
	}
	return o.Criteria
}

// slaRank is the net flows of the classes of what waits.
type slaRank struct {
	criteria []promethee.Criterion
	ranker   promethee.Ranker
	flow     []float64 // per class
	counted  []int64   // the counts for which they are right, per class
	values   []int64
	counts   []int64
}

// rank brings the flows up to date with how many replica groups of each class wait, and
// returns the effort.
func (r *slaRank) rank(classes []cluster.Class, replicaGroups []int64) int64 {
	if slices.Equal(r.counted, replicaGroups) {
		return 0
	}
	r.counted = append(r.counted[:0], replicaGroups...)
	r.flow = slices.Grow(r.flow[:0], len(replicaGroups))[:len(replicaGroups)]
	r.values, r.counts = r.values[:0], r.counts[:0]
	for i, count := range replicaGroups {
		if count == 0 {
			continue
		}
		for _, level := range dimensions(&classes[i]) {
			r.values = append(r.values, int64(level))
		}
		r.counts = append(r.counts, count)
	}
	r.ranker.RankCounted(r.criteria, r.values, r.counts)
	flows := r.ranker.Flows()
	for i, count := range replicaGroups {
		if count > 0 {
			r.flow[i], flows = flows[0], flows[1:]
		}
	}
	return int64(len(r.values))
}
