package cluster

import (
	"fmt"
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
func (s *State) Picture() string {
	var b strings.Builder
	for i := range s.node {
		if !s.live[i] {
			continue
		}
		n := NodeID(i)
		fmt.Fprintf(&b, "%s ", s.node[i].spec.Name)
		for k, kind := range s.kinds {
			over := ""
			if s.Used(n)[k] > s.Limit(n)[k] {
				over = "!"
			}
			fmt.Fprintf(&b, " %s %s/%s%s", kind.Name, kind.Format(s.Used(n)[k]), kind.Format(s.Limit(n)[k]), over)
			if k == s.devices {
				b.WriteString(s.pictureDevices(n))
			}
		}
		b.WriteString(" ")
		for _, t := range s.node[i].tasks {
			fmt.Fprintf(&b, " %s:%s", s.TaskName(t), s.standingOf(t, n))
		}
		b.WriteString("\n")
	}
	for _, p := range []Phase{Gated, Waiting} {
		if s.inPhase[p] == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s:", p)
		for i := range s.task {
			if s.task[i].Phase == p {
				b.WriteString(" " + s.TaskName(TaskID(i)))
				if s.task[i].Ending {
					b.WriteString("(ending)")
				}
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// pictureDevices draws what is used of each device: "[0.4 1 0]".
func (s *State) pictureDevices(n NodeID) string {
	var parts []string
	for _, d := range s.node[n].device {
		parts = append(parts, s.kinds[s.devices].Format(d.Used))
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// standingOf says in a word what the task is to the node.
func (s *State) standingOf(t TaskID, n NodeID) string {
	task := &s.task[t]
	switch {
	case task.Node != n:
		return "coming" + s.pictureGrant(task, task.NextGrant())
	case task.Ending:
		return "ending"
	case task.Next != NoNode:
		return task.Phase.String() + s.pictureGrant(task, task.Grant()) + ">" + s.node[task.Next].spec.Name
	}
	return task.Phase.String() + s.pictureGrant(task, task.Grant())
}

// pictureGrant draws what is granted where that is more than the demand: "(cpu 3)".
func (s *State) pictureGrant(task *Task, grant Vector) string {
	var parts []string
	for k, q := range grant {
		if q != s.shape[task.Shape].Demand[k] {
			parts = append(parts, s.kinds[k].Name+" "+s.kinds[k].Format(q))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "(" + strings.Join(parts, " ") + ")"
}

// TaskName names a task for people: its job's name and its submission number.
func (s *State) TaskName(t TaskID) string {
	return fmt.Sprintf("%s#%d", s.job[s.task[t].Job].Name, s.task[t].Seq)
}
