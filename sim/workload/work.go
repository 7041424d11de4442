package workload

import (
	"math/rand/v2"

	"fairlead.dev/fairlead/cluster"
)

// work is how long arriving jobs run.
type work struct {
	class  [4]table      // small jobs, by latency class; the last is also that of long work
	batch  table         // large jobs
	long   [bands]uint64 // share of large jobs that work long, in 2^-32
	factor table         // of each task, in millionths
}

func newWork(d *data) work {
	w := work{
		batch:  d.Work.Batch.table(float64(cluster.Second)),
		long:   [bands]uint64{part(d.Work.Long.Free), part(d.Work.Long.Middle), part(d.Work.Long.Production)},
		factor: d.Work.Factor.table(1e6),
	}
	for i, q := range []quantiles{d.Work.Class0, d.Work.Class1, d.Work.Class2, d.Work.Class3} {
		w.class[i] = q.table(float64(cluster.Second))
	}
	return w
}

// largeJob is from how many tasks on a job counts as large. The tables by
// class are of jobs, most of which have one task; what the tasks of large jobs
// do is known from tasks.
const largeJob = 11

// draw returns how long the mean task of the job runs.
func (w *work) draw(r *rand.Rand, row *jobRow) cluster.Time {
	u, v := r.Uint32(), uint64(r.Uint32())
	switch {
	case row.tasks < largeJob:
		return cluster.Time(w.class[row.class].at(u))
	case row.class == 3 || v < w.long[band(row.priority)]:
		return cluster.Time(w.class[3].at(u))
	}
	return cluster.Time(w.batch.at(u))
}
