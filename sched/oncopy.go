package sched

import (
	"fmt"

	"fairlead.dev/fairlead/cluster"
)

// This file lets who is no policy try things on a copy of the cluster, and have them happen there.

// OnCopy is a trial on a copy of the cluster, for who asks what would be, and is no policy.
func OnCopy(v *cluster.View) *Trial {
	t := &Trial{state: Copied(v)}
	t.state.Begin(cluster.NoLane)
	return t
}

// Carry undoes what was tried, and lets these actions happen one after the other, as in a world in which each
// is carried out before the next one: who is evicted has left, who is placed runs. They are held to nothing but
// what each could do by itself, and are no longer part of what is undone. The trial is of OnCopy.
func (t *Trial) Carry(bundle []Action) error {
	t.state.End()
	defer t.state.Begin(cluster.NoLane)
	for _, a := range bundle {
		if err := t.carry(a); err != nil {
			return err
		}
	}
	t.state.TrimLog(t.state.LogEnd())
	return nil
}

func (t *Trial) carry(a Action) error {
	now, task := t.state.Now(), t.state.Task(a.Task)
	if a.Kind == Evict {
		return t.state.Apply(now, cluster.TaskLeft{Task: a.Task, Attempt: task.Attempt})
	}
	if r := t.state.PlaceWith(a.Task, a.Node, cluster.Allotment{Grant: a.Grant, Devices: a.Devices}); r.Refused() {
		return fmt.Errorf("task %s cannot be placed on node %s: %v", t.state.TaskName(a.Task), t.state.NodeSpec(a.Node).Name, r.Code)
	}
	return t.state.Apply(now, cluster.TaskStarted{Task: a.Task, Attempt: task.Attempt, Node: a.Node})
}

// More undoes what was tried, and submits so many tasks of the task's job and shape, which wait. The trial is of
// OnCopy.
func (t *Trial) More(like cluster.TaskID, count int) ([]cluster.TaskID, error) {
	t.state.End()
	defer t.state.Begin(cluster.NoLane)
	task, seq := *t.state.Task(like), cluster.Seq(0)
	for i := range t.state.TaskRows() {
		seq = max(seq, t.state.Task(cluster.TaskID(i)).Seq+1)
	}
	var more []cluster.TaskID
	first := cluster.TaskID(t.state.TaskRows())
	for i := range cluster.TaskID(count) {
		e := cluster.TaskSubmitted{Task: first + i, Seq: seq + cluster.Seq(i), Job: task.Job, Shape: task.Shape, Class: task.Class, Priority: task.Priority}
		if err := t.state.Apply(t.state.Now(), e); err != nil {
			return more, err
		}
		more = append(more, e.Task)
	}
	return more, nil
}
