package book

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// history is a small cluster to which things happen by chance, and what a policy is shown of it.
type history struct {
	*rapid.T
	s     *cluster.State
	c     sched.Changed
	tasks cluster.Rows
	seq   cluster.Seq
}

const (
	historyNodes  = 12 // rows
	historyShapes = 5
	historyJobs   = 3
)

func newHistory(t *rapid.T) *history {
	classes := []cluster.Class{{Name: "low", Importance: 2}, {Name: "high", Importance: 1}}
	h := &history{T: t, s: cluster.NewState([]cluster.Kind{{Name: "cpu"}, {Name: "mem"}}, classes)}
	h.c.All = true
	h.apply(cluster.SetDefined{Set: 1})
	for job := range cluster.JobID(historyJobs) {
		h.apply(cluster.JobSubmitted{Job: job, User: string(rune('a' + job%2))})
	}
	for shape := range cluster.ShapeID(historyShapes) {
		h.define(shape)
	}
	return h
}

func (h *history) apply(e cluster.Event) {
	if err := h.s.Apply(h.s.Now(), e); err != nil {
		h.Fatal(err)
	}
}

func (h *history) draw(below int) int { return rapid.IntRange(0, below-1).Draw(h.T, "n") }

// define gives a row a shape by chance.
func (h *history) define(shape cluster.ShapeID) {
	h.apply(cluster.ShapeDefined{Shape: shape, Spec: cluster.Shape{
		Demand: cluster.Vector{int64(h.draw(5)), int64(h.draw(5))}, PerNode: int32(h.draw(2)), Eligible: cluster.SetID(h.draw(2)),
	}})
	h.c.Shapes = append(h.c.Shapes, shape)
}

// happen lets something happen.
func (h *history) happen() {
	switch n := cluster.NodeID(h.draw(historyNodes)); h.draw(10) {
	case 0, 1:
		if h.s.NodeLive(n) {
			h.apply(cluster.NodeLost{Node: n})
		} else {
			h.apply(cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{int64(h.draw(9)), int64(h.draw(9))}}})
		}
		h.c.Nodes = append(h.c.Nodes, n)
	case 2:
		if h.s.NodeLive(n) {
			in := h.draw(2) == 0
			h.apply(cluster.EligibilityChanged{Set: 1, Node: n, Eligible: in})
			h.c.Members = append(h.c.Members, sched.Member{Set: 1, Node: n})
		}
	case 3:
		shape := cluster.ShapeID(h.draw(historyShapes))
		h.c.Constrained = append(h.c.Constrained, shape)
		slices.Sort(h.c.Constrained)
		if err := h.s.Apply(h.s.Now(), cluster.ShapeForgotten{Shape: shape}); err == nil { // no task has it
			h.define(shape)
		}
	case 4, 5, 6:
		h.submit()
	default:
		if rows := h.s.TaskRows(); rows > 0 {
			h.change(cluster.TaskID(h.draw(rows)))
		}
	}
}

func (h *history) submit() {
	h.seq++
	t := cluster.TaskID(h.tasks.Take())
	h.apply(cluster.TaskSubmitted{
		Task: t, Seq: h.seq, Job: cluster.JobID(h.draw(historyJobs)), Shape: cluster.ShapeID(h.draw(historyShapes)),
		Priority: int32(h.draw(2)), Class: cluster.ClassID(h.draw(2)),
	})
	h.c.Tasks = append(h.c.Tasks, t)
}

// change lets something become of a task, if it is in use.
func (h *history) change(t cluster.TaskID) {
	task := h.s.Task(t)
	switch what := h.draw(4); {
	case task.Phase == cluster.Waiting && what == 0:
		h.apply(cluster.TaskGated{Task: t, Seq: task.Seq})
	case task.Phase == cluster.Gated && what < 3:
		h.apply(cluster.TaskUngated{Task: t, Seq: task.Seq})
	case task.Phase == cluster.Waiting && what == 1:
		h.apply(cluster.TaskReshaped{Task: t, Seq: task.Seq, Shape: cluster.ShapeID(h.draw(historyShapes))})
	case (task.Phase == cluster.Waiting || task.Phase == cluster.Gated) && what == 3:
		h.apply(cluster.TaskEnded{Task: t, Seq: task.Seq})
		h.tasks.Give(uint32(t))
		h.c.Gone = append(h.c.Gone, t)
		return
	default:
		return
	}
	h.c.Tasks = append(h.c.Tasks, t)
}

// shown is what changed since it was asked last, each row once.
func (h *history) shown() *sched.Changed {
	for range h.draw(6) {
		h.happen()
	}
	c := h.c
	h.c = sched.Changed{}
	slices.Sort(c.Nodes)
	slices.Sort(c.Tasks)
	slices.SortFunc(c.Members, func(a, b sched.Member) int { return cmp.Compare(a.Node, b.Node) })
	c.Nodes, c.Tasks, c.Members = slices.Compact(c.Nodes), slices.Compact(c.Tasks), slices.Compact(c.Members)
	c.Tasks = slices.DeleteFunc(c.Tasks, func(t cluster.TaskID) bool { return h.s.Task(t).Phase == cluster.Absent })
	return &c
}

// TestJournal compares what changed since some position with the list of all changes.
func TestJournal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var j Journal
		var all []cluster.NodeID
		node := rapid.IntRange(0, 3)
		for range rapid.IntRange(0, 80).Draw(t, "changes") {
			n := cluster.NodeID(node.Draw(t, "node"))
			all = append(all, n)
			if j.Note(n); j.Latest(n) != uint64(len(all)) || j.End() != j.Latest(n) {
				t.Fatalf("the journal ends at %d, and node %d at %d, after %d changes", j.End(), n, j.Latest(n), len(all))
			}
			if rapid.Bool().Draw(t, "cut") {
				j.Cut()
			}
			from := rapid.IntRange(0, len(all)).Draw(t, "from")
			if !j.Reaches(uint64(from)) {
				if len(all)-from <= 4*4 && len(j.latest) == 4 {
					t.Fatalf("%d changes were cut", len(all)-from)
				}
				continue
			}
			var want []cluster.NodeID
			for i, n := range all {
				if i >= from && !slices.Contains(all[i+1:], n) {
					want = append(want, n)
				}
			}
			if got := slices.Collect(j.Since(uint64(from))); !slices.Equal(got, want) {
				t.Fatalf("since %d of %v there are %v, want %v", from, all, got, want)
			}
		}
	})
}

// TestRooms compares the tree with a look at every node.
func TestRooms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		var r Rooms
		for range 20 {
			r.Learn(&h.s.View, h.shown().Nodes)
			if r.Rows() == 0 {
				continue
			}
			id, from := cluster.ShapeID(h.draw(historyShapes)), h.draw(r.Rows())
			got, ok := r.Next(h.s.Shape(id).Demand, from, func(n cluster.NodeID) bool { return h.s.RoomNow(id, n) })
			want, found := cluster.NodeID(0), false
			for i := range r.Rows() {
				n := cluster.NodeID((from + i) % r.Rows())
				if found = int(n) < h.s.NodeRows() && h.s.RoomNow(id, n); found {
					want = n
					break
				}
			}
			if got != want || ok != found {
				t.Fatalf("found node row %d (%v) from %d on, want %d (%v)", got, ok, from, want, found)
			}
		}
	})
}

// TestIndexes compares the best node of indexes that are used now and then with a look at every
// node, while nodes are hidden and scores change with who asks.
func TestIndexes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		all := NewIndexes(Lowest, 1)
		for range 20 {
			all.Learn(&h.s.View, h.shown())
			if h.s.NodeRows() == 0 {
				continue
			}
			id := IndexID{Shape: cluster.ShapeID(h.draw(historyShapes)), Priority: int32(h.draw(2))}
			score := func(n cluster.NodeID) int64 {
				if !h.s.RoomNow(id.Shape, n) {
					return None
				}
				return h.s.Limit(n)[id.Priority]
			}
			best := func(hidden []cluster.NodeID) (on cluster.NodeID, found bool) {
				for i := range h.s.NodeRows() {
					n := cluster.NodeID(i)
					if s := score(n); !slices.Contains(hidden, n) && s != None && (!found || s > score(on)) {
						on, found = n, true
					}
				}
				return on, found
			}
			x := all.Sync(&h.s.View, id, score)
			for range h.draw(4) {
				got, ok := all.Top(x)
				if want, found := best(x.Hidden); got != want || ok != found {
					t.Fatalf("found node row %d (%v), want %d (%v)", got, ok, want, found)
				}
				if ok {
					all.Hide(x, got)
				}
			}
			all.Unhide(x)
			if got, ok := all.Top(x); ok {
				all.Update(x, got)
			}
		}
	})
}
