package flow_test

import (
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/sched"
)

// witness is a policy of which is noted who was to leave for nothing: without it, what
// its bundle brings to the node would fit as well.
type witness struct {
	*flow.Policy
	needless, evicted int
}

func (w *witness) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	s, room := t.View(), map[cluster.NodeID]cluster.Vector{}
	for n := range cluster.NodeID(s.NodeRows()) {
		var free cluster.Vector
		for k, limit := range s.Limit(n) {
			free = append(free, limit-s.Used(n)[k]+s.LeavingDemand(n)[k])
		}
		room[n] = free
	}
	on := map[cluster.TaskID]cluster.NodeID{}
	for id := range cluster.TaskID(s.TaskRows()) {
		on[id] = s.Task(id).Node
	}
	w.Policy.Plan(t, c, budget, out)
	for i := range out.Bundles() {
		for _, a := range out.Bundle(i) {
			n, sign := a.Node, int64(-1)
			if a.Kind == sched.Evict {
				n, sign = on[a.Task], 1
			}
			for k, q := range s.Demand(a.Task) {
				room[n][k] += sign * q
			}
		}
		for _, a := range out.Bundle(i) {
			if a.Kind != sched.Evict {
				continue
			}
			w.evicted++
			if s.Demand(a.Task).Fits(room[on[a.Task]]) {
				w.needless++
			}
		}
	}
}

// TestNobodyLeavesForNothing lets tasks of several sizes come to nodes where others
// run: who has to leave is needed by those who come with the same bundle.
func TestNobodyLeavesForNothing(t *testing.T) {
	evicted := 0
	rapid.Check(t, func(rt *rapid.T) {
		m := &haggler{}
		model := flow.Model(m)
		if rapid.Bool().Draw(rt, "ranks") {
			model = ranker{m}
		}
		w := &witness{Policy: flow.New(model, flow.Options{Name: "haggler", Stages: []flow.Stage{flow.Spread, flow.Preempt}})}
		st := newStage(rt, w)
		size := rapid.Int64Range(1, 4)
		var shapes []cluster.ShapeID
		for range 3 {
			shapes = append(shapes, st.shape(cluster.Shape{Demand: cluster.Vector{size.Draw(rt, "cpu"), size.Draw(rt, "memory"), 0}}))
		}
		capacity := rapid.Int64Range(2, 12)
		for range rapid.IntRange(1, 3).Draw(rt, "nodes") {
			st.node(cluster.Vector{capacity.Draw(rt, "cpu"), capacity.Draw(rt, "memory"), 0})
			m.into = append(m.into, rapid.Int64Range(0, 9).Draw(rt, "into"))
		}
		for range 4 {
			for range rapid.IntRange(1, 6).Draw(rt, "tasks") {
				st.task(st.job(), rapid.SampledFrom(shapes).Draw(rt, "shape"))
				m.terms = append(m.terms, flow.Terms{Wait: rapid.Int64Range(5, 90).Draw(rt, "wait"), Stay: rapid.Int64Range(-30, 0).Draw(rt, "stay")})
			}
			st.mustStep()
			if w.needless > 0 {
				rt.Fatalf("somebody leaves for nothing:\n%s", st.core.View().Picture())
			}
		}
		evicted += w.evicted
	})
	t.Logf("%d have to leave", evicted)
	if !testing.Short() && evicted == 0 {
		t.Error("nobody has to leave, so that this shows nothing")
	}
}

// TestRoomBeforeVictims lets a large task ask, so that uniform slots show little of the
// room of n0, and two small ones: both go there, and nobody is evicted on n1.
func TestRoomBeforeVictims(t *testing.T) {
	m := &haggler{into: []flow.Cost{0, 0}}
	st := newStage(t, flow.New(m, flow.Options{Name: "haggler", Stages: []flow.Stage{flow.Spread, flow.Preempt}}))
	small, large := st.shape(cluster.Shape{Demand: cluster.Vector{1, 0, 0}}), st.shape(cluster.Shape{Demand: cluster.Vector{4, 0, 0}})
	st.node(cluster.Vector{5, 0, 0})
	st.node(cluster.Vector{4, 0, 0})
	m.terms = append(m.terms, flow.Terms{Wait: 7}) // it costs 2 to evict
	tenant := st.task(st.job(), large)
	m.terms[0].Stay = 5
	st.events = append(st.events, cluster.TaskFound{Task: tenant, Seq: st.seq, Node: 1})
	for _, shape := range []cluster.ShapeID{small, small, large} {
		wait := flow.Cost(90)
		if shape == large {
			wait = 1
		}
		m.terms = append(m.terms, flow.Terms{Wait: wait})
		st.task(st.job(), shape)
	}
	st.mustStep()
	if s := st.core.View(); s.Task(tenant).Phase != cluster.Running || s.Task(1).Node != 0 || s.Task(2).Node != 0 {
		t.Errorf("somebody leaves, though there is room:\n%s", s.Picture())
	}
}

// TestTierWhereTasksMove lets a task that is dear to leave waiting ask for the place of
// one of a higher tier, whether that may move or not: it does not get it.
func TestTierWhereTasksMove(t *testing.T) {
	for _, moves := range []int{0, 1} {
		m := &haggler{into: []flow.Cost{0}, terms: []flow.Terms{{Wait: 5, Tier: 1}, {Wait: 90}}}
		st := newStage(t, flow.New(m, flow.Options{Name: "haggler", Stages: []flow.Stage{flow.Spread, flow.Preempt}, Moves: moves}))
		st.node(cluster.Vector{1, 0, 0})
		one := st.shape(cluster.Shape{Demand: cluster.Vector{1, 0, 0}})
		first := st.task(st.job(), one)
		st.events = append(st.events, cluster.TaskFound{Task: first, Seq: st.seq, Node: 0})
		st.task(st.job(), one)
		st.mustStep()
		if s := st.core.View(); s.Task(first).Phase != cluster.Running {
			t.Errorf("with %d moves a task of a lower tier comes first:\n%s", moves, s.Picture())
		}
	}
}

// falling is a model by which the first task is of a higher tier for its first three
// seconds only.
type falling struct{ *haggler }

func (m falling) Terms(s *cluster.View, t cluster.TaskID) flow.Terms {
	terms := m.haggler.Terms(s, t)
	if terms.Next = s.Now() + cluster.Second; t == 0 && s.Now() < 3*cluster.Second {
		terms.Tier = 1
	}
	return terms
}

// TestTierFalls lets a task run that is of a higher tier than one that waits, until it
// is of the same, at the same price.
func TestTierFalls(t *testing.T) {
	m := falling{&haggler{into: []flow.Cost{0}, terms: []flow.Terms{{Wait: 5}, {Wait: 90}}}}
	st := newStage(t, flow.New(m, flow.Options{Name: "falling", Stages: []flow.Stage{flow.Spread, flow.Preempt}}))
	st.node(cluster.Vector{1, 0, 0})
	one := st.shape(cluster.Shape{Demand: cluster.Vector{1, 0, 0}})
	first := st.task(st.job(), one)
	st.events = append(st.events, cluster.TaskFound{Task: first, Seq: st.seq, Node: 0})
	st.task(st.job(), one)
	for range 3 {
		if st.core.View().TaskRows() > 0 && st.core.View().Task(first).Phase != cluster.Running {
			t.Fatalf("at %v somebody leaves for one of a lower tier:\n%s", st.now, st.core.View().Picture())
		}
		st.mustStep()
	}
	if s := st.core.View(); s.Task(first).Phase == cluster.Running {
		t.Errorf("nobody leaves, though the tiers are the same by now:\n%s", s.Picture())
	}
}

// TestTierByTier lets two tasks of one shape wait by a tenant of the higher of their
// tiers: who is of its tier does not pay enough, and who would pay is of the lower one.
func TestTierByTier(t *testing.T) {
	m := &haggler{into: []flow.Cost{0}, terms: []flow.Terms{{Wait: 50, Tier: 1}, {Wait: 20, Tier: 1}, {Wait: 90}}}
	st := newStage(t, flow.New(m, flow.Options{Name: "haggler", Stages: []flow.Stage{flow.Spread, flow.Preempt}}))
	n := st.node(cluster.Vector{1, 0, 0})
	one := st.shape(cluster.Shape{Demand: cluster.Vector{1, 0, 0}})
	first := st.task(st.job(), one)
	st.events = append(st.events, cluster.TaskFound{Task: first, Seq: st.seq, Node: 0})
	st.task(st.job(), one)
	st.task(st.job(), one)
	st.mustStep()
	st.events = append(st.events, cluster.NodeChanged{Node: n, Spec: cluster.NodeSpec{Name: "n0", Capacity: cluster.Vector{1, 1, 0}}})
	st.mustStep()
	if s := st.core.View(); s.Task(first).Phase != cluster.Running {
		t.Errorf("a task of a lower tier comes first:\n%s", s.Picture())
	}
}

// TestNoGain lets tasks wait that would pay for a tenant's place just what they gain.
func TestNoGain(t *testing.T) {
	m := &haggler{into: []flow.Cost{0}, terms: []flow.Terms{{Wait: 2}}}
	st := newStage(t, flow.New(m, flow.Options{Name: "haggler", Stages: []flow.Stage{flow.Spread, flow.Preempt}}))
	st.node(cluster.Vector{1, 0, 0})
	one := st.shape(cluster.Shape{Demand: cluster.Vector{1, 0, 0}})
	first := st.task(st.job(), one)
	st.events = append(st.events, cluster.TaskFound{Task: first, Seq: st.seq, Node: 0})
	for range 3 {
		m.terms = append(m.terms, flow.Terms{Wait: m.place(0) + 2})
		st.task(st.job(), one)
		st.mustStep()
	}
	if s := st.core.View(); s.Task(first).Phase != cluster.Running {
		t.Errorf("somebody leaves, and nobody gains by it:\n%s", s.Picture())
	}
}

// someStop is a haggler of whose tasks all but the first, where they run, may at most be stopped.
type someStop struct{ *haggler }

func (m someStop) Terms(s *cluster.View, t cluster.TaskID) flow.Terms {
	terms := m.haggler.Terms(s, t)
	if t > 0 {
		terms.May = flow.MayStop
	}
	return terms
}

// TestRoomOfWhoMoves lets a task that runs beside a tenant move elsewhere, and another one take its place,
// which would not pay for the tenant's.
func TestRoomOfWhoMoves(t *testing.T) {
	m := someStop{&haggler{into: []flow.Cost{0, 60}, arcs: map[cluster.NodeID]flow.Cost{1: 5}, terms: []flow.Terms{{Wait: 90, Stay: 40}, {Wait: 200}, {Wait: 30}}}}
	st := newStage(t, flow.New(m, flow.Options{Name: "some stop", Moves: 1}))
	st.node(cluster.Vector{2, 0, 0})
	st.node(cluster.Vector{1, 0, 0})
	one := st.shape(cluster.Shape{Demand: cluster.Vector{1, 0, 0}})
	for range 2 {
		runs := st.task(st.job(), one)
		st.events = append(st.events, cluster.TaskFound{Task: runs, Seq: st.seq, Node: 0})
	}
	comes := st.task(st.job(), one)
	st.mustStep()
	s := st.core.View()
	if s.Task(0).Next != 1 || s.Task(1).Phase != cluster.Running || s.Task(comes).Node != 0 {
		t.Errorf("want the first task to move and the last to take its place:\n%s", s.Picture())
	}
}
