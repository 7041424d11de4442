package sim

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// This file plays the records of the source into the world's books, and tells the core. It is
// one record ahead of time, so that the run knows when the next one is due, and refuses what
// contradicts those before it.

// replay is the source as it is played.
type replay struct {
	source trace.Source
	record trace.Record // the next one
	more   bool         // there is one

	lossy       bool // nodes fail by chance as well
	initial     Initial
	kernel      *kernel
	nodes       *nodes
	tasks       *tasks
	constraints *constraints
	budgets     *budgets
	outbox      *outbox
	runs        *runs
	injector    *injector
	measures    *measures
}

// read fetches the next record of the source.
func (p *replay) read() error {
	err := p.source.Next(&p.record)
	p.more = err == nil
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// nextTime is when there is something to play; Never if there is nothing left.
func (p *replay) nextTime() cluster.Time {
	if !p.more {
		return cluster.Never
	}
	return p.record.Time
}

// take plays the records of this moment, unless it is interrupted, which it asks now and then.
func (p *replay) take(interrupted func() bool) error {
	for n := 1; p.more && p.record.Time <= p.kernel.now; n++ {
		if n&0xffff == 0 && interrupted() {
			return nil
		}
		if err := p.apply(&p.record); err != nil {
			return fmt.Errorf("trace at %v: %w", p.record.Time, err)
		}
		if err := p.read(); err != nil {
			return err
		}
	}
	return nil
}

// apply plays one record.
func (p *replay) apply(r *trace.Record) error {
	if err := p.checkHistory(r); err != nil {
		return err
	}
	switch r.What {
	case trace.NodeAdded, trace.NodeChanged:
		row := p.nodes.add(&r.Node, p.outbox.emit)
		if r.What == trace.NodeAdded {
			p.injector.joined(row)
		}
	case trace.NodeLost:
		if row, there := p.nodes.there(r.Node.ID); there {
			p.runs.loseNode(row)
		}
	case trace.NodeUsed:
		if row, there := p.nodes.there(r.Node.ID); there {
			p.outbox.emit(cluster.UsageReported{Node: row, Usage: slices.Clone(r.Node.Usage)})
		}
	case trace.TaskSubmitted:
		if err := p.budgets.check(&r.Task); err != nil {
			return err
		}
		t, err := p.tasks.arrives(&r.Task)
		if err != nil {
			return err
		}
		p.submit(t)
	case trace.TaskKilled:
		// A task that has ended by its own work here may have been killed
		// later there.
		if row, live := p.tasks.live[taskKey{r.Task.Job, r.Task.Index}]; live {
			p.runs.kill(row)
		}
	case trace.ConstraintAdded:
		return p.constraints.add(&r.Constraint, p.outbox.emit)
	case trace.BudgetAdded:
		return p.budgets.add(r.Budget)
	case trace.ConstraintRemoved:
		return p.constraints.remove(r.Constraint.Name, p.outbox.emit)
	}
	return nil
}

// checkHistory refuses a record of a node that contradicts those before it.
// Where nodes fail by chance as well, the trace cannot know which are there.
func (p *replay) checkHistory(r *trace.Record) error {
	switch _, there := p.nodes.there(r.Node.ID); {
	case !r.What.OfNode() || p.lossy || there == (r.What != trace.NodeAdded):
		return nil
	case there:
		return fmt.Errorf("%s: node %d is there already", r.What, r.Node.ID)
	}
	return fmt.Errorf("%s: node %d is not there", r.What, r.Node.ID)
}

// submit plays the arrival of a task. One that runs on a node that is not there
// waits like any other.
func (p *replay) submit(r incoming) {
	stays := r.Running && (p.initial == Keep || r.Pinned)
	if r.Running && !stays { // whoever has placed it
		own := *r.Task
		own.Foreign, r.Task = "", &own
	}
	row := p.enter(r)
	if !stays {
		return
	}
	if node, there := p.nodes.there(r.OnNode); there {
		p.budgets.found(row, r.Unready)
		p.runs.found(row, node)
	}
}

// enter takes in a task, or the copies of it, of which it returns the first.
func (p *replay) enter(r incoming) cluster.TaskID {
	r = p.nodes.sized(r)
	wanted := admission{requirements: r.Requirements, tier: r.promised.Tier}
	in, input := p.nodes.setsOf(r.Task, wanted, p.outbox.emit), p.nodes.input(r.Input)
	if r.promised.Replicas > 1 {
		apart := *r.Task
		apart.PerNode = 1
		r.Task = &apart
		rows := p.tasks.submitCopies(r, p.tasks.shape(r.Task, in, p.outbox.emit), input, p.kernel.now, p.outbox.emit).copies
		for _, row := range rows {
			p.budgets.enter(row, r.Task)
			p.measures.happened(happening{what: submitted, at: p.kernel.now, task: p.tasks.list[row], input: input})
		}
		return rows[0]
	}
	row := p.tasks.submit(r, p.tasks.shape(r.Task, in, p.outbox.emit), input, p.kernel.now, p.outbox.emit)
	p.budgets.enter(row, r.Task)
	p.measures.happened(happening{what: submitted, at: p.kernel.now, task: p.tasks.list[row], input: input})
	return row
}
