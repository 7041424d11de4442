package queue

import (
	"math"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sched/evict"
)

// victims chooses who has to leave for a more important task: the priority
// baseline of the QoS paper (specification §7). A task may evict tasks of
// lower priority. On one node the lowest priority goes first, among equals the
// one that was submitted last; what turns out superfluous is spared, most
// important first. Among nodes the one wins that loses the fewest tasks of the
// most important class, then of the next, and so on; then the better score. Before all of that the one wins where
// fewest violate a budget (evict.Worse). Where all tasks are of one class, that
// says nothing: there the one wins whose most important victim is the least so, then the one that loses the fewest.
//
// Running and starting tasks can be victims. None of them was placed in the
// same pass, which goes from the more important to the less.
type victims struct {
	occupants evict.Occupants
	search    evict.Search
	classes   book.ClassRanks
	// least is, by node row, the lowest priority of all tasks there: who has no more than that
	// evicts nobody, and need not rank them to learn it.
	least []int32
}

// ranks is how many ranks of classes the cost of a node tells apart; less important
// ones share the last.
const ranks = 4

// learn takes in what changed.
func (v *victims) learn(s *cluster.View, c *sched.Changed) {
	if c.All || v.occupants.Rule == nil {
		v.occupants = evict.Occupants{Rule: func(s *cluster.View, c *evict.Candidate) bool {
			c.Rank = int64(s.Task(c.Task).Priority)
			return true
		}}
		v.classes = book.RankClasses(s, nil)
	}
	v.occupants.Forget(c.Nodes...)
	for s.NodeRows() > len(v.least) {
		v.least = append(v.least, math.MaxInt32)
	}
	for _, n := range c.Nodes {
		v.least[n] = math.MaxInt32
		for _, t := range s.TasksOn(n) {
			v.least[n] = min(v.least[n], s.Task(t).Priority)
		}
	}
}

// choose chooses the victims on a node, and reports whether the demand fits then.
func (v *victims) choose(s *cluster.View, id cluster.ShapeID, priority int32, n cluster.NodeID) bool {
	if !v.search.Begin(s, id, n) {
		return false
	}
	if v.search.Met() {
		return true
	}
	if v.least[n] >= priority {
		return false
	}
	_, ok := v.search.Choose(evict.LeastWorst, v.search.Releasable(s, evict.Below(v.occupants.On(s, n), int64(priority))))
	return ok
}

// preempt evicts for the task on the node where that costs least, as one
// bundle with the placement, or reports that there is no such node. Beside
// says that some node was refused only for another task of the job.
func (v *victims) preempt(t *sched.Trial, task cluster.TaskID, out *sched.Plan, tab *book.Indexes) (on cluster.NodeID, placed, beside bool) {
	s := t.View()
	row := s.Task(task)
	x := tab.Sync(s, book.IndexID{Shape: row.Shape, Priority: row.Priority, Victims: true}, func(n cluster.NodeID) int64 {
		return v.cost(s, row.Shape, row.Priority, n)
	})
	defer tab.Unhide(x)
	for last := cluster.NoNode; ; {
		n, ok := tab.Top(x)
		if !ok {
			return 0, false, beside
		}
		// Who was placed in this pass on another node may be in the way here, and who was evicted there may have been the last that a budget spares.
		if n != last && (s.Constrained(row.Shape) || cluster.Guards(s)) {
			tab.Update(x, n)
			last = n
			continue
		}
		if !s.Crowded(task, n) && v.choose(s, row.Shape, row.Priority, n) && evict.Replace(t, v.search.Victims, task, n, out) {
			v.occupants.Forget(n)
			tab.Update(x, n)
			return n, true, beside
		}
		tab.Hide(x, n)
		beside = true
	}
}

// cost is how good the node is for a preemptor, larger is better: the victims
// of each rank of classes, most important first, in eight bits each, and the
// allocation score below them. A node that needs no victim, as one whose
// leaving tasks make room, is best. With one class it is the highest priority of the victims, in 32 bits,
// how many they are, in eight, and the score.
func (v *victims) cost(s *cluster.View, id cluster.ShapeID, priority int32, n cluster.NodeID) int64 {
	if !v.choose(s, id, priority, n) {
		return book.None
	}
	const most, scoreBits = 255, 30
	score := kubeScoreLess(s, s.Shape(id), n, v.search.Gone(s, n))
	if v.classes.Count <= 1 {
		if len(v.search.Victims) == 0 {
			return 1<<62 | score
		}
		highest := v.search.Last().Rank
		fewer := int64(most - min(len(v.search.Victims), most))
		return evict.Worse(((math.MaxInt32-highest)<<8|fewer)<<(scoreBits-8)|score>>8, v.search.Violations)
	}
	var lost [ranks]int64
	for i := range v.search.Victims {
		rank := min(v.classes.Of[v.search.Victims[i].Class], ranks-1)
		lost[rank] = min(lost[rank]+1, most)
	}
	cost := int64(0)
	for _, count := range lost {
		cost = cost<<8 | (most - count)
	}
	return evict.Worse(cost<<scoreBits|score, v.search.Violations)
}
