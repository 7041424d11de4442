package sched

import "fairlead.dev/fairlead/cluster"

// This file is of lanes beside the core, whose rounds take so long that they run while it goes on, on views of their own: who calls the core asks which are due,
// and whom such a lane has yet to look at.

// DueBeside returns a lane beside the core whose round is due now, and false if there is none.
func DueBeside(c *Core, now cluster.Time) (int, bool) {
	for i := range c.lanes {
		if c.lanes[i].Beside && c.dueAt(i, now) <= now {
			return i, true
		}
	}
	return 0, false
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
	if before := c.waits[t]; before > 0 {
		c.lanes[before-1].waits--
		c.waits[t] = 0
	}
	task := c.state.Task(t)
	if lane := c.ownerOf(task); lane != noLane && c.lanes[lane].Beside && task.Phase == cluster.Waiting {
		c.lanes[lane].waits++
		c.waits[t] = lane + 1
	}
}
