package schedtest

import (
	"errors"
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// judge holds a placement to the rules, by what was reported so far.
func (w *world) judge(d sched.Decision) (*wRun, error) {
	task := w.taskOf(d)
	switch {
	case task == nil:
		return nil, errors.New("there is no such task")
	case task.job.foreign:
		return nil, errors.New("the task is somebody else's")
	case task.ends:
		return nil, errors.New("the task was told to end")
	case task.gatedNow:
		return nil, errors.New("the task is gated")
	case w.live[runID{d.Task, d.Attempt}] != nil:
		return nil, errors.New("the attempt was used before")
	case int(d.Node) >= len(w.nodes) || !w.nodes[d.Node].known:
		return nil, errors.New("the node is not there")
	}
	for _, r := range w.order {
		if r.task == task && r.known && (r.present || r.binding) && (!r.orphan || !r.toLeave) {
			return nil, fmt.Errorf("attempt %d still runs on node row %d", r.id.attempt, r.node.row)
		}
	}
	n, shape := w.nodes[d.Node], w.shapes[task.shape]
	if !w.eligible(shape, n) {
		return nil, errors.New("the node is not eligible")
	}
	if r := w.beside(n, task, shape); r != nil {
		return nil, fmt.Errorf("the node holds task row %d of the same job, which may have one a node", r.id.task)
	}
	takes, err := granted(shape, d.Grant)
	if err != nil {
		return nil, err
	}
	if err := w.room(n, takes, nil); err != nil {
		return nil, err
	}
	if err := w.devices(n, shape, d.Devices); err != nil {
		return nil, err
	}
	return &wRun{id: runID{d.Task, d.Attempt}, task: task, shape: shape, devices: d.Devices, grant: d.Grant, node: n, epoch: n.epoch}, nil
}

// taskOf is the task that a decision speaks of; nil if it has ended.
func (w *world) taskOf(d sched.Decision) *wTask {
	for _, t := range w.tasks {
		if t.row == d.Task && t.seq == d.Seq && !t.gone {
			return t
		}
	}
	return nil
}

// on lists the runs that take room on the node, as far as was reported.
func (w *world) on(n *wNode) (runs []*wRun) {
	for _, r := range w.order {
		if r.node == n && r.epoch == n.epoch && r.known && (r.present || r.binding) {
			runs = append(runs, r)
		}
	}
	return runs
}

// beside returns the last of so many runs of the job on the node that there is
// no place for the task beside them.
func (w *world) beside(n *wNode, task *wTask, shape cluster.Shape) *wRun {
	var last *wRun
	beside, most := int32(0), shape.PerNode
	for _, r := range w.on(n) {
		if r.task.job != task.job || r.task == task {
			continue
		}
		beside, last = beside+1, r
		if own := r.shape.PerNode; own > 0 && (most == 0 || own < most) {
			most = own
		}
	}
	if most == 0 || beside < most {
		return nil
	}
	return last
}

// room says what of the demand does not fit on the node, beside all but one run.
func (w *world) room(n *wNode, demand cluster.Vector, but *wRun) error {
	room := slices.Clone(n.limit)
	for _, r := range w.on(n) {
		if r == but {
			continue
		}
		for k, q := range r.takes() {
			room[k] -= q
		}
	}
	for k, q := range demand {
		if q > room[k] && q > 0 {
			return fmt.Errorf("kind %d over the limit: needs %d, physically left %d of %d", k, q, room[k], n.limit[k])
		}
	}
	return nil
}

// devices says what is wrong with the devices that were chosen for the shape.
func (w *world) devices(n *wNode, shape cluster.Shape, set cluster.DeviceSet) error {
	named := set
	for k, of := range devicesIn(shape.Demand) {
		own := set >> of.first & (1<<n.devices[k] - 1)
		if own.Count() != of.count {
			return fmt.Errorf("devices %b of %d of kind %d, want %d of them", set, n.devices[k], gpu+k, of.count)
		}
		named &^= own << of.first
		for i := range n.devices[k] {
			left := n.deviceLimit(k)
			for _, r := range w.on(n) {
				if r.devices.Has(int(of.first) + i) {
					left -= devicesIn(r.shape.Demand)[k].share
				}
			}
			if own.Has(i) && of.share > left {
				return fmt.Errorf("device %d of kind %d over the limit: needs %d, physically left %d of %d", i, gpu+k, of.share, left, n.deviceLimit(k))
			}
		}
	}
	if named != 0 {
		return fmt.Errorf("devices %b are not of the node", named)
	}
	return nil
}

// check holds the core to what must be true after every step.
func (w *world) check() error {
	s := w.core.View()
	if err := s.Check(); err != nil {
		return err
	}
	for _, t := range w.tasks {
		if t.gone || !t.sent {
			continue
		}
		if int(t.row) >= s.TaskRows() || s.Task(t.row).Seq != t.seq || s.Task(t.row).Phase == cluster.Absent {
			return fmt.Errorf("task %d in row %d is lost", t.seq, t.row)
		}
	}
	if err := w.checkCopies(); err != nil {
		return err
	}
	for _, r := range w.order {
		if r.present && r.reported && r.orphan && !r.toLeave {
			return fmt.Errorf("attempt %d of task row %d runs unwanted on node row %d and was not told to leave", r.id.attempt, r.id.task, r.node.row)
		}
	}
	return nil
}
