package cluster

import (
	"fmt"
	"slices"
	"strings"
)

// Picture draws the state as text that a person can check: a line a node,
// with what it holds, and a line a task that holds nothing.
//
//	n1   cpu 3/4 memory 2/8   a/0:running a/1:starting
//	n2   cpu 5/4! memory 1/8  b/0:leaving>n1
//	waiting: c/0 c/1
//
// An exclamation mark stands behind a kind that is over its limit.
func (v *View) Picture() string {
	var b strings.Builder
	for i := range v.node {
		if !v.live[i] {
			continue
		}
		n := NodeID(i)
		fmt.Fprintf(&b, "%s ", v.node[i].spec.Name)
		for k, kind := range v.kinds {
			over := ""
			if v.Used(n)[k] > v.Limit(n)[k] {
				over = "!"
			}
			fmt.Fprintf(&b, " %s %s/%s%s", kind.Name, kind.Format(v.Used(n)[k]), kind.Format(v.Limit(n)[k]), over)
			if kind.Devices {
				b.WriteString(v.pictureDevices(n, k))
			}
		}
		b.WriteString(" ")
		for _, t := range v.node[i].tasks {
			fmt.Fprintf(&b, " %s:%s", v.TaskName(t), v.standingOf(t, n))
		}
		b.WriteString("\n")
	}
	for _, p := range []Phase{Gated, Waiting} {
		if v.numbers.phase[p] == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s:", p)
		for i := range v.task {
			if v.task[i].Phase == p {
				b.WriteString(" " + v.TaskName(TaskID(i)))
				if v.task[i].Told == ToEnd {
					b.WriteString("(ending)")
				}
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// pictureDevices draws what is used of each device of a kind: "[0.4 1 0]", with those that
// the node has lost up to the last that is held.
func (v *View) pictureDevices(n NodeID, kind int) string {
	at := slices.IndexFunc(v.devices, func(k DeviceKind) bool { return k.Kind == kind })
	first, has := v.devices[at].First, v.devices[at].Count(v.Capacity(n))
	var parts []string
	last := 0
	for i, d := range v.Devices(n) {
		if !v.devices[at].Places().Has(i) {
			continue
		}
		parts = append(parts, v.kinds[kind].Format(d.Used))
		if d.Used > 0 || i < first+has {
			last = len(parts)
		}
	}
	return "[" + strings.Join(parts[:last], " ") + "]"
}

// standingOf says in a word what the task is to the node.
func (v *View) standingOf(t TaskID, n NodeID) string {
	task := &v.task[t]
	switch {
	case task.Node != n:
		return "coming" + v.pictureGrant(task, task.nextGrant())
	case task.Told == ToEnd:
		return "ending"
	case task.Next != NoNode:
		return task.Phase.String() + v.pictureGrant(task, task.Grant()) + ">" + v.node[task.Next].spec.Name
	}
	return task.Phase.String() + v.pictureGrant(task, task.Grant())
}

// pictureGrant draws what is granted where that is more than the demand: "(cpu 3)".
func (v *View) pictureGrant(task *Task, grant Vector) string {
	var parts []string
	for k, q := range grant {
		if q != v.shape[task.Shape].Demand[k] {
			parts = append(parts, v.kinds[k].Name+" "+v.kinds[k].Format(q))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "(" + strings.Join(parts, " ") + ")"
}

// TaskName names a task for people: its job's name and its submission number.
func (v *View) TaskName(t TaskID) string {
	return fmt.Sprintf("%s#%d", v.job[v.task[t].Job].Name, v.task[t].Seq)
}
