package workload

import (
	"math/rand/v2"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// job is a job whose tasks are emitted one after the other. They share all but
// their index and how long they work.
type job struct {
	at      cluster.Time
	task    trace.Task
	work    cluster.Time // of its mean task
	emitted uint32       // tasks emitted so far
	// Each task's work is the job's times a factor of its own, in millionths.
	factor table
	draw   *rand.Rand
}

func (j *job) emit(r *trace.Record) {
	r.Time, r.What = j.at, trace.TaskSubmitted
	r.Task = j.task
	r.Task.Index = j.emitted
	j.emitted++
	if j.work == cluster.Never {
		r.Task.Work = cluster.Never
		return
	}
	// The product fits: work is below 2^42 and a factor below 2^21.
	factor := j.factor.at(j.draw.Uint32())
	r.Task.Work = max(1, cluster.Time(int64(j.work)*(factor/100)/10_000))
}

// The bands that Google's documentation makes of priorities.
const (
	free = iota
	middle
	production
	bands
)

func band(priority int32) int {
	switch {
	case priority <= 1:
		return free
	case priority <= 8:
		return middle
	}
	return production
}

// rescale says how a job of the data appears in a cluster of so many nodes
// that is to have scale times the tasks: as how many jobs, and of how many
// tasks. Their product is always scale times that of the data.
//
// A small job appears as it is, but scale times as often. A large one would
// fill a small cluster, or be missing from it, by chance; it appears as often
// as in the data, but scale times as large. In between it is cut to a tenth of
// the nodes, or to fifty tasks in the smallest clusters.
func rescale(tasks uint32, nodes int, scale float64) (size uint32, copies float64) {
	size = min(tasks, max(50, uint32(nodes/10), uint32(float64(tasks)*scale)))
	return size, float64(tasks) * scale / float64(size)
}

// perNode is how many tasks of a job a node may hold: one if its tasks are kept apart,
// else 0, which is any number.
func perNode(apart bool) int32 {
	if apart {
		return 1
	}
	return 0
}
