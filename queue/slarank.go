package queue

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/promethee"
)

// This file ranks what waits under the policy sla, by PROMETHEE II (package promethee).
// The criteria look at nothing but the levels of a task's class. So the classes are
// ranked, each with how many of it wait, which gives each task the very net flow that
// it has among all of them.

// Dimension is one of the four in which a class has a level.
type Dimension uint8

// The dimensions of the SLA classes (specs/sla-classes.md, §1).
const (
	ByUrgency    Dimension = iota // satisfaction time
	ByTier                        // reputation
	BySize                        // number of resources
	ByRedundancy                  // redundancy
)

// String is the dimension's name, as classes have it.
func (d Dimension) String() string {
	return [...]string{"urgency", "tier", "size", "redundancy"}[d]
}

// level is the class's in the dimension.
func (d Dimension) level(c *cluster.Class) int64 {
	return int64([...]cluster.Level{c.Urgency, c.Tier, c.Size, c.Redundancy}[d])
}

// SLACriterion is what a dimension counts in the order of the queue.
type SLACriterion struct {
	Of Dimension
	promethee.Criterion
}

// SLA is what the policy sla orders its queue by.
type SLA struct {
	// Criteria are the dimensions that count; nil is EqualWeights.
	Criteria []SLACriterion
}

// EqualWeights are all four dimensions with the same weight and the usual preference,
// as the paper gives no weights.
func EqualWeights() []SLACriterion {
	var list []SLACriterion
	for d := ByUrgency; d <= ByRedundancy; d++ {
		list = append(list, SLACriterion{d, promethee.Criterion{Weight: 1}})
	}
	return list
}

// AuthorsWeights are those of the authors' code: satisfaction time counts 2, cores 1,
// and nothing else.
func AuthorsWeights() []SLACriterion {
	return []SLACriterion{{ByUrgency, promethee.Criterion{Weight: 2}}, {BySize, promethee.Criterion{Weight: 1}}}
}

// Validate says what is wrong with the criteria, by the field's path.
func (o *SLA) Validate() error {
	if o.Criteria == nil {
		return nil
	}
	var seen []Dimension
	for i, c := range o.Criteria {
		if c.Of > ByRedundancy {
			return fmt.Errorf("sla.criteria[%d]: there is no dimension %d", i, c.Of)
		}
		if slices.Contains(seen, c.Of) {
			return fmt.Errorf("sla.criteria[%d]: %v is there twice", i, c.Of)
		}
		seen = append(seen, c.Of)
	}
	if err := promethee.Validate(o.plain()); err != nil {
		return fmt.Errorf("sla.criteria (%s): %w", names(seen), err)
	}
	return nil
}

func names(list []Dimension) string {
	var text []string
	for _, d := range list {
		text = append(text, d.String())
	}
	return strings.Join(text, ", ")
}

// criteria are those that are asked for, or EqualWeights.
func (o *SLA) criteria() []SLACriterion {
	if o.Criteria == nil {
		return EqualWeights()
	}
	return o.Criteria
}

// plain are the criteria without what they are of.
func (o *SLA) plain() []promethee.Criterion {
	var list []promethee.Criterion
	for _, c := range o.criteria() {
		list = append(list, c.Criterion)
	}
	return list
}

// slaRank is the net flows of the classes of what waits.
type slaRank struct {
	options  SLA
	criteria []promethee.Criterion
	ranker   promethee.Ranker
	flow     []float64 // per class
	counted  []int64   // the counts for which they are right, per class
	values   []int64
	counts   []int64
}

func newSLARank(o SLA) slaRank {
	o.Criteria = o.criteria()
	return slaRank{options: o, criteria: o.plain()}
}

// rank brings the flows up to date with how many containers of each class wait, and returns
// the effort.
func (r *slaRank) rank(classes []cluster.Class, containers []int64) int64 {
	if slices.Equal(r.counted, containers) {
		return 0
	}
	r.counted = append(r.counted[:0], containers...)
	r.flow = slices.Grow(r.flow[:0], len(containers))[:len(containers)]
	r.values, r.counts = r.values[:0], r.counts[:0]
	for i, count := range containers {
		if count == 0 {
			continue
		}
		for _, c := range r.options.Criteria {
			r.values = append(r.values, c.Of.level(&classes[i]))
		}
		r.counts = append(r.counts, count)
	}
	r.ranker.RankCounted(r.criteria, r.values, r.counts)
	flows := r.ranker.Flows()
	for i, count := range containers {
		if count > 0 {
			r.flow[i], flows = flows[0], flows[1:]
		}
	}
	return int64(len(r.values))
}
