package lane

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file says why an application waits.

// Why says why the task is not placed.
func (p *Policy) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return sched.Explain(t.State(), task)
}
