package shadow

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
)

// This file says of a place that was chosen for a task what can be said of it at that moment.

// millionth is how finely shares are counted.
const millionth = 1e6

// seconds is a duration as reports have it.
func seconds(t cluster.Time) report.Number { return report.Seconds(t) }

// arrivals are the tasks that came to nodes in one moment, one after the other. Each is looked at from the last to the first, as if those that came later were not there yet.
type arrivals struct {
	view *cluster.View
	// real says that only what runs is there, and not what was decided and has not been done.
	real  bool
	later map[cluster.NodeID]*load
}

// load is what tasks take of a node.
type load struct {
	tasks int
	used  cluster.Vector
}

// add adds a task.
func (l *load) add(v *cluster.View, t cluster.TaskID) {
	l.tasks++
	for k, q := range v.Demand(t) {
		l.used[k] += q
	}
}

// look says of the next task whether it has opened its node, and how full that is with it: the largest share taken of anything that it asks for.
func (a *arrivals) look(t cluster.TaskID, to *Choice) {
	v, n := a.view, a.view.Task(t).Node
	later := a.later[n]
	if later == nil {
		later = &load{used: make(cluster.Vector, len(v.Kinds()))}
		if a.later == nil {
			a.later = map[cluster.NodeID]*load{}
		}
		a.later[n] = later
	}
	all := &load{used: slices.Clone(v.Used(n)), tasks: len(v.TasksOn(n))}
	if a.real {
		all = running(v, n)
	}
	to.Opened = all.tasks-later.tasks == 1
	capacity, most := v.Capacity(n), 0.0
	for k, q := range v.Demand(t) {
		if q > 0 && capacity[k] > 0 {
			most = max(most, float64(all.used[k]-later.used[k])/float64(capacity[k]))
		}
	}
	to.Fill = report.Number(float64(int64(most*millionth+.5)) / millionth)
	later.add(v, t)
}

// running is what takes room on a node and runs there.
func running(v *cluster.View, n cluster.NodeID) *load {
	l := &load{used: make(cluster.Vector, len(v.Kinds()))}
	for _, t := range v.TasksOn(n) {
		if phase := v.Task(t).Phase; phase == cluster.Running || phase == cluster.Leaving {
			l.add(v, t)
		}
	}
	return l
}

// violates reports whether a required rule between tasks does not hold for the task where it is, and whether a preferred one does not. Rules for which apart reports that are left out.
func violates(v *cluster.View, t cluster.TaskID, apart func(cluster.ConstraintID) bool) (hard, soft bool) {
	of := v.ConstraintsOf(v.Task(t).Shape)
	if len(of) == 0 {
		return false, false
	}
	const none = -1
	chosen := slices.Repeat([]int32{none}, v.ConstraintRows())
	for _, c := range of {
		if apart(c) {
			continue
		}
		chosen[c] = int32(v.Standing(c, 1, 0).Alternative)
		if _, violated := v.Bound(t, chosen); violated {
			hard, soft = hard || v.Constraint(c).Hard, soft || !v.Constraint(c).Hard
		}
		chosen[c] = none
	}
	return hard, soft
}

// concerned reports whether some decision that was not done yet has a part in a rule: how things stand with it is then no matter of what is really there.
func (c *Comparison) concerned(rule cluster.ConstraintID) bool {
	for t, w := range c.tasks {
		if task := c.view.Task(t); w.decided && task.Seq == w.seq && task.Phase == cluster.Starting && c.view.Concerns(rule, task.Shape) {
			return true
		}
	}
	return false
}
