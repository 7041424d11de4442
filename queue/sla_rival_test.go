package queue

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/promethee"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// slaRival is the paper's loop as it stands: after each placement it gathers all that
// waits, ranks it replica group by replica group, and looks at every node for each copy.
type slaRival struct {
	criteria []promethee.Criterion
	ties     book.Ties
	seed     uint64
	ranked   map[int]int // how many loops had so many different flows
	copies   int         // placed at once beside the first
	cut      int         // shares that fit on no node even if empty
	passed   int         // replica groups that were passed over before one that was placed
	given    int         // more than the least
}

func (r *slaRival) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return sched.Explain(t.View(), task)
}

func (r *slaRival) Plan(t *sched.Trial, _ *sched.Changed, _ int64, out *sched.Plan) {
	s := t.View()
	rank := book.NewOrder(s.NodeRows(), r.ties, r.seed).Rank
	for again := true; again; {
		again = false
		queue := r.queue(s)
		for i, tasks := range queue {
			if r.place(t, tasks, r.cores(s, tasks, queue), rank, out) {
				r.passed += i
				again = true
				break
			}
		}
	}
}

// queue is what waits, replica group by replica group, in order.
func (r *slaRival) queue(s *cluster.View) [][]cluster.TaskID {
	var all [][]cluster.TaskID
	for i := range s.TaskRows() {
		t := cluster.TaskID(i)
		task := s.Task(t)
		if task.Phase != cluster.Waiting || s.Job(task.Job).Foreign || !ours(s.Job(task.Job)) {
			continue
		}
		at := slices.IndexFunc(all, func(tasks []cluster.TaskID) bool {
			o := s.Task(tasks[0])
			return s.Job(task.Job).FirstEnds && o.Job == task.Job && o.Shape == task.Shape && o.Class == task.Class
		})
		if at < 0 {
			all, at = append(all, nil), len(all)
		}
		all[at] = append(all[at], t)
	}
	var values []int64
	for _, tasks := range all {
		slices.SortFunc(tasks, func(a, b cluster.TaskID) int { return cmp.Compare(s.Task(a).Seq, s.Task(b).Seq) })
	}
	slices.SortFunc(all, func(a, b []cluster.TaskID) int { return cmp.Compare(s.Task(a[0]).Seq, s.Task(b[0]).Seq) })
	for _, tasks := range all {
		for _, level := range dimensions(&s.Classes()[s.Task(tasks[0]).Class]) {
			values = append(values, int64(level))
		}
	}
	var ranker promethee.Ranker
	var sorted [][]cluster.TaskID
	for _, i := range ranker.Rank(r.criteria, values) {
		sorted = append(sorted, all[i])
	}
	flows := slices.Clone(ranker.Flows())
	slices.Sort(flows)
	r.ranked[len(slices.Compact(flows))]++
	return sorted
}

// cores is formula (1) within bounds.
func (r *slaRival) cores(s *cluster.View, tasks []cluster.TaskID, queue [][]cluster.TaskID) int64 {
	of := func(tasks []cluster.TaskID) (cluster.Class, *cluster.Shape, int64) {
		class, shape := s.Classes()[s.Task(tasks[0]).Class], s.Shape(s.Task(tasks[0]).Shape)
		p := int64(class.Size)
		if p == 0 && shape.Max != nil {
			p = 1
		}
		return class, shape, p
	}
	class, shape, p := of(tasks)
	if shape.Max == nil {
		return shape.Demand[0]
	}
	sum, free, per := int64(0), int64(0), s.Kinds()[0].PerUnit
	for _, other := range queue {
		if c, _, p := of(other); c.Tier == class.Tier {
			sum += p
		}
	}
	var empty []int64
	for i := range s.NodeRows() {
		n := cluster.NodeID(i)
		if s.NodeLive(n) && s.Eligible(shape.Eligible, n) {
			free += max(0, s.Limit(n)[0]-s.Used(n)[0])
		}
		if s.FitsEmpty(s.Task(tasks[0]).Shape, n) {
			empty = append(empty, s.Limit(n)[0])
		}
	}
	slices.Sort(empty)
	most := int64(0)
	if len(empty) >= len(tasks) {
		most = empty[len(empty)-len(tasks)]
	}
	if most < shape.Max[0] {
		r.cut++
	}
	if shape.Demand[0]%per > 0 {
		per = 1
	}
	most = min(most, shape.Max[0]) / per * per
	return max(min(p*free/sum/per*per, most), shape.Demand[0])
}

// place puts each task on the node with the fewest free cores that are enough.
func (r *slaRival) place(t *sched.Trial, tasks []cluster.TaskID, cores int64, rank []int32, out *sched.Plan) bool {
	s, mark := t.View(), t.Mark()
	var used []cluster.NodeID
	for _, task := range tasks {
		best, fewest := cluster.NoNode, int64(0)
		for i := range s.NodeRows() {
			n := cluster.NodeID(i)
			if !s.NodeLive(n) || slices.Contains(used, n) || s.Admits(task, n).Refused() || !s.RoomNow(s.Task(task).Shape, n) {
				continue
			}
			free := s.Limit(n)[0] - s.Used(n)[0]
			if (cores == 0 || free >= cores) && (best == cluster.NoNode || free < fewest || free == fewest && rank[n] < rank[best]) {
				best, fewest = n, free
			}
		}
		if best == cluster.NoNode {
			t.Rollback(mark)
			out.Drop()
			return false
		}
		a := sched.Action{Kind: sched.Place, Task: task, Attempt: s.Task(task).Attempt, Node: best}
		if least := s.Shape(s.Task(task).Shape).Demand; cores > least[0] {
			a.Grant = slices.Clone(least)
			a.Grant[0] = cores
			r.given++
		}
		mustTry(t, a)
		out.Add(a)
		used = append(used, best)
	}
	r.copies += len(tasks) - 1
	out.Close()
	return true
}

// drawClasses are classes of any levels.
func drawClasses(source *rand.Rand) []cluster.Class {
	var list []cluster.Class
	level := func() cluster.Level { return cluster.Level(source.IntN(cluster.Levels + 1)) }
	for i := range 4 + source.IntN(4) {
		list = append(list, cluster.Class{
			Name: fmt.Sprint("class", i), Urgency: level(), Tier: level(), Size: level(), Redundancy: level(),
		})
	}
	return list
}

// drawSLA is any order of the queue.
func drawSLA(source *rand.Rand) SLA {
	switch source.IntN(3) {
	case 0:
		return SLA{}
	case 1:
		return SLA{Criteria: authorsWeights()}
	}
	var list []promethee.Criterion
	for range 4 {
		c := promethee.Criterion{Weight: float64(1 + source.IntN(4))}
		if source.IntN(2) == 0 {
			c.Function, c.Indifference, c.Preference = promethee.Linear, int64(source.IntN(2)), 3
		}
		list = append(list, c)
	}
	return SLA{Criteria: list}
}

// TestSLAAgainstRival compares sla with the paper's loop, over random histories with
// ranges, copies and classes of any levels.
func TestSLAAgainstRival(t *testing.T) {
	sum := slaRival{ranked: map[int]int{}}
	bundles := 0
	for seed := range histories(t) {
		source := rand.New(rand.NewPCG(seed, 0x51a))
		o := Options{Seed: seed, Ties: book.Ties(seed % 2), SLA: drawSLA(source)}
		fast, err := New("sla", o)
		if err != nil {
			t.Fatal(err)
		}
		slow := &slaRival{criteria: o.SLA.criteria(), ties: o.Ties, seed: seed, ranked: sum.ranked}
		both := &twin{t: t, seed: seed, fast: fast, slow: slow}
		w := newWorldOf(t, both, seed, drawClasses(source), true)
		for range 60 {
			w.step()
		}
		bundles += both.bundles
		sum.copies, sum.cut, sum.passed, sum.given = sum.copies+slow.copies, sum.cut+slow.cut, sum.passed+slow.passed, sum.given+slow.given
	}
	n := int(histories(t))
	if bundles < n || sum.copies < n/2 || sum.cut < n/2 || sum.passed < n || sum.given < n/2 || sum.ranked[3] < n {
		t.Errorf("too little happened in %d histories: %d bundles, %+v", n, bundles, sum)
	}
	t.Logf("%d histories, %d bundles, %+v", n, bundles, sum)
}
