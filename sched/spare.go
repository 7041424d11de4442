package sched

import "fairlead.dev/fairlead/cluster"

// This file keeps two lanes from evicting each other's tasks in turns. Whom a lane has placed by evicting a task of another lane, only that
// lane evicts for a while: the others would take the place back at once, as their tasks come first by their own policies, and no run would last.
// Within one lane a policy sees both, and has an order of its own. Who evicts such a task there has the same room, and is spared for the rest of that time, or lanes
// would take turns by way of other tasks of their own.

// How long a run is to last that others had to make room for. Both come from sweeps (docs/bench/fairlead.md).
const (
	SwitchTime     = 2400 * cluster.Second // where its work is lost when it is evicted
	SwitchTimeKept = 1000 * cluster.Second // where it is kept
)

// SwitchTimeOf is how long a run of the class is to last that others had to make room for.
func SwitchTimeOf(class *cluster.Class) cluster.Time {
	if class.KeepsWork {
		return SwitchTimeKept
	}
	return SwitchTime
}

// spared are the tasks whose runs, when they begin, other lanes are to spare: by row.
type spared map[cluster.TaskID]sparedBy

// sparedBy is the task that the row holds, and the lane that has placed it.
type sparedBy struct {
	seq   cluster.Seq
	lane  int
	until cluster.Time // when that is over; 0: its time begins with its run
}

// bundle takes in a bundle of a lane that was accepted: whom it places, the other lanes spare if it evicts one of their tasks.
func (s *spared) bundle(c *Core, lane int, bundle []Action) {
	others, until := false, cluster.Time(0)
	for _, a := range bundle {
		switch {
		case a.Kind != Evict:
		case c.state.Job(c.state.Task(a.Task).Job).Foreign: // no lane takes turns with it
		case int(c.ownerOf(c.state.Task(a.Task))) != lane:
			others = true
		default: // the rest of its time, if it has one
			if p := c.state.Task(a.Task).Protection(); p.But > 0 {
				until = max(until, p.Until)
			}
		}
	}
	if others {
		until = 0
	} else if until <= c.state.Now() {
		return
	}
	if *s == nil {
		*s = spared{}
	}
	for _, a := range bundle {
		if a.Kind == Place {
			(*s)[a.Task] = sparedBy{c.state.Task(a.Task).Seq, lane, until}
			s.begins(c, a.Task)
		}
	}
}

// begins protects the task's run, if other lanes are to spare it and it was sent out.
func (s *spared) begins(c *Core, t cluster.TaskID) {
	by, some := (*s)[t]
	task := c.state.Task(t)
	if !some || task.Phase == cluster.Reserved || task.Phase == cluster.Leaving {
		return
	}
	delete(*s, t)
	if task.Phase != cluster.Starting || task.Seq != by.seq {
		return
	}
	now, until := c.state.Now(), by.until
	if until == 0 {
		until = now + min(SwitchTimeOf(&c.state.Classes()[task.Class]), cluster.Never-now)
	}
	err := c.state.Apply(now, cluster.TaskProtected{
		Task: t, Attempt: task.Attempt, Until: until, But: uint8(by.lane + 1),
		Reason: "a task of another lane was evicted for it, by lane " + c.lanes[by.lane].Name,
	})
	if err != nil {
		panic("sched: a run that was sent out cannot be protected: " + err.Error())
	}
}
