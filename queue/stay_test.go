package queue

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sched/lifetime"
)

// slowNilas is nilas with the truth, without indexes, groups or memory: it looks at every node and every task for each placement.
type slowNilas struct {
	ties book.Ties
	seed uint64
	most offers
}

func (r *slowNilas) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return sched.Explain(t.View(), task)
}

func (r *slowNilas) Plan(t *sched.Trial, c *sched.Changed, _ int64, out *sched.Plan) {
	s := t.View()
	r.most.learn(s, c, nil)
	rank := book.NewOrder(s.NodeRows(), r.ties, r.seed).Rank
	line := rival{order: FirstCome}
	for _, task := range line.line(s) {
		type choice struct {
			node      cluster.NodeID
			cost, fit int64
		}
		var all []choice
		for i := range s.NodeRows() {
			n := cluster.NodeID(i)
			if !s.NodeLive(n) || s.Admits(task, n).Refused() || !s.RoomNow(s.Task(task).Shape, n) {
				continue
			}
			all = append(all, choice{n, r.cost(s, task, n), bestFit(&r.most)(s, s.Shape(s.Task(task).Shape), n) >> 12})
		}
		if len(all) == 0 {
			continue
		}
		best := slices.MinFunc(all, func(a, b choice) int {
			return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(b.fit, a.fit), cmp.Compare(rank[a.node], rank[b.node]))
		})
		place(t, sched.Action{Task: task, Node: best.node}, out)
	}
}

// cost is by how much the task extends the time for which the node is in use, as a bin.
func (r *slowNilas) cost(s *cluster.View, task cluster.TaskID, n cluster.NodeID) int64 {
	used, left := false, cluster.Time(0)
	for i := range s.TaskRows() {
		if o := s.Task(cluster.TaskID(i)); o.Placed() && o.Node == n {
			lived := cluster.Time(0)
			if o.Phase == cluster.Running {
				lived = s.Now() - o.Account.Since
			}
			used, left = true, max(left, cluster.Lasts(s, cluster.TaskID(i))-lived)
		}
	}
	own, theirs := lifetime.Bin(cluster.Lasts(s, task)), lifetime.Bin(left)
	switch {
	case !used:
		return int64(own)
	case own <= theirs:
		return 0
	}
	return int64(lifetime.Bin(lifetime.Start(own) - lifetime.Start(theirs)))
}

// TestNilasAgainstRival: over random histories, in which tasks end at the moment that was said, sooner or later, nilas decides as a
// policy does that computes everything anew.
func TestNilasAgainstRival(t *testing.T) {
	bundles := 0
	for seed := range histories(t) {
		ties := []book.Ties{book.Fixed, book.Lowest}[seed%2]
		fast, err := New("nilas", Options{Seed: seed, Ties: ties, Lifetimes: lifetime.Truth})
		if err != nil {
			t.Fatal(err)
		}
		both := &twin{t: t, seed: seed, fast: fast, slow: &slowNilas{ties: ties, seed: seed}}
		l, chance := newLab(t, both), rand.New(rand.NewPCG(seed, 0x5a7))
		for range 2 + chance.IntN(5) {
			l.node(int64(2+chance.IntN(9)), int64(2+chance.IntN(9)))
		}
		for range 60 {
			l.now += cluster.Time(chance.Int64N(int64(20 * cluster.Minute)))
			for i := range l.s.TaskRows() {
				id := cluster.TaskID(i)
				task := l.s.Task(id)
				over := l.now-task.Account.Since >= cluster.Lasts(l.s, id)
				if task.Phase == cluster.Running && chance.IntN(10) < map[bool]int{true: 8, false: 1}[over] {
					l.end(id)
				}
			}
			for range chance.IntN(4) {
				minutes := math.Exp2(12*chance.Float64() - 1)
				l.task(work{user: string(rune('a' + chance.IntN(3))), cpu: int64(chance.IntN(4)), mem: int64(1 + chance.IntN(3)), lasts: cluster.Time(minutes * float64(cluster.Minute))})
			}
			l.step()
		}
		bundles += both.bundles
	}
	if bundles < 20*int(histories(t)) {
		t.Errorf("only %d placements were compared", bundles)
	}
}

// TestLifetimesRefused: a name of a predictor that there is not is an error.
func TestLifetimesRefused(t *testing.T) {
	_, err := New("lava", Options{Lifetimes: "guess"})
	if err == nil || !strings.Contains(err.Error(), "there are learned, mean, oracle, and no guess") {
		t.Error(err)
	}
}

// emptied is how many nodes were empty under a policy, in the mean over the second half of some days of which most tasks are short and some
// stay for days. Of each kind there is a shape of its own, by which those who learn may know it.
func emptied(t *testing.T, name, lifetimes string) float64 {
	t.Helper()
	policy, err := New(name, Options{Seed: 1, Lifetimes: lifetimes})
	if err != nil {
		t.Fatal(err)
	}
	l, chance := newLab(t, policy), rand.New(rand.NewPCG(5, 1))
	const nodes, steps = 60, 600
	for range nodes {
		l.node(16, 64)
	}
	ends := map[int][]cluster.TaskID{}
	sum, count := 0, 0
	for step := range steps {
		l.now = cluster.Time(step) * 10 * cluster.Minute
		for _, id := range ends[step] {
			l.end(id)
		}
		for range 1 + chance.IntN(17) {
			life, mem := 1+chance.IntN(8), int64(3)
			if chance.IntN(12) == 0 {
				life, mem = 60+chance.IntN(300), 4
			}
			id := l.task(work{user: fmt.Sprint(step), cpu: []int64{1, 2, 4, 8}[chance.IntN(4)], mem: mem, lasts: cluster.Time(life) * 10 * cluster.Minute})
			ends[step+life] = append(ends[step+life], id)
		}
		l.step()
		if l.s.InPhase(cluster.Waiting) > 0 {
			t.Fatalf("%s has tasks wait: the load is not the same for all", name)
		}
		if step >= steps/2 {
			for n := range nodes {
				if len(l.s.TasksOn(cluster.NodeID(n))) == 0 {
					sum++
				}
			}
			count++
		}
	}
	return float64(sum) / float64(count)
}

// TestNodesComeToBeEmpty holds the policies to the claim of their paper, that more nodes are empty than under best fit, with the
// truth and, less, with what is learned of tasks that have ended.
func TestNodesComeToBeEmpty(t *testing.T) {
	least := emptied(t, "best-fit", "")
	for _, name := range []string{"nilas", "lava"} {
		truth, learned := emptied(t, name, lifetime.Truth), emptied(t, name, lifetime.Curves)
		t.Logf("empty nodes of 60: best-fit %.2f; %s %.2f with the truth, %.2f with what is learned", least, name, truth, learned)
		if truth < least+1 || learned < least+0.25 {
			t.Errorf("under %s there are %.2f empty nodes with the truth and %.2f with what is learned; under best-fit %.2f", name, truth, learned, least)
		}
	}
}
