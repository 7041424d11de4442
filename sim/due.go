package sim

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim/trace"
)

// This file measures how jobs kept their deadlines, by the class of their first task. A job counts when it is over, however it
// has ended, or at the end of the run, if its deadline has passed by then: of one that may still keep it nobody knows.

// dueJob is what the world knows of a job that is due.
type dueJob struct {
	moments []trace.Due
	came    cluster.Time
	service cluster.ClassID
	counted bool // at the end of the run, where each task of it is met
}

// newDue is when a job is due that comes now; nil where nobody says.
func newDue(r incoming, now cluster.Time) *dueJob {
	if len(r.Due) == 0 {
		return nil
	}
	return &dueJob{moments: append([]trace.Due(nil), r.Due...), came: now, service: r.service}
}

// deadline is the moment by which the job is to be done; 0 where nobody says.
func (d *dueJob) deadline() cluster.Time {
	if d == nil || d.moments[0].Within >= cluster.Never-d.came {
		return 0
	}
	return d.came + d.moments[0].Within
}

// dues are the jobs of a class that were due.
type dues struct{ jobs, kept, worth, gained int64 }

// over counts a job that is over.
func (a *services) over(j *job, now cluster.Time) {
	if j.due == nil {
		return
	}
	d := &a.classes[j.due.service].dues
	done := j.done > 0 && (j.done == j.submitted || j.copied)
	d.count(j.due, done, now)
}

// overdue counts a job that is there at the end of the run, once, if its deadline has passed.
func (a *services) overdue(j *job, now cluster.Time) {
	if j.due == nil || j.due.counted || now-j.due.came <= j.due.moments[0].Within {
		return
	}
	j.due.counted = true
	a.classes[j.due.service].dues.count(j.due, false, now)
}

// count counts a job, which is done now or is not.
func (d *dues) count(j *dueJob, done bool, now cluster.Time) {
	d.jobs++
	d.worth += j.moments[0].Worth
	if !done {
		return
	}
	for i, m := range j.moments {
		if now-j.came <= m.Within {
			d.gained += m.Worth
			if i == 0 {
				d.kept++
			}
			return
		}
	}
}

// result is what the report says of them; nil where no job was due.
func (d *dues) result() *report.Deadlines {
	if d.jobs == 0 {
		return nil
	}
	return &report.Deadlines{Due: int(d.jobs), KeptDeadlines: int(d.kept), Worth: report.Number(d.worth), Gained: report.Number(d.gained)}
}

// lasting is how long the tasks of a class waited that promises its runs to last, and which runs were evicted.
type lasting struct {
	tasks, evicted, early int
	waited                float64 // µs
}

// left counts a run of the class that was told to leave, for another task or to run elsewhere.
func (l *lasting) left(row *cluster.Task) {
	if row.Phase != cluster.Leaving {
		return
	}
	l.evicted++
	if p := row.Protection(); p.Until > row.Account.Since && p.But == 0 {
		l.early++
	}
}

// result is what the report says of them.
func (l *lasting) result(class *cluster.Class) *report.Lasting {
	if class.LeastRun == 0 {
		return nil
	}
	return &report.Lasting{
		LeastRun: report.Seconds(class.LeastRun), EvictedRuns: l.evicted, EvictedEarly: l.early,
		MeanWait: report.Ratio(l.waited/float64(cluster.Second), float64(l.tasks)),
	}
}
