package fleet

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file proves what tasks cost at least, and finds what each is worth. An offer o has measures: parts of it that
// cannot be used twice. A measure says which part of a node a task takes, from 0 to 1, and the tasks of any node take 1 together
// at most. Such are its kinds, and, of each kind, dual feasible functions of the part x that a task takes:
//
//	f(x) = x                                  where (m+1)·x is whole
//	f(x) = ⌊(m+1)·x⌋ / m                      elsewhere                 for m = 1, 2, …
//
// (Fekete and Schepers, new classes of lower bounds for bin packing; of which f sums to 1 at most wherever x does). Of devices x is the part of one device, and the
// measure the mean over the devices of a node. The limit per node of a job is a measure, too, of those that need the most nodes.
//
// Let each offer spread its price over its measures, by parts w that sum to 1. If a task of a node of offer o costs
// price(o)·Σ w·measure, the tasks of the node together cost its price at most. So what each task costs
// where it is cheapest adds up to no more than any nodes cost: that is the bound. An offer of which there are few
// nodes may cost μ more, which the bound loses for each of them.
//
// The bound is concave in w and μ. Ascent multiplies each w by how much in demand its measure is (exponentiated
// gradient), where a task is shared by the offers that are nearly the cheapest: else all would go to one, and to
// another the next time. Each step gives a bound, and the best is kept.

// mostSteps is how many different functions there are of each kind.
const mostSteps = 8

// mostExtra is how many times its price an offer may cost more as there are few nodes of it.
const mostExtra = 100

// prices is what is known of offers and tasks for the bound.
type prices struct {
	p *Problem
	// uses are, of each offer, of each Tasks, how much one takes of those of its measures of which it takes some; nil where it
	// cannot use it.
	uses     [][][]use
	measures int
	weight   [][]float64 // of each offer, of each measure
	extra    []float64   // of each offer, that it costs more
	best     float64
	worth    []float64 // of each task, at the best
	// scratch
	cost []float64 // of a task, by offer
	load [][]float64
	many []float64
}

// use is how much a task takes of a measure.
type use struct {
	measure int
	part    float64
}

func newPrices(p *Problem) *prices {
	devices := cluster.DeviceKinds(p.Kinds)
	q := &prices{
		p: p, uses: make([][][]use, len(p.Offers)), weight: make([][]float64, len(p.Offers)), extra: make([]float64, len(p.Offers)),
		worth: make([]float64, len(p.Tasks)), cost: make([]float64, len(p.Offers)), load: make([][]float64, len(p.Offers)), many: make([]float64, len(p.Offers)),
	}
	jobs := crowded(p)
	ofKinds := (len(p.Kinds) + len(devices)) * (1 + mostSteps)
	q.measures = ofKinds + len(jobs)
	for o := range p.Offers {
		q.uses[o] = make([][]use, len(p.Tasks))
		q.weight[o], q.load[o] = make([]float64, q.measures), make([]float64, q.measures)
		for m := range q.weight[o] {
			q.weight[o][m] = 1 / float64(q.measures)
		}
		for t := range p.Tasks {
			if fits(p, o, t, devices) {
				q.uses[o][t] = measure(p, o, &p.Tasks[t], devices)
				if at := slices.Index(jobs, p.Tasks[t].Job); at >= 0 && p.Tasks[t].PerNode > 0 {
					q.uses[o][t] = append(q.uses[o][t], use{ofKinds + at, 1 / float64(p.Tasks[t].PerNode)})
				}
			}
		}
	}
	return q
}

// mostJobs is of how many jobs the limit per node is a measure.
const mostJobs = 8

// crowded are the jobs that need the most nodes for their limits per node.
func crowded(p *Problem) []int {
	nodes := map[int]float64{}
	for t := range p.Tasks {
		if task := &p.Tasks[t]; task.PerNode > 0 {
			nodes[task.Job] += float64(task.Count) / float64(task.PerNode)
		}
	}
	jobs := slices.Sorted(maps.Keys(nodes))
	slices.SortStableFunc(jobs, func(a, b int) int { return cmp.Compare(nodes[b], nodes[a]) })
	return jobs[:min(len(jobs), mostJobs)]
}

// fits reports whether a node of the offer holds a task by itself.
func fits(p *Problem, o, t int, devices []cluster.DeviceKind) bool {
	task, room := &p.Tasks[t], p.Offers[o].Room
	if task.May != nil && !task.May[o] || !task.Demand.Fits(room) {
		return false
	}
	for _, k := range devices {
		if need := k.Need(task.Demand[k.Kind]); need.Count > min(k.Count(room), k.Most) {
			return false
		}
	}
	return true
}

// measure is how much a task takes of each measure of the offer.
func measure(p *Problem, o int, t *Tasks, devices []cluster.DeviceKind) []use {
	uses, first := []use{}, 0
	for k, q := range t.Demand {
		uses = steps(uses, first, division{q, p.Offers[o].Room[k], 1})
		first += 1 + mostSteps
	}
	for _, k := range devices {
		need, part, size := k.Need(t.Demand[k.Kind]), 0.0, int64(0)
		if has := k.Count(p.Offers[o].Room); has > 0 {
			part, size = float64(need.Count)/float64(has), p.Offers[o].Room[k.Kind]/int64(has)
		}
		uses = steps(uses, first, division{need.Share, size, part})
		first += 1 + mostSteps
	}
	return uses
}

// division is what a task takes, and of what, times a part.
type division struct {
	q, room int64
	times   float64
}

// steps appends the functions of the part that q is of room, the first of which is that measure.
func steps(to []use, first int, d division) []use {
	if d.room <= 0 || d.q <= 0 || d.times == 0 {
		return to
	}
	x := float64(d.q) / float64(d.room)
	to = append(to, use{first, float64(x * d.times)})
	for m := int64(1); m <= mostSteps; m++ {
		whole, rest := (m+1)*d.q/d.room, (m+1)*d.q%d.room
		f := float64(whole) / float64(m)
		if rest == 0 {
			f = x
		}
		if f > 0 {
			to = append(to, use{first + int(m), float64(f * d.times)})
		}
	}
	return to
}

// ascend makes the bound better in so many steps, for so many of each Tasks.
func (q *prices) ascend(count []int, from, steps int) {
	q.best = 0
	for step := range steps {
		at := float64(from + step + 1)
		sharp := math.Min(8*math.Sqrt(at), 400) // how much a task prefers what is cheaper, by its part
		bound := q.evaluate(count, sharp)
		if bound > q.best || step == 0 {
			q.best = bound
			for t := range q.worth {
				if q.worth[t] = q.cheapest(t); math.IsInf(q.worth[t], 1) {
					q.worth[t] = 0 // no offer takes it
				}
			}
		}
		q.move(1.5 / math.Sqrt(at))
	}
}

// evaluate is the bound, and gathers how much each measure of each offer is in demand.
func (q *prices) evaluate(count []int, sharp float64) float64 {
	bound := 0.0
	for o := range q.p.Offers {
		clear(q.load[o])
		q.many[o] = 0
		if q.extra[o] > 0 {
			bound -= float64(q.extra[o] * float64(q.p.Offers[o].Most))
		}
	}
	for t, n := range count {
		if n == 0 {
			continue
		}
		least := q.cheapest(t)
		if math.IsInf(least, 1) {
			continue
		}
		bound += float64(least * float64(n))
		sum := 0.0
		for _, c := range q.cost {
			sum += preference(c, least, sharp)
		}
		for o, c := range q.cost {
			part := preference(c, least, sharp) / sum * float64(n)
			if part < 1e-9 {
				continue
			}
			for _, u := range q.uses[o][t] {
				q.load[o][u.measure] += float64(part * u.part)
			}
		}
	}
	return bound
}

// preference is how much a task that costs least elsewhere prefers an offer.
func preference(cost, least, sharp float64) float64 {
	if math.IsInf(cost, 1) {
		return 0
	}
	if least == 0 {
		if cost == 0 {
			return 1
		}
		return 0
	}
	x := float64(sharp * (cost/least - 1))
	if x > 30 {
		return 0
	}
	return exp(-x)
}

// cheapest is what the task costs where that is least, and fills in cost.
func (q *prices) cheapest(t int) float64 {
	least := math.Inf(1)
	for o := range q.p.Offers {
		q.cost[o] = math.Inf(1)
		if uses := q.uses[o][t]; uses != nil {
			sum := 0.0
			for _, u := range uses {
				sum += float64(q.weight[o][u.measure] * u.part)
			}
			q.cost[o] = float64(sum * (float64(q.p.Offers[o].Price) + q.extra[o]))
		}
		least = math.Min(least, q.cost[o])
	}
	return least
}

// move moves the weights to the measures that are in demand, and what offers cost more to how scarce they are.
func (q *prices) move(by float64) {
	for o := range q.p.Offers {
		most := 0.0
		for _, l := range q.load[o] {
			most = math.Max(most, l)
		}
		if limit := q.p.Offers[o].Most; limit > 0 { // how many nodes tasks would take, against how many there are
			over := (most - float64(limit)) / math.Max(most, float64(limit))
			price := float64(q.p.Offers[o].Price)
			q.extra[o] = math.Min(math.Max(0, q.extra[o]+float64(by*0.2*over)*(price+q.extra[o])), mostExtra*price)
		}
		if most == 0 {
			continue
		}
		sum := 0.0
		for m, l := range q.load[o] {
			q.weight[o][m] *= exp(float64(by * (l/most - 1)))
			q.weight[o][m] = math.Max(q.weight[o][m], 1e-12)
			sum += q.weight[o][m]
		}
		for m := range q.weight[o] {
			q.weight[o][m] /= sum
		}
	}
}

// clone keeps what the ascent has come to.
func (q *prices) clone() *prices {
	own := *q
	own.worth, own.extra, own.weight = slices.Clone(q.worth), slices.Clone(q.extra), nil
	for _, w := range q.weight {
		own.weight = append(own.weight, slices.Clone(w))
	}
	return &own
}

// restore goes back to what was kept.
func (q *prices) restore(from *prices) {
	copy(q.worth, from.worth)
	copy(q.extra, from.extra)
	for o, w := range from.weight {
		copy(q.weight[o], w)
	}
}

// exp is e to the power of x, for x from -30 to 0, the same on every machine.
func exp(x float64) float64 {
	// e^x = (e^(x/64))^64, and the inner one by its series.
	y := x / 64
	sum, term := 1.0, 1.0
	for i := 1; i <= 10; i++ {
		term = float64(term*y) / float64(i)
		sum += term
	}
	for range 6 {
		sum = float64(sum * sum)
	}
	return sum
}
