// Package capacity says for how many more tasks like one of a cluster's there is room. Which nodes could be switched
// off is package capacity/moves, and which to buy is package capacity/fleet.
package capacity

import (
	"fmt"
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file counts. Tasks are placed one after the other on a copy of the cluster, by the check that the scheduler's
// commit makes, until no node takes another: so many fit for sure. Rounds go over the nodes, and each node
// takes one task a round, so that where tasks are to be spread they are. Without constraints no node depends on another
// one, and the count is exact. With them it depends on the order, and the bound says how far it could be off:
// the most that each node could take by itself, and of that the most that each bound of a hard constraint lets into
// each of its sets.

// Fit is for how many more tasks there is room.
type Fit struct {
	Count int // have been placed, one after the other
	Bound int // and no more than that can be
	// On are the nodes that take them, by row.
	On []OnNode
	// Why says why there is no room for another one; it is missing where Count is all that was asked for.
	Why sched.Reason
}

// OnNode is how many a node takes.
type OnNode struct {
	Node  cluster.NodeID
	Count int
}

// MostTasks is for how many tasks a Counter looks at most.
const MostTasks = 1_000_000

// Counter counts on a copy of a cluster, in which what has been counted stays.
type Counter struct {
	trial *sched.Trial
	view  *cluster.View
	like  cluster.TaskID
	id    cluster.ShapeID // of like
}

// NewCounter is one on a copy of the cluster.
func NewCounter(v *cluster.View) *Counter {
	trial := sched.OnCopy(v)
	return &Counter{trial: trial, view: trial.View()}
}

// Count counts for how many more tasks of the task's job and shape there is room, up to so many, and lets them have it.
func (c *Counter) Count(like cluster.TaskID, most int) (Fit, error) {
	c.like, c.id = like, c.view.Task(like).Shape
	f := Fit{Bound: c.bound(min(most, MostTasks))}
	tasks, err := c.trial.More(like, f.Bound+1)
	if err != nil {
		return f, err
	}
	on, placed := c.place(tasks[:f.Bound])
	for n, count := range on {
		if count > 0 {
			f.On = append(f.On, OnNode{cluster.NodeID(n), count})
		}
	}
	if f.Count = len(placed); f.Count < most {
		f.Why = sched.Explain(c.view, tasks[f.Bound])
	}
	return f, c.trial.Carry(placed)
}

// place places what it can of the tasks, and says how many each node takes.
func (c *Counter) place(tasks []cluster.TaskID) (on []int, placed []sched.Action) {
	on = make([]int, c.view.NodeRows())
	var open []cluster.NodeID
	for n := range cluster.NodeID(c.view.NodeRows()) {
		if c.view.NodeLive(n) && c.view.RoomLater(c.id, n) {
			open = append(open, n)
		}
	}
	for before := -1; before < len(placed) && len(placed) < len(tasks); {
		before = len(placed)
		open = slices.DeleteFunc(open, func(n cluster.NodeID) bool {
			if len(placed) == len(tasks) {
				return false
			}
			t := tasks[len(placed)]
			a := sched.Action{Kind: sched.Place, Task: t, Attempt: c.view.Task(t).Attempt, Node: n}
			if r := c.trial.Try(a); r.Refused() {
				return r.Code != cluster.Violates // constraints may let it in when others have come elsewhere
			}
			on[n]++
			placed = append(placed, a)
			return false
		})
	}
	return on, placed
}

// Room is for how many tasks of the task's job and shape nodes would have room if constraints were none, up to so many.
func (c *Counter) Room(like cluster.TaskID, most int) int {
	c.like, c.id = like, c.view.Task(like).Shape
	sum := 0
	for n := range cluster.NodeID(c.view.NodeRows()) {
		sum = min(sum+min(c.roomOn(n), most), most)
	}
	return sum
}

// bound is how many there is room for at most, and no more than that.
func (c *Counter) bound(most int) int {
	sum := c.Room(c.like, most)
	rooms := make([]int, c.view.NodeRows())
	for n := range rooms {
		rooms[n] = min(c.roomOn(cluster.NodeID(n)), most)
	}
	for _, id := range c.view.ConstraintsOf(c.id) {
		if spec := c.view.Constraint(id); spec.Hard && c.view.Standing(id, 1, 0).Violating == 0 {
			sum = min(sum, c.within(id, spec, rooms))
		}
	}
	return sum
}

// roomOn is how many the node could take if constraints were none.
func (c *Counter) roomOn(n cluster.NodeID) int {
	if !c.view.RoomLater(c.id, n) {
		return 0
	}
	shape := c.view.Shape(c.id)
	limit, used, leaving := c.view.Limit(n), c.view.Used(n), c.view.LeavingDemand(n)
	most := int64(math.MaxInt)
	for k, q := range shape.Demand {
		if q > 0 {
			most = min(most, (limit[k]-used[k]+leaving[k])/q)
		}
	}
	for _, need := range c.view.DeviceNeeds(c.id) {
		shares := int64(0)
		for place, d := range c.view.Devices(n) {
			if need.Places.Has(place) && d.LeftLater() > 0 {
				shares += d.LeftLater() / need.Share
			}
		}
		most = min(most, shares/int64(need.Count))
	}
	if shape.PerNode > 0 {
		most = min(most, int64(int(shape.PerNode)-c.view.Beside(c.view.Task(c.like).Job, n, cluster.NoTask)))
	}
	return max(int(most), 0)
}

// within is how many of the rooms can be filled before the constraint refuses, in that of its alternatives that lets
// in the most.
func (c *Counter) within(id cluster.ConstraintID, spec *cluster.Constraint, rooms []int) int {
	best, number := 0, 0
	for _, bounds := range spec.Any {
		least := math.MaxInt
		for i := range bounds {
			least = min(least, c.byBound(id, number+i, &bounds[i], rooms))
		}
		number += len(bounds)
		best = max(best, least)
	}
	return best
}

// byBound is the same for one bound, of which nobody is over yet: in a set of its group, a task that is subject and target lets
// in as many others as Max says.
func (c *Counter) byBound(id cluster.ConstraintID, number int, b *cluster.Bound, rooms []int) int {
	subject, target := b.Affects(c.view.Shape(c.id).Tags)
	limited := b.Max != cluster.Unbounded && !b.OverFewest && (subject || target && len(b.Subject) == 0)
	sets, sum := map[string]int{}, 0
	for row, room := range rooms {
		n := cluster.NodeID(row)
		if room == 0 {
			continue
		}
		set, is := setOf(c.view, n, b.Group)
		if !limited || !is {
			sum += room
			continue
		}
		most, known := sets[set]
		if !known {
			most = int(b.Max) - int(c.view.Counts(id, number, n).Targets)
			switch {
			case !target && most >= 0:
				most = math.MaxInt // whoever comes is not counted
			case target && subject && !b.SelfCounted:
				most++ // whoever comes counts the others alone
			}
			most = max(most, 0)
		}
		take := min(most, room)
		sets[set] = most - take
		sum += take
	}
	return sum
}

// setOf is the set of the group that the node is in, if it is in one.
func setOf(v *cluster.View, n cluster.NodeID, group string) (string, bool) {
	spec := v.NodeSpec(n)
	if group == cluster.EachNode {
		return fmt.Sprint(n), true
	}
	for _, l := range spec.Groups {
		if l.Key == group {
			return l.Value, true
		}
	}
	return "", false
}
