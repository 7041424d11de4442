package schedtest

import (
	"errors"
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file is the world's own record of grants and of copies: what a run takes
// whose shape leaves that open, and which tasks have to end because a copy of them
// has finished.

// takes is what the run takes of its node.
func (r *wRun) takes() cluster.Vector {
	if r.grant != nil {
		return r.grant
	}
	return r.shape.Demand
}

// reshape gives the run another shape. What it takes changes by no more than it must.
func (r *wRun) reshape(to cluster.Shape) {
	takes := slices.Clone(r.takes())
	r.shape, r.grant = to, nil
	if to.Max != nil {
		for k := range takes {
			takes[k] = min(max(takes[k], to.Demand[k]), to.Max[k])
		}
		r.grant = takes
	}
}

// granted is what a run of the shape takes by the decision, or an error if the shape
// does not allow that.
func granted(shape cluster.Shape, grant cluster.Vector) (cluster.Vector, error) {
	if grant == nil {
		return shape.Demand, nil
	}
	most := shape.Max
	if most == nil {
		most = shape.Demand
	}
	for k, q := range grant {
		if q < shape.Demand[k] || q > most[k] {
			return nil, fmt.Errorf("granted %d of kind %d, want %d to %d", q, k, shape.Demand[k], most[k])
		}
	}
	return grant, nil
}

// carryOutResize gives a run more or less, if that is in order.
func (w *world) carryOutResize(d sched.Decision) error {
	r := w.live[runID{d.Task, d.Attempt}]
	if r == nil || !r.known || r.orphan || r.node.row != d.Node || w.taskOf(d) == nil {
		return errors.New("there is no such run")
	}
	takes, err := granted(r.shape, d.Grant)
	if err != nil {
		return err
	}
	var more cluster.Vector // where it takes less, there need not be room
	for k, q := range takes {
		if q <= r.takes()[k] {
			q = 0
		}
		more = append(more, q)
	}
	if err := w.room(r.node, more, r); err != nil {
		return err
	}
	r.grant = d.Grant
	return nil
}

// carryOutEnd ends a task in its time.
func (w *world) carryOutEnd(d sched.Decision) error {
	t := w.taskOf(d)
	switch {
	case t == nil:
		return errors.New("there is no such task")
	case !t.job.copies || !t.job.finished:
		return errors.New("no copy of it has finished")
	case t.ends:
		return errors.New("it was told to end before")
	}
	t.ends = true
	w.post(w.soon(), nil, func() { w.end(t) })
	return nil
}

// submitCopies makes a job of copies, or more copies for one that there is.
func (w *world) submitCopies() {
	if len(w.copied) > 0 && w.chance.IntN(2) == 0 {
		w.submit(w.copied[w.chance.IntN(len(w.copied))], 1)
		return
	}
	job := &wJob{row: w.jobRow(), copies: true}
	w.copied = append(w.copied, job)
	user := []string{"even", "odd"}[job.row%2]
	w.post(0, func() cluster.Event {
		return cluster.JobSubmitted{Job: job.row, Name: fmt.Sprintf("copies%d", job.row), User: user, FirstEnds: true}
	}, nil)
	w.submit(job, 2+w.chance.IntN(2))
}

// checkCopies checks that whoever has a copy that has finished was told to end.
func (w *world) checkCopies() error {
	for _, t := range w.tasks {
		if t.job.copies && t.job.finished && t.sent && !t.gone && !t.ends {
			return fmt.Errorf("task %d in row %d was not told to end, and a copy of it has finished", t.seq, t.row)
		}
	}
	return nil
}
