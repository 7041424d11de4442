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
