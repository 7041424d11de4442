package sched

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// Protects says of nodes that could hold a task, and lack room for it, or keep it off as somebody is there whom it must not meet, that some of
// their runs are not to be evicted: see cluster.Task.Protection. It is counted beside what these nodes
// refuse the task for, as not every policy would evict for its sake.
type Protects struct {
	OfTask
	Runs, Nodes int
	Rules       bool         // some of the nodes have room, and keep it off
	For         cluster.Time // until the first of them may be evicted; Never if none ever may
	Reason      string       // of that one, in words for people
}

// Text says how many there are, for how long and why: "2 tasks on 1 nodes without room
// are not to be evicted, the first for 8s (its budget allows no disruption)".
func (c Protects) Text([]cluster.Kind) string {
	within := "the first for " + c.For.String()
	if c.For == cluster.Never {
		within = "none at any time"
	}
	where := "without room"
	if c.Rules {
		where = "without room, or that keep it off for them,"
	}
	text := fmt.Sprintf("%d tasks on %d nodes %s are not to be evicted, %s", c.Runs, c.Nodes, where, within)
	if c.Reason != "" {
		text += " (" + c.Reason + ")"
	}
	return text
}

// EvictsNobody says of a task that nobody is to be evicted for it, which may be why it waits.
type EvictsNobody struct {
	OfTask
	Coming bool // as room is on its way for it (cluster.RoomComing)
}

// Text says so.
func (c EvictsNobody) Text([]cluster.Kind) string {
	if c.Coming {
		return "nobody is evicted for it, as room is on its way"
	}
	return "it wants nobody to be evicted for it"
}

// noteEvictsNobody adds EvictsNobody to the reason of a task that waits for room.
func noteEvictsNobody(r *Reason, s *cluster.View, t cluster.TaskID) {
	room := slices.ContainsFunc(r.Causes, func(c Cause) bool { lacks, is := c.(NoRoom); return is && !lacks.Empty })
	if task := s.Task(t); task.Phase == cluster.Waiting && cluster.EvictsNobody(s, task.Shape) && room {
		r.Causes = append(r.Causes, EvictsNobody{Coming: !s.Shape(task.Shape).NeverPreempts})
	}
}

// noteProtected adds Protects to the reason of a task that waits, if some of these runs are such.
func noteProtected(r *Reason, s *cluster.View, runs []cluster.ProtectedRun, t cluster.TaskID) {
	task := s.Task(t)
	if task.Phase != cluster.Waiting || cluster.EvictsNobody(s, task.Shape) {
		return
	}
	c, first, nodes := Protects{For: cluster.Never}, cluster.NoTask, map[cluster.NodeID]bool{}
	for _, run := range runs {
		n := s.Task(run.Task).Node
		if s.Task(run.Task).Protection().Reason == cluster.BelongsToNode || !s.Evictable(run.Task).Refused() || !s.FitsEmpty(task.Shape, n) {
			continue
		}
		if s.RoomLater(task.Shape, n) {
			if !isInTheWay(s, task.Shape, n, run.Task) {
				continue
			}
			c.Rules = true
		}
		c.Runs++
		nodes[n] = true
		left := cluster.Never
		if run.Until != cluster.Never {
			left = run.Until - s.Now()
		}
		if first == cluster.NoTask || left < c.For || left == c.For && run.Task < first {
			c.For, first = left, run.Task
		}
	}
	if c.Nodes = len(nodes); c.Nodes > 0 {
		c.Reason = s.Task(first).Protection().Reason
		r.Causes = append(r.Causes, c)
	}
}

// isInTheWay reports whether the run is one of those who keep the shape off the node, which would take it if enough of them left.
func isInTheWay(s *cluster.View, id cluster.ShapeID, n cluster.NodeID, run cluster.TaskID) bool {
	if s.ConstraintRows() == 0 {
		return false
	}
	list, ok := cluster.Obstacles(s, id, n, nil)
	return ok && slices.ContainsFunc(list, func(o cluster.Obstacle) bool { return o.Of(s, s.Task(run).Shape) })
}
