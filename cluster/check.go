package cluster

import (
	"fmt"
	"slices"
)

// Check recomputes from scratch what the state keeps up to date, and returns
// the first difference. It also holds the state to its promise: what was
// placed here, beside what was found, never takes a node over its limit; that
// part belongs to the caller, who knows what was found (see Overfull).
func (s *State) Check() error {
	if err := s.checkNodes(); err != nil {
		return err
	}
	for n := range s.node {
		if err := s.checkDevicesOf(NodeID(n)); err != nil {
			return err
		}
	}
	if err := s.checkReported(); err != nil {
		return err
	}
	if err := s.checkConstraints(); err != nil {
		return err
	}
	return s.checkTasks()
}

// checkReported checks that what was reported of usage and input is of nodes and tasks
// that are there.
func (s *State) checkReported() error {
	for i := range s.usage {
		n := NodeID(i)
		if usage := s.Usage(n); usage != nil && (!s.NodeLive(n) || len(usage) != len(s.kinds)) {
			return fmt.Errorf("node row %d: usage is %v, live is %v", n, usage, s.NodeLive(n))
		}
	}
	for i, blocks := range s.input {
		if blocks == nil {
			continue
		}
		if s.task[i].Phase == Absent {
			return fmt.Errorf("task row %d: absent, and has an input of %d blocks", i, len(blocks))
		}
		if err := checkInput(blocks); err != nil {
			return fmt.Errorf("task row %d: %w", i, err)
		}
	}
	return nil
}

func (s *State) checkNodes() error {
	used := make([]int64, len(s.used))
	leaving := make([]int64, len(s.leaving))
	reserved := make([]int32, len(s.node))
	listed := make([]int, len(s.node))
	for i := range s.task {
		t := &s.task[i]
		if t.Placed() {
			s.add(used, t.Node, s.Demand(TaskID(i)), 1)
			listed[t.Node]++
		}
		if t.Next != NoNode && t.Phase != Absent {
			s.add(used, t.Next, s.roomOn(TaskID(i), t.Next).demand, 1)
			listed[t.Next]++
		}
		switch t.Phase {
		case Reserved:
			reserved[t.Node]++
		case Leaving:
			s.add(leaving, t.Node, s.Demand(TaskID(i)), 1)
		case Absent, Gated, Waiting, Starting, Running, phases:
		}
	}
	for _, o := range s.orphans {
		s.add(used, o.node, o.demand, 1)
		s.add(leaving, o.node, o.demand, 1)
	}
	total := Totals{Capacity: make(Vector, len(s.kinds)), Used: make(Vector, len(s.kinds))}
	for i := range s.node {
		n := NodeID(i)
		row := &s.node[i]
		if s.live[i] {
			total.Nodes++
		}
		for k := range s.kinds {
			total.Capacity[k] += s.Capacity(n)[k]
			total.Used[k] += s.Used(n)[k]
		}
		switch {
		case !slices.Equal(s.Used(n), s.vector(used, n)):
			return fmt.Errorf("node row %d: used is %v, its tasks sum to %v", n, s.Used(n), s.vector(used, n))
		case !slices.Equal(s.LeavingDemand(n), s.vector(leaving, n)):
			return fmt.Errorf("node row %d: leaving is %v, its tasks sum to %v", n, s.LeavingDemand(n), s.vector(leaving, n))
		case row.reserved != reserved[i]:
			return fmt.Errorf("node row %d: reserved is %d, counted %d", n, row.reserved, reserved[i])
		case len(row.tasks) != listed[i]:
			return fmt.Errorf("node row %d: lists %d tasks, counted %d", n, len(row.tasks), listed[i])
		case !s.live[i] && listed[i] > 0:
			return fmt.Errorf("node row %d: lost, and still holds %d tasks", n, listed[i])
		}
	}
	if s.total.Nodes != total.Nodes || !slices.Equal(s.total.Capacity, total.Capacity) || !slices.Equal(s.total.Used, total.Used) {
		return fmt.Errorf("totals are %v, the nodes sum to %v", s.total, total)
	}
	return nil
}

// checkDevicesOf compares what is noted of the node's devices with what its tasks
// hold of them.
func (s *State) checkDevicesOf(n NodeID) error {
	sum := make([]Device, len(s.node[n].device))
	hold := func(r room, leaves bool) error {
		if r.devices>>len(sum) != 0 || s.devices < 0 && r.devices != 0 {
			return fmt.Errorf("node row %d: devices %b are held, it has %d", n, r.devices, len(sum))
		}
		for i := range sum {
			if r.devices.Has(i) {
				sum[i].Used += s.shareOf(r)
				if leaves {
					sum[i].Leaving += s.shareOf(r)
				}
			}
		}
		return nil
	}
	for _, t := range s.node[n].tasks {
		task := &s.task[t]
		if err := hold(s.roomOn(t, n), task.Phase == Leaving && task.Node == n); err != nil {
			return err
		}
	}
	for _, o := range s.orphans {
		if o.node != n {
			continue
		}
		if err := hold(o.room, true); err != nil {
			return err
		}
	}
	if !slices.Equal(sum, s.node[n].device) {
		return fmt.Errorf("node row %d: devices are %v, its tasks sum to %v", n, s.node[n].device, sum)
	}
	return nil
}

// checkGranted checks what a task is granted against its shape, and that one that
// ends is on its way.
func (s *State) checkGranted(t *Task) error {
	shape := &s.shape[t.Shape]
	for _, grant := range []Vector{t.Grant(), t.NextGrant()} {
		if grant == nil {
			continue
		}
		if shape.Max == nil || len(grant) != len(s.kinds) || !shape.Demand.Fits(grant) || !grant.Fits(shape.Max) || slices.Equal(grant, shape.Demand) {
			return fmt.Errorf("granted %v of %v to %v", grant, shape.Demand, shape.Max)
		}
	}
	switch {
	case t.Grant() != nil && !t.Placed() || t.NextGrant() != nil && t.Next == NoNode:
		return fmt.Errorf("%s, and granted %v and next %v", t.Phase, t.Grant(), t.NextGrant())
	case t.Protection() != (Protection{}) && !t.Placed():
		return fmt.Errorf("%s, and protected until %v", t.Phase, t.Protection().Until)
	case t.Ending && (t.Phase != Gated && t.Phase != Leaving || t.Next != NoNode || s.job[t.Job].Foreign):
		return fmt.Errorf("ending, and %s", t.Phase)
	}
	return nil
}

func (s *State) checkTasks() error {
	var inPhase [phases]int
	jobTasks := make([]int32, len(s.job))
	shapeTasks := make([]int32, len(s.shape))
	for i := range s.task {
		t := &s.task[i]
		inPhase[t.Phase]++
		if t.Phase == Absent {
			continue
		}
		jobTasks[t.Job]++
		shapeTasks[t.Shape]++
		id := TaskID(i)
		if err := s.checkGranted(t); err != nil {
			return fmt.Errorf("task row %d: %w", i, err)
		}
		switch {
		case t.Placed() != (t.Node != NoNode):
			return fmt.Errorf("task row %d: %s on node row %d", i, t.Phase, t.Node)
		case t.Next != NoNode && t.Phase != Leaving:
			return fmt.Errorf("task row %d: %s with a next node", i, t.Phase)
		case t.Placed() && !slices.Contains(s.node[t.Node].tasks, id):
			return fmt.Errorf("task row %d: not listed on its node row %d", i, t.Node)
		case t.Next != NoNode && !slices.Contains(s.node[t.Next].tasks, id):
			return fmt.Errorf("task row %d: not listed on its next node row %d", i, t.Next)
		case t.Attempt < t.Base:
			return fmt.Errorf("task row %d: attempt %d before base %d", i, t.Attempt, t.Base)
		}
		a := t.Account.At(s.now, t.Phase)
		if spent := a.Waiting + a.Overhead + a.Running; spent > s.now-a.Submitted {
			return fmt.Errorf("task row %d: accounts for %v in %v", i, spent, s.now-a.Submitted)
		}
	}
	for p := Gated; p < phases; p++ {
		if s.inPhase[p] != inPhase[p] {
			return fmt.Errorf("%d tasks %s, counted %d", s.inPhase[p], p, inPhase[p])
		}
	}
	for j := range s.job {
		if s.job[j].Tasks != jobTasks[j] {
			return fmt.Errorf("job row %d: %d tasks, counted %d", j, s.job[j].Tasks, jobTasks[j])
		}
	}
	for i := range s.shape {
		if s.shape[i].tasks != shapeTasks[i] {
			return fmt.Errorf("shape row %d: %d tasks, counted %d", i, s.shape[i].tasks, shapeTasks[i])
		}
		if most := s.shape[i].PerNode; s.shape[i].live && most < 0 {
			return fmt.Errorf("shape row %d: at most %d tasks of a job a node", i, most)
		}
	}
	return nil
}
