package experiment

import (
	"io"
	"math/rand/v2"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// This file makes up the workload of Firmament's breaking point: equal nodes, and
// jobs of a few equal tasks that come at random moments and keep so much of the
// cluster busy.

// equalJobs is a trace.Source, in slots.
type equalJobs struct {
	nodes, slots int
	tasks        uint32       // of a job
	work         cluster.Time // of a task
	load         float64      // share of the slots that are busy if no task waits
	count        int          // jobs in all
	chance       *rand.Rand

	added int // nodes so far
	job   int
	task  uint32
	at    float64 // microseconds
}

// Kinds is the one kind, slots.
func (j *equalJobs) Kinds() []cluster.Kind {
	return []cluster.Kind{{Name: "slots", Unit: "slots", PerUnit: 1}}
}

// Next fills in the next record: all nodes, then the tasks.
func (j *equalJobs) Next(r *trace.Record) error {
	if j.added < j.nodes {
		j.added++
		*r = trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: uint64(j.added), Capacity: cluster.Vector{int64(j.slots)}}}
		return nil
	}
	if j.task == 0 {
		if j.job == j.count {
			return io.EOF
		}
		j.job++
		between := float64(j.work) * float64(j.tasks) / (j.load * float64(j.nodes*j.slots))
		j.at += j.chance.ExpFloat64() * between
	}
	*r = trace.Record{Time: cluster.Time(j.at), What: trace.TaskSubmitted, Task: trace.Task{
		Job: uint64(j.job), Index: j.task, JobTasks: j.tasks, Demand: cluster.Vector{1}, Work: j.work,
	}}
	j.task = (j.task + 1) % j.tasks
	return nil
}

// Close has nothing to close.
func (j *equalJobs) Close() error { return nil }
