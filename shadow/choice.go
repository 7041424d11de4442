package shadow

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
)

// This file says of a place that was chosen for a task what can be said of it at that moment.

// seconds is a duration as reports have it.
func seconds(t cluster.Time) report.Number { return report.Seconds(t) }

// fill is how full the node is with the task, which may be there or elsewhere: the largest share taken of anything that the task asks for.
func fill(v *cluster.View, t cluster.TaskID, n cluster.NodeID) report.Number {
	most, used, capacity, there := 0.0, v.Used(n), v.Capacity(n), v.Task(t).Node == n
	for k, q := range v.DemandOn(t, n) {
		if q <= 0 || capacity[k] <= 0 {
			continue
		}
		taken := used[k]
		if !there {
			taken += q
		}
		most = max(most, float64(taken)/float64(capacity[k]))
	}
	return report.Number(float64(int64(most*millionth+.5)) / millionth) // so that sums do not depend on their order
}

// millionth is how finely shares are counted.
const millionth = 1e6

// violates reports whether a required rule between tasks does not hold for the task where it is, and whether a preferred one does not.
func violates(v *cluster.View, t cluster.TaskID) (hard, soft bool) {
	of := v.ConstraintsOf(v.Task(t).Shape)
	if len(of) == 0 {
		return false, false
	}
	const none = -1
	chosen := slices.Repeat([]int32{none}, v.ConstraintRows())
	for _, c := range of {
		chosen[c] = int32(v.Standing(c, 1, 0).Alternative)
		if _, violated := v.Bound(t, chosen); violated {
			hard, soft = hard || v.Constraint(c).Hard, soft || !v.Constraint(c).Hard
		}
		chosen[c] = none
	}
	return hard, soft
}

// opening says which of the tasks that came to nodes in one moment came to one that had no other.
type opening struct {
	view   *cluster.View
	came   []cluster.TaskID
	counts map[cluster.NodeID]int  // of those who came
	opened map[cluster.NodeID]bool // by one of them
}

// opens reports whether the next of these opens the node.
func (o *opening) opens(n cluster.NodeID) bool {
	if o.counts == nil {
		o.counts, o.opened = map[cluster.NodeID]int{}, map[cluster.NodeID]bool{}
		for _, t := range o.came {
			o.counts[o.view.Task(t).Node]++
		}
	}
	if o.opened[n] || len(o.view.TasksOn(n)) > o.counts[n] {
		return false
	}
	o.opened[n] = true
	return true
}
