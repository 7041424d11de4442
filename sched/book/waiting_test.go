package book

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// rivalTask is a task of the list that is sorted anew each time.
type rivalTask struct {
	Turn
	id   ID
	task cluster.TaskID
}

// queueing is a history with the book of a policy that groups tasks by shape, job and priority, the
// more important class first, and a list beside it of which it knows nothing but who was placed.
type queueing struct {
	*history
	waiting   Waiting[struct{}]
	line      Line[struct{}]
	separated map[cluster.Seq]bool
	placed    map[cluster.Seq]bool
}

func newQueueing(t *rapid.T) *queueing {
	return &queueing{history: newHistory(t), separated: map[cluster.Seq]bool{}, placed: map[cluster.Seq]bool{}}
}

func (q *queueing) standing(t cluster.TaskID) (ID, int64) {
	task := q.s.Task(t)
	return ID{Shape: task.Shape, Job: JobOf(&q.s.View, task), Priority: task.Priority}, -int64(task.Class)
}

// learn takes in what was shown. Groups that are awake stand in the line.
func (q *queueing) learn(c *sched.Changed) {
	s := &q.s.View
	q.waiting.Forget(s, c)
	for _, t := range c.Tasks {
		seq := s.Task(t).Seq
		if s.Task(t).Phase != cluster.Waiting {
			delete(q.separated, seq)
			continue
		}
		delete(q.placed, seq)
		id, key := q.standing(t)
		if g := q.waiting.Of(t); g == nil || g.Priority != id.Priority { // it comes anew, or as another one
			delete(q.separated, seq)
		}
		if g, joined := q.waiting.Join(s, t, id, key); joined && !g.Asleep() && q.waiting.First(g) == t {
			q.line.Enter(&q.waiting, g, 0)
		}
	}
}

// rival is everybody who waits, sorted.
func (q *queueing) rival() (list []rivalTask) {
	for i := range q.s.TaskRows() {
		t := cluster.TaskID(i)
		task := q.s.Task(t)
		if task.Phase != cluster.Waiting || q.placed[task.Seq] {
			continue
		}
		id, key := q.standing(t)
		if q.separated[task.Seq] {
			id.Job = task.Job
		}
		list = append(list, rivalTask{Turn{0, Place{key, task.Seq}}, id, t})
	}
	slices.SortFunc(list, func(a, b rivalTask) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Seq, b.Seq)) })
	return list
}

// compare holds each group, and all of them, against the list.
func (q *queueing) compare() {
	list, seen := q.rival(), map[ID]int{}
	for _, r := range list {
		g := q.waiting.Of(r.task)
		if g == nil || g.ID != r.id {
			q.Fatalf("task %d stands in %+v, want %+v", r.task, g, r.id)
		}
		if seen[r.id] == 0 && (q.waiting.First(g) != r.task || q.waiting.Turn(g, 0) != r.Turn) {
			q.Fatalf("task %d is the first of %+v, want %d", q.waiting.First(g), r.id, r.task)
		}
		seen[r.id]++
	}
	if len(seen) != len(q.waiting.Groups()) {
		q.Fatalf("there are %d groups, want %d", len(q.waiting.Groups()), len(seen))
	}
	for at, g := range q.waiting.Groups() {
		if g.Len() != seen[g.ID] || g.at != at {
			q.Fatalf("group %d %+v has %d tasks, want %d", at, g.ID, g.Len(), seen[g.ID])
		}
	}
}

// serve takes some groups out of the line, in whose place the list must have the first task of an
// awake group, and places, separates or puts to sleep.
func (q *queueing) serve() {
	s := &q.s.View
	for range q.draw(4) {
		g := q.line.Next(&q.waiting)
		awake := q.rival()
		awake = slices.DeleteFunc(awake, func(r rivalTask) bool { return q.waiting.Of(r.task).Asleep() })
		if g == nil {
			if len(awake) > 0 {
				q.Fatalf("nobody is in the line, and task %d is awake", awake[0].task)
			}
			return
		}
		first := q.waiting.First(g)
		if len(awake) == 0 || awake[0].task != first {
			q.Fatalf("it is the turn of task %d, want %+v", first, awake)
		}
		switch q.draw(4) {
		case 0:
			q.placed[s.Task(first).Seq] = true
			q.waiting.Leave(first)
			q.enter(g)
		case 1:
			q.waiting.Sleep(s, g)
		case 2:
			if own := q.waiting.Separate(s, g); !own.Asleep() {
				q.enter(own)
			}
			q.separated[s.Task(first).Seq] = true
			q.enter(g)
		default:
			if !q.line.Behind(&q.waiting, q.waiting.Turn(g, 0)) {
				q.Fatalf("task %d was first, and is not ahead of the line", first)
			}
			q.enter(g)
		}
	}
}

func (q *queueing) enter(g *Group[struct{}]) {
	if g.Len() > 0 && !g.Asleep() {
		q.line.Enter(&q.waiting, g, 0)
	}
}

// wake compares who wakes with a look at every sleeping group and every row that changed.
func (q *queueing) wake(c *sched.Changed) {
	s := &q.s.View
	want := map[*Group[struct{}]]bool{}
	for _, g := range q.waiting.Groups() {
		fits := func(n cluster.NodeID) bool { return q.waiting.Fits(s, g, n) }
		if g.Asleep() && (slices.Contains(c.Constrained, g.Shape) || slices.ContainsFunc(c.Nodes, fits) ||
			slices.ContainsFunc(c.Members, func(m sched.Member) bool { return m.Set == s.Shape(g.Shape).Eligible && fits(m.Node) })) {
			want[g] = true
		}
	}
	q.waiting.Wake(s, c, func(g *Group[struct{}], n cluster.NodeID) bool { return q.waiting.Fits(s, g, n) }, func(g *Group[struct{}]) {
		if !want[g] {
			q.Fatalf("%+v wakes without a reason", g.ID)
		}
		delete(want, g)
		q.line.Enter(&q.waiting, g, 0)
	})
	for g := range want {
		q.Fatalf("%+v sleeps on", g.ID)
	}
}

// TestWaiting lets a policy place, separate and put to sleep by chance whom it takes from the line, and
// compares groups, the order of the line and who wakes with lists that are sorted anew each time.
func TestWaiting(t *testing.T) { rapid.Check(t, wait) }

func FuzzWaiting(f *testing.F) { f.Fuzz(rapid.MakeFuzz(wait)) }

func wait(t *rapid.T) {
	q := newQueueing(t)
	for range 30 {
		c := q.shown()
		q.learn(c)
		q.compare()
		q.wake(c)
		q.serve()
		q.compare()
	}
}

// TestEntriesAreBounded: a task that comes and goes behind one that stays leaves no trace.
func TestEntriesAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		for range 2 {
			h.submit()
		}
		var w Waiting[struct{}]
		w.Join(&h.s.View, 0, ID{}, 0)
		for range 1000 {
			w.Join(&h.s.View, 1, ID{}, 1)
			w.Leave(1)
		}
		if g := w.Of(0); len(g.tasks.entries) > 100 || w.First(g) != 0 {
			t.Fatalf("a group of one task has %d entries", len(g.tasks.entries))
		}
	})
}
