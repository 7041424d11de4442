package sim_test

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
)

// This file is the simulator's rival: a simulation of its own, slow and obvious, which shares nothing with package sim, the core and the policies but the
// records of a trace. It has no events, no index, no rows and no ledger: it goes from one moment to the next, ends what is done, plays the records, and then looks at
// every node for every task that waits, until nothing more can be done. On random histories of nodes that join, fail, return and change, and tasks that come, are killed
// and evict one another, both place, evict and end the same tasks on the same nodes at the same times.
//
// Sizes of nodes are powers of two, so that the scores of policies are exact in either arithmetic.

// place is where a task of the rival stands.
type place uint8

const (
	waits  place = iota
	keeps        // it has a place beside those who leave it
	runs         // since it was placed
	leaves       // it was told to, in this moment
	over
)

// slowNode is a node.
type slowNode struct {
	id    uint64
	order int
	up    bool
	size  []int64
}

// slowTask is a task.
type slowTask struct {
	trace.Task
	order int
	place place
	on    *slowNode
	ends  cluster.Time
}

// slow is the rival.
type slow struct {
	now      cluster.Time
	nodes    []*slowNode
	tasks    []*slowTask
	policy   string
	most     []int64 // the largest size that a node has had, by kind
	decided  []string
	finished []string
}

// play plays the records to the end.
func (s *slow) play(records []trace.Record) {
	for {
		next := cluster.Never
		if len(records) > 0 {
			next = records[0].Time
		}
		for _, t := range s.tasks {
			if t.place == runs {
				next = min(next, t.ends)
			}
		}
		if next == cluster.Never {
			return
		}
		s.now = next
		for _, t := range s.tasks {
			if t.place == runs && t.ends == s.now {
				s.end(t, "finish")
			}
		}
		for len(records) > 0 && records[0].Time == s.now {
			s.apply(&records[0])
			records = records[1:]
		}
		for s.pass() {
		}
	}
}

func (s *slow) end(t *slowTask, how string) {
	t.place, t.on = over, nil
	s.finished = append(s.finished, fmt.Sprintf("%d/%d %s at %v", t.Job, t.Index, how, s.now.Seconds()))
}

func (s *slow) apply(r *trace.Record) {
	switch r.What {
	case trace.NodeAdded, trace.NodeChanged:
		n := s.node(r.Node.ID)
		n.up, n.size = true, r.Node.Capacity
		for k, q := range n.size {
			s.most[k] = max(s.most[k], q)
		}
	case trace.NodeLost:
		n := s.node(r.Node.ID)
		n.up = false
		for _, t := range s.tasks {
			if t.on == n {
				t.place, t.on = waits, nil
			}
		}
	case trace.TaskSubmitted:
		s.tasks = append(s.tasks, &slowTask{Task: r.Task, order: len(s.tasks)})
	case trace.TaskKilled:
		for _, t := range s.tasks {
			if t.Job == r.Task.Job && t.Index == r.Task.Index && t.place != over {
				s.end(t, "kill")
			}
		}
	default:
		panic("the rival knows no " + r.What.String())
	}
}

// node is the node of that number, which may be new.
func (s *slow) node(id uint64) *slowNode {
	for _, n := range s.nodes {
		if n.id == id {
			return n
		}
	}
	n := &slowNode{id: id, order: len(s.nodes)}
	s.nodes = append(s.nodes, n)
	return n
}

// pass places who waits, and evicts; at its end who was placed runs, and who was told to leave waits. It reports whether it did something.
func (s *slow) pass() (did bool) {
	var line []*slowTask
	for _, t := range s.tasks {
		if t.place == waits {
			line = append(line, t)
		}
	}
	if s.policy == "priority" {
		slices.SortStableFunc(line, func(a, b *slowTask) int { return cmp.Compare(b.Priority, a.Priority) })
	}
	for _, t := range line {
		if n := s.best(t); n != nil {
			did = true
			s.placed(t, n, runs)
		} else if s.policy == "priority" && s.preempt(t) {
			did = true
		}
	}
	for _, t := range s.tasks {
		switch t.place {
		case leaves:
			t.place, t.on = waits, nil
		case keeps:
			s.placed(t, t.on, runs)
		case waits, runs, over:
		}
	}
	return did
}

func (s *slow) placed(t *slowTask, n *slowNode, as place) {
	t.place, t.on = as, n
	if as == runs {
		t.ends = s.now + t.Work
		s.decide(t, "placed", n)
	}
}

func (s *slow) decide(t *slowTask, what string, n *slowNode) {
	s.decided = append(s.decided, fmt.Sprintf("%012d %d/%d %s on %d", s.now, t.Job, t.Index, what, n.id))
}

// free is what the node has left with those gone.
func (s *slow) free(n *slowNode, gone []*slowTask) []int64 {
	free := slices.Clone(n.size)
	for _, t := range s.tasks {
		if t.on == n && !slices.Contains(gone, t) {
			for k, q := range t.Demand {
				free[k] -= q
			}
		}
	}
	return free
}

// fits reports whether the task has room beside those who are not gone.
func (s *slow) fits(t *slowTask, n *slowNode, gone []*slowTask) bool {
	for k, free := range s.free(n, gone) {
		if t.Demand[k] > 0 && t.Demand[k] > free {
			return false
		}
	}
	return n.up
}

// best is the first of the nodes with room that score most.
func (s *slow) best(t *slowTask) (best *slowNode) {
	most := 0.0
	for _, n := range s.nodes {
		if !s.fits(t, n, nil) {
			continue
		}
		if score := s.score(t, n, nil); best == nil || score > most {
			best, most = n, score
		}
	}
	return best
}

// score is by how much the policy prefers the node, with those gone.
func (s *slow) score(t *slowTask, n *slowNode, gone []*slowTask) float64 {
	free := s.free(n, gone)
	switch s.policy {
	case "best-fit": // least is left, of what the largest node has
		left := 0.0
		for k := range free {
			left += float64(max(free[k]-t.Demand[k], 0)) / float64(s.most[k])
		}
		return -left
	case "priority": // the emptiest and best balanced
		var shares []float64
		for k := range free {
			shares = append(shares, min(max(float64(n.size[k]-free[k]+t.Demand[k])/float64(n.size[k]), 0), 2))
		}
		score := max(1-(shares[0]+shares[1])/2, 0)
		if slices.Max(shares) < 1 {
			score += 1 - (slices.Max(shares) - slices.Min(shares))
		}
		return score
	}
	return 0 // first-fit
}

// loss is who leaves a node, by the importance of their classes, and how good it is then.
type loss struct {
	node    *slowNode
	victims []*slowTask
	lost    [3]int
	score   float64
}

// preempt evicts where the fewest of the most important class leave, then of the next, then where the node is best.
func (s *slow) preempt(t *slowTask) bool {
	var best *loss
	for _, n := range s.nodes {
		l := s.loses(t, n)
		if l == nil {
			continue
		}
		if best == nil || cmp.Or(slices.Compare(l.lost[:], best.lost[:]), cmp.Compare(best.score, l.score)) < 0 {
			best = l
		}
	}
	if best == nil {
		return false
	}
	for _, v := range best.victims {
		v.place = leaves
		s.decide(v, "evicted", best.node)
	}
	s.placed(t, best.node, keeps)
	return true
}

// loses is who leaves the node for the task: the least important, and of equals those that came last, until there is room; of these, who turns out not to be in the way
// stays, the most important first. It is nil where that does not do.
func (s *slow) loses(t *slowTask, n *slowNode) *loss {
	var gone, may []*slowTask // whoever is leaving already, and who could
	for _, o := range s.tasks {
		switch {
		case o.on != n:
		case o.place == leaves:
			gone = append(gone, o)
		case o.place == runs && o.Priority < t.Priority:
			may = append(may, o)
		}
	}
	slices.SortFunc(may, func(a, b *slowTask) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(b.order, a.order))
	})
	with := func(victims []*slowTask) []*slowTask { return slices.Concat(gone, victims) }
	count := 0
	for count < len(may) && !s.fits(t, n, with(may[:count])) {
		count++
	}
	if !s.fits(t, n, with(may[:count])) {
		return nil
	}
	l := &loss{node: n, victims: slices.Clone(may[:count])}
	for i := count - 1; i >= 0; i-- {
		if without := slices.Delete(slices.Clone(l.victims), i, i+1); s.fits(t, n, with(without)) {
			l.victims = without
		}
	}
	for _, v := range l.victims {
		switch { // Google's classes: gold, silver and bronze
		case v.Priority >= 9:
			l.lost[0]++
		case v.Priority >= 2:
			l.lost[1]++
		default:
			l.lost[2]++
		}
	}
	l.score = s.score(t, n, with(l.victims))
	return l
}

// given is a source.
type given []trace.Record

func (*given) Kinds() []cluster.Kind {
	return []cluster.Kind{{Name: "cpu", PerUnit: 1}, {Name: "memory", PerUnit: 1}}
}

func (l *given) Next(r *trace.Record) error {
	if len(*l) == 0 {
		return io.EOF
	}
	*r, *l = (*l)[0], (*l)[1:]
	return nil
}

func (*given) Close() error { return nil }

// history is a random trace of so many steps. Draw is a number below the given one.
func history(steps int, draw func(below int, what string) int) (list []trace.Record) {
	size := func() cluster.Vector {
		return cluster.Vector{2 << draw(4, "cpu"), 2 << draw(4, "memory")}
	}
	// The first node has the largest size from the start, and stays.
	list = append(list, trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: 100, Capacity: cluster.Vector{16, 16}}})
	up := []bool{true}
	for n := range draw(5, "nodes") {
		up = append(up, true)
		list = append(list, trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: uint64(101 + n), Capacity: size()}})
	}
	now, tasks := cluster.Time(0), 0
	for range steps {
		now += cluster.Time(draw(4, "pause")) * cluster.Second
		node := draw(len(up)+1, "node")
		r := trace.Record{Time: now, Node: trace.Node{ID: uint64(100 + node)}}
		switch what := draw(10, "what"); {
		case what < 7 || node == 0:
			r.What, r.Task = trace.TaskSubmitted, trace.Task{
				Job: uint64(tasks / 3), Index: uint32(tasks % 3), Priority: []int32{0, 1, 2, 5, 9, 11}[draw(6, "priority")],
				Demand: cluster.Vector{1 + int64(draw(8, "demand")), int64(draw(9, "demand"))}, Work: cluster.Time(1+draw(20, "work")) * cluster.Second,
			}
			tasks++
		case what < 8 && tasks > 0:
			task := draw(tasks, "killed")
			r.What, r.Task = trace.TaskKilled, trace.Task{Job: uint64(task / 3), Index: uint32(task % 3)}
		case node == len(up) || !up[node]:
			r.What, r.Node.Capacity = trace.NodeAdded, size()
			if node == len(up) {
				up = append(up, false)
			}
			up[node] = true
		case what == 8:
			r.What, r.Node.Capacity = trace.NodeChanged, size()
		default:
			r.What, up[node] = trace.NodeLost, false
		}
		list = append(list, r)
	}
	return list
}

// TestSimulatesAsItsRival: placement for placement, and end for end.
func TestSimulatesAsItsRival(t *testing.T) {
	for _, policy := range []string{"first-fit", "best-fit", "priority"} {
		t.Run(policy, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				agree(t, policy, history(rapid.IntRange(1, 40).Draw(t, "steps"), func(below int, what string) int {
					return rapid.IntRange(0, below-1).Draw(t, what)
				}))
			})
		})
	}
}

// TestSimulatesLongAsItsRival does the same on longer histories, in which nodes are full for most of the time, and wants much to happen in them.
func TestSimulatesLongAsItsRival(t *testing.T) {
	placed, evicted, seeds := 0, 0, uint64(40)
	if os.Getenv("FAIRLEAD_LONG") != "" {
		seeds = 2000
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 0x5175))
		list := history(300, func(below int, _ string) int { return rng.IntN(below) })
		for _, policy := range []string{"first-fit", "best-fit", "priority"} {
			p, e := agree(t, policy, list)
			placed, evicted = placed+p, evicted+e
		}
	}
	t.Logf("%d placements, %d evictions", placed, evicted)
	if placed < 20_000 || evicted < 2000 {
		t.Errorf("%d placements and %d evictions: this says little", placed, evicted)
	}
}

// failing is a test of either kind.
type failing interface {
	Helper()
	Fatalf(format string, args ...any)
}

// agree plays the history in both simulations, and returns how many placements and evictions there are.
func agree(t failing, policy string, list []trace.Record) (placed, evicted int) {
	t.Helper()
	rival := &slow{policy: policy, most: make([]int64, 2)}
	rival.play(list)
	p, err := policies.New(policy, policies.Options{Seed: 1, Ties: policies.Lowest})
	if err != nil {
		t.Fatalf("%v", err)
	}
	src := given(slices.Clone(list))
	var decisions, ends bytes.Buffer
	_, err = sim.Run(sim.Config{
		Source: &src, Lanes: []sched.Lane{{Name: policy, Policy: p}}, Planner: sim.Planner{Time: sim.Zero},
		Output: sim.Output{Placements: &decisions, Tasks: &ends},
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	var decided, finished []string
	for _, row := range table(t, &decisions) {
		at, err := strconv.ParseInt(row[0], 10, 64)
		if err != nil {
			t.Fatalf("%v", err)
		}
		what := map[string]string{"1": "placed", "2": "evicted"}[row[5]]
		decided = append(decided, fmt.Sprintf("%012d %s/%s %s on %s", at, row[2], row[3], what, row[4]))
		if what == "placed" {
			placed++
		} else {
			evicted++
		}
	}
	for _, row := range table(t, &ends)[1:] {
		if row[7] == "finish" || row[7] == "kill" {
			finished = append(finished, fmt.Sprintf("%s/%s %s at %s", row[0], row[1], row[7], row[6]))
		}
	}
	// In one moment the two decide in an order of their own; what they decide of one task has an order.
	byTask := func(a, b string) int {
		var x, y [2]string
		_, _ = fmt.Sscan(a, &x[0], &x[1])
		_, _ = fmt.Sscan(b, &y[0], &y[1])
		return slices.Compare(x[:], y[:])
	}
	slices.SortStableFunc(decided, byTask)
	slices.SortStableFunc(rival.decided, byTask)
	if diff := gocmp.Diff(rival.decided, decided); diff != "" {
		t.Fatalf("%s decides otherwise (+) than its rival (-):\n%s", policy, diff)
	}
	slices.Sort(finished)
	slices.Sort(rival.finished)
	if diff := gocmp.Diff(rival.finished, finished); diff != "" {
		t.Fatalf("%s: tasks end otherwise (+) than in the rival (-):\n%s", policy, diff)
	}
	return placed, evicted
}

// table reads rows.
func table(t failing, file io.Reader) [][]string {
	t.Helper()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatalf("%v", err)
	}
	return rows
}
