package queue

import (
	"cmp"
	"math"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/evict"
)

// This file chooses the node on which kube-scheduler evicts, in its order: the fewest who violate a budget, the lowest of the highest priorities evicted, the least sum of
// priorities, the fewest pods, the latest start of those with the highest priority, or who came last where they started at once. On a node
// those go that have to, the more important ones stay if others suffice.

// preempt evicts for the task on the node where that costs least, as one bundle with the placement, or reports that there is no such node.
// Beside says that some node was refused only for another task of the job.
func (p *kubeScheduler) preempt(t *sched.Trial, task cluster.TaskID, out *sched.Plan) (on cluster.NodeID, placed, beside bool) {
	s, v := t.View(), p.victims
	row := s.Task(task)
	barred := map[cluster.NodeID]bool{}
	for {
		best := v.cheapest(s, task, p.nodes.inOrder(), barred)
		p.ticks += int64(len(p.nodes.order))
		if best == cluster.NoNode {
			return 0, false, beside
		}
		if !s.Crowded(task, best) && v.choose(s, row.Shape, row.Priority, best) && evict.Replace(t, v.search.Victims, task, best, out) {
			v.occupants.Forget(best)
			return best, true, beside
		}
		barred[best], beside = true, true
	}
}

// cheapest is the node where evicting for the task costs least, of those that are not barred; NoNode if nowhere that makes room.
func (v *victims) cheapest(s *cluster.View, task cluster.TaskID, nodes []cluster.NodeID, barred map[cluster.NodeID]bool) cluster.NodeID {
	row := s.Task(task)
	best, least := cluster.NoNode, toll{}
	for _, n := range nodes {
		if barred[n] || !v.choose(s, row.Shape, row.Priority, n) {
			continue
		}
		cost := tollOf(s, v.search.Victims)
		if cost.violations = v.search.Violations; best == cluster.NoNode || cost.compare(&least) < 0 {
			best, least = n, cost
		}
	}
	return best
}

// toll is what evicting on a node costs.
type toll struct {
	violations int // of budgets

	highest int32
	sum     int64
	pods    int
	start   cluster.Time // the earliest of those with the highest priority
	came    cluster.Seq  // of these the one that was submitted first
}

func tollOf(s *cluster.View, victims []evict.Candidate) toll {
	c := toll{highest: math.MinInt32, pods: len(victims)}
	for i := range victims {
		task := s.Task(victims[i].Task)
		c.sum += int64(task.Priority) + math.MaxInt32 + 1 // so that each one counts, be its priority below 0
		switch {
		case task.Priority > c.highest:
			c.highest, c.start, c.came = task.Priority, task.Account.Since, task.Seq
		case task.Priority == c.highest:
			c.start, c.came = min(c.start, task.Account.Since), min(c.came, task.Seq)
		}
	}
	return c
}

// compare is below 0 if a costs less.
func (a *toll) compare(b *toll) int {
	return cmp.Or(cmp.Compare(a.violations, b.violations), cmp.Compare(a.highest, b.highest), cmp.Compare(a.sum, b.sum), cmp.Compare(a.pods, b.pods), cmp.Compare(b.start, a.start), cmp.Compare(b.came, a.came))
}
