package sched

import "fairlead.dev/fairlead/cluster"

// This file is of lanes beside the core, whose rounds take so long that they run while it goes on, on views of their own: who calls the core asks which are due,
// and whom such a lane has yet to look at.

// The tasks of an application come one after the other, and what is best for the first of them alone is not what is best for all: two that could stand anywhere may stand where the others cannot join them. So a round begins when nobody has come for a
// moment, and what came before is planned at once (Medea gathers for a fixed interval, of ten seconds). Where they never cease to come it does not wait for long.
const (
	quietFor     = 300 * cluster.Millisecond
	gatherAtMost = 5 * cluster.Second
)

// gathering is since when tasks of a lane beside the core have come that no round has looked at.
type gathering struct {
	some        bool
	first, last cluster.Time
}

// note notes that one came.
func (g *gathering) note(now cluster.Time) {
	if !g.some {
		g.some, g.first = true, now
	}
	g.last = now
}

// until is when those who came are to be looked at; 0 if nobody did.
func (g *gathering) until() cluster.Time {
	if !g.some {
		return 0
	}
	return min(g.last+quietFor, g.first+gatherAtMost)
}

// DueBeside returns a lane beside the core whose round is due now, and how many of its tasks wait; false if there is none.
func DueBeside(c *Core, now cluster.Time) (lane, waits int, due bool) {
	for i := range c.lanes {
		if c.lanes[i].Beside && c.dueAt(i, now) <= now {
			return i, c.lanes[i].waits, true
		}
	}
	return 0, 0, false
}

// Undecided reports whether the task waits for a round of a lane beside the core, which is at work, or about to be.
func Undecided(c *Core, t cluster.TaskID) bool {
	task := c.state.Task(t)
	lane := c.ownerOf(task)
	return lane != noLane && c.lanes[lane].Beside && task.Phase == cluster.Waiting && (c.lanes[lane].busy || c.lanes[lane].dirty)
}

// wakeBeside gives lanes beside the core cause for a round although nobody waits, since what runs may be placed better.
func wakeBeside(c *Core) {
	for i := range c.lanes {
		c.lanes[i].dirty = c.lanes[i].dirty || c.lanes[i].Beside
	}
}

// countWaiting counts, of lanes beside the core, their tasks that wait: a round is of use only if there are some, and costs a copy of all that changed.
func countWaiting(c *Core, t cluster.TaskID) {
	if !c.beside {
		return
	}
	for int(t) >= len(c.waits) {
		c.waits = append(c.waits, 0)
	}
	before := c.waits[t]
	if before > 0 {
		c.lanes[before-1].waits--
		c.waits[t] = 0
	}
	task := c.state.Task(t)
	if lane := c.ownerOf(task); lane != noLane && c.lanes[lane].Beside && task.Phase == cluster.Waiting {
		c.lanes[lane].waits++
		if before != lane+1 {
			c.lanes[lane].gathered.note(c.state.Now())
		}
		c.waits[t] = lane + 1
	}
}
