package flow_test

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/flow/spread"
	"fairlead.dev/fairlead/sched"
)

// wayward is load-spreading that says of one node, or of one job, what no model may
// say. What is nil is as it should be.
type wayward struct {
	spread.Model
	node  cluster.NodeID
	job   cluster.JobID
	into  flow.Curve
	load  flow.Curve
	terms *flow.Terms
	out   func(*flow.Arcs)
}

func (m *wayward) Into(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) (flow.Aggregator, flow.Curve) {
	a, curve := m.Model.Into(s, shape, n)
	if n == m.node && m.into != nil {
		curve = m.into
	}
	return a, curve
}

func (m *wayward) Load(s *cluster.View, n cluster.NodeID) flow.Curve {
	if n == m.node && m.load != nil {
		return m.load
	}
	return m.Model.Load(s, n)
}

func (m *wayward) Terms(s *cluster.View, t cluster.TaskID) flow.Terms {
	terms := m.Model.Terms(s, t)
	if s.Task(t).Job == m.job && m.terms != nil {
		terms = *m.terms
	}
	terms.Key = uint64(s.Task(t).Job)
	return terms
}

func (m *wayward) Out(s *cluster.View, t cluster.TaskID, arcs *flow.Arcs) {
	if s.Task(t).Job == m.job && m.out != nil {
		m.out(arcs)
	}
	m.Model.Out(s, t, arcs)
}

// climber is load-spreading where what is above each aggregator can be chosen.
type climber struct {
	spread.Model
	above []flow.Aggregator
	cost  flow.Cost
}

func (m *climber) Above(_ *cluster.View, a flow.Aggregator) (flow.Aggregator, flow.Cost) {
	if int(a) >= len(m.above) {
		return flow.Nowhere, 0
	}
	return m.above[a], m.cost
}

// TestContract lets models say of the second of three nodes, or of the second of two
// jobs, what they may not. It is told by name, of the policy and of what the model was
// asked about; the rest is placed, and nothing is over its limit.
func TestContract(t *testing.T) {
	const tooMuch = flow.MaxCost + 1
	falling := flow.Curve{{Capacity: 1, Cost: 2}, {Capacity: 1, Cost: 1}}
	for _, tc := range []struct {
		name  string
		model flow.Model
		want  string
		nodes int // that tasks may go to
	}{
		{"into: negative capacity", &wayward{node: 1, into: flow.Curve{{Capacity: -1}}}, "curve to node n1: step 0 of a curve has the capacity -1", 2},
		{"into: not convex", &wayward{node: 1, into: falling}, "curve to node n1: the cost along a curve falls from 2 to 1 at step 1", 2},
		{"into: too dear", &wayward{node: 1, into: flow.Curve{{Capacity: 1, Cost: tooMuch}}}, "curve to node n1: step 0 of a curve has a cost of 1099511627777", 2},
		{"into: too cheap", &wayward{node: 1, into: flow.Curve{{Capacity: 1, Cost: -tooMuch}}}, "curve to node n1: step 0 of a curve has a cost of -1099511627777", 2},
		{"load: negative capacity", &wayward{node: 1, load: flow.Curve{{Capacity: 2}, {Capacity: -3}}}, "load of node n1: step 1 of a curve has the capacity -3", 2},
		{"load: not convex", &wayward{node: 1, load: falling}, "load of node n1: the cost along a curve falls from 2 to 1 at step 1", 2},
		{"load: too dear", &wayward{node: 1, load: flow.Curve{{Capacity: 1, Cost: tooMuch}}}, "load of node n1: step 0 of a curve has a cost of 1099511627777", 2},
		{"terms: waiting too dear", &wayward{job: 1, terms: &flow.Terms{Wait: tooMuch, Next: cluster.Never}}, "terms of task j1#5: a cost of 1099511627777", 3},
		{"terms: staying too cheap", &wayward{job: 1, terms: &flow.Terms{Wait: 1 << 29, Stay: -tooMuch, Next: cluster.Never}}, "terms of task j1#5: a cost of -1099511627777", 3},
		{"out: unknown node", &wayward{job: 1, out: func(a *flow.Arcs) { a.Node(7, 0) }}, "arc of task j1#5: to node 7, want one of the 3 that are known", 3},
		{"out: no node", &wayward{job: 1, out: func(a *flow.Arcs) { a.Node(cluster.NoNode, 0) }}, "arc of task j1#5: to nowhere", 3},
		{"out: no aggregator", &wayward{job: 1, out: func(a *flow.Arcs) { a.Aggregator(flow.Nowhere, 0) }}, "arc of task j1#5: to nowhere", 3},
		{"out: too dear", &wayward{job: 1, out: func(a *flow.Arcs) { a.Node(0, tooMuch) }}, "arc of task j1#5: a cost of 1099511627777", 3},
		{"above: too dear", &climber{above: []flow.Aggregator{1}, cost: tooMuch}, "arc from aggregator 1 to 0: a cost of 1099511627777", 3},
		{"above: itself", &climber{above: []flow.Aggregator{0}}, "aggregator 0 is above itself", 3},
		{"above: in a circle", &climber{above: []flow.Aggregator{1, 2, 0}, cost: -1}, "aggregator 0 is above itself, by way of 1", 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			st := newStage(t, flow.New(tc.model, flow.Options{Name: "wayward"}))
			for range 3 {
				st.node(cluster.Vector{3, 3, 0})
			}
			shape := st.shape(cluster.Shape{Demand: cluster.Vector{1, 1, 0}})
			good, second := st.job(), st.job()
			for i := range 8 {
				st.task([]cluster.JobID{good, second}[i/4], shape)
			}
			err := st.step()
			if err == nil || !strings.Contains(err.Error(), "policy wayward: "+tc.want) {
				t.Errorf("the step says %v, want policy wayward: %s", err, tc.want)
			}
			if got, want := st.waiting(), max(0, 8-3*tc.nodes); got != want {
				t.Errorf("%d tasks wait, want %d:\n%s", got, want, st.core.View().Picture())
			}
			// It goes on: one task less, and two more that compete, as they differ.
			st.end(0)
			larger := st.shape(cluster.Shape{Demand: cluster.Vector{2, 1, 0}})
			for range 4 {
				st.task(good, larger)
				st.task(second, shape)
			}
			_ = st.step()
			s := st.core.View()
			if on := len(s.TasksOn(1)); tc.nodes == 2 && on > 0 {
				t.Errorf("node n1 has %d tasks, want none as its price is wrong:\n%s", on, s.Picture())
			}
			for id := range cluster.TaskID(s.TaskRows()) {
				for n := range cluster.NodeID(3) {
					if s.Task(id).Phase == cluster.Waiting && !s.Admits(id, n).Refused() && (n != 1 || tc.nodes == 3) {
						t.Errorf("%s waits and fits on n%d:\n%s", s.TaskName(id), n, s.Picture())
					}
				}
			}
		})
	}
}

// TestUtmost uses prices at their limits, none of which is refused.
func TestUtmost(t *testing.T) {
	for _, cost := range []flow.Cost{flow.MaxCost, -flow.MaxCost} {
		m := &wayward{node: 1, into: flow.Curve{{Capacity: 1, Cost: cost}}, load: flow.Curve{{Cost: cost}}, job: 1}
		m.terms = &flow.Terms{Wait: flow.MaxCost, Stay: -flow.MaxCost, Next: cluster.Never}
		st := newStage(t, flow.New(m, flow.Options{Name: "utmost"}))
		for range 3 {
			st.node(cluster.Vector{300, 300, 0})
		}
		shape := st.shape(cluster.Shape{Demand: cluster.Vector{1, 1, 0}})
		for range 2 {
			job := st.job()
			for range 500 {
				st.task(job, shape)
			}
		}
		st.mustStep()
	}
}

// TestLostWhilePlanning loses a node, or finds it smaller, while a round that counts
// on it plans. It receives no task, and not more than it has; the next round uses the
// others.
func TestLostWhilePlanning(t *testing.T) {
	for _, tc := range []struct {
		name string
		then []cluster.Event
		want int // tasks on it afterwards
	}{
		{"lost", []cluster.Event{cluster.NodeLost{Node: 0}}, 0},
		{"smaller", []cluster.Event{cluster.NodeChanged{Node: 0, Spec: cluster.NodeSpec{Name: "n0", Capacity: cluster.Vector{1, 4, 0}}}}, 1},
		{"another", []cluster.Event{cluster.NodeLost{Node: 0}, cluster.NodeAdded{Node: 0, Spec: cluster.NodeSpec{Name: "m", Capacity: cluster.Vector{2, 4, 0}}}}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			st := newStage(t, flow.New(&spread.Model{}, flow.Options{Name: "load-spreading"}))
			st.node(cluster.Vector{4, 4, 0})
			st.mustStep()
			shape, job := st.shape(cluster.Shape{Demand: cluster.Vector{1, 1, 0}}), st.job()
			for range 4 {
				st.task(job, shape)
			}
			if _, err := st.core.Observe(st.now, st.events, nil); err != nil {
				t.Fatal(err)
			}
			round := st.core.Begin(0, st.now)
			round.Run(0)
			if _, err := st.core.Observe(st.now, tc.then, nil); err != nil {
				t.Fatal(err)
			}
			decided := st.core.Finish(round, st.now, nil)
			if len(decided) != tc.want {
				t.Fatalf("%d tasks were placed, want %d: %v", len(decided), tc.want, decided)
			}
			if err := st.core.View().Check(); err != nil {
				t.Fatal(err)
			}
			st.events = nil
			next, _, err := st.core.Step(st.now+2*cluster.Second, []cluster.Event{
				cluster.NodeAdded{Node: 1, Spec: cluster.NodeSpec{Name: "n1", Capacity: cluster.Vector{4, 4, 0}}},
			}, nil)
			if err != nil || len(next) != 4-tc.want {
				t.Fatalf("the next round decides %v (%v), want %d placements", next, err, 4-tc.want)
			}
			for _, d := range next {
				if d.Kind != sched.Place || d.Node != 1 {
					t.Errorf("%v, want a place on the new node", d)
				}
			}
		})
	}
}

// choosy is load-spreading that keeps the second shape away from the second node, or
// gives it a price there that cannot be.
type choosy struct {
	spread.Model
	price flow.Cost // 0: the node is nowhere
}

func (m *choosy) Into(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) (flow.Aggregator, flow.Curve) {
	switch a, _ := m.Model.Into(s, shape, n); {
	case shape != 1 || n != 1:
		return a, nil
	case m.price == 0:
		return flow.Nowhere, nil
	default:
		return a, flow.Curve{{Capacity: 1, Cost: m.price}}
	}
}

// TestContended lets two shapes compete, one of which has no price on one of the
// nodes. No task of that shape goes there.
func TestContended(t *testing.T) {
	for _, price := range []flow.Cost{0, flow.MaxCost + 1} {
		st := newStage(t, flow.New(&choosy{price: price}, flow.Options{Name: "choosy"}))
		for range 2 {
			st.node(cluster.Vector{4, 4, 0})
		}
		small, large, job := st.shape(cluster.Shape{Demand: cluster.Vector{1, 1, 0}}), st.shape(cluster.Shape{Demand: cluster.Vector{2, 1, 0}}), st.job()
		for i := range 10 {
			st.task(job, []cluster.ShapeID{small, large, large}[i%3])
		}
		if err := st.step(); (err != nil) != (price > 0) {
			t.Errorf("the step says %v", err)
		}
		s := st.core.View()
		for _, task := range s.TasksOn(1) {
			if s.Task(task).Shape == large {
				t.Errorf("%s is where its shape has no price (%d):\n%s", s.TaskName(task), price, s.Picture())
			}
		}
		if st.waiting() > 5 { // of 4 small and 6 large ones
			t.Errorf("with a price of %d %d tasks wait, want 5 at most:\n%s", price, st.waiting(), s.Picture())
		}
	}
}
