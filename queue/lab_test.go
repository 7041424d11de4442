package queue

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// lab is a cluster of cpu and memory that does what it is told at once.
type lab struct {
	t       testing.TB
	core    *sched.Core
	s       *cluster.View
	now     cluster.Time
	seq     cluster.Seq
	nodes   int
	tasks   cluster.Rows
	jobs    map[string]cluster.JobID
	shapes  map[string]cluster.ShapeID
	pending []cluster.Event
}

// policyNamed makes a policy with the lowest row as tie-break.
func policyNamed(tb testing.TB, name string) sched.Policy {
	tb.Helper()
	p, err := New(name, Options{Seed: 1, Ties: book.Lowest})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func newLab(tb testing.TB, policy sched.Policy) *lab {
	tb.Helper()
	return newLabOf(tb, policy, []cluster.Class{{Name: "prod", Importance: 1}, {Name: "batch", Importance: 2}, {Name: "free", Importance: 3}}, sched.Trigger{})
}

// newLabOf is a lab with these classes.
func newLabOf(tb testing.TB, policy sched.Policy, classes []cluster.Class, when sched.Trigger) *lab {
	tb.Helper()
	s := cluster.NewState([]cluster.Kind{{Name: "cpu"}, {Name: "mem"}}, classes)
	core, err := sched.New(s, sched.Lane{Name: "all", Policy: policy, When: when})
	if err != nil {
		tb.Fatal(err)
	}
	return &lab{t: tb, core: core, s: &s.View, jobs: map[string]cluster.JobID{}, shapes: map[string]cluster.ShapeID{}}
}

// node adds a node and returns its row.
func (l *lab) node(cpu, mem int64) cluster.NodeID {
	n := cluster.NodeID(l.nodes)
	l.nodes++
	l.pending = append(l.pending, cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Name: fmt.Sprintf("n%d", n), Capacity: cluster.Vector{cpu, mem}}})
	return n
}

// work is a task to submit.
type work struct {
	user     string
	cpu, mem int64
	priority int32
	class    cluster.ClassID
	lasts    cluster.Time
	due      cluster.Time // of the user's job
}

// task submits a task; each user has one job.
func (l *lab) task(w work) cluster.TaskID {
	job, known := l.jobs[w.user]
	if !known {
		job = cluster.JobID(len(l.jobs))
		l.jobs[w.user] = job
		l.pending = append(l.pending, cluster.JobSubmitted{Job: job, Name: w.user, User: w.user, Due: w.due})
	}
	key := fmt.Sprint(w.cpu, w.mem)
	shape, known := l.shapes[key]
	if !known {
		shape = cluster.ShapeID(len(l.shapes))
		l.shapes[key] = shape
		l.pending = append(l.pending, cluster.ShapeDefined{Shape: shape, Spec: cluster.Shape{Demand: cluster.Vector{w.cpu, w.mem}}})
	}
	t := cluster.TaskID(l.tasks.Take())
	l.seq++
	l.pending = append(l.pending, cluster.TaskSubmitted{Task: t, Seq: l.seq, Job: job, Shape: shape, Class: w.class, Priority: w.priority, Lasts: w.lasts})
	return t
}

// end ends a task.
func (l *lab) end(t cluster.TaskID) {
	l.pending = append(l.pending, cluster.TaskEnded{Task: t, Seq: l.s.Task(t).Seq})
	l.tasks.Give(uint32(t))
}

// step runs a round and lets what was placed start. It returns the decisions.
func (l *lab) step() []sched.Decision {
	out, _, err := l.core.Step(l.now, l.pending, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	l.pending = l.pending[:0]
	l.answer(out)
	return out
}

// answer lets what was decided happen, with the next step.
func (l *lab) answer(decisions []sched.Decision) {
	for _, d := range decisions {
		if d.Kind == sched.Place {
			l.pending = append(l.pending, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
		} else {
			l.pending = append(l.pending, cluster.TaskLeft{Task: d.Task, Attempt: d.Attempt})
		}
	}
}

// on returns where the task is.
func (l *lab) on(t cluster.TaskID) cluster.NodeID { return l.s.Task(t).Node }

// wantOn checks where the task is.
func (l *lab) wantOn(t cluster.TaskID, n cluster.NodeID) {
	l.t.Helper()
	if l.on(t) != n {
		l.t.Errorf("%s is on node row %d, want %d, in\n%s", l.s.TaskName(t), l.on(t), n, l.s.Picture())
	}
}
