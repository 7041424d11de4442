package queue

import (
	"cmp"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// slowMesos makes the same offers and remembers only the rotation and who came
// first: for each offer it measures every user and asks every waiting task
// about every node.
type slowMesos struct {
	first  map[string]cluster.Seq
	cursor int
}

func (m *slowMesos) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return sched.Explain(t.View(), task)
}

func (m *slowMesos) Plan(t *sched.Trial, c *sched.Changed, _ int64, out *sched.Plan) {
	s := t.View()
	if c.All {
		*m = slowMesos{first: map[string]cluster.Seq{}}
	}
	for _, task := range c.Tasks {
		if row := s.Task(task); row.Phase == cluster.Waiting {
			user := s.Job(row.Job).User
			if first, known := m.first[user]; !known || row.Seq < first {
				m.first[user] = row.Seq
			}
		}
	}
	for m.offer(t, out) {
	}
}

// offer makes one offer, or reports that none is of use.
func (m *slowMesos) offer(t *sched.Trial, out *sched.Plan) bool {
	s := t.View()
	total := make(cluster.Vector, len(s.Kinds()))
	for n := range s.NodeRows() {
		for k, q := range s.Limit(cluster.NodeID(n)) {
			total[k] += q
		}
	}
	var users []string
	share := map[string]int64{}
	for user := range m.first {
		users = append(users, user)
		used := make(cluster.Vector, len(s.Kinds()))
		for i := range s.TaskRows() {
			if task := s.Task(cluster.TaskID(i)); task.Placed() && s.Job(task.Job).User == user {
				for k, q := range s.Demand(cluster.TaskID(i)) {
					used[k] += q
				}
			}
		}
		for k := range used {
			share[user] = max(share[user], cluster.Fraction(used[k], total[k]))
		}
	}
	slices.SortFunc(users, func(a, b string) int {
		return cmp.Or(cmp.Compare(share[a], share[b]), cmp.Compare(m.first[a], m.first[b]))
	})
	rows := 8
	for rows < s.NodeRows() {
		rows *= 2
	}
	for _, user := range users {
		for i := range rows {
			n := cluster.NodeID((m.cursor + i) % rows)
			if m.accept(t, user, n, out) {
				m.cursor = (int(n) + 1) % rows
				return true
			}
		}
	}
	return false
}

// accept lets the user take what fits of one node.
func (m *slowMesos) accept(t *sched.Trial, user string, n cluster.NodeID, out *sched.Plan) bool {
	s := t.View()
	accepted := false
	var tasks []cluster.TaskID
	for i := range s.TaskRows() {
		if task := s.Task(cluster.TaskID(i)); task.Phase == cluster.Waiting && s.Job(task.Job).User == user {
			tasks = append(tasks, cluster.TaskID(i))
		}
	}
	slices.SortFunc(tasks, func(a, b cluster.TaskID) int { return cmp.Compare(s.Task(a).Seq, s.Task(b).Seq) })
	for _, task := range tasks {
		if s.RoomNow(s.Task(task).Shape, n) && !s.Admits(task, n).Refused() {
			a := sched.Action{Kind: sched.Place, Task: task, Attempt: s.Task(task).Attempt, Node: n}
			mustTry(t, a)
			out.Add(a)
			out.Close()
			accepted = true
		}
	}
	return accepted
}

// TestMesosAgainstRival compares mesos with a slow one over random histories.
func TestMesosAgainstRival(t *testing.T) {
	bundles := 0
	for seed := range histories(t) {
		both := &twin{t: t, seed: seed, fast: newMesos(), slow: &slowMesos{}}
		w := newWorld(t, both, seed)
		for range 60 {
			w.step()
		}
		bundles += both.bundles
	}
	if bundles < 300 {
		t.Fatalf("only %d bundles", bundles)
	}
}
