package flow_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/flow/bandwidth"
	"fairlead.dev/fairlead/flow/cpumem"
	"fairlead.dev/fairlead/flow/quincy"
	"fairlead.dev/fairlead/flow/spread"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/sched"
)

// crowded is a cluster of quincy's where services have come, for some of which there
// is room, and for the others batch tasks that have just begun have to go.
func crowded(t *testing.T) *stage {
	t.Helper()
	st := newStage(t, flow.New(quincy.New(quincy.Standard()), flow.Options{Name: "quincy", Stages: []flow.Stage{flow.Spread, flow.Preempt}, Moves: 3}))
	for range 40 {
		st.node(cluster.Vector{1, 1, 0})
	}
	shape, batch := st.shape(cluster.Shape{Demand: cluster.Vector{1, 1, 0}}), st.job()
	for range 30 {
		st.task(batch, shape)
	}
	st.mustStep()
	st.mustStep()
	services := st.job()
	for range 20 {
		st.prioritized(services, shape, 9)
	}
	st.observe()
	return st
}

// prioritized is task with a priority.
func (s *stage) prioritized(job cluster.JobID, shape cluster.ShapeID, priority int32) {
	s.task(job, shape)
	e := s.events[len(s.events)-1].(cluster.TaskSubmitted)
	e.Priority = priority
	s.events[len(s.events)-1] = e
}

// observe lets the core see what happened, without a round.
func (s *stage) observe() {
	s.tb.Helper()
	if _, err := s.core.Observe(s.now, s.events, nil); err != nil {
		s.tb.Fatalf("%v", err)
	}
	s.events = nil
}

// rounds is rounds with a budget, one after the other with no event in between, until one
// comes to its end, or so many have run.
func (s *stage) rounds(budget int64, most int) (done pieces) {
	for done.rounds < most && !done.whole {
		placed, evicted, whole := s.round(budget)
		done = pieces{done.placed + placed, done.evicted + evicted, done.rounds + 1, whole}
	}
	return done
}

// pieces is what rounds did, and whether the last one came to its end.
type pieces struct {
	placed, evicted, rounds int
	whole                   bool
}

// round is one round with a budget, beside the world, and whether it came to its end.
func (s *stage) round(budget int64) (placed, evicted int, whole bool) {
	r := s.core.Begin(0, s.now)
	r.Run(budget)
	for _, d := range s.core.Finish(r, s.now, nil) {
		if d.Kind == sched.Place {
			placed++
		} else {
			evicted++
		}
	}
	if err := s.core.View().Check(); err != nil {
		s.tb.Fatalf("%v", err)
	}
	return placed, evicted, s.core.Wake(s.now) > s.now
}

// TestBudget ends rounds at every point. One that did not come to its end places waiting
// tasks, and moves nobody who runs; as many rounds as it takes come to what one does.
func TestBudget(t *testing.T) {
	all := crowded(t)
	placed, evicted, whole := all.round(0)
	if placed != 10 || evicted != 10 || !whole {
		t.Fatalf("without a budget %d are placed and %d stopped, want 10 each; whole: %t", placed, evicted, whole)
	}
	cut, some := 0, 0
	for budget := int64(1); ; budget = budget + budget/8 + 1 {
		st := crowded(t)
		placed, evicted, whole := st.round(budget)
		if !whole {
			cut++
			if evicted > 0 {
				t.Fatalf("a round that ended after %d ticks stops %d tasks that run, want none", budget, evicted)
			}
			if placed > 0 {
				some++
			}
		}
		sumPlaced, sumEvicted, rounds := placed, evicted, 1
		for ; !whole && rounds < 500; rounds++ {
			placed, evicted, whole = st.round(budget)
			sumPlaced, sumEvicted = sumPlaced+placed, sumEvicted+evicted
		}
		if sumPlaced != 10 || sumEvicted != 10 {
			t.Fatalf("%d rounds of %d ticks place %d and stop %d, want 10 each", rounds, budget, sumPlaced, sumEvicted)
		}
		if rounds == 1 {
			break
		}
	}
	t.Logf("%d budgets were too small for a round; with %d of them it placed some", cut, some)
	if cut < 5 {
		t.Errorf("only %d budgets were too small, so that this shows little", cut)
	}
}

// TestBudgetVictims ends rounds that evict several tasks for one at every point. As many
// rounds as it takes come to what one does, the search for victims included.
func TestBudgetVictims(t *testing.T) {
	begin := func() *stage {
		st := newStage(t, flow.New(quincy.New(quincy.Standard()), flow.Options{Name: "quincy", Stages: []flow.Stage{flow.Spread, flow.Preempt}}))
		for range 12 {
			st.node(cluster.Vector{4, 4, 0})
		}
		small, large := st.shape(cluster.Shape{Demand: cluster.Vector{1, 1, 0}}), st.shape(cluster.Shape{Demand: cluster.Vector{3, 3, 0}})
		batch, services := st.job(), st.job()
		for range 48 {
			st.task(batch, small)
		}
		st.mustStep()
		st.mustStep()
		for range 5 {
			st.prioritized(services, large, 9)
		}
		st.observe()
		return st
	}
	if did := begin().rounds(0, 1); did.placed != 0 || did.evicted != 15 {
		t.Fatalf("without a budget %d are placed at once and %d evicted, want 0 and 15", did.placed, did.evicted)
	}
	for budget := int64(1); budget < 4000; budget = budget + budget/8 + 1 {
		if did := begin().rounds(budget, 500); did.placed != 0 || did.evicted != 15 || !did.whole {
			t.Errorf("rounds of %d ticks do %+v, want none placed and 15 evicted", budget, did)
		}
	}
}

// cramped is a cluster in which a large task needs a node of its own, half of all nodes, so
// that the small ones have to share the others.
func cramped(t *testing.T, stages ...flow.Stage) *stage {
	t.Helper()
	st := newStage(t, flow.New(&cpumem.Model{}, flow.Options{Name: "cpu-mem", Stages: stages}))
	for range 8 {
		st.node(cluster.Vector{5, 6, 0})
	}
	job, small, large := st.job(), st.shape(cluster.Shape{Demand: cluster.Vector{1, 1, 0}}), st.shape(cluster.Shape{Demand: cluster.Vector{5, 6, 0}})
	for range 12 {
		st.task(job, small)
	}
	for range 4 {
		st.task(job, large)
	}
	st.observe()
	return st
}

// uniformBudget is the least with which one round of that cluster is enough for uniform slots.
func uniformBudget(t *testing.T) int64 {
	t.Helper()
	for budget := int64(1); ; budget++ {
		if _, _, whole := cramped(t, flow.Spread).round(budget); whole {
			return budget
		}
	}
}

// TestBudgetPacks ends rounds that pack at every point. Where one was enough for uniform slots,
// as many as it takes come to what one does; else what rounds that were cut have placed stands.
func TestBudgetPacks(t *testing.T) {
	uniform := uniformBudget(t)
	for budget := int64(1); budget < uniform; budget++ {
		if did := cramped(t).rounds(budget, 100); !did.whole || did.placed < 12 {
			t.Fatalf("rounds of %d ticks do %+v, want 12 placed at least", budget, did)
		}
	}
	most := 0
	for budget := int64(1); ; budget++ {
		st := cramped(t)
		if placed, _, whole := st.round(max(budget, uniform)); whole && placed == 16 {
			t.Logf("%d ticks are enough for uniform slots, and %d to pack as well, which takes %d rounds else", uniform, budget, most)
			break
		} else if whole || placed > 0 {
			t.Fatalf("a round of %d ticks places %d; whole: %t; want none before it has packed", budget, placed, whole)
		}
		did := st.rounds(budget, 100)
		if most = max(most, did.rounds); !did.whole || did.placed != 16 {
			t.Errorf("after one of %d ticks rounds of %d do %+v, want 16 placed", max(budget, uniform), budget, did)
		}
	}
	if most < 10 {
		t.Error("this shows little")
	}
}

// TestBudgetPacksBelow packs for a tier in a round that served a higher one.
func TestBudgetPacksBelow(t *testing.T) {
	uniform, later := uniformBudget(t), 0
	for budget := uniform; budget < 2*uniform; budget++ {
		st := cramped(t)
		st.prioritized(0, 0, 9)
		st.observe()
		first, _, whole := st.round(budget)
		if !whole && first == 1 {
			later++
		}
		if did := st.rounds(budget, 100); first+did.placed != 17 && first < 2 {
			t.Errorf("a round of %d ticks places %d, and those after it do %+v, want 17 in all", budget, first, did)
		}
	}
	if later < 20 {
		t.Errorf("after %d budgets packing was left to the next round, so that this shows little", later)
	}
}

// TestBudgetPacksOrNot lets something happen, which concerns nobody, before each round that is
// to go on with packing. Of two rounds one decides all the same.
func TestBudgetPacksOrNot(t *testing.T) {
	uniform, idle := uniformBudget(t), 0
	for later := int64(1); later <= uniform; later++ {
		st := cramped(t)
		job, hopeless := st.job(), st.shape(cluster.Shape{Demand: cluster.Vector{tooLarge, 1, 0}})
		for round, sum, before := 0, 0, 1; sum < 12; round++ {
			budget := uniform + 20
			if round%2 == 1 {
				budget = later
			}
			placed, _, _ := st.round(budget)
			if sum += placed; placed == 0 {
				idle++
			}
			if placed+before == 0 {
				t.Fatalf("rounds of %d ticks and of %d decide nothing; %d wait", uniform+20, later, st.waiting())
			}
			before = placed
			st.task(job, hopeless)
			st.now += cluster.Second
			st.observe()
		}
	}
	if idle < 20 {
		t.Errorf("only %d rounds put off what they decide, so that this shows little", idle)
	}
}

// queues is a world of which it is known how many tasks of each tier are served, whoever
// chooses the nodes: of all tiers but the lowest more tasks wait of the one size that fits
// than there is room for, and the lowest takes any room. Others have no place anywhere.
type queues struct {
	nodes  []int64
	groups []queue
}

// queue is tasks of one size.
type queue struct {
	priority int32
	size     int64
	tasks    int
}

// tooLarge is more than any node has.
const tooLarge = 9

func drawQueues(t *rapid.T) (q queues) {
	total := int64(0)
	for range rapid.IntRange(1, 12).Draw(t, "nodes") {
		q.nodes = append(q.nodes, rapid.Int64Range(1, tooLarge-1).Draw(t, "cpu"))
		total += q.nodes[len(q.nodes)-1]
	}
	for _, priority := range []int32{9, 5, 0}[rapid.IntRange(0, 2).Draw(t, "tiers"):] {
		for range rapid.IntRange(0, 3).Draw(t, "hopeless") {
			q.groups = append(q.groups, queue{priority, tooLarge + rapid.Int64Range(0, 3).Draw(t, "size"), rapid.IntRange(1, 8).Draw(t, "tasks")})
		}
		switch {
		case priority == 0:
			q.groups = append(q.groups, queue{priority, 1, rapid.IntRange(1, 40).Draw(t, "tasks")})
		case rapid.Bool().Draw(t, "some"):
			size := rapid.Int64Range(2, 5).Draw(t, "size")
			q.groups = append(q.groups, queue{priority, size, int(total/size) + 1})
		}
	}
	rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0)).Shuffle(len(q.groups), func(i, j int) { q.groups[i], q.groups[j] = q.groups[j], q.groups[i] })
	return q
}

// stage is the world before the first round.
func (q *queues) stage(t *rapid.T, p sched.Policy) *stage {
	st := newStage(t, p)
	for _, cpu := range q.nodes {
		st.node(cluster.Vector{cpu, 1000, 0})
	}
	for _, g := range q.groups {
		job, shape := st.job(), st.shape(cluster.Shape{Demand: cluster.Vector{g.size, 1, 0}})
		for range g.tasks {
			st.prioritized(job, shape, g.priority)
		}
	}
	st.observe()
	return st
}

// served is how many tasks have a place, by priority.
func (s *stage) served() map[int32]int {
	by, state := map[int32]int{}, s.core.View()
	for t := range cluster.TaskID(state.TaskRows()) {
		if task := state.Task(t); task.Phase == cluster.Starting {
			by[task.Priority]++
		}
	}
	return by
}

// expected is how many that will be.
func (q *queues) expected() map[int32]int {
	by, free := map[int32]int{}, slices.Clone(q.nodes)
	groups := slices.Clone(q.groups)
	slices.SortFunc(groups, func(a, b queue) int { return int(b.priority - a.priority) })
	for _, g := range groups {
		for n := range free {
			for left := g.tasks - by[g.priority]; g.size < tooLarge && left > 0 && free[n] >= g.size; left-- {
				by[g.priority]++
				free[n] -= g.size
			}
		}
	}
	return by
}

// tiered is quincy's prices in tiers by priority.
type tiered struct{ *quincy.Model }

func (m tiered) Terms(s *cluster.View, t cluster.TaskID) flow.Terms {
	terms := m.Model.Terms(s, t)
	terms.Tier = s.Task(t).Priority
	return terms
}

// TestBudgetServesAll draws worlds, and lets rounds with a budget serve as many as one
// without does, tier by tier, while nothing happens, in no more rounds than asleep.go says.
func TestBudgetServesAll(t *testing.T) {
	models := map[string]func() flow.Model{
		"load-spreading": func() flow.Model { return &spread.Model{} },
		"cpu-mem":        func() flow.Model { return &cpumem.Model{} },
		"network-aware":  func() flow.Model { return &bandwidth.Model{} },
		"quincy":         func() flow.Model { return tiered{quincy.New(quincy.Standard())} },
	}
	names := slices.Sorted(maps.Keys(models))
	rapid.Check(t, func(t *rapid.T) {
		q := drawQueues(t)
		o := flow.Options{Name: rapid.SampledFrom(names).Draw(t, "model")}
		o.Algorithm = rapid.SampledFrom(append(mcmf.Algorithms(), mcmf.Automatic)).Draw(t, "algorithm")
		if o.Name == "quincy" {
			o.Stages = []flow.Stage{flow.Spread, flow.Preempt}
		}
		o.Moves = rapid.IntRange(0, 2).Draw(t, "moves")
		begin := func() *stage { return q.stage(t, flow.New(models[o.Name](), o)) }
		st, want := begin(), q.expected()
		if did := st.rounds(0, 1); !did.whole || !maps.Equal(st.served(), want) {
			t.Fatalf("without a budget %v are served, by priority; want %v; it did %+v", st.served(), want, did)
		}
		work, units := st.core.Counts().Ticks, 0
		for _, g := range q.groups {
			units += g.tasks
		}
		budget := rapid.Int64Range(1, work).Draw(t, "budget")
		st = begin()
		did := st.rounds(budget, 20_000)
		if !did.whole || !maps.Equal(st.served(), want) {
			t.Fatalf("rounds of %d ticks serve %v, want %v; they do %+v", budget, st.served(), want, did)
		}
		if most := units + int(4*work/budget); did.rounds > most {
			t.Errorf("%d rounds of %d ticks, want %d at most: %d units, and %d ticks without a budget", did.rounds, budget, most, units, work)
		}
		if spent := st.core.Counts().Ticks; spent > 6*work {
			t.Errorf("%d rounds of %d ticks spend %d in all, where one without a budget spends %d", did.rounds, budget, spent, work)
		}
	})
}

// rising is a haggler of whose tasks the last pays more from the third second on.
type rising struct {
	*haggler
	unforeseen bool // that it will, is found out when it does
}

func (m rising) Learn(s *cluster.View, _ bool, _ []cluster.NodeID) flow.Stale {
	return flow.Stale{Tasks: m.unforeseen && s.Now() == 3*cluster.Second}
}

func (m rising) Terms(s *cluster.View, t cluster.TaskID) flow.Terms {
	terms := m.haggler.Terms(s, t)
	if int(t) == len(m.terms)-1 {
		if !m.unforeseen {
			terms.Next = 3 * cluster.Second
		}
		if s.Now() >= 3*cluster.Second {
			terms.Wait, terms.Next = 90, cluster.Never
		}
	}
	return terms
}

// TestBudgetOfLateRound cuts a round while it looks for victims, and the next one is so late that a task pays
// more by then than those that were tried: it is tried, too.
func TestBudgetOfLateRound(t *testing.T) {
	for _, unforeseen := range []bool{false, true} {
		m := rising{&haggler{into: []flow.Cost{0}, terms: []flow.Terms{{Wait: 30}, {Wait: 30}, {Wait: 50}, {Wait: 45}, {Wait: 20}}}, unforeseen}
		st := newStage(t, flow.New(m, flow.Options{Name: "rising", Stages: []flow.Stage{flow.Spread, flow.Preempt}}))
		st.node(cluster.Vector{1, 1, 0})
		for _, demand := range []cluster.Vector{{1, 0, 0}, {0, 1, 0}} {
			runs := st.task(st.job(), st.shape(cluster.Shape{Demand: demand}))
			st.events = append(st.events, cluster.TaskFound{Task: runs, Seq: st.seq, Node: 0})
		}
		both := st.shape(cluster.Shape{Demand: cluster.Vector{1, 1, 0}})
		for range 3 {
			st.task(st.job(), both)
		}
		st.now = cluster.Second
		st.observe()
		if did := st.rounds(0, 1); did.evicted > 0 {
			t.Fatalf("somebody pays enough too soon:\n%s", st.core.View().Picture())
		}
		st.events = append(st.events, cluster.NodeChanged{Node: 0, Spec: *st.core.View().NodeSpec(0)})
		st.observe()
		if _, _, whole := st.round(1); whole {
			t.Fatal("the round is not cut, so that this shows nothing")
		}
		st.now = 3 * cluster.Second
		if did := st.rounds(1, 100); !did.whole || did.evicted != 2 {
			t.Errorf("they do %+v, want both that run to leave for the last task:\n%s", did, st.core.View().Picture())
		}
	}
}

// TestBudgetMissesNothing lets anything happen, and rounds with a budget decide until one
// comes to its end: one without a budget finds nothing more to do then. So no tier sleeps
// on while there is a place for it, and nobody is left out of the search for victims.
func TestBudgetMissesNothing(t *testing.T) {
	for _, m := range watchedModels() {
		t.Run(fmt.Sprintf("%s/moves=%d", m.name, m.moves), func(t *testing.T) {
			cut := 0
			rapid.Check(t, func(t *rapid.T) {
				d := newDrama(t, &m, 8)
				d.step = func() {
					final := m.moves == 0 && d.number(4) == 0 // not always: it wakes everybody
					cut += d.inPieces(rapid.Int64Range(1, 1000).Draw(t, "budget"), final)
				}
				for range rapid.IntRange(5, 60).Draw(t, "turns") {
					d.turn()
				}
				d.decide()
			})
			least := 100
			if testing.Short() { // a fifth as many worlds are drawn
				least /= 5
			}
			if cut < least {
				t.Errorf("only %d rounds were cut, so that this shows little", cut)
			}
		})
	}
}

// inPieces lets the core decide by rounds with a budget, and says how many were cut. If it
// is final, one without a budget is to find nothing more to do; each round may move so many
// running tasks, and so another one always may.
func (d *drama) inPieces(budget int64, final bool) (cut int) {
	d.now += cluster.Second
	var err error
	if d.decided, err = d.core.Observe(d.now, d.events, d.decided[:0]); err != nil {
		d.t.Fatalf("%v", err)
	}
	plan := func(budget int64) {
		r := d.core.Begin(0, d.now)
		r.Run(budget)
		if r.Err() != nil {
			d.t.Fatalf("%v", r.Err())
		}
		d.decided = d.core.Finish(r, d.now, d.decided)
	}
	for plan(budget); d.core.Wake(d.now) == d.now; cut++ {
		if plan(budget); cut == 5000 {
			d.t.Fatalf("no end after %d rounds of %d ticks:\n%s", cut, budget, d.core.View().Picture())
		}
	}
	defer d.answer()
	known := len(d.decided)
	if !final {
		return cut
	}
	if plan(0); len(d.decided) > known {
		d.t.Fatalf("after %d rounds of %d ticks that came to their end one without a budget still decides %+v:\n%s",
			cut, budget, d.decided[known:], d.core.View().Picture())
	}
	return cut
}
