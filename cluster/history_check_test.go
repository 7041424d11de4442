package cluster

import (
	"errors"
	"fmt"
	"slices"
)

// This file is what a history holds the state to after each step: that its books agree
// with its tasks, that whoever follows the change log sees the same, that nothing is
// over-committed, and that time is accounted for as a slow bookkeeper does.

// nonEmpty is the rows of a table that are not empty; how long it is means nothing.
func nonEmpty[T any, R ~[]T](rows []R) map[int]R {
	full := map[int]R{}
	for i, row := range rows {
		if len(row) > 0 {
			full[i] = row
		}
	}
	return full
}

// dump prints everything in the state but its log.
func dump(s *State) string {
	grants := make([][]Vector, len(s.task)) // which a task only points to
	for i := range s.task {
		if s.task[i].rare != nil {
			grants[i] = []Vector{s.task[i].Grant(), s.task[i].nextGrant()}
		}
	}
	return fmt.Sprint("now ", s.now, "\nnodes ", s.node, s.capacity, s.limit, s.used, s.leaving, nonEmpty(s.usage), s.total,
		"\ntasks ", s.task, nonEmpty(grants), dumpBrought(s), s.numbers, s.orphans, "\nguards ", s.guards.stances, dumpGuards(s), "\nrest ", s.job, s.shape, s.set, s.undo.on, len(s.undo.entries)) + dumpConstraints(s)
}

// dumpBrought is what was said of tasks, by row.
func dumpBrought(s *State) (rows []string) {
	for i, b := range s.brought {
		if len(b.input) > 0 || b.lasts != 0 {
			rows = append(rows, fmt.Sprint(i, b))
		}
	}
	return rows
}

// dumpGuards is what is left of each budget, and where its runs are.
func dumpGuards(s *State) (rows []string) {
	for i := range s.guards.row {
		r := &s.guards.row[i]
		rows = append(rows, fmt.Sprint(r.spare, r.leaving, r.runs))
	}
	return rows
}

// check holds the state to what must be true after every step.
func (h *history) check() error {
	if err := h.s.Check(); err != nil {
		return err
	}
	if err := h.checkAccounts(); err != nil {
		return err
	}
	if err := h.checkProtected(); err != nil {
		return err
	}
	if len(h.data)%4 == 0 { // not after each step: fractions are slow
		if err := h.checkPromises(); err != nil {
			return err
		}
	}
	if len(h.data)%4 == 1 {
		if err := h.checkSoft(); err != nil {
			return err
		}
	}
	if len(h.data)%32 == 0 {
		if err := h.checkConstraints(); err != nil {
			return err
		}
	}
	if h.calm {
		if err := h.checkRoom(); err != nil {
			return err
		}
	}
	if h.s.LogEnd()-h.read > 12 { // not after each step: readers lag behind
		return h.checkMirror()
	}
	return nil
}

// checkProtected looks among all tasks for those whose runs are protected, and for the
// protection that ends first.
func (h *history) checkProtected() error {
	next, runs := Never, 0
	for i := range h.s.task {
		if until := h.s.task[i].Protection().Until; until != 0 {
			next, runs = min(next, until), runs+1
		}
	}
	got := h.s.ProtectedRuns()
	if len(got) != runs || runs > 0 && got[0].Until != next {
		return fmt.Errorf("%v are protected, want %d runs, the first until %v", got, runs, next)
	}
	return nil
}

// checkMirror brings the mirror up to date and compares.
func (h *history) checkMirror() error {
	touches, ok := h.s.ChangesSince(h.read)
	if !ok {
		return errors.New("the change log lost what was not read")
	}
	if err := h.checkGuards(touches); err != nil {
		return err
	}
	slices.Reverse(touches) // the order of copying must not matter
	h.mirror.CopyRows(&h.s.View, touches)
	h.mirror.Advance(h.s.Now())
	h.read = h.s.LogEnd()
	h.s.TrimLog(h.read)
	if err := h.mirror.Check(); err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	if got, want := h.mirror.Picture(), h.s.Picture(); got != want {
		return fmt.Errorf("mirror is\n%s, not\n%s", got, want)
	}
	if got, want := dump(h.mirror), dump(h.s); got != want {
		return fmt.Errorf("mirror is\n%s, not\n%s", got, want)
	}
	return nil
}

// checkGuards holds what the log says of nodes to how many runs of each node could leave without violating a budget, for whoever keeps
// that: where it is another number now, the node was noted.
func (h *history) checkGuards(touches []Touch) error {
	noted, now := map[NodeID]bool{}, map[[2]uint32]int32{}
	for _, touch := range touches {
		if touch.Table == Nodes {
			noted[NodeID(touch.Row)] = true
		}
	}
	for i := range h.s.task {
		task := &h.s.task[i]
		for _, b := range GuardsOf(&h.s.View, TaskID(i)) {
			now[[2]uint32{uint32(task.Node), uint32(b)}]++
		}
	}
	for at, runs := range now {
		now[at] = min(runs, int32(Left(&h.s.View, BudgetID(at[1]))))
	}
	for n := range NodeID(h.s.NodeRows()) {
		for b := range uint32(3) {
			at := [2]uint32{uint32(n), b}
			if now[at] != h.spared[at] && !noted[n] {
				return fmt.Errorf("of budget row %d %d runs of node row %d could leave, and %d can: nobody was told", b, h.spared[at], n, now[at])
			}
		}
	}
	h.spared = now
	h.guarded += len(now)
	return nil
}

// checkRoom checks that placements kept every limit: what is on a node now
// always, and what stays there or was promised room unless a victim stayed.
func (h *history) checkRoom() error {
	for i := range h.s.NodeRows() {
		n := NodeID(i)
		for k, limit := range h.s.Limit(n) {
			there, promised := int64(0), int64(0)
			for t := range h.s.task {
				task, q := &h.s.task[t], int64(0)
				if task.Phase != Absent {
					q = h.takes(task, task.Grant())[k]
				}
				if task.Placed() && task.Node == n && task.Phase != Reserved {
					there += q
				}
				if task.Placed() && task.Node == n && task.Phase != Leaving {
					promised += q
				}
				if task.Placed() && task.Next == n {
					promised += h.takes(task, task.nextGrant())[k]
				}
			}
			if there > limit {
				return fmt.Errorf("node row %d holds %d of %d %s", n, there, limit, h.s.kinds[k].Name)
			}
			if h.kept && promised > limit {
				return fmt.Errorf("node row %d promised %d of %d %s", n, promised, limit, h.s.kinds[k].Name)
			}
			if h.kept && h.s.Used(n)[k]-h.s.LeavingDemand(n)[k] > limit {
				return fmt.Errorf("node row %d: used less leaving is over the limit of %d %s", n, limit, h.s.kinds[k].Name)
			}
		}
		if err := h.checkDeviceRoom(n); err != nil {
			return err
		}
	}
	return nil
}

// askedOf is what a demand asks of the device in a place: the places of the kinds that come
// in devices follow one another, in equal parts.
func (h *history) askedOf(demand Vector, kind int) (first, count int, share int64) {
	parts := len(h.s.kinds) - 2 // cpu and memory are none
	first = (kind - 2) * MaxDevices / parts
	switch q, size := demand[kind], h.s.kinds[kind].PerUnit; {
	case q == 0:
		return first, 0, 0
	case q <= size:
		return first, 1, q
	default:
		return first, int(q / size), size
	}
}

// checkDeviceRoom is checkRoom for each device of the node.
func (h *history) checkDeviceRoom(n NodeID) error {
	for kind := 2; kind < len(h.s.kinds); kind++ {
		if err := h.checkDeviceRoomOf(n, kind); err != nil {
			return fmt.Errorf("%s: %w", h.s.kinds[kind].Name, err)
		}
	}
	return nil
}

func (h *history) checkDeviceRoomOf(n NodeID, kind int) error {
	var there, promised [MaxDevices]int64
	most := MaxDevices / (len(h.s.kinds) - 2)
	first, _, _ := h.askedOf(make(Vector, kind+1), kind)
	for t := range h.s.task {
		task := &h.s.task[t]
		if !task.Placed() {
			continue
		}
		_, count, share := h.askedOf(h.s.shape[task.Shape].Demand, kind)
		held := 0
		for i := range most {
			if task.Devices.Has(first + i) {
				held++
			}
			if task.Node == n && task.Devices.Has(first+i) && task.Phase != Reserved {
				there[i] += share
			}
			if task.Node == n && task.Devices.Has(first+i) && task.Phase != Leaving || task.Next == n && task.NextDevices.Has(first+i) {
				promised[i] += share
			}
		}
		if task.Node == n && held != count {
			return fmt.Errorf("task row %d has %d devices, asks for %d", t, held, count)
		}
	}
	devices := h.s.Capacity(n)[kind] / h.s.kinds[kind].PerUnit
	for i := range most {
		limit := int64(0)
		if int64(i) < devices {
			limit = h.s.Limit(n)[kind] / devices
		}
		if there[i] > limit || h.kept && promised[i] > limit {
			return fmt.Errorf("device %d of node row %d holds %d and promised %d of %d", i, n, there[i], promised[i], limit)
		}
	}
	return nil
}

// remember notes each task's phase before a step.
func (h *history) remember() {
	h.phase, h.seqs = h.phase[:0], h.seqs[:0]
	for i := range h.s.TaskRows() {
		h.phase = append(h.phase, h.s.Task(TaskID(i)).Phase)
		h.seqs = append(h.seqs, h.s.Task(TaskID(i)).Seq)
	}
}

// account attributes the time of the step to the phases before it.
func (h *history) account(before Time) {
	now := h.s.Now()
	for i := range h.s.TaskRows() {
		t := h.s.Task(TaskID(i))
		if t.Phase == Absent {
			continue
		}
		a := h.spent[t.Seq]
		if a == nil {
			a = &Account{Submitted: now, FirstRun: Never}
			if past := h.pasts[t.Seq]; past != nil {
				copied := *past
				a = &copied
			}
			h.spent[t.Seq] = a
		}
		if i < len(h.phase) && h.seqs[i] == t.Seq {
			switch h.phase[i] {
			case Waiting, Reserved:
				a.Waiting += now - before
			case Starting, Leaving:
				a.Overhead += now - before
				if a.FirstRun != Never {
					a.Restarting += now - before
				}
			case Running:
				a.Running += now - before
			case Absent, Gated, phases:
			}
		}
		if t.Phase == Running && a.FirstRun == Never {
			a.FirstRun = now
		}
		if h.waited.Seq == t.Seq {
			a.Waiting += min(h.waited.Waited, now-a.Submitted-a.Age())
		}
	}
	h.waited = TaskUngated{}
}

// checkAccounts compares every account with the brute-force one.
func (h *history) checkAccounts() error {
	for i := range h.s.TaskRows() {
		t := h.s.Task(TaskID(i))
		if t.Phase == Absent {
			continue
		}
		got, want := t.Account.At(h.s.Now(), t.Phase), *h.spent[t.Seq]
		got.Since = 0
		if got != want {
			return fmt.Errorf("task row %d accounts for %+v, spent %+v", i, got, want)
		}
	}
	return nil
}
