package fairlead

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/evict"
)

// This file chooses who leaves for the tasks of a gang that runs and has lost some, so that as few leave as can be. As many of the tasks are placed as can be; for those nobody leaves who is more
// important than the least for whom that has to be; and then as few leave as can be, over all nodes together: a large run that makes room for two tasks is better than
// two small ones.
//
// Who leaves a node makes room there alone. So it is found out node by node how few have to leave for one task, for two, and so on (evict.LeastSum, each run at a price of one), and of
// these numbers the least sum is taken, as of a knapsack. That is exact where the search on each node is; where one ended at its bound, the same is done with what would have
// to leave at least by a single kind, and the difference is the gap. Work is in proportion to nodes times tasks on each.
//
// Nothing is proven where runs are among those who may leave of which all leave at once: one that makes room on two nodes, or two on one, would count twice. Nor is it for tasks that are not
// alike, as another one of them may need fewer to leave.
//
// It is left to the policy's own order (preempt.go) where slack counts, as of classes with promises; where a budget guards somebody, who is to go last; and for devices.

// returnAtOnce bounds the tasks for which victims are chosen together.
const returnAtOnce = 64

// proof is how few have to leave for what a gang has lost, as far as that is known.
type proof struct {
	least int32
	said  bool // what comes later says nothing, as it depends on what came before
}

// atLeast says that so many have to leave.
func (f *proof) atLeast(least int32) {
	if !f.said {
		f.least, f.said = least, true
	}
}

// void has nothing said.
func (f *proof) void() { f.least, f.said = 0, true }

// areAlike reports whether one of the two tasks of a gang is as good as the other.
func areAlike(s *cluster.View, a, b cluster.TaskID) bool {
	one, other := s.Task(a), s.Task(b)
	return one.Shape == other.Shape && one.Priority == other.Priority && one.Class == other.Class
}

// vacating is a node where room can be made.
type vacating struct {
	node   cluster.NodeID
	score  int64             // by the policy's own order
	places int               // so many of the gang may come there at most
	who    []evict.Candidate // who may leave, the least important first
	crews  bool              // with some of these others leave
	need   []int32           // how few have to leave for so many tasks
	least  []int32           // the same, as far as is proven
}

// fewestLeave places as many of the tasks as it can where the fewest have to leave, and returns the others.
func (p ganging) fewestLeave(tasks []cluster.TaskID, plan *sched.Plan) (left []cluster.TaskID) {
	s := p.t.View()
	for len(tasks) > 0 {
		job := s.Task(tasks[0]).Job
		lost := max(int(s.Job(job).Gang)-cluster.GangStands(s, job), 0)
		var same, others []cluster.TaskID
		for _, t := range tasks {
			if areAlike(s, t, tasks[0]) {
				same = append(same, t)
			} else {
				others = append(others, t)
			}
		}
		some := min(len(same), returnAtOnce, lost)
		placed := p.vacate(same[:some], plan)
		if same = same[placed:]; placed == 0 || placed < some {
			left, same = append(left, same...), nil
		}
		tasks = append(same, others...)
	}
	return left
}

// vacate places as many of the tasks, which are alike, as it can, the first ones, and returns how many.
func (p ganging) vacate(tasks []cluster.TaskID, plan *sched.Plan) (placed int) {
	if len(tasks) == 0 {
		return 0
	}
	nodes, may := p.mayVacate(tasks[0])
	defer func() { p.victims.search.Copies = 0 }()
	if !may {
		return 0
	}
	levels := []rank{nobodyYet} // so that nobody leaves at first
	for i := range nodes {
		for _, c := range nodes[i].who {
			levels = append(levels, standing(rank(-c.Rank)))
		}
	}
	slices.SortFunc(levels, func(a, b rank) int { return cmp.Compare(b, a) })
	levels = slices.Compact(levels)
	most := func(level rank) (tasksAt int) {
		for i := range nodes {
			tasksAt += p.roomIf(tasks[0], &nodes[i], nodes[i].upTo(level), len(tasks)-tasksAt)
		}
		return tasksAt
	}
	want := most(levels[len(levels)-1])
	if want == 0 {
		return 0
	}
	level := levels[sort.Search(len(levels)-1, func(i int) bool { return most(levels[i]) >= want })]
	for i := range nodes {
		nodes[i].who = nodes[i].upTo(level)
		p.countOn(tasks[0], &nodes[i], want)
	}
	on, leave := share(nodes, want, func(v *vacating) []int32 { return v.need })
	_, least := share(nodes, want, func(v *vacating) []int32 { return v.least })
	if leave == noShare || !p.carry(tasks, nodes, on, plan) {
		return 0
	}
	if slices.ContainsFunc(nodes, func(v vacating) bool { return v.crews }) {
		least = 0
	}
	p.proof.atLeast(least)
	return want
}

// mayVacate are the nodes where the task may stand, those first that the policy's own order prefers; it is false where that order is to decide.
func (p ganging) mayVacate(task cluster.TaskID) (nodes []vacating, may bool) {
	s, v := p.t.View(), &p.victims
	id, own := s.Task(task).Shape, p.who.waiting(s, s.Task(task))
	if cluster.EvictsNobody(s, id) || s.Classes()[s.Task(task).Class].Promises() || len(s.DeviceNeeds(id)) > 0 || p.without.lacks(WithoutEvictions) {
		return nil, false
	}
	for _, n := range p.table.Order.At {
		if int(n) >= s.NodeRows() || !s.FitsEmpty(id, n) || s.Crowded(task, n) || p.claims.keepsOff(n, task, own) || !v.search.Begin(s, id, n) {
			continue
		}
		of := vacating{node: n, places: placesFor(s, task, n)}
		for _, c := range evict.Below(v.search.Releasable(s, v.on(s, n)), -int64(own)) {
			if s.Task(c.Task).Job == s.Task(task).Job {
				continue
			}
			leave, guarded := leavesWith(s, c.Task)
			if guarded {
				return nil, false
			}
			c.Price = leave
			of.who = append(of.who, c)
		}
		if first, ok := v.choose(s, id, n, anybody()); ok && first > own {
			of.score = v.offered(first)
			nodes = append(nodes, of)
		}
	}
	p.table.Ticks += int64(s.NodeRows())
	slices.SortStableFunc(nodes, func(a, b vacating) int { return cmp.Compare(b.score, a.score) })
	return nodes, true
}

// leavesWith is how many that run leave with the task, this one included, and whether a budget guards one of those who leave. Who does not run waits again.
func leavesWith(s *cluster.View, t cluster.TaskID) (leave int64, guarded bool) {
	with, _ := cluster.DisruptedTogether(s, s.Task(t).Job)
	if len(with) == 0 {
		with = []cluster.TaskID{t}
	}
	for _, other := range with {
		if guarded = guarded || cluster.Guards(s) && len(cluster.GuardsOf(s, other)) > 0; s.Task(other).Phase != cluster.Reserved {
			leave++
		}
	}
	return leave, guarded
}

// placesFor is how many tasks of the task's gang may still come to the node, by how many of a job may stand on one.
func placesFor(s *cluster.View, task cluster.TaskID, n cluster.NodeID) int {
	most, there := s.Shape(s.Task(task).Shape).PerNode, int32(0)
	for _, t := range s.TasksOn(n) {
		if other := s.Task(t); other.Job == s.Task(task).Job {
			there++
			if its := s.Shape(other.Shape).PerNode; its > 0 && (most == 0 || its < most) {
				most = its
			}
		}
	}
	if most == 0 {
		return math.MaxInt
	}
	return int(max(most-there, 0))
}

// upTo are those of the node who may leave where nobody of a higher standing does.
func (v *vacating) upTo(level rank) []evict.Candidate { return evict.Below(v.who, -int64(level)+1) }

// roomIf is for how many tasks like this one, up to so many, there would be room on the node if these left.
func (p ganging) roomIf(task cluster.TaskID, of *vacating, who []evict.Candidate, tasks int) (room int) {
	s, x := p.t.View(), &p.victims.search
	id := s.Task(task).Shape
	for room < min(tasks, of.places) {
		x.Copies = int64(room + 1)
		if !x.Begin(s, id, of.node) || room > 0 && x.Obstructed() {
			break
		}
		if _, ok := x.Choose(evict.LeastWorst, who); !ok {
			break
		}
		p.table.Ticks++
		room++
	}
	return room
}

// countOn finds out how few have to leave the node for one task, for two, and so on.
func (p ganging) countOn(task cluster.TaskID, of *vacating, tasks int) {
	s, x := p.t.View(), &p.victims.search
	room := p.roomIf(task, of, of.who, tasks)
	of.need, of.least = []int32{0}, []int32{0}
	of.crews = slices.ContainsFunc(of.who, func(c evict.Candidate) bool {
		with, _ := cluster.DisruptedTogether(s, s.Task(c.Task).Job)
		return len(with) > 1
	})
	obstructed := false
	for copies := 1; copies <= room; copies++ {
		x.Copies = int64(copies)
		x.Begin(s, s.Task(task).Shape, of.node)
		obstructed = x.Obstructed()
		least := atLeast(s, x.Lacks(), of.who)
		leave, ok := x.Choose(evict.LeastSum, of.who)
		if !ok {
			break
		}
		if x.Proven {
			least = int32(leave)
		}
		p.table.Ticks += x.Sets
		if of.crews {
			leave = leaveBy(s, x.Victims)
		}
		of.need, of.least = append(of.need, int32(leave)), append(of.least, least)
	}
	for obstructed && len(of.least) <= min(tasks, of.places) { // more than one might come there all the same
		of.least = append(of.least, of.least[len(of.least)-1])
	}
}

// leaveBy is how many leave with the victims on a node, those of a job that leave all at once counted once.
func leaveBy(s *cluster.View, victims []evict.Candidate) (leave int64) {
	var crews []cluster.JobID
	for i := range victims {
		job := s.Task(victims[i].Task).Job
		if slices.Contains(crews, job) {
			continue
		}
		if s.Job(job).Disruption == cluster.DisruptTogether {
			crews = append(crews, job)
		}
		leave += victims[i].Price
	}
	return leave
}

// atLeast is how many have to leave at least by the kind of which most would: the largest runs are taken until there is enough.
func atLeast(s *cluster.View, lacks []int64, who []evict.Candidate) (least int32) {
	if slices.ContainsFunc(who, func(c evict.Candidate) bool { return c.Price < 1 }) {
		return 0
	}
	for k, lack := range lacks {
		var demands []int64
		for _, c := range who {
			demands = append(demands, s.Demand(c.Task)[k])
		}
		slices.SortFunc(demands, func(a, b int64) int { return cmp.Compare(b, a) })
		count := int32(0)
		for i := 0; i < len(demands) && lack > 0; i++ {
			lack -= demands[i]
			count++
		}
		least = max(least, count)
	}
	return least
}

// noShare is the sum where there is none.
const noShare = math.MaxInt32 / 2

// share says how many of the tasks go to each node, so that the sum is the least; of equal sums the nodes that come first have more.
func share(nodes []vacating, tasks int, of func(*vacating) []int32) (on []int, least int32) {
	best := make([]int32, tasks+1)
	for q := 1; q <= tasks; q++ {
		best[q] = noShare
	}
	chosen := make([][]int8, len(nodes))
	for i := range nodes {
		need := of(&nodes[i])
		chosen[i] = make([]int8, tasks+1)
		for q := tasks; q > 0; q-- {
			for j := 1; j < len(need) && j <= q; j++ {
				if sum := best[q-j] + need[j]; sum < best[q] {
					best[q], chosen[i][q] = sum, int8(j)
				}
			}
		}
	}
	on, least = make([]int, len(nodes)), best[tasks]
	for i, q := len(nodes)-1, tasks; i >= 0; i-- {
		on[i] = int(chosen[i][q])
		q -= on[i]
	}
	return on, least
}

// carry tries it, or leaves all as it was.
func (p ganging) carry(tasks []cluster.TaskID, nodes []vacating, on []int, plan *sched.Plan) bool {
	s, v, mark, before := p.t.View(), &p.victims, p.t.Mark(), plan.Bundles()
	for i := range nodes {
		if on[i] == 0 {
			continue
		}
		n := nodes[i].node
		v.search.Copies = int64(on[i])
		v.search.Begin(s, s.Task(tasks[0]).Shape, n)
		var with []cluster.NodeID // where others leave, too
		if _, ok := v.search.Choose(evict.LeastSum, nodes[i].who); ok {
			for _, c := range v.search.Victims {
				others, _ := cluster.DisruptedTogether(s, s.Task(c.Task).Job)
				for _, t := range others {
					with = append(with, s.Task(t).Node)
				}
			}
		}
		if !evict.ReplaceBy(p.t, v.search.Victims, tasks[:on[i]], n, plan) {
			p.t.Rollback(mark)
			for b := before; b < plan.Bundles(); b++ {
				p.touch(plan.Bundle(b))
			}
			plan.Cut(before)
			lookAgain(p.policy, n)
			return false
		}
		tasks = tasks[on[i]:]
		for _, m := range append(with, n) {
			lookAgain(p.policy, m)
		}
	}
	return true
}
