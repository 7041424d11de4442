package schedtest

import (
	"errors"
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file is the gangs of a hostile world: a few jobs of which so many tasks are to be placed together, or
// none. The runs of every other one leave all at once, or not at all. The world counts by itself who has finished, and asks after each step what
// decisions have left.

// gangsInWorld is how many come.
const gangsInWorld = 6

// foretellGangs lets the gangs come one after the other.
func foretellGangs(w *world) {
	for range gangsInWorld {
		w.post(cluster.Time(w.chance.Int64N(int64(200*cluster.Second))), nil, func() { submitGang(w) })
	}
}

// submitGang lets a gang come, perhaps with a task more than it has to have, and now and then one that comes late.
func submitGang(w *world) {
	least, more := 2+w.chance.IntN(3), w.chance.IntN(2)
	job := &wJob{row: w.jobRow(), least: least}
	w.atOnce.gangs = append(w.atOnce.gangs, job)
	user := []string{"even", "odd"}[job.row%2]
	w.post(0, func() cluster.Event {
		return cluster.JobSubmitted{Job: job.row, Name: fmt.Sprintf("gang%d", job.row), User: user, Disruption: disruptionOf(job), Gang: int32(least)}
	}, nil)
	w.submit(job, least-1)
	w.post(w.soon(), nil, func() { w.submit(job, 1+more) })
	if job.row%3 == 0 { // more are wanted, and in the end as many as at first
		for i, now := range []int{least + 1, least} {
			w.post(cluster.Time(20+20*i)*cluster.Second, func() cluster.Event {
				job.least = now
				return cluster.JobChanged{Job: job.row, Disruption: disruptionOf(job), Gang: int32(now)}
			}, nil)
		}
	}
}

// disruptionOf is how runs of a gang may be evicted.
func disruptionOf(job *wJob) cluster.Disruption {
	if job.row%2 == 0 {
		return cluster.DisruptTogether
	}
	return cluster.DisruptSingly
}

// gangCount is what a gang has, and its assignment.
type gangCount struct {
	has, left int
	placed    []*wTask
}

// countGangs counts for each gang who has a place, by the phases of tasks, and who has finished, by what was reported; and those who
// are leaving.
func countGangs(w *world) (all []gangCount) {
	for _, job := range w.atOnce.gangs {
		c := gangCount{has: job.done}
		for _, t := range job.tasks {
			if task, known := known(w, t); known {
				switch {
				case task.Phase == cluster.Leaving && task.Next == cluster.NoNode:
					c.left++
				case task.Placed():
					c.has++
					if task.Phase != cluster.Leaving {
						c.placed = append(c.placed, t)
					}
				}
			}
		}
		all = append(all, c)
	}
	return all
}

// known is the task as the core knows it, if it does.
func known(w *world, t *wTask) (*cluster.Task, bool) {
	s := w.core.View()
	if !t.sent || t.gone || int(t.row) >= s.TaskRows() || s.Task(t.row).Seq != t.seq || s.Task(t.row).Phase == cluster.Absent {
		return nil, false
	}
	return s.Task(t.row), true
}

// wholeGangs says which gang has more than it had before something was decided, and fewer than its number, though none
// of it was told to leave; and of which some were told to leave, and not all, though they leave all at once.
func wholeGangs(w *world, before []gangCount) error {
	var partial []error
	for i, c := range countGangs(w) {
		job := w.atOnce.gangs[i]
		if c.has >= job.least {
			w.count["gang"]++
		}
		if c.has > before[i].has && c.has < job.least && c.left <= before[i].left {
			partial = append(partial, fmt.Errorf("a gang of %d, job row %d, had %d of its tasks placed, and has %d", job.least, job.row, before[i].has, c.has))
		}
		if disruptionOf(job) != cluster.DisruptTogether || c.left <= before[i].left {
			continue
		}
		w.count["left together"]++
		for _, t := range before[i].placed {
			if slices.Contains(c.placed, t) {
				partial = append(partial, fmt.Errorf("task %d of job row %d stays, though others were told to leave", t.row, job.row))
			}
		}
	}
	return errors.Join(partial...)
}

// short reports whether the task is of a gang that has fewer than its number; and then how many nodes each of its tasks must
// find that take it, so that there is a place for all of them, whoever goes where: 0 if nobody has to place it, as too few of the
// gang are there or fit, or constraints are in the way.
func short(w *world, t *wTask) (takers int, is bool) {
	if t.job.least == 0 || countGangs(w)[slices.Index(w.atOnce.gangs, t.job)].has >= t.job.least {
		return 0, false
	}
	could := t.job.done
	for _, other := range t.job.tasks {
		if task, known := known(w, other); known && (task.Placed() || fitsAnyway(w, other, len(t.job.tasks))) {
			could++
		}
	}
	if could < t.job.least || !fitsAnyway(w, t, len(t.job.tasks)) {
		return 0, true
	}
	return len(t.job.tasks), true
}

// fitsAnyway reports whether so many nodes take the task by itself, and no constraint has a say in it.
func fitsAnyway(w *world, t *wTask, nodes int) bool {
	s, takers := w.core.View(), 0
	if s.Constrained(t.shape) {
		return false
	}
	for _, n := range w.nodes {
		if n.present && n.known && w.takes(n, []*wTask{t}) {
			takers++
		}
	}
	return takers >= nodes
}
