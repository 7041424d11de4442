package flow_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/sched"
)

// echo is a policy that is asked twice wherever it planned nothing, in rounds of some budget; and
// a third time, when it has to do all its work although nothing changed.
type echo struct {
	*flow.Policy
	t      *rapid.T
	budget *rapid.Generator[int64]
	echoes int
}

func (e *echo) Plan(t *sched.Trial, c *sched.Changed, _ int64, out *sched.Plan) {
	budget := e.budget.Draw(e.t, "budget")
	e.Policy.Plan(t, c, budget, out)
	if out.Bundles() > 0 || out.Wake <= t.View().Now() || e.Undone() {
		return
	}
	var again sched.Plan
	again.Reset()
	e.Policy.Plan(t, &sched.Changed{}, budget, &again)
	if e.echoes++; again.Bundles() > 0 || again.Ticks > 0 || again.Gap != out.Gap || again.Wake != out.Wake {
		e.t.Fatalf("a round in which nothing changed plans %d bundles with %d ticks, has the gap %+v and wakes at %v; the one before had %+v and %v",
			again.Bundles(), again.Ticks, again.Gap, again.Wake, out.Gap, out.Wake)
	}
	again.Reset()
	e.PlanAnew(t, &sched.Changed{}, budget, &again)
	if again.Bundles() > 0 || again.Wake != out.Wake {
		e.t.Fatalf("a round of %d ticks in which nothing changed plans %+v and wakes at %v, where there is no short cut; want nothing, and %v",
			budget, again.Bundle(0), again.Wake, out.Wake)
	}
}

// TestQuietRounds lets anything happen, and wants no work of rounds in which nothing changed since
// one that planned nothing, however many tasks wait; and that with all the work it would decide
// nothing either. (What such work leaves behind may tell, of plans that are as good, another
// one later.)
func TestQuietRounds(t *testing.T) {
	for _, m := range watchedModels() {
		t.Run(fmt.Sprintf("%s/moves=%d", m.name, m.moves), func(t *testing.T) {
			waited, ran := 0, 0
			rapid.Check(t, func(rt *rapid.T) {
				e := &echo{Policy: flow.New(m.model(), flow.Options{Name: "echo", Moves: m.moves, Stages: m.stages}), t: rt}
				e.budget = rapid.SampledFrom([]*rapid.Generator[int64]{
					rapid.Just[int64](0), rapid.Int64Range(1, 1000), rapid.OneOf(rapid.Just[int64](0), rapid.Int64Range(1, 1000)),
				}).Draw(rt, "budgets")
				d := newDramaOf(rt, e, 8)
				for range rapid.IntRange(5, 60).Draw(rt, "turns") {
					before := e.echoes
					d.turn()
					if e.echoes > before {
						waited += min(1, d.waiting())
						ran += min(1, d.core.View().InPhase(cluster.Running))
					}
				}
			})
			if waited == 0 || ran == 0 {
				t.Errorf("of the rounds that were asked for twice a task waited in %d, and ran in %d", waited, ran)
			}
		})
	}
}

// tide prices nodes by their rows, up or down.
type tide struct {
	falls, turned bool
	into          int
}

func (m *tide) Terms(*cluster.View, cluster.TaskID) flow.Terms {
	return flow.Terms{Wait: 1 << 20, Next: cluster.Never}
}

func (m *tide) Out(_ *cluster.View, _ cluster.TaskID, arcs *flow.Arcs) { arcs.Aggregator(0, 0) }

func (m *tide) Into(s *cluster.View, _ cluster.ShapeID, n cluster.NodeID) (flow.Aggregator, flow.Curve) {
	m.into++
	cost := flow.Cost(n)
	if m.falls {
		cost = flow.Cost(s.NodeRows()) - cost
	}
	return 0, flow.Curve{{Capacity: 1, Cost: cost}}
}

func (m *tide) Learn(*cluster.View, bool, []cluster.NodeID) flow.Stale {
	turned := m.turned
	m.turned = false
	return flow.Stale{Nodes: turned}
}

// TestAllNodesRepriced lets the prices of all nodes change at once: the next task goes by the new
// ones, and each node is asked about once, and a few more than once.
func TestAllNodesRepriced(t *testing.T) {
	const nodes, few = 500, 40
	m := &tide{}
	st := newStage(t, flow.New(m, flow.Options{Name: "tide"}))
	for range nodes {
		st.node(cluster.Vector{4, 4, 0})
	}
	job, shape := st.job(), st.shape(cluster.Shape{Demand: cluster.Vector{1, 1, 0}})
	goes := func(want cluster.NodeID, most int) {
		t.Helper()
		m.into = 0
		task := st.task(job, shape)
		st.mustStep()
		if got := st.core.View().Task(task).Node; got != want || m.into > most {
			t.Errorf("the task went to node row %d after %d questions, want %d after %d at most", got, m.into, want, most)
		}
	}
	goes(0, nodes+few)
	goes(0, few)
	m.falls, m.turned = true, true
	goes(nodes-1, nodes+few)
	goes(nodes-1, few)
}

// moody has all tasks pay the same for waiting, and may change its mind.
type moody struct {
	wait   flow.Cost
	turned bool
}

func (m *moody) Terms(*cluster.View, cluster.TaskID) flow.Terms {
	return flow.Terms{Wait: m.wait, Next: cluster.Never}
}

func (m *moody) Out(_ *cluster.View, _ cluster.TaskID, arcs *flow.Arcs) { arcs.Aggregator(0, 0) }

func (m *moody) Into(*cluster.View, cluster.ShapeID, cluster.NodeID) (flow.Aggregator, flow.Curve) {
	return 0, flow.Curve{{Capacity: 1, Cost: 10}}
}

func (m *moody) Learn(*cluster.View, bool, []cluster.NodeID) flow.Stale {
	turned := m.turned
	m.turned = false
	return flow.Stale{Tasks: turned}
}

// TestAllTasksRepriced lets the price of waiting rise above that of a node, for a task that waits already: it is placed
// together with the one that comes then.
func TestAllTasksRepriced(t *testing.T) {
	m := &moody{wait: 5}
	st := newStage(t, flow.New(m, flow.Options{Name: "moody"}))
	st.node(cluster.Vector{4, 4, 0})
	job, shape := st.job(), st.shape(cluster.Shape{Demand: cluster.Vector{1, 1, 0}})
	first := st.task(job, shape)
	st.mustStep()
	if got := st.core.View().Task(first).Phase; got != cluster.Waiting {
		t.Fatalf("the first task is %v, and waiting costs less than the node", got)
	}
	m.wait, m.turned = 20, true
	second := st.task(job, shape)
	st.mustStep()
	for _, task := range []cluster.TaskID{first, second} {
		if got := st.core.View().Task(task); got.Node != 0 || got.Phase == cluster.Waiting {
			t.Errorf("task %d is %v, and the node costs less than waiting", task, got.Phase)
		}
	}
}

// settled has tenants that may be stopped, at a price that nobody pays.
type settled struct{ flow.Model }

func (settled) Terms(s *cluster.View, t cluster.TaskID) flow.Terms {
	terms := flow.Terms{Wait: 20, May: flow.MayStop, Next: cluster.Never}
	if s.Task(t).Phase == cluster.Running {
		terms.Stay = -1000
	}
	return terms
}

// clocked is a policy of which is noted how much work the last round was.
type clocked struct {
	*flow.Policy
	ticks int64
}

func (p *clocked) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	p.Policy.Plan(t, c, budget, out)
	p.ticks = out.Ticks
}

// TestOthersAsk lets tasks of two shapes come and go in turn, in a cluster full of tenants in whose place either
// would fit: it is no work to find out for each node that this is so still. Once tasks come that are larger than half
// of the tenants, the nodes of these are looked at, and those of the others are not.
func TestOthersAsk(t *testing.T) {
	const nodes, few = 500, 60
	p := &clocked{Policy: flow.New(settled{&moody{}}, flow.Options{Name: "settled"})}
	st := newStage(t, p)
	shape := func(cpu int64) cluster.ShapeID { return st.shape(cluster.Shape{Demand: cluster.Vector{cpu, 1, 0}}) }
	low, high := shape(5), shape(8)
	for row := range nodes {
		of := low
		if row >= nodes/2 {
			of = high
		}
		n := st.node(cluster.Vector{8, 1, 0})
		st.events = append(st.events, cluster.TaskFound{Task: st.task(st.job(), of), Seq: st.seq, Node: n})
	}
	round := func(of cluster.ShapeID) int64 {
		task := st.task(st.job(), of)
		st.mustStep()
		st.end(task)
		return p.ticks
	}
	one, other, large := shape(3), shape(4), shape(6)
	for range 2 { // each is asked about all nodes once, with and without the tenants of the low ones in reach
		for _, of := range []cluster.ShapeID{one, other, large} {
			round(of)
		}
	}
	round(one)
	round(other)
	for range 4 {
		for _, of := range []cluster.ShapeID{one, other} {
			if ticks := round(of); ticks > few {
				t.Errorf("a task that changes nothing for any tenant is a round of %d ticks with %d nodes, want %d at most", ticks, nodes, few)
			}
		}
	}
	if ticks := round(large); ticks < nodes/2 || ticks > 2*nodes {
		t.Errorf("a task that is too large for half of the tenants is a round of %d ticks, want the nodes of these, %d, to be looked at", ticks, nodes/2)
	}
}
