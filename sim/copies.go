package sim

import (
	"strconv"

	"fairlead.dev/fairlead/cluster"
)

// This file plays tasks of classes that were promised replicas. Each task of the
// trace becomes a job of its own, with so many copies of it that stand on different
// nodes (Euro-Par WS 2018, §4); the first that finishes ends the others. What the
// trace says of other tasks of its job, how many a node may hold or that they stand
// together, is left aside: their copies are jobs of their own.

// submitCopies takes in the copies of a task as a job, tells the core, and returns the
// first of them.
func (b *tasks) submitCopies(r incoming, shape cluster.ShapeID, input []cluster.Block, now cluster.Time, emit func(cluster.Event)) *job {
	count := r.promised.Replicas
	j := &job{id: r.Job, row: cluster.JobID(b.jobRows.Take()), user: r.User, beside: b.isBeside(r.Job), expected: int(count), copied: true}
	emit(cluster.JobSubmitted{Job: j.row, Name: strconv.FormatUint(r.Job, 10), User: r.User, FirstEnds: true})
	for i := range count {
		if i > 0 {
			b.usage[shape].tasks++
		}
		row := b.enter(j, r, shape, now)
		j.copies = append(j.copies, row)
		t := b.list[row]
		t.copy = i + 1
		emit(cluster.TaskSubmitted{Task: row, Seq: t.seq, Job: j.row, Shape: shape, Class: t.service, Priority: r.Priority, Gated: r.Gate != "" || r.Foreign != "", Input: input, Lasts: b.foretold(r.Task)})
	}
	b.live[taskKey{r.Job, r.Index}] = j.copies[0]
	return j
}

// unname forgets that the trace's name for the task means this one. Where another
// copy is left, it means that.
func (b *tasks) unname(row cluster.TaskID) {
	t := b.list[row]
	j, key := t.job, taskKey{t.job.id, t.index}
	kept := j.copies[:0]
	for _, other := range j.copies {
		if other != row {
			kept = append(kept, other)
		}
	}
	j.copies = kept
	if j.foreign || b.live[key] != row {
		return
	}
	delete(b.live, key)
	if len(j.copies) > 0 {
		b.live[key] = j.copies[0]
	}
}

// kill ends a task, with all its copies, as its user says. Those that have ended by
// now are left aside.
func (r *runs) kill(row cluster.TaskID) {
	rows := r.tasks.list[row].job.copies // changes only when the core was told
	if len(rows) == 0 {
		rows = []cluster.TaskID{row}
	}
	for _, row := range rows {
		if !r.outbox.ends(row) {
			r.finish(row, killed)
		}
	}
}

// supersede ends a copy, as the core says: another one has finished.
func (r *runs) supersede(row cluster.TaskID) {
	if !r.outbox.ends(row) {
		r.finish(row, superseded)
	}
}
