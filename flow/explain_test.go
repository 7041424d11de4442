package flow_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/flow/cpumem"
	"fairlead.dev/fairlead/flow/quincy"
	"fairlead.dev/fairlead/flow/spread"
	"fairlead.dev/fairlead/sched"
)

// priced are the policies whose prices are explained.
type priced struct {
	name string
	make func() *flow.Policy
}

func pricedPolicies() []priced {
	policy := func(name string, moves int, m func() flow.Model, stages ...flow.Stage) priced {
		return priced{fmt.Sprintf("%s/moves=%d", name, moves), func() *flow.Policy {
			return flow.New(m(), flow.Options{Name: name, Moves: moves, Stages: stages})
		}}
	}
	return []priced{
		policy("load-spreading", 0, func() flow.Model { return &spread.Model{} }),
		policy("cpu-mem", 0, func() flow.Model { return &cpumem.Model{} }),
		policy("quincy", 0, func() flow.Model { return quincy.New(quincy.Standard()) }, flow.Spread, flow.Preempt),
		policy("quincy", 2, func() flow.Model { return quincy.New(quincy.Standard()) }, flow.Spread, flow.Preempt),
	}
}

// situation is a small cluster at some moment, of which people may ask.
type situation struct {
	core *sched.Core
	now  cluster.Time
	seq  cluster.Seq
	rows cluster.TaskID
}

// anySituation is a cluster of two sizes of nodes in two racks, where the policy has
// placed what came, some has ended, and more has come since.
func anySituation(t *rapid.T, p *flow.Policy) *situation {
	kinds := []cluster.Kind{{Name: "cpu", PerUnit: 1}, {Name: "memory", PerUnit: 1}}
	core, err := sched.New(cluster.NewState(kinds, nil), sched.Lane{Policy: p})
	if err != nil {
		t.Fatal(err)
	}
	c := &situation{core: core}
	nodes := rapid.IntRange(1, 6).Draw(t, "nodes")
	var events []cluster.Event
	for n := range nodes {
		size := rapid.SampledFrom([]cluster.Vector{{6, 6}, {8, 4}}).Draw(t, "size")
		events = append(events, cluster.NodeAdded{Node: cluster.NodeID(n), Spec: cluster.NodeSpec{
			Name: fmt.Sprint("n", n), Capacity: size, Groups: []cluster.Label{{Key: "rack", Value: fmt.Sprint(n % 2)}},
		}})
	}
	half := []cluster.NodeID{}
	for n := 0; n < nodes; n += 2 {
		half = append(half, cluster.NodeID(n))
	}
	events = append(events, cluster.SetDefined{Set: 1, Nodes: half})
	for i := range cluster.ShapeID(3) {
		spec := cluster.Shape{Eligible: cluster.AllNodes, Demand: cluster.Vector{rapid.Int64Range(0, 3).Draw(t, "cpu"), rapid.Int64Range(0, 3).Draw(t, "memory")}}
		if rapid.IntRange(0, 3).Draw(t, "choosy") == 0 {
			spec.Eligible = 1
		}
		if rapid.IntRange(0, 4).Draw(t, "apart") == 0 {
			spec.PerNode = 1
		}
		if weight := rapid.SampledFrom([]int32{0, 0, -100, 30, 100}).Draw(t, "weight"); weight != 0 {
			spec.Prefers = []cluster.Preference{{Set: 1, Weight: weight}}
		}
		events = append(events, cluster.ShapeDefined{Shape: i, Spec: spec})
	}
	for j := range cluster.JobID(2) {
		events = append(events, cluster.JobSubmitted{Job: j, Name: fmt.Sprint("j", j)})
	}
	c.step(t, append(events, c.submit(t, nodes, rapid.IntRange(0, 4*nodes).Draw(t, "first"))...))
	c.step(t, nil)
	c.now += rapid.SampledFrom([]cluster.Time{0, 10 * cluster.Second, 1000 * cluster.Second}).Draw(t, "later")
	var ended []cluster.Event
	for row := range c.rows {
		if task := core.View().Task(row); task.Phase == cluster.Running && rapid.IntRange(0, 3).Draw(t, "ends") == 0 {
			ended = append(ended, cluster.TaskEnded{Task: row, Seq: task.Seq})
		}
	}
	c.observe(t, append(ended, c.submit(t, nodes, rapid.IntRange(0, 12).Draw(t, "then"))...))
	return c
}

// submit makes events of tasks, some of which read a block.
func (c *situation) submit(t *rapid.T, nodes, tasks int) (events []cluster.Event) {
	for range tasks {
		e := cluster.TaskSubmitted{Task: c.rows, Seq: c.seq, Job: cluster.JobID(rapid.IntRange(0, 1).Draw(t, "job")), Shape: cluster.ShapeID(rapid.IntRange(0, 2).Draw(t, "shape")), Priority: rapid.Int32Range(0, 1).Draw(t, "priority")}
		if rapid.Bool().Draw(t, "reads") {
			at := cluster.NodeID(rapid.IntRange(0, nodes-1).Draw(t, "block"))
			e.Input = []cluster.Block{{Bytes: 3e9, Replicas: [3]cluster.NodeID{at, cluster.NoNode, cluster.NoNode}}}
		}
		events = append(events, e)
		c.rows++
		c.seq++
	}
	return events
}

func (c *situation) observe(t *rapid.T, events []cluster.Event) {
	if _, err := c.core.Observe(c.now, events, nil); err != nil {
		t.Fatal(err)
	}
}

// step lets the policy decide, and all that it decides come true.
func (c *situation) step(t *rapid.T, events []cluster.Event) []sched.Decision {
	out, _, err := c.core.Step(c.now, events, nil)
	if err != nil {
		t.Fatal(err)
	}
	events = nil
	for _, d := range out {
		if d.Kind == sched.Place {
			events = append(events, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
		} else {
			events = append(events, cluster.TaskLeft{Task: d.Task, Attempt: d.Attempt})
		}
	}
	c.now += cluster.Second
	c.observe(t, events)
	return out
}

// TestExplainExactly holds what a task costs on its cheapest candidate against what the
// cheapest flow costs with the task, less what it costs without.
func TestExplainExactly(t *testing.T) {
	for _, p := range pricedPolicies() {
		t.Run(p.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				c := anySituation(t, p.make())
				s, all := c.core.View(), c.core.Everything(0)
				for row := range c.rows {
					if s.Task(row).Phase != cluster.Waiting {
						continue
					}
					before := s.Picture()
					x, err := p.make().Explain(s, all, row, 100)
					if err != nil {
						t.Fatal(err)
					}
					if after := s.Picture(); after != before {
						t.Fatalf("the state was changed by asking, from\n%sto\n%s", before, after)
					}
					checkTerms(t, &x)
					want := marginal(t, p, s, all, row)
					got := x.Wait
					if len(x.Candidates) > 0 {
						got = min(got, x.Candidates[0].Cost)
					}
					if got != want {
						t.Fatalf("%s costs %d more by its candidates %v or by waiting at %d; by the flow with it and without, %d\n%s",
							s.TaskName(row), got, x.Candidates, x.Wait, want, s.Picture())
					}
				}
			})
		})
	}
}

// marginal is what the cheapest flow costs more for the sake of the task.
func marginal(t *rapid.T, p priced, s *cluster.View, all *sched.Changed, row cluster.TaskID) flow.Cost {
	with, err := p.make().Optimum(s, all, &row, true)
	if err != nil {
		t.Fatal(err)
	}
	without, err := p.make().Optimum(s, all, &row, false)
	if err != nil {
		t.Fatal(err)
	}
	return with - without
}

// checkTerms wants candidates in order, whose terms add up.
func checkTerms(t *rapid.T, x *sched.Explanation) {
	for i, c := range x.Candidates {
		sum := flow.Cost(0)
		for _, term := range c.Terms {
			sum += term.Cost
			if term.Cost < 0 && othersMatter(c) {
				t.Fatalf("a part of the price of node %d is below zero: %+v", c.Node, c.Terms)
			}
		}
		if sum != c.Cost {
			t.Fatalf("terms %+v add up to %d, the cost is %d", c.Terms, sum, c.Cost)
		}
		if i > 0 && c.Cost < x.Candidates[i-1].Cost {
			t.Fatalf("candidates are not in order: %+v", x.Candidates)
		}
	}
}

// TestExplainAgrees lets a single task come to a cluster, explains it, and wants the
// policy to send it to a node that costs no more than any other, or let it wait. Where
// other tasks have a say in the price, they may move in the same round, or may not: a
// round then goes on for several solves, and ends elsewhere than the first.
func TestExplainAgrees(t *testing.T) {
	for _, p := range pricedPolicies() {
		t.Run(p.name, func(t *testing.T) {
			placed, waited := 0, 0
			agree := func(t *rapid.T) {
				c := anySituation(t, p.make())
				c.step(t, nil)
				c.step(t, nil)
				var gone []cluster.Event
				for row := range c.rows {
					if task := c.core.View().Task(row); task.Phase == cluster.Waiting {
						gone = append(gone, cluster.TaskEnded{Task: row, Seq: task.Seq})
					}
				}
				nodes := c.core.View().NodeRows()
				row := c.rows
				c.observe(t, append(gone, c.submit(t, nodes, 1)...))
				x, err := p.make().Explain(c.core.View(), c.core.Everything(0), row, nodes)
				if err != nil {
					t.Fatal(err)
				}
				if slices.ContainsFunc(x.Candidates, othersMatter) {
					return
				}
				before, went := c.core.View().Picture(), cluster.NoNode
				for _, d := range c.step(t, nil) {
					if d.Kind == sched.Place && d.Task == row {
						went = d.Node
					}
				}
				at := slices.IndexFunc(x.Candidates, func(o sched.Candidate) bool { return o.Node == went })
				switch {
				case went == cluster.NoNode && len(x.Candidates) > 0 && x.Candidates[0].Cost < x.Wait:
					t.Fatalf("waits at %d, although there are %+v\n%s", x.Wait, x.Candidates, before)
				case went != cluster.NoNode && at < 0:
					t.Fatalf("goes to node %d, which is no candidate: %+v", went, x.Candidates)
				case went != cluster.NoNode && x.Candidates[at].Cost != x.Candidates[0].Cost:
					t.Fatalf("goes to node %d, which is not the cheapest: %+v\n%s", went, x.Candidates, before)
				case went == cluster.NoNode:
					waited++
				default:
					placed++
				}
			}
			// With -short the few cases of one check may be all of one kind.
			for try := 0; try == 0 || try < 20 && (placed == 0 || waited == 0); try++ {
				rapid.Check(t, agree)
			}
			if placed == 0 || waited == 0 {
				t.Errorf("%d tasks were placed and %d waited", placed, waited)
			}
		})
	}
}

// othersMatter reports whether other tasks have a say in the price.
func othersMatter(c sched.Candidate) bool {
	return c.Full || slices.ContainsFunc(c.Terms, func(t flow.Term) bool { return t.Name == flow.TermCongestion || t.Name == flow.TermEviction })
}

// TestWorthBounds adds a node of each kind, solves again, and wants the cost to fall by
// no less and no more than was said.
func TestWorthBounds(t *testing.T) {
	for _, p := range pricedPolicies() {
		t.Run(p.name, func(t *testing.T) {
			useful, tight := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				c := anySituation(t, p.make())
				s, all := c.core.View(), c.core.Everything(0)
				kinds, err := p.make().Worth(s, all)
				if err != nil {
					t.Fatal(err)
				}
				before, err := p.make().Optimum(s, all, nil, true)
				if err != nil {
					t.Fatal(err)
				}
				counted := 0
				for _, k := range kinds {
					counted += k.Nodes
					after := withOneMore(t, p, s, all, k.Like)
					if fell := before - after; fell < k.Least || fell > k.Most {
						t.Fatalf("one more node like %d saves %d, want from %d to %d\n%s", k.Like, fell, k.Least, k.Most, s.Picture())
					}
					if k.Most > 0 {
						useful++
						if before-after == k.Most {
							tight++
						}
					}
				}
				if counted != s.Totals().Nodes {
					t.Fatalf("the kinds have %d nodes, there are %d", counted, s.Totals().Nodes)
				}
			})
			if !testing.Short() && (useful == 0 || tight == 0) {
				t.Errorf("in %d cases a node more was worth something, in %d of them exactly as much as was said", useful, tight)
			}
			t.Logf("%d nodes were worth something, %d of them exactly as much as was said", useful, tight)
		})
	}
}

// withOneMore is what the cheapest flow costs when there is one more node.
func withOneMore(t *rapid.T, p priced, s *cluster.View, all *sched.Changed, like cluster.NodeID) flow.Cost {
	own := cluster.NewState(s.Kinds(), s.Classes())
	own.CopyAll(s)
	row := cluster.NodeID(s.NodeRows())
	events := []cluster.Event{
		cluster.NodeAdded{Node: row, Spec: *s.NodeSpec(like)}, cluster.EligibilityChanged{Set: 1, Node: row, Eligible: s.Eligible(1, like)},
	}
	for _, e := range events {
		if err := own.Apply(s.Now(), e); err != nil {
			t.Fatal(err)
		}
	}
	more := *all
	more.Nodes = append(slices.Clone(all.Nodes), row)
	cost, err := p.make().Optimum(&own.View, &more, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	return cost
}
