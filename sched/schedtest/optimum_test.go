package schedtest

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue"
	"fairlead.dev/fairlead/sched"
)

// TestOptimum measures first-fit and kube, which place one task at a time and are
// therefore not the best there is, but near it in most cases.
func TestOptimum(t *testing.T) {
	for name, newPolicy := range map[string]func(seed uint64) sched.Policy{
		"first fit": newPlain,
		"kube": func(seed uint64) sched.Policy {
			p, err := queue.New("kube", queue.Options{Seed: seed})
			if err != nil {
				t.Error(err)
			}
			return p
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := Optimum(t, newPolicy)
			t.Log(r)
			if r.Cases < 2000 || r.Least == 0 || r.Least >= r.Tasks/2 || r.Waiting <= r.Least || 10*r.Beyond[0] < 5*r.Cases {
				t.Errorf("that is not what one task at a time comes to: %v", r)
			}
		})
	}
}

// TestLeast solves cases by hand.
func TestLeast(t *testing.T) {
	anywhere := []bool{true, true, true}
	for _, tc := range []struct {
		why    string
		room   []cluster.Vector
		shapes []smallShape
		tasks  []int
		want   int
	}{
		{"two small instead of one large", []cluster.Vector{{10}}, []smallShape{{cluster.Vector{6}, anywhere}, {cluster.Vector{5}, anywhere}}, []int{0, 1, 1}, 1},
		{"best fit is wrong: 6+4 and 5+5", []cluster.Vector{{10}, {10}}, []smallShape{{cluster.Vector{5}, anywhere}, {cluster.Vector{6}, anywhere}, {cluster.Vector{4}, anywhere}}, []int{0, 2, 1, 0}, 0},
		{"kinds fill each other's gaps", []cluster.Vector{{9, 3}, {3, 9}}, []smallShape{{cluster.Vector{3, 1}, anywhere}, {cluster.Vector{1, 3}, anywhere}}, []int{0, 0, 0, 1, 1, 1}, 0},
		{"one may use one node only, the other gives way", []cluster.Vector{{4}, {4}}, []smallShape{{cluster.Vector{4}, anywhere}, {cluster.Vector{4}, []bool{true, false}}}, []int{1, 0}, 0},
		{"two may use the same node only", []cluster.Vector{{4}, {4}}, []smallShape{{cluster.Vector{4}, []bool{true, false}}}, []int{0, 0}, 1},
		{"nothing fits", []cluster.Vector{{4, 0}}, []smallShape{{cluster.Vector{1, 1}, anywhere}}, []int{0, 0}, 2},
	} {
		c := &smallCase{room: tc.room, shapes: tc.shapes, tasks: tc.tasks}
		if got := c.least(); got != tc.want {
			t.Errorf("%s: at least %d wait, want %d", tc.why, got, tc.want)
		}
	}
}

// TestOptimumNotices: a policy that stops early is found out.
func TestOptimumNotices(t *testing.T) {
	for name, tc := range map[string]struct {
		policy func(uint64) sched.Policy
		want   string
	}{
		"places nothing":                  {func(uint64) sched.Policy { return &brief{rounds: 0} }, "waits, but fits on"},
		"places nothing after some ended": {func(uint64) sched.Policy { return &brief{rounds: 1} }, "after some have ended: "},
		"evicts for ever":                 {func(uint64) sched.Policy { return &brief{rounds: 1000, evicts: true} }, "still moves tasks"},
	} {
		_, err := optimum(tc.policy, 200)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("a policy that %s: %v", name, err)
		}
	}
}

// brief is plain for its first rounds only. It may evict what runs in each of them, and
// in any case wants to be called all the time.
type brief struct {
	plain
	rounds int
	evicts bool
}

func (p *brief) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	s := t.View()
	if p.rounds > 0 {
		p.plain.Plan(t, c, budget, out)
	}
	p.rounds--
	for id := range cluster.TaskID(s.TaskRows()) {
		if task := s.Task(id); p.evicts && task.Phase == cluster.Running && !s.Job(task.Job).Foreign {
			out.Add(sched.Action{Kind: sched.Evict, Task: id, Attempt: task.Attempt})
			out.Close()
		}
	}
	out.Wake = s.Now() + 1
}
