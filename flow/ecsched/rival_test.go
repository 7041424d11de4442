package ecsched

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/schedtest"
)

// TestOptimum plays the hostile world with a rival that looks over the shoulder:
// at each solve it finds the best that can be done, with a table of all subsets
// of the window, and compares. The default puts as many tasks as it can, at the
// least price; of equals those who came first, or last (late), each on the lowest node that those
// behind him leave him, so that all algorithms decide the same. The literal solver
// puts as many requests as it can, at the least price.
func TestOptimum(t *testing.T) {
	for _, score := range []Score{DotProduct, MostLoaded} {
		if testing.Short() && score == MostLoaded {
			continue // the same code with other prices
		}
		solvers := []string{Literal, ""}
		if os.Getenv("FAIRLEAD_LONG") != "" {
			for _, a := range mcmf.Algorithms() {
				solvers = append(solvers, string(a))
			}
		}
		for i := range len(solvers) + 1 {
			late, solver := i == len(solvers), ""
			if !late {
				solver = solvers[i]
			}
			t.Run(fmt.Sprintf("%d/%s/late=%t", score, solver, late), func(t *testing.T) {
				if os.Getenv("FAIRLEAD_CASES") == "" && os.Getenv("FAIRLEAD_LONG") == "" && !testing.Short() {
					t.Setenv("FAIRLEAD_CASES", "3") // in two worlds about as many gangs are placed as have to be
				}
				// Rounds of two lanes may run side by side.
				var solves, contended, gangs atomic.Int64
				schedtest.Conformance(t, func(uint64) sched.Policy {
					p := newPolicy(t, Options{Score: score, Solver: solver, Window: 7}).(*policy)
					inner := p.solve
					p.solve = func(r *round) {
						r.late = late // without the rest of Keep, with which not all are placed
						inner(r)
						solves.Add(1)
						best := r.best(solver == Literal)
						got := r.value(solver == Literal)
						if got != best {
							panic(fmt.Sprintf("the flow has %+v, the best is %+v, of %+v", got, best, r.requests))
						}
						for _, q := range r.requests {
							if q.fits && q.node == cluster.NoNode {
								contended.Add(1)
							}
							if q.last-q.first > 1 && q.node != cluster.NoNode {
								gangs.Add(1)
							}
						}
					}
					return p
				})
				if !testing.Short() && (solves.Load() < 1000 || contended.Load() < 100 || gangs.Load() < 100) {
					t.Errorf("%d solves, in which %d requests lost to others and %d gangs were placed: too few to tell",
						solves.Load(), contended.Load(), gangs.Load())
				}
			})
		}
	}
}

// value is what an assignment is worth.
type value struct {
	placed int // tasks, or requests
	price  int64
	// who has a bit for each request that is placed, the highest for the first, or with
	// Keep for the last; where has a digit for the node row of each. Where two sets of
	// requests are equally good, the one with the earlier request is larger, or the one
	// with the later, and of two ways to place one set the one with the lower row for the
	// last that differs is smaller.
	who, where int64
}

// better compares first by how many, then by price, then by who, then by where.
func (a value) better(b value) bool {
	if a.placed != b.placed {
		return a.placed > b.placed
	}
	if a.price != b.price {
		return a.price < b.price
	}
	if a.who != b.who {
		return a.who > b.who
	}
	return a.where < b.where
}

// with is the value with one more request placed.
func (r *round) with(v value, request int, n cluster.NodeID, literal bool) value {
	q := &r.requests[request]
	v.price += r.prices.of(r.offers[q.offers].weights, n) + r.avoids(q, n)
	if literal {
		v.placed++
		return v
	}
	v.placed += q.last - q.first
	digit := int64(1)
	for range request {
		digit *= int64(r.state.NodeRows() + 1)
	}
	if r.late {
		v.who += 1 << request
	} else {
		v.who += 1 << (len(r.requests) - 1 - request)
	}
	v.where += digit * int64(n)
	return v
}

// avoids is what the request pays for a node where some of its tasks would rather not be, in full for the one that minds the most.
func (r *round) avoids(q *request, n cluster.NodeID) int64 {
	most := int64(0)
	for _, t := range r.tasks[q.first:q.last] {
		weight := int64(0)
		for _, p := range r.state.Shape(r.state.Task(t).Shape).Prefers {
			if in := r.state.Eligible(p.Set, n); in != (p.Weight > 0) {
				weight += max(int64(p.Weight), -int64(p.Weight))
			}
		}
		most = max(most, min(weight, 1000))
	}
	return most * r.prices.preference(r.offers[q.offers].weights) / 100
}

// value is that of what the solver found.
func (r *round) value(literal bool) (v value) {
	taken := map[cluster.NodeID]bool{}
	for i := range r.requests {
		n := r.requests[i].node
		if n == cluster.NoNode {
			continue
		}
		if taken[n] || !r.possible(&r.requests[i], n) {
			panic(fmt.Sprintf("request %d goes to node row %d, which cannot take it", i, n))
		}
		taken[n] = true
		v = r.with(v, i, n, literal)
	}
	return v
}

// best goes from node to node: for each set of requests, the best that the nodes
// so far can do for exactly these.
func (r *round) best(literal bool) value {
	table := map[int]value{0: {}}
	for i := range r.state.NodeRows() {
		n := cluster.NodeID(i)
		next := map[int]value{}
		for set, v := range table {
			improve(next, set, v)
			for k := range r.requests {
				if set&(1<<k) == 0 && r.possible(&r.requests[k], n) {
					improve(next, set|1<<k, r.with(v, k, n, literal))
				}
			}
		}
		table = next
	}
	best := value{}
	for _, v := range table {
		if v.better(best) {
			best = v
		}
	}
	return best
}

func improve(table map[int]value, set int, v value) {
	if old, known := table[set]; !known || v.better(old) {
		table[set] = v
	}
}

// possible tries it: all tasks of the request start on the node at once, none has to
// wait for room, and none of its job is held elsewhere.
func (r *round) possible(q *request, n cluster.NodeID) bool {
	mark := r.trial.Mark()
	defer r.trial.Rollback(mark)
	tasks := r.tasks[q.first:q.last]
	var actions []sched.Action
	for _, t := range tasks {
		actions = append(actions, sched.Action{Kind: sched.Place, Task: t, Attempt: r.state.Task(t).Attempt, Node: n})
	}
	if r.trial.TryTogether(actions).Refused() {
		return false
	}
	for _, t := range tasks {
		if r.state.Task(t).Phase != cluster.Starting {
			return false
		}
	}
	job := r.state.Task(tasks[0]).Job
	if !r.state.Job(job).Together {
		return true
	}
	at := false
	for i := range r.state.TaskRows() {
		other := r.state.Task(cluster.TaskID(i))
		if other.Phase != cluster.Absent && other.Job == job && other.Phase != cluster.Waiting {
			if home := staysOn(other); home != cluster.NoNode && home != n {
				at = true
			}
		}
	}
	return !at
}
