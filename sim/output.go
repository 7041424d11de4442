package sim

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// output writes the records that a run was asked for.
type output struct {
	bystander
	nodes             *nodes
	placements, tasks *bufio.Writer // nil: not wanted
	cpu, memory       int           // which kinds they are; -1 if there is none
	line              []byte
	err               error // the first that a writer returned
}

func newOutput(o Output, n *nodes) output {
	w := output{nodes: n, cpu: -1, memory: -1}
	for k, kind := range n.kinds {
		switch kind.Name {
		case "cpu":
			w.cpu = k
		case "memory":
			w.memory = k
		}
	}
	if o.Placements != nil {
		w.placements = bufio.NewWriterSize(o.Placements, 1<<16)
	}
	if o.Tasks != nil {
		w.tasks = bufio.NewWriterSize(o.Tasks, 1<<16)
		w.err = cmp.Or(w.err, write(w.tasks, []byte(TasksHeader+"\n")))
	}
	return w
}

// TasksHeader names the columns of Output.Tasks. Times are in seconds.
const TasksHeader = "job,task,user,class,priority,submit_s,end_s,end,attempts,waiting_s,overhead_s,running_s,node,name"

// Google's event types that a decision can be.
const (
	schedule = 1
	eviction = 2
	halted   = 5 // by somebody else
	updated  = 8 // it takes more or less
)

func (w *output) happened(h *happening) {
	switch h.what {
	case decided:
		w.decision(h.at, h.decision, h.task)
	case ended:
		w.end(h.task, howEnded(h.task, h.why), h.account, "")
	case left:
		w.end(h.task, h.phase.String(), h.account, h.node)
	default:
	}
}

func howEnded(t *task, why cause) string {
	switch {
	case why == killed:
		return "kill"
	case why == superseded:
		return "superseded"
	case t.fails:
		return "fail"
	}
	return "finish"
}

// decision writes one decision in the columns of Google's task_events: time,
// missing info, job, task, machine, event type, user, class, priority, cpu,
// memory, disk, different-machine. What we do not know is empty.
func (w *output) decision(now cluster.Time, d *sched.Decision, t *task) {
	if w.placements == nil {
		return
	}
	event := int64(schedule)
	switch d.Kind {
	case sched.Place:
	case sched.Evict:
		event = eviction
	case sched.Resize:
		event = updated
	case sched.End:
		event = halted
	}
	l := strconv.AppendInt(w.line[:0], int64(now), 10)
	l = append(l, ',', ',')
	l = strconv.AppendUint(l, t.job.id, 10)
	l = append(l, ',')
	l = strconv.AppendUint(l, uint64(t.index), 10)
	l = append(l, ',')
	if d.Node != cluster.NoNode {
		l = strconv.AppendUint(l, w.nodes.list[d.Node].id, 10)
	}
	l = append(l, ',')
	l = strconv.AppendInt(l, event, 10)
	l = append(l, ',')
	l = appendField(l, t.job.user)
	l = append(l, ',')
	l = strconv.AppendUint(l, uint64(t.latency), 10)
	l = append(l, ',')
	l = strconv.AppendInt(l, int64(t.priority), 10)
	takes := t.with(d.Grant)
	if d.Kind == sched.Evict || d.Kind == sched.End {
		takes = t.takes().demand
	}
	l = w.quantity(append(l, ','), takes, w.cpu)
	l = w.quantity(append(l, ','), takes, w.memory)
	l = append(l, ',', ',', '0')
	if t.perNode == 1 {
		l[len(l)-1] = '1'
	}
	w.line = append(l, '\n')
	w.err = cmp.Or(w.err, write(w.placements, w.line))
}

// quantity appends what a task takes of one kind in the kind's unit.
func (w *output) quantity(l []byte, takes cluster.Vector, kind int) []byte {
	if kind < 0 {
		return l
	}
	return append(l, w.nodes.kinds[kind].Format(takes[kind])...)
}

// end writes one task. How it ended is "finish", "fail", "kill",
// "superseded" by another copy, or, at the end of the run, its phase.
func (w *output) end(t *task, how string, account cluster.Account, node string) {
	if w.tasks == nil {
		return
	}
	l := strconv.AppendUint(w.line[:0], t.job.id, 10)
	l = append(l, ',')
	l = strconv.AppendUint(l, uint64(t.index), 10)
	l = append(l, ',')
	l = appendField(l, t.job.user)
	l = fmt.Appendf(l, ",%d,%d,%s,%s,%s,%d,%s,%s,%s,", t.latency, t.priority,
		seconds(account.Submitted), seconds(account.Since), how, t.runs,
		seconds(account.Waiting), seconds(account.Overhead), seconds(account.Running))
	l = appendField(l, node)
	l = appendField(append(l, ','), t.label())
	w.line = append(l, '\n')
	w.err = cmp.Or(w.err, write(w.tasks, w.line))
}

// appendField appends a name that other people chose, in quotes where RFC 4180
// wants them.
func appendField(l []byte, name string) []byte {
	if !strings.ContainsAny(name, ",\"\r\n") {
		return append(l, name...)
	}
	l = append(l, '"')
	for i := range len(name) {
		if name[i] == '"' {
			l = append(l, '"')
		}
		l = append(l, name[i])
	}
	return append(l, '"')
}

func seconds(t cluster.Time) string { return strconv.FormatFloat(t.Seconds(), 'f', -1, 64) }

// flush writes what is buffered, and returns the first error of all writing.
func (w *output) flush() error {
	for _, b := range []*bufio.Writer{w.placements, w.tasks} {
		if b != nil {
			w.err = cmp.Or(w.err, b.Flush())
		}
	}
	return w.err
}

func write(w io.Writer, p []byte) error {
	_, err := w.Write(p)
	return err
}
