package queue

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/fragmentation"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sched/evict"
)

// rival is greedy without groups, indexes, sleep or memory: for each waiting
// task in order it looks at every node.
type rival struct {
	order   Order
	score   Score
	measure measure
	devices DeviceChoice
	evicts  bool
	powered bool  // scores are compared with one another
	weight  int64 // of watts then
	ties    book.Ties
	seed    uint64
	began   bool
}

func (r *rival) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return sched.Explain(t.View(), task)
}

func (r *rival) Plan(t *sched.Trial, c *sched.Changed, _ int64, out *sched.Plan) {
	s := t.View()
	if r.measure != nil {
		all := sched.Changed{All: c.All || !r.began, Tasks: c.Tasks}
		for n := range s.NodeRows() {
			all.Nodes = append(all.Nodes, cluster.NodeID(n))
		}
		r.measure.learn(s, &all, func(cluster.NodeID) {})
		r.began = true
	}
	rank := book.NewOrder(s.NodeRows(), r.ties, r.seed).Rank
	for _, task := range r.line(s) {
		if n, ok := r.best(s, task, rank); ok {
			a := sched.Action{Kind: sched.Place, Task: task, Attempt: s.Task(task).Attempt, Node: n}
			if r.devices != nil {
				a.Devices = r.devices(s, s.Shape(s.Task(task).Shape), n)
			}
			mustTry(t, a)
			out.Add(a)
			out.Close()
			continue
		}
		if r.evicts {
			r.preempt(t, task, rank, out)
		}
	}
}

// line is every waiting task in order.
func (r *rival) line(s *cluster.View) []cluster.TaskID {
	var line []cluster.TaskID
	for i := range s.TaskRows() {
		task := s.Task(cluster.TaskID(i))
		if task.Phase == cluster.Waiting && !s.Job(task.Job).Foreign && ours(s.Job(task.Job)) {
			line = append(line, cluster.TaskID(i))
		}
	}
	slices.SortFunc(line, func(a, b cluster.TaskID) int {
		return cmp.Or(cmp.Compare(r.order(s, a), r.order(s, b)), cmp.Compare(s.Task(a).Seq, s.Task(b).Seq))
	})
	return line
}

// best is the node with the highest score of those with room.
func (r *rival) best(s *cluster.View, task cluster.TaskID, rank []int32) (cluster.NodeID, bool) {
	scores := map[cluster.NodeID]int64{}
	for i := range s.NodeRows() {
		n := cluster.NodeID(i)
		if !s.NodeLive(n) || s.Admits(task, n).Refused() {
			continue
		}
		room := true
		for k, need := range s.Demand(task) {
			room = room && (need == 0 || s.Used(n)[k]+need <= s.Limit(n)[k])
		}
		room = room && devicesFree(s, task, n, nil)
		if !room {
			continue
		}
		scores[n] = r.score(s, s.Shape(s.Task(task).Shape), n)
	}
	if r.powered {
		scores = r.weighed(scores)
	}
	best, most, found := cluster.NodeID(0), int64(0), false
	for n, score := range scores {
		if !found || score > most || score == most && rank[n] < rank[best] {
			best, most, found = n, score, true
		}
	}
	return best, found
}

// weighed stretches watts to points from 0 to 100, and adds those of fgd.
func (r *rival) weighed(scores map[cluster.NodeID]int64) map[cluster.NodeID]int64 {
	var watts []int64
	for _, score := range scores {
		watts = append(watts, score%(1<<20))
	}
	all := map[cluster.NodeID]int64{}
	for n, score := range scores {
		points := int64(100)
		if low, high := slices.Min(watts), slices.Max(watts); low < high {
			points = (score%(1<<20) - low) * 100 / (high - low)
		}
		all[n] = r.weight*points + (1000-r.weight)*(score/(1<<20))
	}
	return all
}

// devicesFree reports whether the task could have its devices if those had gone.
func devicesFree(s *cluster.View, task cluster.TaskID, n cluster.NodeID, gone []cluster.TaskID) bool {
	for _, need := range s.DeviceNeeds(s.Task(task).Shape) {
		count := 0
		for i, d := range s.Devices(n) {
			free := d.Limit - d.Used
			for _, t := range gone {
				o := s.Task(t)
				for _, share := range s.DeviceNeeds(o.Shape).On(o.Devices & (1 << i)) {
					free += share
				}
			}
			if need.Places.Has(i) && free >= need.Share {
				count++
			}
		}
		if count < need.Count {
			return false
		}
	}
	return true
}

// leavingOn lists the tasks that leave the node.
func leavingOn(s *cluster.View, n cluster.NodeID) (list []cluster.TaskID) {
	for i := range s.TaskRows() {
		if t := cluster.TaskID(i); s.Task(t).Phase == cluster.Leaving && s.Task(t).Node == n {
			list = append(list, t)
		}
	}
	return list
}

// loss is what preempting on a node costs.
type loss struct {
	node    cluster.NodeID
	victims []cluster.TaskID
	classes [3]int // victims by importance
	score   int64
}

// preempt evicts on the node where that costs least.
func (r *rival) preempt(t *sched.Trial, task cluster.TaskID, rank []int32, out *sched.Plan) {
	s := t.View()
	var losses []loss
	for i := range s.NodeRows() {
		if l, ok := r.lossOn(s, task, cluster.NodeID(i)); ok {
			losses = append(losses, l)
		}
	}
	slices.SortFunc(losses, func(a, b loss) int {
		return cmp.Or(slices.Compare(a.classes[:], b.classes[:]), cmp.Compare(b.score, a.score), cmp.Compare(rank[a.node], rank[b.node]))
	})
	for _, l := range losses {
		if replace(t, l.victims, task, l.node, out) {
			return
		}
	}
}

// replace evicts those, in their order, for the task.
func replace(t *sched.Trial, victims []cluster.TaskID, task cluster.TaskID, n cluster.NodeID, out *sched.Plan) bool {
	var list []evict.Candidate
	for _, victim := range slices.Backward(victims) {
		list = append(list, evict.Candidate{Task: victim})
	}
	return evict.Replace(t, list, task, n, out)
}

// lossOn applies the rule to one node.
func (r *rival) lossOn(s *cluster.View, task cluster.TaskID, n cluster.NodeID) (loss, bool) {
	row := s.Task(task)
	shape := s.Shape(row.Shape)
	l := loss{node: n}
	if !s.NodeLive(n) || !s.Eligible(shape.Eligible, n) {
		return l, false
	}
	var may []cluster.TaskID
	for i := range s.TaskRows() {
		t := cluster.TaskID(i)
		o := s.Task(t)
		if (o.Phase == cluster.Running || o.Phase == cluster.Starting) && o.Node == n && o.Priority < row.Priority && !s.Job(o.Job).Foreign {
			may = append(may, t)
		}
	}
	slices.SortFunc(may, func(a, b cluster.TaskID) int {
		x, y := s.Task(a), s.Task(b)
		if x.Priority != y.Priority {
			return int(x.Priority - y.Priority)
		}
		return int(y.Seq) - int(x.Seq)
	})
	var enough bool
	if l.victims, enough = fewest(s, task, n, may); !enough {
		return l, false
	}
	less := slices.Clone(s.LeavingDemand(n))
	for _, t := range l.victims {
		// Importance is 1 to 3 in the test's world.
		l.classes[s.Classes()[s.Task(t).Class].Importance-1]++
		for k, q := range s.Demand(t) {
			less[k] += q
		}
	}
	l.score = kubeScoreLess(s, shape, n, less)
	return l, true
}

// twin runs two policies on the same rounds and compares their plans.
type twin struct {
	t          *testing.T
	seed       uint64
	fast, slow sched.Policy
	bundles    int
	evictions  int
}

func (w *twin) Why(t *sched.Trial, task cluster.TaskID) sched.Reason { return w.fast.Why(t, task) }

func (w *twin) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	var want sched.Plan
	want.Reset()
	mark := t.Mark()
	w.slow.Plan(t, c, budget, &want)
	t.Rollback(mark)
	picture := t.View().Picture()
	w.fast.Plan(t, c, budget, out)
	for i := range max(out.Bundles(), want.Bundles()) {
		var got, wants []sched.Action
		if i < out.Bundles() {
			got = out.Bundle(i)
		}
		if i < want.Bundles() {
			wants = want.Bundle(i)
		}
		if !slices.EqualFunc(got, wants, func(a, b sched.Action) bool { return reflect.DeepEqual(a, b) }) {
			w.t.Fatalf("seed %d: bundle %d is %v (%s), the slow policy wants %v (%s), in\n%s", w.seed, i, got, w.name(t, got), wants, w.name(t, wants), picture)
		}
		w.bundles++
		for _, a := range got {
			if a.Kind == sched.Evict {
				w.evictions++
			}
		}
	}
}

// name tells people what a bundle is about.
func (w *twin) name(t *sched.Trial, bundle []sched.Action) string {
	if len(bundle) == 0 {
		return "nothing"
	}
	s := t.View()
	task := bundle[len(bundle)-1].Task
	return fmt.Sprintf("%s of user %s, shape %d %+v", s.TaskName(task), s.Job(s.Task(task).Job).User, s.Task(task).Shape, *s.Shape(s.Task(task).Shape))
}

// histories is how many random histories a test looks at.
func histories(t *testing.T) uint64 {
	t.Helper()
	switch {
	case os.Getenv("FAIRLEAD_LONG") != "":
		return 10_000
	case testing.Short():
		return 50
	}
	return 300
}

// rivals returns the named policy and its slow twin.
func rivals(t *testing.T, name string, o Options) (sched.Policy, *rival) {
	t.Helper()
	fast, err := New(name, o)
	if err != nil {
		t.Fatal(err)
	}
	known := &offers{}
	slow := &rival{measure: known, ties: o.Ties, seed: o.Seed}
	devices := &gpus{}
	switch name {
	case "kube":
		slow.order, slow.score = ByPriority, KubeScore
	case "priority":
		slow.order, slow.score, slow.evicts = ByPriority, KubeScore, true
	case "swarm-spread":
		slow.order, slow.score = FirstCome, SpreadScore
	case "swarm-binpack":
		slow.order, slow.score = FirstCome, BinpackScore
	case "first-fit":
		slow.order, slow.score = FirstCome, AnyScore
	case "best-fit":
		slow.order, slow.score = FirstCome, bestFit(known)
	case "ffd":
		slow.order, slow.score = decreasing(known), AnyScore
	case "bfd":
		slow.order, slow.score = decreasing(known), bestFit(known)
	case "edf":
		slow.order, slow.score = ByDeadline, bestFit(known)
	case "gpu-bestfit":
		slow.order, slow.score, slow.measure = FirstCome, devices.bestFit, devices
	case "gpu-packing":
		slow.order, slow.score, slow.measure = FirstCome, devices.packing, devices
	case "gpu-clustering":
		slow.order, slow.score, slow.measure = FirstCome, devices.clustering, devices
	case "fgd":
		g := &gradient{typical: o.Typical, logits: logits()}
		slow.order, slow.score, slow.measure, slow.devices = FirstCome, g.score, g, g.device
	case "pwr", "pwr-fgd":
		p := &powered{gradient: &gradient{typical: o.Typical, logits: logits()}, weight: o.PowerWeight}
		if name == "pwr" {
			p.weight = MostPowerWeight
		}
		slow.order, slow.score, slow.measure, slow.devices = FirstCome, p.score, p, p.device
		slow.powered, slow.weight = true, p.weight
	default:
		return nil, nil
	}
	return fast, slow
}

// worldTypical is a mix of cpu-less tasks that share a device of 4, or have whole
// ones.
func worldTypical() []fragmentation.Typical {
	var list []fragmentation.Typical
	for i, device := range []int64{0, 1, 3, 4, 8} {
		list = append(list, fragmentation.Typical{Demand: cluster.Vector{int64(i), 0, device}, Tasks: 5 - i})
	}
	return list
}

// TestGreedyAgainstRival compares every greedy policy with a slow one that
// keeps nothing, over random histories.
func TestGreedyAgainstRival(t *testing.T) {
	for _, p := range Policies() {
		for _, ties := range []book.Ties{book.Fixed, book.Lowest} {
			if _, slow := rivals(t, p.Name, Options{Ties: ties}); slow == nil {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s", p.Name, ties), func(t *testing.T) {
				t.Parallel()
				bundles, evictions := 0, 0
				for seed := range histories(t) {
					o := Options{Seed: seed, Ties: ties, PowerWeight: int64(seed) % 4 * 250}
					if seed&1 == 0 { // in the others they are learned
						o.Typical = worldTypical()
					}
					fast, slow := rivals(t, p.Name, o)
					both := &twin{t: t, seed: seed, fast: fast, slow: slow}
					w := newWorld(t, both, seed)
					for range 60 {
						w.step()
					}
					bundles += both.bundles
					evictions += both.evictions
				}
				if least := int(histories(t)); bundles < least || p.Name == "priority" && evictions < least {
					t.Fatalf("only %d bundles with %d evictions", bundles, evictions)
				}
			})
		}
	}
}

// TestRowUsedAgain lets a group fall asleep, and gives the rows of its shape
// and its task to somebody who fits, while no node changes.
func TestRowUsedAgain(t *testing.T) {
	for _, p := range Policies() {
		l := newLab(t, policyNamed(t, p.Name))
		l.node(4, 4)
		large := l.task(work{user: "a", cpu: 5, mem: 5})
		l.step()
		l.end(large)
		shape := l.s.Task(large).Shape
		l.pending = append(l.pending,
			cluster.ShapeForgotten{Shape: shape},
			cluster.ShapeDefined{Shape: shape, Spec: cluster.Shape{Demand: cluster.Vector{1, 1}}})
		small := l.task(work{user: "a", cpu: 5, mem: 5}) // by now of 1 and 1
		l.step()
		l.wantOn(small, 0)
	}
}

// TestBudget ends passes after little effort, and wants the same tasks placed
// in the end, with a task at least in every round that could place one.
func TestBudget(t *testing.T) {
	for _, p := range Policies() {
		policy := policyNamed(t, p.Name)
		l := newLab(t, policy)
		for range 8 {
			l.node(20, 20)
		}
		for i := range 40 {
			l.task(work{user: string(rune('a' + i%3)), cpu: int64(1 + i%3), mem: 1})
		}
		if _, err := l.core.Observe(0, l.pending, nil); err != nil {
			t.Fatal(err)
		}
		rounds := 0
		for ; l.s.InPhase(cluster.Waiting) > 0 && rounds < 200; rounds++ {
			if l.now = l.core.Wake(l.now); l.now == cluster.Never {
				break
			}
			r := l.core.Begin(0, l.now)
			r.Run(1)
			l.core.Finish(r, l.now, nil)
		}
		if left := l.s.InPhase(cluster.Waiting); left > 0 || rounds < 3 {
			t.Errorf("%s: %d tasks wait after %d rounds of little effort", p.Name, left, rounds)
		}
	}
}

// fewest is who of those that may has to leave the node for the task, in their order: as
// many as it takes, less those that turn out superfluous, the last first.
func fewest(s *cluster.View, task cluster.TaskID, n cluster.NodeID, may []cluster.TaskID) ([]cluster.TaskID, bool) {
	fits := func(gone []cluster.TaskID) bool {
		for k, need := range s.Shape(s.Task(task).Shape).Demand {
			free := s.Limit(n)[k] - s.Used(n)[k] + s.LeavingDemand(n)[k]
			for _, t := range gone {
				free += s.Demand(t)[k]
			}
			if need > 0 && need > free {
				return false
			}
		}
		return devicesFree(s, task, n, append(leavingOn(s, n), gone...))
	}
	count := 0
	for count < len(may) && !fits(may[:count]) {
		count++
	}
	if !fits(may[:count]) {
		return nil, false
	}
	victims := slices.Clone(may[:count])
	for i := range slices.Backward(victims) {
		if without := slices.Delete(slices.Clone(victims), i, i+1); fits(without) {
			victims = without
		}
	}
	return victims, true
}
