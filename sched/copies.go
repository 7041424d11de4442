package sched

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file ends the copies of a task that has finished: the other tasks of a job
// with FirstEnds, and those that are submitted to it later. What it keeps is a list
// of tasks of each such job, and nothing of any other job.

// copies are the jobs whose tasks are copies of one another.
type copies struct {
	jobs map[cluster.JobID]*copied
	// stopped are the tasks that the events at hand have ended, in the order of
	// their jobs' finishing. One that is gone before the last of the events
	// is over and done with.
	stopped []stopped
}

// copied is what is known of such a job.
type copied struct {
	tasks    []cluster.TaskID // that are live, in the order in which they came
	finished bool             // one of them has finished
}

// stopped names a task for ever.
type stopped struct {
	task cluster.TaskID
	seq  cluster.Seq
}

// update follows an event that the state accepted.
func (c *copies) update(s *cluster.State, e cluster.Event) {
	switch e := e.(type) {
	case cluster.JobSubmitted:
		if !e.FirstEnds {
			return
		}
		if c.jobs == nil {
			c.jobs = map[cluster.JobID]*copied{}
		}
		c.jobs[e.Job] = &copied{}
	case cluster.JobForgotten:
		delete(c.jobs, e.Job)
	case cluster.TaskSubmitted:
		job := c.jobs[e.Job]
		if job == nil {
			return
		}
		job.tasks = append(job.tasks, e.Task)
		if job.finished {
			c.stop(s, e.Task)
		}
	case cluster.TaskEnded:
		c.ended(s, e)
	default: // nothing comes or goes
	}
}

// ended forgets a task, and stops its copies if it has finished first.
func (c *copies) ended(s *cluster.State, e cluster.TaskEnded) {
	job := c.jobs[s.Task(e.Task).Job] // its row says so until it is used again
	if job == nil {
		return
	}
	at := slices.Index(job.tasks, e.Task)
	job.tasks = slices.Delete(job.tasks, at, at+1)
	if !e.Finished || job.finished {
		return
	}
	job.finished = true
	for _, t := range job.tasks {
		c.stop(s, t)
	}
}

func (c *copies) stop(s *cluster.State, t cluster.TaskID) {
	if !s.Stop(t).Refused() {
		c.stopped = append(c.stopped, stopped{t, s.Task(t).Seq})
	}
}

// endCopies tells the world of the tasks that the events have stopped.
func (c *Core) endCopies(out []Decision) []Decision {
	for _, ends := range c.copies.stopped {
		if task := c.state.Task(ends.task); task.Told == cluster.ToEnd && task.Seq == ends.seq {
			c.counts.Ended++
			out = append(out, c.decision(End, ends.task))
		}
	}
	c.copies.stopped = c.copies.stopped[:0]
	return out
}
