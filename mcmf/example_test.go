package mcmf_test

import (
	"fmt"

	"fairlead.dev/fairlead/mcmf"
)

// Two plants make goods, two shops sell them, and transport costs.
func Example() {
	g := mcmf.NewGraph(4, 4)
	north, south := g.AddNode(30), g.AddNode(20)
	near, far := g.AddNode(-10), g.AddNode(-40)
	for _, way := range []struct {
		from, to       mcmf.Node
		capacity, cost int64
	}{
		{north, near, 30, 2},
		{north, far, 25, 6},
		{south, near, 20, 1},
		{south, far, 20, 4},
	} {
		g.AddArc(way.from, way.to, 0, way.capacity, way.cost)
	}

	s := mcmf.NewSolver(g)
	r := s.Solve(mcmf.Options{})
	fmt.Println(r.Status, r.Cost)
	for a := range g.ArcBound() {
		e := g.Arc(a)
		fmt.Printf("%d -> %d: %d of %d\n", e.From, e.To, s.Flow(a), e.Capacity)
	}
	// Nobody has to trust the solver.
	fmt.Println("objections:", s.Certificate())
	// Output:
	// optimal 220
	// 0 -> 2: 10 of 30
	// 0 -> 3: 20 of 25
	// 1 -> 2: 0 of 20
	// 1 -> 3: 20 of 20
	// objections: <nil>
}

// Tasks are given to machines. When some end and others arrive, the next solve
// starts from the last one, and takes the less time the less has changed.
func Example_changes() {
	g := mcmf.NewGraph(0, 0)
	sink := g.AddNode(0)
	var machines []mcmf.Node
	for range 3 {
		m := g.AddNode(0)
		g.AddArc(m, sink, 0, 1, 0) // room for one task
		machines = append(machines, m)
	}
	arrive := func(costs ...int64) mcmf.Node {
		task := g.AddNode(1)
		g.SetSupply(sink, g.Supply(sink)-1)
		for i, cost := range costs {
			g.AddArc(task, machines[i], 0, 1, cost)
		}
		return task
	}
	end := func(task mcmf.Node) {
		g.RemoveNode(task) // its arcs go with it
		g.SetSupply(sink, g.Supply(sink)+1)
	}
	s := mcmf.NewSolver(g)
	show := func() {
		r := s.Solve(mcmf.Options{})
		fmt.Printf("%v, cost %d:", r.Status, r.Cost)
		for p := range s.Paths() {
			fmt.Printf(" %d on %d", p.Source, g.Arc(p.Arcs[0]).To)
		}
		fmt.Println()
	}

	first := arrive(1, 5, 9)
	arrive(2, 4, 9)
	show()
	end(first)
	arrive(6, 8, 6) // it gets the number of the one that ended
	show()
	// Output:
	// optimal, cost 5: 4 on 1 5 on 2
	// optimal, cost 8: 4 on 3 5 on 1
}

// The more tasks a machine has, the slower it is: each costs more than the one
// before. One arc with a curve says so.
func ExampleGraph_AddCurve() {
	g := mcmf.NewGraph(0, 0)
	tasks, sink := g.AddNode(6), g.AddNode(-6)
	fast, slow := g.AddNode(0), g.AddNode(0)
	g.AddArc(tasks, fast, 0, 6, 0)
	g.AddArc(tasks, slow, 0, 6, 0)
	onFast := g.AddCurve(fast, sink, 0, []mcmf.Step{{Capacity: 2, Cost: 1}, {Capacity: 2, Cost: 3}, {Capacity: 2, Cost: 9}})
	onSlow := g.AddCurve(slow, sink, 0, []mcmf.Step{{Capacity: 2, Cost: 2}, {Capacity: 4, Cost: 8}})

	s := mcmf.NewSolver(g)
	r := s.Solve(mcmf.Options{})
	fmt.Println(r.Status, r.Cost)
	fmt.Println(s.Flow(onFast), "on the fast machine,", s.Flow(onSlow), "on the slow one")
	// Output:
	// optimal 12
	// 4 on the fast machine, 2 on the slow one
}

// Where there is no flow, the result has a cut that shows it.
func ExampleResult_cut() {
	g := mcmf.NewGraph(0, 0)
	team, other := g.AddNode(5), g.AddNode(1)
	quota := g.AddNode(0)
	sink := g.AddNode(-6)
	g.AddArc(team, quota, 0, 9, 1)
	g.AddArc(quota, sink, 0, 3, 1)
	g.AddArc(other, sink, 0, 9, 1)

	r := mcmf.NewSolver(g).Solve(mcmf.Options{})
	fmt.Println(r.Status, r.Cut)
	given, out := int64(0), int64(0)
	inside := map[mcmf.Node]bool{}
	for _, v := range r.Cut {
		inside[v] = true
		given += g.Supply(v)
	}
	for a := range g.ArcBound() {
		if e := g.Arc(a); inside[e.From] && !inside[e.To] {
			out += e.Capacity
		}
	}
	fmt.Printf("%d units are given to nodes that only %d can leave\n", given, out)
	// Output:
	// infeasible [0 2]
	// 5 units are given to nodes that only 3 can leave
}

// Prices say what a unit more would cost, and what more capacity would save.
func ExampleSolver_Price() {
	g := mcmf.NewGraph(0, 0)
	from, to := g.AddNode(10), g.AddNode(-10)
	cheap := g.AddArc(from, to, 0, 4, 1)
	g.AddArc(from, to, 0, 10, 7)

	s := mcmf.NewSolver(g)
	s.Solve(mcmf.Options{})
	fmt.Println("a unit more costs", s.Price(from)-s.Price(to))
	fmt.Println("a unit more of the cheap arc saves", s.Price(from)-s.Price(to)-g.Arc(cheap).Cost)
	// Output:
	// a unit more costs 7
	// a unit more of the cheap arc saves 6
}
