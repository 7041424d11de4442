package book

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// TestWindow compares random histories with a list that is searched from the front: tasks come, are
// gated and released, end, and are taken, put back and moved to the end. Those that cease to wait keep
// their place in the list.
func TestWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		var w Window
		var list []cluster.Seq
		for range 30 {
			c := h.shown()
			for _, t := range slices.SortedFunc(slices.Values(c.Tasks), func(a, b cluster.TaskID) int { return cmp.Compare(h.s.Task(a).Seq, h.s.Task(b).Seq) }) {
				if task := h.s.Task(t); task.Phase == cluster.Waiting && !slices.Contains(list, task.Seq) {
					list = append(list, task.Seq)
				}
			}
			w.Learn(&h.s.View, c)
			if waiting := h.s.InPhase(cluster.Waiting); w.Len() != waiting {
				t.Fatalf("the window has %d tasks, %d wait", w.Len(), waiting)
			}
			var taken []cluster.TaskID
			for range h.draw(5) {
				got, ok := w.Take(&h.s.View)
				want, found := h.firstOf(list, taken)
				if ok != found || got != want {
					t.Fatalf("took task %d (%v), the first of the list is %d (%v)", got, ok, want, found)
				}
				if ok {
					taken = append(taken, got)
				}
			}
			for _, t := range taken {
				if h.draw(2) == 0 {
					w.Return(&h.s.View, t)
					continue
				}
				w.Last(&h.s.View, t)
				seq := h.s.Task(t).Seq
				list = append(slices.DeleteFunc(list, func(x cluster.Seq) bool { return x == seq }), seq)
			}
		}
	})
}

// firstOf is the first task of the list that waits and was not taken.
func (h *history) firstOf(list []cluster.Seq, taken []cluster.TaskID) (cluster.TaskID, bool) {
	for _, seq := range list {
		for i := range h.s.TaskRows() {
			if t := cluster.TaskID(i); h.s.Task(t).Seq == seq && h.s.Task(t).Phase == cluster.Waiting && !slices.Contains(taken, t) {
				return t, true
			}
		}
	}
	return 0, false
}

// TestSettled tries two tasks in vain: then all have been tried, until a node
// changes.
func TestSettled(t *testing.T) {
	s := cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil)
	for _, e := range []cluster.Event{
		cluster.JobSubmitted{},
		cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{1}}},
		cluster.TaskSubmitted{Task: 0, Seq: 1},
		cluster.TaskSubmitted{Task: 1, Seq: 2},
	} {
		if err := s.Apply(0, e); err != nil {
			t.Fatal(err)
		}
	}
	var q Window
	q.Learn(&s.View, &sched.Changed{All: true, Tasks: []cluster.TaskID{1, 0}})
	for tried := range 2 {
		if q.Settled() {
			t.Errorf("%d of 2 tasks were tried, and the queue is settled", tried)
		}
		task, ok := q.Take(&s.View)
		if !ok || task != cluster.TaskID(tried) {
			t.Fatalf("took task %d, %v; want %d", task, ok, tried)
		}
		q.Last(&s.View, task)
	}
	q.Learn(&s.View, &sched.Changed{})
	if !q.Settled() {
		t.Error("both were tried, and the queue is not settled")
	}
	q.Learn(&s.View, &sched.Changed{Nodes: []cluster.NodeID{0}})
	if q.Settled() {
		t.Error("a node has changed, and the queue is settled")
	}
}
