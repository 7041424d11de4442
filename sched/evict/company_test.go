package evict

import (
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// stood is a node that is full of tasks of these sizes, the first of them the first to go; those of company have the tag a. Who wants in has so much and must come beside one of these.
func stood(t *testing.T, want int64, company map[int]bool, sizes ...int64) (c *crowd, list []Candidate) {
	t.Helper()
	c = &crowd{State: cluster.NewState([]cluster.Kind{{Name: "cpu"}, {Name: "memory"}}, nil), rank: map[cluster.TaskID]int64{}, price: map[cluster.TaskID]int64{}}
	capacity := cluster.Vector{0, 8}
	for _, size := range sizes {
		capacity[0] += size
	}
	c.apply(t, cluster.NodeAdded{Spec: cluster.NodeSpec{Name: "n", Capacity: capacity}})
	c.apply(t, cluster.JobSubmitted{Name: "j"})
	submit := func(task cluster.TaskID, size int64, tags ...string) {
		c.apply(t, cluster.ShapeDefined{Shape: cluster.ShapeID(task), Spec: cluster.Shape{Demand: cluster.Vector{size, 0}, Tags: tags}})
		c.apply(t, cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(task), Shape: cluster.ShapeID(task)})
	}
	for i, size := range sizes {
		task := cluster.TaskID(i)
		if company[i] {
			submit(task, size, "a")
		} else {
			submit(task, size)
		}
		c.apply(t, cluster.TaskFound{Task: task, Seq: cluster.Seq(task)})
		c.rank[task], c.price[task] = int64(i), int64(i)
	}
	c.want = cluster.TaskID(len(sizes))
	submit(c.want, want, "want")
	if len(company) > 0 {
		beside := cluster.Bound{Subject: []string{"want"}, Target: []string{"a"}, Min: 1, Max: cluster.Unbounded, Group: cluster.EachNode}
		c.apply(t, cluster.ConstraintDefined{Spec: cluster.Constraint{Name: "beside", Any: [][]cluster.Bound{{beside}}, Hard: true, Arriving: true}})
	}
	o := Occupants{Rule: c.rule}
	return c, o.On(&c.View, 0)
}

// TestCompanyStays: one of those stays beside whom alone a task may come: the last to go, or, where the others leave too little room, another one.
func TestCompanyStays(t *testing.T) {
	for _, tc := range []struct {
		what    string
		want    int64
		company map[int]bool
		sizes   []int64
		leave   []cluster.TaskID // nil: nobody can
	}{
		{"one leaves, and one stays in any case", 2, map[int]bool{0: true, 1: true}, []int64{2, 2}, []cluster.TaskID{0}},
		{"the last of the company stays, and another one leaves", 4, map[int]bool{0: true, 1: true}, []int64{2, 2, 2}, []cluster.TaskID{0, 2}},
		{"without the last there is too little room: it leaves, and the first stays", 4, map[int]bool{0: true, 1: true}, []int64{1, 3, 1}, []cluster.TaskID{1, 2}},
		{"whoever stays, there is too little room", 5, map[int]bool{0: true, 1: true}, []int64{1, 4}, nil},
	} {
		for _, objective := range []Objective{LeastWorst, LeastSum} {
			c, list := stood(t, tc.want, tc.company, tc.sizes...)
			var x Search
			var left []cluster.TaskID
			if !x.Begin(&c.View, c.Task(c.want).Shape, 0) {
				t.Fatalf("%s: it may not come at all", tc.what)
			}
			_, ok := x.Choose(objective, list)
			for _, v := range x.Victims {
				left = append(left, v.Task)
			}
			if slices.Sort(left); ok != (tc.leave != nil) || ok && !slices.Equal(left, tc.leave) {
				t.Errorf("%s, objective %d: %v leave, %t; want %v", tc.what, objective, left, ok, tc.leave)
			}
		}
	}
}

// TestCover: a candidate covers the part of what is lacking that it has, and at most all.
func TestCover(t *testing.T) {
	c, list := stood(t, 4, nil, 1, 2, 4, 9)
	var x Search
	if !x.Begin(&c.View, c.Task(c.want).Shape, 0) || x.Met() {
		t.Fatal("nothing is lacking")
	}
	const all = 1 << (cluster.FractionBits - 12)
	for i, want := range []int64{all / 4, all / 2, all, all} {
		if got := x.Cover(&list[i]); got != want {
			t.Errorf("task %d covers %d, want %d", list[i].Task, got, want)
		}
	}
}
