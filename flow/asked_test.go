package flow_test

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/flow/cpumem"
	"fairlead.dev/fairlead/flow/quincy"
	"fairlead.dev/fairlead/flow/spread"
)

// calls counts what a model was asked.
type calls struct{ terms, out, into, load, above int }

func (c calls) String() string {
	return fmt.Sprintf("terms %d, out %d, into %d, load %d, above %d", c.terms, c.out, c.into, c.load, c.above)
}

// nodes is how many questions were about nodes and ways there.
func (c calls) nodes() int { return c.out + c.into + c.load + c.above }

// fewTerms is more tasks than ever have a price that changes at once in TestAsked,
// but for those that begin the test.
const fewTerms = 40

// asked is a model that counts.
type asked struct {
	flow.Model
	calls *calls
}

func (m asked) Terms(s *cluster.View, t cluster.TaskID) flow.Terms {
	m.calls.terms++
	return m.Model.Terms(s, t)
}

func (m asked) Out(s *cluster.View, t cluster.TaskID, arcs *flow.Arcs) {
	m.calls.out++
	m.Model.Out(s, t, arcs)
}

func (m asked) Into(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) (flow.Aggregator, flow.Curve) {
	m.calls.into++
	return m.Model.Into(s, shape, n)
}

// askedLoad and askedTree are what a model may be beside.
type askedLoad struct{ asked }

func (m askedLoad) Load(s *cluster.View, n cluster.NodeID) flow.Curve {
	m.calls.load++
	return m.Model.(flow.Loaded).Load(s, n)
}

type askedTree struct{ asked }

func (m askedTree) Above(s *cluster.View, a flow.Aggregator) (flow.Aggregator, flow.Cost) {
	m.calls.above++
	return m.Model.(flow.Tree).Above(s, a)
}

func (m askedTree) Learn(s *cluster.View, all bool, nodes []cluster.NodeID) flow.Stale {
	return m.Model.(flow.Learner).Learn(s, all, nodes)
}

// TestAsked counts the questions to a model in clusters of two sizes that are half
// full: what an event touched is asked again, and nothing else, however many nodes
// there are.
func TestAsked(t *testing.T) {
	for _, tc := range []struct {
		name  string
		model func(*calls) flow.Model
	}{
		{"load-spreading", func(c *calls) flow.Model { return askedLoad{asked{&spread.Model{}, c}} }},
		{"cpu-mem", func(c *calls) flow.Model { return asked{&cpumem.Model{}, c} }},
		{"quincy", func(c *calls) flow.Model { return askedTree{asked{quincy.New(quincy.Standard()), c}} }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			small, large := askedIn(t, 500, tc.model), askedIn(t, 2000, tc.model)
			for i, was := range small {
				t.Logf("%-32s 500 nodes: %v · 2,000 nodes: %v", was.what, was.calls, large[i].calls)
				for _, o := range [2]occasion{was, large[i]} {
					if o.calls.nodes() > o.most || o.calls.terms > fewTerms {
						t.Errorf("%s: %v, want at most %d questions about nodes and ways", o.what, o.calls, o.most)
					}
				}
			}
		})
	}
}

// occasion is what happened, how many questions it may raise, and how many it raised.
type occasion struct {
	what  string
	most  int
	calls calls
}

// askedIn plays the same events in a cluster of so many nodes.
func askedIn(t *testing.T, nodes int, model func(*calls) flow.Model) []occasion {
	t.Helper()
	var count calls
	st := newStage(t, flow.New(model(&count), flow.Options{Name: "asked", Stages: flow.Stages()}))
	for i := range nodes {
		st.node(cluster.Vector{12, 12, 0}, cluster.Label{Key: "rack", Value: fmt.Sprint(i % 5)})
	}
	var shapes [3]cluster.ShapeID
	for i := range shapes {
		shapes[i] = st.shape(cluster.Shape{Demand: cluster.Vector{1, 1 + int64(i), 0}})
	}
	huge := st.shape(cluster.Shape{Demand: cluster.Vector{100, 1, 0}})
	job := st.job()
	for i := range nodes * 3 {
		st.task(job, shapes[i%3])
	}
	st.mustStep()
	st.mustStep()
	st.now += 1100 * cluster.Second // so that prices of staying rest for a while
	for _, shape := range shapes {  // each looks at what the others have changed
		st.task(job, shape)
		st.mustStep()
		st.mustStep()
	}
	if st.waiting() > 0 {
		t.Fatalf("%d tasks wait, want none", st.waiting())
	}
	var list []occasion
	happens := func(what string, most int, then func()) {
		then()
		count = calls{}
		st.mustStep()
		list = append(list, occasion{what, most, count})
		st.mustStep() // what was placed starts, without a question
	}
	grow := func(n cluster.NodeID, to int64) {
		st.events = append(st.events, cluster.NodeChanged{Node: n, Spec: cluster.NodeSpec{
			Name: fmt.Sprint("n", n), Capacity: cluster.Vector{to, to, 0}, Groups: st.core.View().NodeSpec(n).Groups,
		}})
	}
	happens("nobody waits, a node grows", 0, func() { grow(7, 13) })
	happens("a task ends, nobody waits", 0, func() { st.end(5) })
	happens("a task comes", 80, func() { st.task(job, shapes[0]) })
	happens("ten tasks come", 160, func() {
		for range 10 {
			st.task(job, shapes[0])
		}
	})
	happens("ten tasks of three shapes come", 400, func() {
		for i := range 10 {
			st.task(job, shapes[i%3])
		}
	})
	happens("a task comes that fits nowhere", 2, func() { st.task(job, huge) })
	rounds := st.core.Counts().Rounds
	happens("a node grows, and it still waits", 0, func() { grow(8, 13) })
	happens("a node comes, and it still waits", 0, func() { st.node(cluster.Vector{12, 12, 0}) })
	happens("usage is told, and it still waits", 0, func() {
		st.events = append(st.events, cluster.UsageReported{Node: 9, Usage: cluster.Vector{1, 1, 1}})
	})
	if st.core.Counts().Rounds < rounds+2 {
		t.Fatalf("there were %d rounds where nodes changed while a task waits, want 2 and more", st.core.Counts().Rounds-rounds)
	}
	happens("a node grows enough", 20, func() { grow(8, 200) })
	if st.waiting() > 0 {
		t.Fatalf("%d tasks wait, want none", st.waiting())
	}
	return list
}
