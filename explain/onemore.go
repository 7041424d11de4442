package explain

import (
	"cmp"
	"encoding/binary"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file says for how many waiting tasks one more node would have room, for policies whose prices do not say what it is
// worth: the most important first, then in the order of submission, each that still fits beside those before it.
// Who is bound by hard constraints is left out, as these also look at what runs elsewhere, and so is who asks for a node by its
// own name. Tasks that belong to their nodes are on the new one, too.

// oneMore lists the kinds of nodes, the one first that would let most tasks of the lane run; none if none waits for room.
func (m *Moment) oneMore(lane int) []Worth {
	waiting := m.withoutRoom(lane)
	if len(waiting) == 0 {
		return nil
	}
	var list []Worth
	kinds := map[string]int{}
	s := m.core.View()
	for n := range cluster.NodeID(s.NodeRows()) {
		if !s.NodeLive(n) {
			continue
		}
		key := m.kindOf(n, waiting)
		at, known := kinds[key]
		if !known {
			at = len(list)
			kinds[key] = at
			list = append(list, Worth{
				Policy: m.lanes[lane].Policy, Like: m.node(n), Capacity: m.amounts(s.Limit(n)), Tasks: fitting(s, n, waiting),
			})
		}
		list[at].Nodes++
	}
	slices.SortStableFunc(list, func(a, b Worth) int { return cmp.Compare(b.Tasks, a.Tasks) })
	return list
}

// withoutRoom lists the waiting tasks of the lane for which no node has room, in order.
func (m *Moment) withoutRoom(lane int) []cluster.TaskID {
	s := m.core.View()
	admitted := map[cluster.ShapeID]bool{}
	var list []cluster.TaskID
	for t := range cluster.TaskID(s.TaskRows()) {
		own, ours := m.lane(t)
		task := s.Task(t)
		if !ours || own != lane || task.Phase != cluster.Waiting || s.Constrained(task.Shape) {
			continue
		}
		some, asked := admitted[task.Shape]
		for n := cluster.NodeID(0); !asked && !some && int(n) < s.NodeRows(); n++ {
			some = s.NodeLive(n) && !s.AdmitsShape(task.Shape, n).Refused()
		}
		if !asked && !some {
			some = m.namesNode(t)
		}
		if admitted[task.Shape] = some; !some {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b cluster.TaskID) int {
		x, y := s.Task(a), s.Task(b)
		return cmp.Or(cmp.Compare(y.Priority, x.Priority), cmp.Compare(x.Seq, y.Seq))
	})
	return list
}

// namesNode reports whether the task asks for one node by a label that tells all nodes apart which have it, such as its name: no
// other node would do.
func (m *Moment) namesNode(t cluster.TaskID) bool {
	s := m.core.View()
	set := s.Shape(s.Task(t).Shape).Eligible
	only, nodes := cluster.NoNode, 0
	for n := range cluster.NodeID(s.NodeRows()) {
		if s.NodeLive(n) && s.Eligible(set, n) {
			only = n
			nodes++
		}
	}
	if set == cluster.AllNodes || nodes != 1 {
		return false
	}
	why := m.core.Why(t)
	return slices.ContainsFunc(s.NodeSpec(only).Labels, func(l cluster.Label) bool {
		asked := sched.Filtered{Mechanism: "label", Wants: cluster.Requirement{Key: l.Key, Op: cluster.Equal, Value: l.Value}.Selector()}
		return m.tellsApart(l.Key) && slices.ContainsFunc(why.Causes, func(c sched.Cause) bool {
			by, filtered := c.(sched.Filtered)
			return filtered && by.Mechanism == asked.Mechanism && by.Wants == asked.Wants
		})
	})
}

// tellsApart reports whether several nodes have the label, no two of them with the same value.
func (m *Moment) tellsApart(key string) bool {
	s, seen := m.core.View(), map[string]bool{}
	for n := range cluster.NodeID(s.NodeRows()) {
		if !s.NodeLive(n) {
			continue
		}
		for _, l := range s.NodeSpec(n).Labels {
			if l.Key == key && seen[l.Value] {
				return false
			}
			if l.Key == key {
				seen[l.Value] = true
			}
		}
	}
	return len(seen) > 1
}

// kindOf is the same for nodes that have as much, and may be used by the same of the waiting tasks.
func (m *Moment) kindOf(n cluster.NodeID, waiting []cluster.TaskID) string {
	s := m.core.View()
	var key []byte
	for _, q := range s.Limit(n) {
		key = binary.AppendVarint(key, q)
	}
	last := cluster.ShapeID(1<<32 - 1)
	for _, t := range waiting {
		if id := s.Task(t).Shape; id != last {
			last = id
			bit := byte(0)
			if s.Eligible(s.Shape(id).Eligible, n) {
				bit = 1
			}
			key = append(key, bit)
		}
	}
	return string(key)
}

// fitting counts the tasks that an empty node like that would take, one beside the other.
func fitting(s *cluster.View, like cluster.NodeID, waiting []cluster.TaskID) (count int) {
	room := slices.Clone(s.Limit(like))
	for _, t := range s.TasksOn(like) {
		if s.Task(t).Protection().Reason == cluster.BelongsToNode {
			for k, q := range s.Demand(t) {
				room[k] -= q
			}
		}
	}
	var free []int64
	for _, d := range s.Devices(like) {
		free = append(free, d.WhenEmpty())
	}
	ofJob := map[cluster.JobID]int32{}
	for _, t := range waiting {
		task := s.Task(t)
		shape, needs := s.Shape(task.Shape), s.DeviceNeeds(task.Shape)
		full := shape.PerNode > 0 && ofJob[task.Job] >= shape.PerNode
		devices, some := needs.Pick(free)
		if full || !some || !s.Eligible(shape.Eligible, like) || !within(shape.Demand, room) {
			continue
		}
		needs.Give(free, devices, -1)
		for k, q := range shape.Demand {
			room[k] -= q
		}
		ofJob[task.Job]++
		count++
	}
	return count
}

// within reports whether there is room for what is asked for.
func within(demand, room cluster.Vector) bool {
	for k, q := range demand {
		if q > 0 && q > room[k] {
			return false
		}
	}
	return true
}
