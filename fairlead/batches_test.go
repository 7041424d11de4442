package fairlead_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/fairlead"
	"fairlead.dev/fairlead/ilp"
	"fairlead.dev/fairlead/ilp/highs"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/sched"
)

// This file compares batches that come at once, to which nothing was promised, with the most of their tasks that any placement has.

// batch is tasks of some shapes, and nodes of which they ask for about as much as there is.
type batch struct {
	nodes, shapes []cluster.Vector
	count         []int             // of tasks, by shape
	order         []cluster.ShapeID // of all tasks, as they come
}

// newBatch draws one: 5 to 10 nodes, 3 to 8 shapes of 2 or 3 kinds, and as many tasks as ask for 90 to 110 % of the kind
// that most is asked of.
func newBatch(seed uint64) *batch {
	chance := rand.New(rand.NewPCG(seed, 0xba7c))
	kinds := 2 + chance.IntN(2)
	draw := func(low, high int64) cluster.Vector {
		v := make(cluster.Vector, kinds)
		for k := range v {
			v[k] = low + chance.Int64N(high-low+1)
		}
		return v
	}
	b, load := &batch{}, 0.9+0.2*chance.Float64()
	room, asked := make(cluster.Vector, kinds), make(cluster.Vector, kinds)
	for range 5 + chance.IntN(6) {
		n := draw(20, 40)
		b.nodes = append(b.nodes, n)
		for k, q := range n {
			room[k] += q
		}
	}
	for range 3 + chance.IntN(6) {
		b.shapes = append(b.shapes, draw(1, 10))
	}
	b.count = make([]int, len(b.shapes))
	for full := false; !full; {
		s := chance.IntN(len(b.shapes))
		for k, q := range b.shapes[s] {
			asked[k] += q
			full = full || float64(asked[k]) > load*float64(room[k])
		}
		if !full {
			b.count[s]++
			b.order = append(b.order, cluster.ShapeID(s))
		}
	}
	return b
}

// most is how many of the tasks have a place at most.
func (b *batch) most(t *testing.T, solver ilp.Solver) int {
	t.Helper()
	var m ilp.Model
	fits := make([][]ilp.Term, len(b.nodes)*len(b.shapes[0]))
	for s, demand := range b.shapes {
		var all []ilp.Term
		for n := range b.nodes {
			x := m.AddColumn(0, float64(b.count[s]), -1, ilp.Integer)
			all = append(all, ilp.Term{Column: x, Value: 1})
			for k, q := range demand {
				row := n*len(demand) + k
				fits[row] = append(fits[row], ilp.Term{Column: x, Value: float64(q)})
			}
		}
		m.AddRow(math.Inf(-1), float64(b.count[s]), all...)
	}
	for row, terms := range fits {
		kinds := len(b.shapes[0])
		m.AddRow(math.Inf(-1), float64(b.nodes[row/kinds][row%kinds]), terms...)
	}
	// Two numbers of tasks differ by one: less than that need not be looked for.
	found, err := solver.Solve(&m, nil, ilp.Limits{Gap: 0.99 / float64(len(b.order))})
	if err != nil || found.Status != ilp.Optimal && found.Limit != ilp.Gap {
		t.Fatalf("the most is not known: %v, %v", found.Status, err)
	}
	return int(math.Round(-found.Objective))
}

// placed is how many the policy places.
func (b *batch) placed(t *testing.T, policy sched.Policy) int {
	t.Helper()
	placed, _ := b.place(t, policy)
	return placed
}

// place is how many the policy places, and what it says of that.
func (b *batch) place(t *testing.T, policy sched.Policy) (placed int, gap sched.Gap) {
	t.Helper()
	kinds := []cluster.Kind{{Name: "cpu"}, {Name: "memory"}, {Name: "storage"}}[:len(b.shapes[0])]
	core, err := sched.New(cluster.NewState(kinds, nil), sched.Lane{Name: "all", Policy: policy, Planned: func(p *sched.Plan) { gap = p.Gap }})
	if err != nil {
		t.Fatal(err)
	}
	events := []cluster.Event{cluster.JobSubmitted{Name: "batch"}}
	for n, size := range b.nodes {
		events = append(events, cluster.NodeAdded{Node: cluster.NodeID(n), Spec: cluster.NodeSpec{Name: fmt.Sprint("n", n), Capacity: size}})
	}
	for s, demand := range b.shapes {
		events = append(events, cluster.ShapeDefined{Shape: cluster.ShapeID(s), Spec: cluster.Shape{Demand: demand}})
	}
	for i, s := range b.order {
		events = append(events, cluster.TaskSubmitted{Task: cluster.TaskID(i), Seq: cluster.Seq(i), Shape: s})
	}
	decisions, _, err := core.Step(0, events, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range decisions {
		if d.Kind != sched.Place {
			t.Fatalf("somebody is evicted for others who come with it: %+v", d)
		}
	}
	return len(decisions), gap
}

// near is how near a policy comes to the most.
type near struct {
	name        string
	make        func(seed uint64) sched.Policy
	mean, worst float64 // share of the most that has no place
	exact       int     // batches of which the most have one
}

// rivals are the policy, what two of its mechanisms are worth here, and others.
func rivals(t *testing.T) []near {
	t.Helper()
	list := []near{{name: "fairlead"}, {name: "without stretch"}, {name: "without worth"}}
	for i, off := range []fairlead.Without{0, fairlead.WithoutStretch, fairlead.WithoutWorth} {
		list[i].make = func(seed uint64) sched.Policy { return fairlead.New(fairlead.Options{Seed: seed, Without: off}) }
	}
	for _, name := range []string{"cpu-mem", "kube", "best-fit", "first-fit"} {
		list = append(list, near{name: name, make: func(seed uint64) sched.Policy {
			p, err := policies.New(name, policies.Options{Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}})
	}
	return list
}

// TestBatchesComeNearTheOptimum compares how many tasks of random batches that ask for about as much as there is have a place with how
// many any placement has at most. Wanted is 1 % less in the mean; what there is stands in docs/bench/fairlead.md, and why.
func TestBatchesComeNearTheOptimum(t *testing.T) {
	batches := uint64(40)
	switch {
	case os.Getenv("FAIRLEAD_LONG") != "":
		batches = 1000
	case testing.Short():
		batches = 10
	}
	solver := highs.Start(highs.Options{})
	if err := solver.Wait(t.Context()); err != nil {
		t.Skip(err) // it may be left out
	}
	all, tasks := rivals(t), 0
	for seed := range batches {
		b := newBatch(seed)
		most := b.most(t, solver)
		tasks += len(b.order)
		for i := range all {
			r := &all[i]
			placed := b.placed(t, r.make(seed))
			if placed > most {
				t.Fatalf("seed %d: %s places %d, and %d is the most", seed, r.name, placed, most)
			}
			fewer := float64(most-placed) / float64(most)
			r.mean, r.worst = r.mean+fewer/float64(batches), max(r.worst, fewer)
			if placed == most {
				r.exact++
			}
		}
	}
	t.Logf("%d batches of %d tasks in the mean", batches, tasks/int(batches))
	for _, r := range all {
		t.Logf("%-16s %.2f %% fewer in the mean, %.1f %% in the worst; as many in %d", r.name, 100*r.mean, 100*r.worst, r.exact)
	}
	if all[0].mean > 0.02 { // it may only become less
		t.Errorf("%.2f %% fewer tasks than could have a place, 1.6 %% when this was measured", 100*all[0].mean)
	}
}
