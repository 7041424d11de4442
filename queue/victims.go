package queue

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// victims chooses who has to leave for a more important task: the priority
// baseline of the QoS paper (specification §7). A task may evict tasks of
// lower priority. On one node the lowest priority goes first, among equals the
// one that was submitted last; what turns out superfluous is spared, most
// important first. Among nodes the one wins that loses the fewest tasks of the
// most important class, then of the next, and so on; then the better score.
//
// Running and starting tasks can be victims. None of them was placed in the
// same pass, which goes from the more important to the less.
type victims struct {
	list   []cluster.TaskID          // scratch
	less   cluster.Vector            // scratch: demand of the victims
	free   [cluster.MaxDevices]int64 // scratch: their shares of each device
	rank   []uint8                   // of each class; 0 is the most important
	ranked int                       // how many ranks there are
	// least is, by node row, the lowest priority of all tasks there: who has no more than
	// that evicts nobody, and need not read the many tasks of all nodes to learn it.
	least []int32
}

// ranks is how many ranks of classes the cost of a node tells apart; less important
// ones share the last.
const ranks = 4

// learn ranks the classes.
func (v *victims) learn(s *cluster.View, c *sched.Changed) {
	if !c.All && v.less != nil {
		return
	}
	v.less = make(cluster.Vector, len(s.Kinds()))
	var order []int32
	for _, class := range s.Classes() {
		order = append(order, class.Importance)
	}
	slices.Sort(order)
	order = slices.Compact(order)
	v.rank, v.ranked = v.rank[:0], len(order)
	for _, class := range s.Classes() {
		at, _ := slices.BinarySearch(order, class.Importance)
		v.rank = append(v.rank, uint8(at))
	}
}

// look takes in changed nodes. What a pass itself places cannot be evicted before the next.
func (v *victims) look(s *cluster.View, nodes []cluster.NodeID) {
	if more := s.NodeRows() - len(v.least); more > 0 {
		v.least = append(v.least, make([]int32, more)...)
	}
	for _, n := range nodes {
		v.least[n] = math.MaxInt32
		for _, t := range s.TasksOn(n) {
			v.least[n] = min(v.least[n], s.Task(t).Priority)
		}
	}
}

// mayEvict reports whether a task of that priority may evict the other.
func (v *victims) mayEvict(s *cluster.View, priority int32, t cluster.TaskID) bool {
	return s.Task(t).Priority < priority && mayLeave(s, t)
}

// mayLeave reports whether the task has a run that could be evicted. It is a function of
// its own so that mayEvict costs no call for the many that are too important.
func mayLeave(s *cluster.View, t cluster.TaskID) bool {
	return !s.Evictable(t).Refused() && (!s.Constrained(s.Task(t).Shape) || !s.Releases(t).Refused())
}

// preempt evicts for the task on the node where that costs least, as one
// bundle with the placement, or reports that there is no such node. Beside
// says that some node was refused only for another task of the job.
func (v *victims) preempt(t *sched.Trial, task cluster.TaskID, out *sched.Plan, tab *table) (on cluster.NodeID, placed, beside bool) {
	s := t.View()
	row := s.Task(task)
	x := tab.sync(indexID{shape: row.Shape, priority: row.Priority, victims: true}, func(n cluster.NodeID) int64 {
		return v.cost(s, row.Shape, row.Priority, n)
	})
	defer tab.unhide(x)
	for {
		n, ok := tab.top(x)
		if !ok {
			return 0, false, beside
		}
		if !s.Crowded(task, n) && v.evict(t, task, n, out) {
			tab.update(x, n)
			return n, true, beside
		}
		tab.hide(x, n)
		beside = true
	}
}

// evict tries the bundle on one node.
func (v *victims) evict(t *sched.Trial, task cluster.TaskID, n cluster.NodeID, out *sched.Plan) bool {
	row := t.View().Task(task)
	v.choose(t.View(), row.Shape, row.Priority, n)
	return replace(t, v.list, task, n, out)
}

// replace tries a bundle: the victims leave the node, and the task goes there. It fails
// where a task of the same job, or a constraint, is in the way; a victim is so too, since it holds its
// place until it has left.
func replace(t *sched.Trial, victims []cluster.TaskID, task cluster.TaskID, n cluster.NodeID, out *sched.Plan) bool {
	s, mark := t.View(), t.Mark()
	for _, victim := range victims {
		a := sched.Action{Kind: sched.Evict, Task: victim, Attempt: s.Task(victim).Attempt}
		if t.Try(a).Refused() { // somebody who stays must stand beside it
			t.Rollback(mark)
			out.Drop()
			return false
		}
		out.Add(a)
	}
	a := sched.Action{Kind: sched.Place, Task: task, Attempt: s.Task(task).Attempt, Node: n}
	if t.Try(a).Refused() {
		t.Rollback(mark)
		out.Drop()
		return false
	}
	out.Add(a)
	out.Close()
	return true
}

// cost is how good the node is for a preemptor, larger is better: the victims
// of each rank of classes, most important first, in eight bits each, and the
// allocation score below them. A node that needs no victim, as one whose
// leaving tasks make room, is best.
func (v *victims) cost(s *cluster.View, id cluster.ShapeID, priority int32, n cluster.NodeID) int64 {
	if !v.could(s, id, priority, n) {
		return none
	}
	v.choose(s, id, priority, n)
	const most, scoreBits = 255, 30
	var lost [ranks]int64
	for _, t := range v.list {
		rank := min(v.rank[s.Task(t).Class], ranks-1)
		lost[rank] = min(lost[rank]+1, most)
	}
	cost := int64(0)
	for _, count := range lost {
		cost = cost<<8 | (most - count)
	}
	return cost<<scoreBits | kubeScoreLess(s, s.Shape(id), n, v.less)
}

// could reports whether the demand would fit if all left whom it may evict.
func (v *victims) could(s *cluster.View, id cluster.ShapeID, priority int32, n cluster.NodeID) bool {
	if !s.FitsEmpty(id, n) {
		return false
	}
	v.none(s, n)
	if v.enough(s, id, n) {
		return true
	}
	if priority <= v.least[n] {
		return false
	}
	for _, t := range s.TasksOn(n) {
		if v.mayEvict(s, priority, t) {
			v.leaves(s, t, 1)
		}
	}
	return v.enough(s, id, n)
}

// choose fills in the victims on a node where there are enough, and the demand
// that will have left by then.
func (v *victims) choose(s *cluster.View, id cluster.ShapeID, priority int32, n cluster.NodeID) {
	v.list = v.list[:0]
	v.none(s, n)
	if v.enough(s, id, n) {
		return
	}
	for _, t := range s.TasksOn(n) {
		if v.mayEvict(s, priority, t) {
			v.list = append(v.list, t)
		}
	}
	slices.SortFunc(v.list, func(a, b cluster.TaskID) int {
		x, y := s.Task(a), s.Task(b)
		return cmp.Or(cmp.Compare(x.Priority, y.Priority), cmp.Compare(y.Seq, x.Seq))
	})
	v.fewest(s, id, n)
}

// fewest cuts the list, the least important first, to those who make room for the shape,
// and takes out whom it does not need gone, most important first. It returns how many they
// were before that; 0 where all of them are too few.
func (v *victims) fewest(s *cluster.View, id cluster.ShapeID, n cluster.NodeID) int {
	taken := 0
	for enough := false; !enough; enough = v.enough(s, id, n) {
		if taken == len(v.list) {
			return 0
		}
		v.leaves(s, v.list[taken], 1)
		taken++
	}
	v.list = v.list[:taken]
	for i := range slices.Backward(v.list) {
		v.leaves(s, v.list[i], -1)
		if v.enough(s, id, n) {
			v.list = slices.Delete(v.list, i, i+1)
		} else {
			v.leaves(s, v.list[i], 1)
		}
	}
	return taken
}

// leaves adds the task's demand to what will have left, or takes it out.
func (v *victims) leaves(s *cluster.View, t cluster.TaskID, sign int64) {
	for k, q := range s.Demand(t) {
		v.less[k] += sign * q
	}
	task := s.Task(t)
	if share := sign * s.DeviceNeed(task.Shape).Share; share != 0 {
		for set := task.Devices; set != 0; set &= set - 1 {
			v.free[bits.TrailingZeros64(uint64(set))] += share
		}
	}
}

// none begins a choice: nobody leaves but who is leaving already.
func (v *victims) none(s *cluster.View, n cluster.NodeID) {
	copy(v.less, s.LeavingDemand(n))
	for i, d := range s.Devices(n) {
		v.free[i] = d.Leaving
	}
}

// enough reports whether the shape fits once those have left the node.
func (v *victims) enough(s *cluster.View, id cluster.ShapeID, n cluster.NodeID) bool {
	limit, used := s.Limit(n), s.Used(n)
	for k, need := range s.Shape(id).Demand {
		if need > limit[k]-used[k]+v.less[k] && need > 0 {
			return false
		}
	}
	need := s.DeviceNeed(id)
	if need.Count == 0 {
		return true
	}
	count, size := 0, s.DeviceLimit(n)
	for i, d := range s.Devices(n) {
		if size-d.Used+v.free[i] >= need.Share {
			count++
		}
	}
	return count >= need.Count
}
