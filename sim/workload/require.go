package workload

import (
	"math/rand/v2"

	"fairlead.dev/fairlead/cluster"
)

// requirements gives some jobs conditions on their nodes. A job gets only what
// enough nodes meet: it can always be placed in an empty cluster.
type requirements struct {
	share uint64 // of jobs, in 2^-32
	nodes *machines
	sets  []requirementSet
	sum   uint64 // of weights
}

type requirementSet struct {
	weight uint64
	all    []cluster.Requirement
	count  []int // nodes that meet all, of each kind of machine
}

func newRequirements(d *data, g Google, nodes *machines) *requirements {
	q := &requirements{share: part(g.Constrained), nodes: nodes}
	for _, row := range d.Requirements.Rows {
		set := requirementSet{weight: uint64(row.Weight), count: make([]int, len(nodes.kinds))}
		for _, text := range row.All {
			r, err := cluster.ParseRequirement(text)
			if err != nil {
				panic("workload: google2011.json: " + err.Error())
			}
			set.all = append(set.all, r)
		}
		q.sets = append(q.sets, set)
		q.sum += set.weight
	}
	for node, kind := range nodes.kind {
		labels := nodes.labels(node)
		for _, set := range q.sets {
			if matches(set.all, labels) {
				set.count[kind]++
			}
		}
	}
	return q
}

func matches(all []cluster.Requirement, labels []cluster.Label) bool {
	for _, r := range all {
		if !r.Matches(labels) {
			return false
		}
	}
	return true
}

// perhaps gives the job requirements with the chance of its share. It always
// draws as often, so that the share does not change what later jobs get.
func (q *requirements) perhaps(draw *rand.Rand, row *jobRow, apart bool) []cluster.Requirement {
	chosen := uint64(draw.Uint32()) < q.share
	set := q.some(draw, row, apart)
	if !chosen {
		return nil
	}
	return set
}

// some draws requirements that suit the job, nil if none do.
func (q *requirements) some(draw *rand.Rand, row *jobRow, apart bool) []cluster.Requirement {
	u := uint64(draw.Uint32()) * q.sum >> 32
	first := 0
	for u >= q.sets[first].weight {
		u -= q.sets[first].weight
		first++
	}
	for i := range q.sets {
		set := &q.sets[(first+i)%len(q.sets)]
		if q.suits(set, row, apart) {
			return set.all
		}
	}
	return nil
}

// suits reports whether the nodes that meet the set can take the job: it asks
// for no more than a quarter of what they have, and where it wants a node for
// each task, for no more than half of them.
func (q *requirements) suits(set *requirementSet, row *jobRow, apart bool) bool {
	nodes := 0
	have := cluster.Vector{0, 0}
	for i, k := range q.nodes.kinds {
		if !row.demand.Fits(k.capacity) {
			continue
		}
		nodes += set.count[i]
		for r, c := range k.capacity {
			have[r] += c * int64(set.count[i])
		}
	}
	if nodes == 0 || apart && int(row.tasks) > nodes/2 {
		return false
	}
	for r, q := range row.demand {
		if row.tasks > 1 && q*int64(row.tasks) > have[r]/4 {
			return false
		}
	}
	return true
}
