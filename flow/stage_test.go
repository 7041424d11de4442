package flow_test

import (
	"fmt"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// stage is a small cluster around a core, in a world that is prompt: what was decided
// has come true by the next step. Nodes have cpu and memory.
type stage struct {
	tb      rapid.TB
	core    *sched.Core
	now     cluster.Time
	events  []cluster.Event
	decided []sched.Decision
	seq     cluster.Seq
	nodes   cluster.Rows
	jobs    cluster.Rows
	tasks   cluster.Rows
	shapes  cluster.Rows
}

// promises are the classes of tasks. The first, which tasks are of unless a test says
// otherwise, promises nothing.
func promises() []cluster.Class {
	return []cluster.Class{
		{Name: "none", Importance: 3},
		{Name: "half", Importance: 2, Availability: cluster.Whole / 2, Margin: 5 * cluster.Second, Restart: cluster.Second, Budget: cluster.Whole / 2},
		{Name: "most", Importance: 1, Availability: cluster.Whole * 9 / 10, Margin: 5 * cluster.Second, Restart: cluster.Second, Budget: cluster.Whole / 10},
		{Name: "all", Importance: 0, Availability: cluster.Whole, Margin: 5 * cluster.Second},
	}
}

func newStage(tb rapid.TB, p sched.Policy) *stage {
	tb.Helper()
	kinds := []cluster.Kind{{Name: "cpu"}, {Name: "memory"}, {Name: "bandwidth"}}
	core, err := sched.New(cluster.NewState(kinds, promises()), sched.Lane{Name: "flow", Policy: p})
	if err != nil {
		tb.Fatalf("%v", err)
	}
	return &stage{tb: tb, core: core}
}

func (s *stage) node(capacity cluster.Vector, groups ...cluster.Label) cluster.NodeID {
	n := cluster.NodeID(s.nodes.Take())
	s.events = append(s.events, cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Name: fmt.Sprint("n", n), Capacity: capacity, Groups: groups}})
	return n
}

func (s *stage) shape(shape cluster.Shape) cluster.ShapeID {
	id := cluster.ShapeID(s.shapes.Take())
	s.events = append(s.events, cluster.ShapeDefined{Shape: id, Spec: shape})
	return id
}

func (s *stage) job() cluster.JobID {
	j := cluster.JobID(s.jobs.Take())
	s.events = append(s.events, cluster.JobSubmitted{Job: j, Name: fmt.Sprint("j", j)})
	return j
}

func (s *stage) task(job cluster.JobID, shape cluster.ShapeID, input ...cluster.Block) cluster.TaskID {
	t := cluster.TaskID(s.tasks.Take())
	s.seq++
	s.events = append(s.events, cluster.TaskSubmitted{Task: t, Seq: s.seq, Job: job, Shape: shape, Input: input})
	return t
}

func (s *stage) end(t cluster.TaskID) {
	s.events = append(s.events, cluster.TaskEnded{Task: t, Seq: s.core.View().Task(t).Seq})
	s.tasks.Give(uint32(t))
}

// step lets the core see what happened a second later, and returns what it found to
// be wrong. The state holds what it must, and commit refused nothing.
func (s *stage) step() error {
	s.tb.Helper()
	s.now += cluster.Second
	var err error
	s.decided, _, err = s.core.Step(s.now, s.events, s.decided[:0])
	s.answer()
	return err
}

// answer lets come true what was decided.
func (s *stage) answer() {
	s.tb.Helper()
	if err := s.core.View().Check(); err != nil {
		s.tb.Fatalf("%v", err)
	}
	if refused := s.core.Counts().Refused; refused > 0 {
		s.tb.Fatalf("at %v commit had to refuse a bundle", s.now)
	}
	s.events = s.events[:0]
	for _, d := range s.decided {
		if d.Kind == sched.Place {
			s.events = append(s.events, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
		} else {
			s.events = append(s.events, cluster.TaskLeft{Task: d.Task, Attempt: d.Attempt})
		}
	}
}

// mustStep is step where nothing may be wrong.
func (s *stage) mustStep() {
	s.tb.Helper()
	if err := s.step(); err != nil {
		s.tb.Fatalf("%v", err)
	}
}

func (s *stage) waiting() int { return s.core.View().InPhase(cluster.Waiting) }
