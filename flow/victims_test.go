package flow_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/flow/quincy"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/schedtest"
)

// TestVictimStories tells who is stopped for whom.
func TestVictimStories(t *testing.T) {
	schedtest.RunScenarios(t, "testdata/victims", func(name string) (sched.Policy, error) {
		if name != "quincy" {
			return nil, fmt.Errorf("unknown policy %q", name)
		}
		return flow.New(quincy.New(quincy.Standard()), flow.Options{Name: name, Stages: []flow.Stage{flow.Spread, flow.Preempt}}), nil
	})
}

// haggler is a model whose prices are drawn: of tasks by row, of nodes by row.
type haggler struct {
	terms []flow.Terms
	into  []flow.Cost
	arcs  map[cluster.NodeID]flow.Cost // of its own, that the first task has
	racks [2]flow.Cost                 // of going down to every other node
	asked int
}

func (m *haggler) Terms(s *cluster.View, t cluster.TaskID) flow.Terms {
	terms := m.terms[t]
	terms.May, terms.Next, terms.Alone = flow.MayMove, cluster.Never, t == 0
	return terms
}

func (m *haggler) Out(_ *cluster.View, t cluster.TaskID, arcs *flow.Arcs) {
	arcs.Aggregator(1, 5)
	for n := range cluster.NodeID(len(m.into)) {
		if cost, ok := m.arcs[n]; ok && t == 0 {
			arcs.Node(n, cost)
		}
	}
}

func (m *haggler) Into(_ *cluster.View, _ cluster.ShapeID, n cluster.NodeID) (flow.Aggregator, flow.Curve) {
	m.asked++
	return flow.Aggregator(2 + n%2), flow.Curve{{Capacity: 1, Cost: m.into[n]}}
}

func (m *haggler) Above(_ *cluster.View, a flow.Aggregator) (flow.Aggregator, flow.Cost) {
	if a == 1 {
		return flow.Nowhere, 0
	}
	return 1, m.racks[a-2]
}

// ranker is one for whom pairs decide.
type ranker struct{ *haggler }

func (ranker) Ranks() {}

// together is what it costs that another one leaves, after those that cost so much.
func (m *haggler) together(so flow.Cost, t cluster.TaskID, ranks bool) flow.Cost {
	price := m.terms[t].Wait - m.terms[t].Stay
	if ranks {
		return max(so, price)
	}
	return so + price
}

// place is what a place on the node costs the first task.
func (m *haggler) place(n cluster.NodeID) flow.Cost {
	cost := 5 + m.racks[n%2] + m.into[n]
	if own, ok := m.arcs[n]; ok {
		cost = min(cost, own)
	}
	return cost
}

// offer is a node with those who would have to leave it, and what that comes to.
type offer struct {
	node    cluster.NodeID
	victims int
	cost    flow.Cost
	alone   bool // flow knows it: nobody leaves, or one does in whose slot the task fits
}

// offers are all sets of victims on all nodes with which the first task fits, none of
// them of a higher tier.
func offers(s *cluster.View, m *haggler, ranks bool) (list []offer) {
	need := s.Demand(0)
	for n := range cluster.NodeID(s.NodeRows()) {
		may := s.TasksOn(n)
		for set := range 1 << len(may) {
			o := offer{node: n}
			room, higher := cluster.Vector{}, false
			for k, limit := range s.Limit(n) {
				room = append(room, limit-s.Used(n)[k])
			}
			for i, t := range may {
				if set>>i&1 == 0 {
					continue
				}
				o.victims++
				o.cost = m.together(o.cost, t, ranks)
				o.alone = need.Fits(s.Shape(s.Task(t).Shape).Demand) // flow goes by what it takes at least
				higher = higher || m.terms[t].Tier > m.terms[0].Tier
				for k, q := range s.Demand(t) {
					room[k] += q
				}
			}
			o.cost += m.place(n)
			if o.alone = o.victims == 0 || o.victims == 1 && o.alone; need.Fits(room) && !higher {
				list = append(list, o)
			}
		}
	}
	return list
}

// cheapest is the cheapest of the offers that are of use, and false if none is.
func cheapest(list []offer, wait flow.Cost, use func(offer) bool) (flow.Cost, bool) {
	best, found := wait, false
	for _, o := range list {
		if use(o) && o.cost < best {
			best, found = o.cost, true
		}
	}
	return best, found
}

// TestVictimsAgainstAllSets compares whom a task evicts with all sets of tasks on all
// nodes. Where flow knows a place that pays, it is the cheapest of those that flow
// knows; otherwise the cheapest of all, and there is none only if none pays. A set costs
// what its tasks cost together; where pairs decide, what the dearest of them costs.
func TestVictimsAgainstAllSets(t *testing.T) {
	for _, ranks := range []bool{false, true} {
		t.Run(fmt.Sprint("ranks=", ranks), func(t *testing.T) { againstAllSets(t, ranks) })
	}
}

func againstAllSets(t *testing.T, ranks bool) {
	t.Helper()
	sizes, waits, least := map[int]int{}, 0, int64(100)
	if ranks {
		least = 25 // so that most could not pay for several
	}
	rapid.Check(t, func(rt *rapid.T) {
		m := &haggler{arcs: map[cluster.NodeID]flow.Cost{}}
		model := flow.Model(m)
		if ranks {
			model = ranker{m}
		}
		st := newStage(rt, flow.New(model, flow.Options{Name: "haggler", Stages: []flow.Stage{flow.Spread, flow.Preempt}}))
		quantity := rapid.Int64Range(0, 4)
		elastic := rapid.Bool().Draw(rt, "elastic") // those that are there have one shape, and take what they were granted
		vector := func(name string) cluster.Vector {
			return cluster.Vector{1 + quantity.Draw(rt, name), quantity.Draw(rt, name), 0}
		}
		terms := func(name string) flow.Terms {
			wait := rapid.Int64Range(least, 200).Draw(rt, name+" waits")
			if elastic {
				return flow.Terms{Wait: wait, Stay: wait - 20*rapid.Int64Range(1, 2).Draw(rt, name+" pays")}
			}
			return flow.Terms{Wait: wait, Stay: wait - rapid.Int64Range(1, 60).Draw(rt, name+" pays"), Tier: rapid.Int32Range(0, 1).Draw(rt, name+"'s tier")}
		}
		first := vector("demand")
		first[0] += 4
		for i := range m.racks {
			m.racks[i] = rapid.Int64Range(-40, 40).Draw(rt, "rack")
		}
		job := st.job()
		m.terms = append(m.terms, terms("task"))
		st.task(job, st.shape(cluster.Shape{Demand: first}))
		same := st.shape(cluster.Shape{Demand: cluster.Vector{1, 0, 0}, Max: cluster.Vector{5, 4, 0}})
		for n := range cluster.NodeID(rapid.IntRange(1, 3).Draw(rt, "nodes")) {
			m.into = append(m.into, rapid.Int64Range(0, 30).Draw(rt, "into"))
			if rapid.Bool().Draw(rt, "own arc") {
				m.arcs[n] = rapid.Int64Range(0, 50).Draw(rt, "arc")
			}
			capacity := vector("free")
			var held []cluster.Vector
			for range rapid.IntRange(0, 6).Draw(rt, "tasks") {
				v := vector("held")
				for k := range capacity {
					capacity[k] += v[k]
				}
				held = append(held, v)
			}
			st.node(capacity)
			for _, v := range held {
				m.terms = append(m.terms, terms("other"))
				if elastic {
					st.events = append(st.events, cluster.TaskFound{Task: st.task(st.job(), same), Seq: st.seq, Node: n, Grant: v})
					continue
				}
				other := st.task(st.job(), st.shape(cluster.Shape{Demand: v}))
				st.events = append(st.events, cluster.TaskFound{Task: other, Seq: st.seq, Node: n})
			}
		}
		rival := cluster.NewState([]cluster.Kind{{Name: "cpu"}, {Name: "memory"}, {Name: "bandwidth"}}, nil)
		for _, e := range st.events {
			if err := rival.Apply(st.now, e); err != nil {
				rt.Fatal(err)
			}
		}
		st.mustStep()
		s, all, wait := st.core.View(), offers(&rival.View, m, ranks), m.terms[0].Wait
		known, flows := cheapest(all, wait, func(o offer) bool { return o.alone })
		best, some := cheapest(all, wait, func(offer) bool { return true })
		task := s.Task(0)
		if task.Phase == cluster.Waiting {
			waits++
			if some {
				rt.Fatalf("it waits for %d, and there is a place for %d:\n%s", wait, best, s.Picture())
			}
			return
		}
		cost, victims := flow.Cost(0), 0
		for id := range cluster.TaskID(s.TaskRows()) {
			if s.Task(id).Phase != cluster.Leaving {
				continue
			}
			victims++
			cost = m.together(cost, id, ranks)
		}
		cost += m.place(task.Node)
		if victims == 0 && cost == wait {
			return // to flow that is as good as to wait, and who has a place evicts nobody
		}
		want := best
		if flows {
			want = known
		}
		if sizes[victims]++; cost != want {
			rt.Fatalf("it waits for %d, and goes to n%d for %d; want one for %d (the cheapest is %d):\n%s", wait, task.Node, cost, want, best, s.Picture())
		}
	})
	t.Logf("%d tasks wait; by number of victims: %v", waits, sizes)
	if !testing.Short() && (waits == 0 || sizes[1] == 0 || sizes[2]+sizes[3] == 0) {
		t.Errorf("the cases are too much alike: %d tasks wait; by number of victims: %v", waits, sizes)
	}
}

// TestPairsDecide lets a task wait whose room four others hold, each of them less urgent
// than it is. Where pairs decide they leave, and the one does not that is more urgent;
// where sums do, it waits.
func TestPairsDecide(t *testing.T) {
	for _, tc := range []struct {
		ranks   bool
		dearest flow.Cost // of the four
		leave   int
	}{{true, 59, 4}, {true, 60, 0}, {false, 59, 0}} {
		m := &haggler{into: []flow.Cost{-5}, terms: []flow.Terms{{Wait: 60}, {Wait: 50}, {Wait: 50}, {Wait: tc.dearest}, {Wait: 50}, {Wait: 90}}}
		model := flow.Model(m)
		if tc.ranks {
			model = ranker{m}
		}
		st := newStage(t, flow.New(model, flow.Options{Name: "haggler", Stages: []flow.Stage{flow.Spread, flow.Preempt}}))
		st.node(cluster.Vector{5, 5, 0})
		st.task(st.job(), st.shape(cluster.Shape{Demand: cluster.Vector{4, 4, 0}}))
		small := st.shape(cluster.Shape{Demand: cluster.Vector{1, 1, 0}})
		for range 5 {
			task := st.task(st.job(), small)
			st.events = append(st.events, cluster.TaskFound{Task: task, Seq: st.seq, Node: 0})
		}
		st.mustStep()
		s := st.core.View()
		if leave := s.InPhase(cluster.Leaving); leave != tc.leave || s.Task(5).Phase != cluster.Running {
			t.Errorf("%+v: %d leave:\n%s", tc, leave, s.Picture())
		}
	}
}

// TestVictimsAskedAgain lets a task wait that cannot pay for room on any of many nodes.
// The model is asked about nodes that changed, and about the others no more; when one
// is within its means, the task finds it.
func TestVictimsAskedAgain(t *testing.T) {
	const nodes, each = 200, 3
	m := &haggler{into: make([]flow.Cost, nodes), terms: []flow.Terms{{Wait: 100}}}
	st := newStage(t, flow.New(m, flow.Options{Name: "haggler", Stages: []flow.Stage{flow.Spread, flow.Preempt}}))
	st.task(st.job(), st.shape(cluster.Shape{Demand: cluster.Vector{2, 0, 0}}))
	small := st.shape(cluster.Shape{Demand: cluster.Vector{1, 0, 0}})
	for n := range cluster.NodeID(nodes) {
		st.node(cluster.Vector{each, 0, 0})
		for range each {
			m.terms = append(m.terms, flow.Terms{Wait: 60, Stay: 0})
			task := st.task(st.job(), small)
			st.events = append(st.events, cluster.TaskFound{Task: task, Seq: st.seq, Node: n})
		}
	}
	st.mustStep()
	if st.waiting() != 1 || m.asked < nodes {
		t.Fatalf("%d tasks wait, and the model was asked %d times, want 1 and each node once", st.waiting(), m.asked)
	}
	m.asked = 0
	st.end(1) // on n0
	st.mustStep()
	if st.waiting() != 0 || len(st.decided) == 0 || st.decided[0].Node != 0 {
		t.Errorf("the decisions are %v, want that one of the two left on n0 is stopped", st.decided)
	}
	if m.asked > 10 {
		t.Errorf("the model was asked %d times about one node", m.asked)
	}
}

// TestVictimsTakeTurns leaves a cluster alone for an hour in which twice as much waits
// as there is, of several sizes and some with users, after tasks of all ages have come
// to run: those who have waited longest stop those who have just begun. What a victim
// has worked is lost, and it waits for long: nobody is stopped over and over.
func TestVictimsTakeTurns(t *testing.T) {
	const hour, unrest = 3600, 1800
	together := 0
	for _, delay := range []bool{false, true} {
		t.Run(fmt.Sprint("delay=", delay), func(t *testing.T) {
			options := quincy.Standard()
			options.Delay = delay
			st := newStage(t, flow.New(quincy.New(options), flow.Options{Name: "quincy", Stages: []flow.Stage{flow.Spread, flow.Preempt}}))
			for range 10 {
				st.node(cluster.Vector{8, 8, 0})
			}
			var sizes []cluster.ShapeID
			for _, v := range []cluster.Vector{{1, 1, 0}, {2, 1, 0}, {1, 3, 0}, {4, 4, 0}, {7, 5, 0}} {
				sizes = append(sizes, st.shape(cluster.Shape{Demand: v}))
			}
			for i := range 100 {
				st.task(st.job(), sizes[i%len(sizes)])
			}
			var before, after, several int
			most := map[cluster.TaskID]int{}
			for second := range unrest + hour {
				s := st.core.View()
				if on := cluster.NodeID(second / 30 % 10); second < unrest && second > 0 && second%30 == 0 && len(s.TasksOn(on)) > 0 {
					if task := s.TasksOn(on)[0]; s.Task(task).Phase == cluster.Running {
						st.end(task)
						st.task(st.job(), sizes[second/30%len(sizes)])
					}
				}
				st.mustStep()
				for i, d := range st.decided {
					if d.Kind != sched.Evict {
						continue
					}
					if i > 0 && st.decided[i-1].Kind == sched.Evict && st.decided[i-1].Node == d.Node {
						several++
					}
					if second < unrest {
						before++
						continue
					}
					after++
					most[d.Task]++
				}
			}
			t.Logf("%d evictions in half an hour of unrest, %d of them several for one; %d in the hour after", before, several, after)
			if before == 0 || after > 10 {
				t.Errorf("%d evictions while tasks come and go, and %d in the hour after; want some, and at most 10", before, after)
			}
			for task, times := range most {
				if times > 1 {
					t.Errorf("%s is stopped %d times", st.core.View().TaskName(task), times)
				}
			}
			together += several
		})
	}
	if together == 0 {
		t.Error("no task stops several others, so that this shows nothing of it")
	}
}

// TestVictimsOfMany lets a task choose among fourteen on a node, more than are compared
// set by set. It pays no more than for the greedy set: the best value for its price
// first, without those who turn out not to be needed.
func TestVictimsOfMany(t *testing.T) {
	best, cases := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		const tasks = 14
		m := &haggler{into: []flow.Cost{0}, terms: []flow.Terms{{Wait: 10_000}}}
		st := newStage(rt, flow.New(m, flow.Options{Name: "haggler", Stages: []flow.Stage{flow.Spread, flow.Preempt}}))
		first := cluster.Vector{rapid.Int64Range(20, 60).Draw(rt, "cpu"), rapid.Int64Range(20, 60).Draw(rt, "memory"), 0}
		st.task(st.job(), st.shape(cluster.Shape{Demand: first}))
		total, held := cluster.Vector{0, 0, 0}, []cluster.Vector{}
		for range tasks {
			v := cluster.Vector{rapid.Int64Range(1, 19).Draw(rt, "held"), rapid.Int64Range(1, 19).Draw(rt, "held"), 0}
			total[0], total[1] = total[0]+v[0], total[1]+v[1]
			held = append(held, v)
			m.terms = append(m.terms, flow.Terms{Wait: rapid.Int64Range(20, 90).Draw(rt, "price")})
		}
		st.node(total)
		for _, v := range held {
			task := st.task(st.job(), st.shape(cluster.Shape{Demand: v}))
			st.events = append(st.events, cluster.TaskFound{Task: task, Seq: st.seq, Node: 0})
		}
		st.mustStep()
		s, paid := st.core.View(), flow.Cost(0)
		for id := range cluster.TaskID(s.TaskRows()) {
			if s.Task(id).Phase == cluster.Leaving {
				paid += m.terms[id].Wait
			}
		}
		if s.Task(0).Phase == cluster.Waiting {
			if first.Fits(total) {
				rt.Fatalf("it waits, with room for it:\n%s", s.Picture())
			}
			return
		}
		optimum, greedy := byPrice(m, held, first), byValue(m, held, first)
		if paid > greedy || paid < optimum {
			rt.Fatalf("it pays %d, the greedy set costs %d, the cheapest %d:\n%s", paid, greedy, optimum, s.Picture())
		}
		if cases++; paid == optimum {
			best++
		}
	})
	t.Logf("the cheapest of all sets in %d of %d cases", best, cases)
	if !testing.Short() && 10*best < 9*cases {
		t.Errorf("the cheapest of all sets in %d of %d cases, want nine of ten", best, cases)
	}
}

// byPrice is what the cheapest set costs that has what is needed.
func byPrice(m *haggler, held []cluster.Vector, need cluster.Vector) flow.Cost {
	best := flow.Cost(flow.MaxCost)
	for set := range 1 << len(held) {
		sum, cost := cluster.Vector{0, 0, 0}, flow.Cost(0)
		for i, v := range held {
			if set>>i&1 != 0 {
				sum[0], sum[1], cost = sum[0]+v[0], sum[1]+v[1], cost+m.terms[1+i].Wait
			}
		}
		if need.Fits(sum) {
			best = min(best, cost)
		}
	}
	return best
}

// byValue is what the greedy set costs: by price for what it has of what is needed,
// less the dearest that the others make good for.
func byValue(m *haggler, held []cluster.Vector, need cluster.Vector) flow.Cost {
	value := func(i int) int64 { return 1_000_000*held[i][0]/need[0] + 1_000_000*held[i][1]/need[1] }
	var order []int
	for i := range held {
		order = append(order, i)
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Compare(m.terms[1+a].Wait*value(b), m.terms[1+b].Wait*value(a))
	})
	sum, cost, taken := cluster.Vector{0, 0, 0}, flow.Cost(0), []int{}
	for _, i := range order {
		if need.Fits(sum) {
			break
		}
		sum[0], sum[1], cost = sum[0]+held[i][0], sum[1]+held[i][1], cost+m.terms[1+i].Wait
		taken = append(taken, i)
	}
	slices.SortFunc(taken, func(a, b int) int { return cmp.Compare(m.terms[1+b].Wait, m.terms[1+a].Wait) })
	for _, i := range taken {
		if without := (cluster.Vector{sum[0] - held[i][0], sum[1] - held[i][1], 0}); need.Fits(without) {
			sum, cost = without, cost-m.terms[1+i].Wait
		}
	}
	return cost
}
