package fifo

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// TestQueue compares random histories with a list that is searched from the
// front: tasks come, are gated and released, end, and are taken, put back and
// moved to the end.
func TestQueue(t *testing.T) {
	for seed := range uint64(200) {
		if err := compare(seed); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// rival is the waiting tasks as a list, those that ceased to wait included:
// they keep their place.
type rival []cluster.Seq

func compare(seed uint64) error {
	chance := rand.New(rand.NewPCG(seed, 1))
	s := cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil)
	apply := func(e cluster.Event) {
		if err := s.Apply(0, e); err != nil {
			panic(err)
		}
	}
	apply(cluster.JobSubmitted{Job: 0})
	apply(cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{1}}})
	var (
		q    Queue
		rows cluster.Rows
		list rival
		seq  cluster.Seq
	)
	for step := range 300 {
		c := sched.Changed{All: step == 0}
		for range chance.IntN(4) {
			seq++
			row := cluster.TaskID(rows.Take())
			apply(cluster.TaskSubmitted{Task: row, Seq: seq})
			c.Tasks = append(c.Tasks, row)
		}
		for i := range s.TaskRows() {
			row, task := cluster.TaskID(i), s.Task(cluster.TaskID(i))
			switch dice := chance.IntN(20); {
			case task.Phase == cluster.Waiting && dice == 0:
				apply(cluster.TaskEnded{Task: row, Seq: task.Seq})
				rows.Give(uint32(row))
				list = slices.DeleteFunc(list, func(x cluster.Seq) bool { return x == task.Seq })
			case task.Phase == cluster.Waiting && dice < 3:
				apply(cluster.TaskGated{Task: row, Seq: task.Seq})
			case task.Phase == cluster.Gated && dice < 8:
				apply(cluster.TaskUngated{Task: row, Seq: task.Seq})
			default:
				continue
			}
			if !slices.Contains(c.Tasks, row) {
				c.Tasks = append(c.Tasks, row)
			}
		}
		for _, t := range slices.SortedFunc(slices.Values(c.Tasks), func(a, b cluster.TaskID) int { return cmp.Compare(s.Task(a).Seq, s.Task(b).Seq) }) {
			if task := s.Task(t); task.Phase == cluster.Waiting && !slices.Contains(list, task.Seq) {
				list = append(list, task.Seq)
			}
		}
		chance.Shuffle(len(c.Tasks), func(i, j int) { c.Tasks[i], c.Tasks[j] = c.Tasks[j], c.Tasks[i] })
		q.Learn(&s.View, &c)
		var err error
		if list, err = list.serve(&s.View, &q, chance); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
	}
	return nil
}

// serve takes some tasks from both, and puts them back alike.
func (list rival) serve(s *cluster.View, q *Queue, chance *rand.Rand) (rival, error) {
	row := func(seq cluster.Seq) (cluster.TaskID, bool) {
		for i := range s.TaskRows() {
			if t := s.Task(cluster.TaskID(i)); t.Seq == seq && t.Phase == cluster.Waiting {
				return cluster.TaskID(i), true
			}
		}
		return 0, false
	}
	var taken []cluster.TaskID
	for range chance.IntN(5) {
		got, ok := q.Take(s)
		at := slices.IndexFunc(list, func(x cluster.Seq) bool {
			t, waits := row(x)
			return waits && !slices.Contains(taken, t)
		})
		if ok != (at >= 0) {
			return list, fmt.Errorf("took a task: %v, the list has one at %d", ok, at)
		}
		if !ok {
			break
		}
		if s.Task(got).Seq != list[at] {
			return list, fmt.Errorf("took task %d, the first of the list is %d", s.Task(got).Seq, list[at])
		}
		taken = append(taken, got)
	}
	for _, t := range taken {
		if chance.IntN(2) == 0 {
			q.Return(t)
			continue
		}
		q.Last(t)
		seq := s.Task(t).Seq
		list = append(slices.DeleteFunc(list, func(x cluster.Seq) bool { return x == seq }), seq)
	}
	return list, nil
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
	var q Queue
	q.Learn(&s.View, &sched.Changed{All: true, Tasks: []cluster.TaskID{1, 0}})
	for tried := range 2 {
		if q.Settled() {
			t.Errorf("%d of 2 tasks were tried, and the queue is settled", tried)
		}
		task, ok := q.Take(&s.View)
		if !ok || task != cluster.TaskID(tried) {
			t.Fatalf("took task %d, %v; want %d", task, ok, tried)
		}
		q.Last(task)
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
