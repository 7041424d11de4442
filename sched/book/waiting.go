package book

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// Waiting is the waiting tasks of a lane, in groups. A policy lets those go first that a round shows
// it not to wait any more (Forget), then those join that do; it takes out whom it places. T is what
// the policy itself keeps of a group. The zero value is empty and ready to use.
//
// Cost: a task that comes or goes costs a step in a heap of its group's tasks.
type Waiting[T any] struct {
	Room Room // what sleeping groups may count on
	// Evicts reports whether one of the sleeping groups may evict somebody on the node; where none may they count on what is
	// Freed. Nil: they may count on Room everywhere.
	Evicts func(s *cluster.View, n cluster.NodeID) bool
	Ended  func(*Group[T]) // is told of a group that has lost its last task; nil: nobody is

	groups  []*Group[T] // in no order that matters
	named   map[ID]*Group[T]
	members []member[T] // per task row
	tickets Tickets
	anew    []cluster.ShapeID // scratch of Forget
	sleepers[T]
}

// ID says what makes tasks the same. Not all policies tell tasks apart by all of it.
type ID struct {
	Shape    cluster.ShapeID
	Job      cluster.JobID // of tasks that nodes tell from those of other jobs; otherwise NoJob
	Priority int32
	Class    cluster.ClassID
	User     int32
	Copies   int32 // that are placed together
}

// NoJob is no job in particular.
const NoJob = cluster.JobID(1<<32 - 1)

// JobOf is the job of a task of which a node may hold only so many, or that is a gang, and else NoJob.
func JobOf(s *cluster.View, task *cluster.Task) cluster.JobID {
	if s.Shape(task.Shape).PerNode > 0 || cluster.IsGang(s, task.Job) {
		return task.Job
	}
	return NoJob
}

// Group is the waiting tasks that are the same to a policy: where one of them does not fit, none does.
// It ends with its last task; the next one of that ID stands in another group, as the rows of shape
// and job may mean something else by then.
type Group[T any] struct {
	ID
	Own T // what the policy keeps of it

	tasks    Queue
	at       int   // in Waiting.groups
	position int32 // in the heap of a line, counted from 1; 0 where it has none
	stands   bool  // in that line
	asleep   bool
	listed   bool // among the sleepers, if only of late
}

// Len is how many tasks it has.
func (g *Group[T]) Len() int { return g.tasks.Len() }

// Asleep reports whether nothing has happened yet since it fell asleep by which it could fit.
func (g *Group[T]) Asleep() bool { return g.asleep }

// Short reports whether the tasks are of a gang that has fewer than its number, so that none may be placed but with others. Who places one task after the
// other is not shown such tasks; but of a gang that was whole when a round began, some may have been told to leave since.
func (g *Group[T]) Short(s *cluster.View) bool {
	return g.Job != NoJob && cluster.GangLacks(s, g.Job) > 0
}

// Fits reports whether some task of the group may go on the node now. Tasks of different jobs may
// differ in that; the doubt counts for them.
func (w *Waiting[T]) Fits(s *cluster.View, g *Group[T], n cluster.NodeID) bool {
	return s.RoomNow(g.Shape, n) && (g.Job == NoJob && !s.Constrained(g.Shape) || !s.Admits(w.First(g), n).Refused())
}

// member is how the task of a row stands in a group; in none where that is nil. The place is the
// last that one had.
type member[T any] struct {
	group *Group[T]
	Place
	priority int32
}

// Groups lists all groups, in no order that matters. A group that ends has the last one take its place.
func (w *Waiting[T]) Groups() []*Group[T] { return w.groups }

// Of is the group that the task of the row stands in, and nil if it stands in none.
func (w *Waiting[T]) Of(t cluster.TaskID) *Group[T] {
	if int(t) >= len(w.members) {
		return nil
	}
	return w.members[t].group
}

// place is the last place of the task of a row; without a key where there was none.
func (w *Waiting[T]) place(t cluster.TaskID) Place {
	if int(t) >= len(w.members) {
		return Place{}
	}
	return w.members[t].Place
}

// Stands reports whether the task waits in a group, and has the shape and the priority with which it
// came there.
func (w *Waiting[T]) Stands(s *cluster.View, t cluster.TaskID) bool {
	g := w.Of(t)
	if g == nil {
		return false
	}
	task, m := s.Task(t), &w.members[t]
	return task.Phase == cluster.Waiting && m.Seq == task.Seq && g.Shape == task.Shape && m.priority == task.Priority
}

// Forget lets those go who do not wait any more, or have become another shape or priority; or the same shape anew, whose row
// was given to another one meanwhile.
func (w *Waiting[T]) Forget(s *cluster.View, c *sched.Changed) {
	for _, t := range c.Gone {
		w.Leave(t)
	}
	w.anew = append(w.anew[:0], c.Shapes...)
	slices.Sort(w.anew)
	for _, t := range c.Tasks {
		if g := w.Of(t); g != nil && (!w.Stands(s, t) || w.given(g.Shape)) {
			w.Leave(t)
		}
	}
}

// given reports whether the row of the shape was given anew.
func (w *Waiting[T]) given(id cluster.ShapeID) bool {
	_, is := slices.BinarySearch(w.anew, id)
	return is
}

// Join lets a waiting task stand in the group of that ID. It returns false if it stood there
// already, or in a group of its job's own (Separate). A group that sleeps goes on sleeping: the newcomer
// is the same as those that did not fit.
func (w *Waiting[T]) Join(s *cluster.View, t cluster.TaskID, id ID, key int64) (*Group[T], bool) {
	w.members = Grown(w.members, t, member[T]{})
	task, place := s.Task(t), Place{key, s.Task(t).Seq}
	if g := w.members[t].group; g != nil && w.members[t].Place == place {
		own := id
		own.Job = task.Job
		if g.ID == id || g.ID == own {
			return g, false
		}
	}
	w.Leave(t)
	g := w.named[id]
	if g == nil {
		g = &Group[T]{ID: id, at: len(w.groups)}
		w.groups = append(w.groups, g)
		if w.named == nil {
			w.named = map[ID]*Group[T]{}
		}
		w.named[id] = g
	}
	w.members[t] = member[T]{g, place, task.Priority}
	w.tickets.Enter(&g.tasks, t, place)
	return g, true
}

// Leave takes a task out of its group, if it stands in one.
func (w *Waiting[T]) Leave(t cluster.TaskID) {
	g := w.Of(t)
	if g == nil {
		return
	}
	w.members[t].group = nil
	if w.tickets.Leave(&g.tasks, t); g.Len() > 0 {
		return
	}
	delete(w.named, g.ID)
	last := w.groups[len(w.groups)-1]
	w.groups[g.at], last.at = last, g.at
	w.groups[len(w.groups)-1] = nil
	w.groups = w.groups[:len(w.groups)-1]
	g.tasks, g.stands, g.asleep = Queue{}, false, false
	if w.Ended != nil {
		w.Ended(g)
	}
}

// First is the first task of a group that has any.
func (w *Waiting[T]) First(g *Group[T]) cluster.TaskID { return w.first(g).Task }

func (w *Waiting[T]) first(g *Group[T]) Entry {
	e, ok := w.tickets.First(&g.tasks)
	if !ok {
		panic("book: a group without tasks")
	}
	return e
}

// All appends the tasks of a group to a list, in no order that matters.
func (w *Waiting[T]) All(g *Group[T], list []cluster.TaskID) []cluster.TaskID {
	for _, e := range w.tickets.All(&g.tasks, nil) {
		list = append(list, e.Task)
	}
	return list
}

// Turn is the place of the group's first task, among groups of that rank.
func (w *Waiting[T]) Turn(g *Group[T], rank int64) Turn {
	return Turn{rank, w.first(g).Place}
}

// Separate moves the first task into a group of its job's own, which it returns. It is refused for
// the sake of another task of its job, which says nothing of the others.
func (w *Waiting[T]) Separate(s *cluster.View, g *Group[T]) *Group[T] {
	e, id := w.first(g), g.ID
	t, key := e.Task, e.Key
	id.Job = s.Task(t).Job
	w.Leave(t)
	own, _ := w.Join(s, t, id, key)
	return own
}
