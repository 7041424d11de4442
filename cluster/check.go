package cluster

import (
	"cmp"
	"fmt"
	"slices"
)

// Check recomputes from scratch what the state keeps up to date, and returns
// the first difference. It also holds the state to its promise: what was
// placed here, beside what was found, never takes a node over its limit; that
// part belongs to the caller, who knows what was found (see Overfull).
func (v *View) Check() error { return checker{v}.check() }

// checker recomputes what a view holds.
type checker struct{ *View }

func (v checker) check() error {
	if err := v.checkNodes(); err != nil {
		return err
	}
	for n := range v.node {
		if err := v.checkDevicesOf(NodeID(n)); err != nil {
			return err
		}
	}
	if err := v.checkReported(); err != nil {
		return err
	}
	if err := v.checkConstraints(); err != nil {
		return err
	}
	if err := v.checkGuards(); err != nil {
		return err
	}
	return v.checkTasks()
}

// checkReported checks that what was reported of usage, input and length is of nodes and tasks
// that are there.
func (v checker) checkReported() error {
	for i := range v.usage {
		n := NodeID(i)
		if usage := v.Usage(n); usage != nil && (!v.NodeLive(n) || len(usage) != len(v.kinds)) {
			return fmt.Errorf("node row %d: usage is %v, live is %v", n, usage, v.NodeLive(n))
		}
	}
	for i, b := range v.brought {
		if b.input == nil && b.lasts == 0 {
			continue
		}
		if v.task[i].Phase == Absent {
			return fmt.Errorf("task row %d: absent, and has an input of %d blocks, and lasts %v", i, len(b.input), b.lasts)
		}
		if err := cmp.Or(checkInput(b.input), checkLasts(b.lasts)); err != nil {
			return fmt.Errorf("task row %d: %w", i, err)
		}
	}
	return nil
}

func (v checker) checkNodes() error {
	used := make([]int64, len(v.used))
	leaving := make([]int64, len(v.leaving))
	reserved := make([]int32, len(v.node))
	listed := make([]int, len(v.node))
	for i := range v.task {
		t := &v.task[i]
		if t.Placed() {
			v.add(used, t.Node, v.Demand(TaskID(i)), 1)
			listed[t.Node]++
		}
		if t.Next != NoNode && t.Phase != Absent {
			v.add(used, t.Next, v.roomOn(TaskID(i), t.Next).demand, 1)
			listed[t.Next]++
		}
		switch t.Phase {
		case Reserved:
			reserved[t.Node]++
		case Leaving:
			v.add(leaving, t.Node, v.Demand(TaskID(i)), 1)
		case Absent, Gated, Waiting, Starting, Running, phases:
		}
	}
	for _, o := range v.orphans {
		v.add(used, o.node, o.demand, 1)
		v.add(leaving, o.node, o.demand, 1)
	}
	total := newTotals(len(v.kinds))
	for i := range v.node {
		n := NodeID(i)
		row := &v.node[i]
		if total.add(v.View, n, 1); !v.live[i] {
			total.Nodes--
		}
		switch {
		case !slices.Equal(v.Used(n), v.vector(used, n)):
			return fmt.Errorf("node row %d: used is %v, its tasks sum to %v", n, v.Used(n), v.vector(used, n))
		case !slices.Equal(v.LeavingDemand(n), v.vector(leaving, n)):
			return fmt.Errorf("node row %d: leaving is %v, its tasks sum to %v", n, v.LeavingDemand(n), v.vector(leaving, n))
		case row.reserved != reserved[i]:
			return fmt.Errorf("node row %d: reserved is %d, counted %d", n, row.reserved, reserved[i])
		case len(row.tasks) != listed[i]:
			return fmt.Errorf("node row %d: lists %d tasks, counted %d", n, len(row.tasks), listed[i])
		case !v.live[i] && listed[i] > 0:
			return fmt.Errorf("node row %d: lost, and still holds %d tasks", n, listed[i])
		}
	}
	if v.total.Nodes != total.Nodes || !slices.Equal(v.total.Capacity, total.Capacity) || !slices.Equal(v.total.Used, total.Used) ||
		!slices.Equal(v.total.Free, total.Free) || !slices.Equal(v.total.Leaving, total.Leaving) {
		return fmt.Errorf("totals are %v, the nodes sum to %v", v.total, total)
	}
	return nil
}

// checkDevicesOf compares what is noted of the node's devices with what its tasks
// hold of them.
func (v checker) checkDevicesOf(n NodeID) error {
	sum := v.emptyDevices(n)
	hold := func(r room, leaves bool) error {
		if r.devices>>len(sum) != 0 || len(v.devices) == 0 && r.devices != 0 {
			return fmt.Errorf("node row %d: devices %b are held, it has %d", n, r.devices, len(sum))
		}
		for i := range sum {
			if r.devices.Has(i) {
				sum[i].Used += v.shareAt(r, i)
				if leaves {
					sum[i].Leaving += v.shareAt(r, i)
				}
			}
		}
		return nil
	}
	for _, t := range v.node[n].tasks {
		task := &v.task[t]
		if err := hold(v.roomOn(t, n), task.Phase == Leaving && task.Node == n); err != nil {
			return err
		}
	}
	for _, o := range v.orphans {
		if o.node != n {
			continue
		}
		if err := hold(o.room, true); err != nil {
			return err
		}
	}
	if !slices.Equal(sum, v.node[n].device) {
		return fmt.Errorf("node row %d: devices are %v, its tasks sum to %v", n, v.node[n].device, sum)
	}
	return nil
}

// emptyDevices are the devices of the node up to their limits, with nobody on them.
func (v checker) emptyDevices(n NodeID) []Device {
	list := make([]Device, len(v.node[n].device))
	for _, k := range v.devices {
		for i := range k.Count(v.Capacity(n)) {
			list[k.First+i].Limit = v.Limit(n)[k.Kind] / int64(k.Count(v.Capacity(n)))
		}
	}
	return list
}

// shareAt is what the room takes of the device in a place.
func (v checker) shareAt(r room, place int) int64 {
	at := slices.IndexFunc(v.devices, func(k DeviceKind) bool { return k.First <= place && place < k.First+k.Most })
	return v.devices[at].Need(r.demand[v.devices[at].Kind]).Share
}

// checkGranted checks what a task is granted against its shape, and that one that
// ends is on its way.
func (v checker) checkGranted(t *Task) error {
	shape := &v.shape[t.Shape]
	for _, grant := range []Vector{t.Grant(), t.nextGrant()} {
		if grant == nil {
			continue
		}
		if shape.Max == nil || len(grant) != len(v.kinds) || !shape.Demand.Fits(grant) || !grant.Fits(shape.Max) || slices.Equal(grant, shape.Demand) {
			return fmt.Errorf("granted %v of %v to %v", grant, shape.Demand, shape.Max)
		}
	}
	switch {
	case t.Grant() != nil && !t.Placed() || t.nextGrant() != nil && t.Next == NoNode:
		return fmt.Errorf("%s, and granted %v and next %v", t.Phase, t.Grant(), t.nextGrant())
	case t.Protection() != (Protection{}) && !t.Placed():
		return fmt.Errorf("%s, and protected until %v", t.Phase, t.Protection().Until)
	case t.Told == ToLeave && t.Phase != Leaving:
		return fmt.Errorf("evicted, and %s", t.Phase)
	case t.Told == ToEnd && (t.Phase != Gated && t.Phase != Leaving || t.Next != NoNode || v.job[t.Job].Foreign):
		return fmt.Errorf("ending, and %s", t.Phase)
	}
	return nil
}

func (v checker) checkTasks() error {
	var inPhase [phases]int
	jobTasks := make([]int32, len(v.job))
	shapeTasks := make([]int32, len(v.shape))
	for i := range v.task {
		t := &v.task[i]
		inPhase[t.Phase]++
		if t.Phase == Absent {
			continue
		}
		jobTasks[t.Job]++
		shapeTasks[t.Shape]++
		id := TaskID(i)
		if err := v.checkGranted(t); err != nil {
			return fmt.Errorf("task row %d: %w", i, err)
		}
		switch {
		case v.shape[t.Shape].PerNode > 0 && !v.job[t.Job].apart:
			return fmt.Errorf("task row %d: kept apart from others of its job, of which nobody knows", i)
		case t.Placed() != (t.Node != NoNode):
			return fmt.Errorf("task row %d: %s on node row %d", i, t.Phase, t.Node)
		case t.Next != NoNode && t.Phase != Leaving:
			return fmt.Errorf("task row %d: %s with a next node", i, t.Phase)
		case t.Placed() && !slices.Contains(v.node[t.Node].tasks, id):
			return fmt.Errorf("task row %d: not listed on its node row %d", i, t.Node)
		case t.Next != NoNode && !slices.Contains(v.node[t.Next].tasks, id):
			return fmt.Errorf("task row %d: not listed on its next node row %d", i, t.Next)
		case t.Attempt < t.Base:
			return fmt.Errorf("task row %d: attempt %d before base %d", i, t.Attempt, t.Base)
		}
		a := t.Account.At(v.now, t.Phase)
		if spent := a.Waiting + a.Overhead + a.Running; spent > v.now-a.Submitted {
			return fmt.Errorf("task row %d: accounts for %v in %v", i, spent, v.now-a.Submitted)
		}
	}
	return v.checkNumbers(inPhase, jobTasks, shapeTasks)
}

// checkNumbers compares what is counted of tasks with what there is.
func (v checker) checkNumbers(inPhase [phases]int, jobTasks, shapeTasks []int32) error {
	for p := Gated; p < phases; p++ {
		if v.numbers.phase[p] != inPhase[p] {
			return fmt.Errorf("%d tasks %s, counted %d", v.numbers.phase[p], p, inPhase[p])
		}
	}
	for j := range v.job {
		if v.job[j].Tasks != jobTasks[j] {
			return fmt.Errorf("job row %d: %d tasks, counted %d", j, v.job[j].Tasks, jobTasks[j])
		}
		if !v.checkGang(JobID(j), jobTasks[j]) {
			return fmt.Errorf("job row %d: a gang of %d with %d tasks lists %v", j, v.job[j].Gang, jobTasks[j], v.job[j].members)
		}
	}
	ranges := 0
	for i := range v.shape {
		if v.shape[i].Max != nil {
			ranges++
		}
		if v.shape[i].tasks != shapeTasks[i] {
			return fmt.Errorf("shape row %d: %d tasks, counted %d", i, v.shape[i].tasks, shapeTasks[i])
		}
		if most := v.shape[i].PerNode; v.shape[i].live && most < 0 {
			return fmt.Errorf("shape row %d: at most %d tasks of a job a node", i, most)
		}
	}
	if v.numbers.ranges != ranges {
		return fmt.Errorf("%d shapes have a range, counted %d", v.numbers.ranges, ranges)
	}
	return nil
}
