package book

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// Window keeps the tasks that wait in the order in which they began to: first
// come, first served, seen through a window at the front. All are one group, whose key is
// the number that a task was given when it came.
//
// A policy takes tasks from the front, places what it can, and puts the others
// back, at their old place or at the end. A task that was placed and comes back,
// because it was refused, has its old place again. When all that wait have gone to
// the end and nothing has changed meanwhile, there is no use in trying again
// (Settled); what is placed beside them makes no room. The zero value is empty and
// ready to use.
type Window struct {
	waiting Waiting[struct{}]
	given   int64 // the last number that was given out
	passed  int   // tasks that went to the end since something happened
	fresh   []cluster.TaskID
}

// Learn takes in what changed. Tasks that come at once come in the order of
// submission.
func (w *Window) Learn(s *cluster.View, c *sched.Changed) {
	if c.All {
		*w = Window{}
	}
	if len(c.Nodes)+len(c.Shapes)+len(c.Members)+len(c.Gone)+len(c.Tasks) > 0 {
		w.passed = 0
	}
	for _, t := range c.Gone {
		w.waiting.Leave(t)
	}
	w.fresh = w.fresh[:0]
	for _, t := range c.Tasks {
		switch task, place := s.Task(t), w.waiting.place(t); {
		case task.Phase != cluster.Waiting:
			w.waiting.Leave(t)
		case place.Key == 0 || place.Seq != task.Seq: // it comes for the first time
			w.fresh = append(w.fresh, t)
		default:
			w.Return(s, t)
		}
	}
	slices.SortFunc(w.fresh, func(a, b cluster.TaskID) int { return cmp.Compare(s.Task(a).Seq, s.Task(b).Seq) })
	for _, t := range w.fresh {
		w.append(s, t)
	}
}

// Len is how many tasks wait.
func (w *Window) Len() int {
	if len(w.waiting.groups) == 0 {
		return 0
	}
	return w.waiting.groups[0].Len()
}

// Take takes the first waiting task out of the window, and returns false when
// there is none.
func (w *Window) Take(s *cluster.View) (cluster.TaskID, bool) {
	for w.Len() > 0 {
		t := w.waiting.First(w.waiting.groups[0])
		w.waiting.Leave(t)
		if task := s.Task(t); task.Phase == cluster.Waiting { // nobody has placed it meanwhile
			return t, true
		}
	}
	return 0, false
}

// Return puts a task that was taken back where it was.
func (w *Window) Return(s *cluster.View, t cluster.TaskID) {
	w.waiting.Join(s, t, ID{Job: NoJob}, w.waiting.place(t).Key)
}

// Last puts a task at the end, wherever it was: it was tried in vain.
func (w *Window) Last(s *cluster.View, t cluster.TaskID) {
	w.append(s, t)
	w.passed++
}

func (w *Window) append(s *cluster.View, t cluster.TaskID) {
	w.given++
	w.waiting.Join(s, t, ID{Job: NoJob}, w.given)
}

// Settled reports whether all that wait have been tried in vain since something
// happened.
func (w *Window) Settled() bool { return w.passed >= w.Len() }
