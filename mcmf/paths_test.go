package mcmf_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/mcmf/mcmftest"
)

// unequal has two tasks, x, and two machines that x reaches by ways of different
// length:
//
//	task 0 ─┐          ┌─ machine 3 ─┐
//	        x (node 2) ┤             sink 6
//	task 1 ─┘          └─ 4 ─ machine 5 ─┘
func unequal() (g *mcmf.Graph, machines []mcmf.Node) {
	g = mcmf.NewGraph(0, 0)
	for _, supply := range []int64{1, 1, 0, 0, 0, 0, -2} {
		g.AddNode(supply)
	}
	for _, e := range [][2]mcmf.Node{{0, 2}, {1, 2}, {2, 3}, {2, 4}, {4, 5}, {3, 6}, {5, 6}} {
		g.AddArc(e[0], e[1], 0, 1, 1)
	}
	return g, []mcmf.Node{3, 5}
}

// backward is how the published implementations read off placements: machines
// hand themselves to the nodes before them. Flowlessly has a node do so again
// when it gets more machines, Firmament does not.
func backward(g *mcmf.Graph, s *mcmf.Solver, machines []mcmf.Node, again bool) map[mcmf.Node][]mcmf.Node {
	lists := map[mcmf.Node][]mcmf.Node{}
	visited := map[mcmf.Node]bool{}
	var queue []mcmf.Node
	for _, m := range machines {
		lists[m] = []mcmf.Node{m}
		queue = append(queue, m)
	}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for a := range g.Entering(v) {
			from := g.Arc(a).From
			for range min(s.Flow(a), int64(len(lists[v]))) {
				lists[from] = append(lists[from], lists[v][0])
				lists[v] = lists[v][1:]
			}
			if again || !visited[from] {
				visited[from] = true
				queue = append(queue, from)
			}
		}
	}
	return lists
}

// TestPublished shows that the published ways to read off placements are wrong
// where paths differ in length, and that ours is not.
func TestPublished(t *testing.T) {
	g, machines := unequal()
	s := mcmf.NewSolver(g)
	if r := s.Solve(mcmf.Options{}); r.Status != mcmf.Optimal {
		t.Fatal(r.Status)
	}
	text := func(once, twice []mcmf.Node) string { return fmt.Sprint(once, twice) }
	firmament := backward(g, s, machines, false)
	if got := text(firmament[0], firmament[1]); got != "[] [3]" {
		t.Errorf("Firmament's way: %s; want task 0 to be lost, or there is no point in ours", got)
	}
	flowlessly := backward(g, s, machines, true)
	if got := text(flowlessly[0], flowlessly[1]); got != "[] [3 5]" {
		t.Errorf("Flowlessly's way: %s; want task 1 to be placed twice, or there is no point in ours", got)
	}
	var got []string
	for p := range s.Paths() {
		got = append(got, fmt.Sprintf("%d->%d by %v: %d", p.Source, p.Sink, p.Arcs, p.Units))
	}
	if want := []string{"0->6 by [0 2 5]: 1", "1->6 by [1 3 4 6]: 1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// plainPaths is the rival of Decompose: unit by unit, each time from the first
// node with supply left, at each node by the first of all arcs that has flow left
// and leads away.
func plainPaths(g *mcmf.Graph, flow func(mcmf.Arc) int64) []string {
	left, supply := map[mcmf.Arc]int64{}, map[mcmf.Node]int64{}
	for a := range g.ArcBound() {
		if g.HasArc(a) && g.Arc(a).From != g.Arc(a).To {
			left[a] = flow(a)
		}
	}
	for v := range g.NodeBound() {
		if g.HasNode(v) {
			supply[v] = g.Supply(v)
		}
	}
	// away is the first arc by which flow leaves a node, and where it leads.
	away := func(v mcmf.Node) (mcmf.Arc, mcmf.Node) {
		for a := range g.ArcBound() {
			switch {
			case left[a] > 0 && g.Arc(a).From == v:
				return a, g.Arc(a).To
			case left[a] < 0 && g.Arc(a).To == v:
				return a, g.Arc(a).From
			}
		}
		return mcmf.None, mcmf.None
	}
	take := func(a mcmf.Arc) {
		if left[a] > 0 {
			left[a]--
		} else {
			left[a]++
		}
	}
	var units []string
	for v := range g.NodeBound() {
		for supply[v] > 0 {
			nodes, arcs, u := []mcmf.Node{v}, []mcmf.Arc{}, v
			for supply[u] >= 0 {
				a, to := away(u)
				if a == mcmf.None {
					return append(units, "lost")
				}
				nodes, arcs, u = append(nodes, to), append(arcs, a), to
				if at := slices.Index(nodes, to); at < len(nodes)-1 {
					for _, a := range arcs[at:] {
						take(a)
					}
					nodes, arcs = nodes[:at+1], arcs[:at]
				}
			}
			for _, a := range arcs {
				take(a)
			}
			supply[v]--
			supply[u]++
			units = append(units, fmt.Sprintf("%d->%d by %v", v, u, arcs))
		}
	}
	return units
}

// TestPathsAgainstRival compares unit by unit, on flows with all oddities.
func TestPathsAgainstRival(t *testing.T) {
	seen := struct{ paths, bulk, backward int }{}
	for seed := range uint64(3000) {
		g := mcmftest.Oddity(rand.New(rand.NewPCG(seed, 1)))
		s := mcmf.NewSolver(g)
		algorithm := mcmf.Algorithms()[seed%uint64(len(mcmf.Algorithms()))]
		if s.Solve(mcmf.Options{Algorithm: algorithm}).Status != mcmf.Optimal {
			continue
		}
		var units []string
		for p := range s.Paths() {
			seen.paths++
			if p.Units > 1 {
				seen.bulk++
			}
			for _, a := range p.Arcs {
				if s.Flow(a) < 0 {
					seen.backward++
				}
			}
			for range p.Units {
				units = append(units, fmt.Sprintf("%d->%d by %v", p.Source, p.Sink, p.Arcs))
			}
		}
		if want := plainPaths(g, s.Flow); !slices.Equal(units, want) {
			t.Fatalf("seed %d: %q, want %q\n%s", seed, units, want, mcmftest.Print(g))
		}
	}
	if seen.paths < 1000 || seen.bulk < 100 || seen.backward < 5 {
		t.Errorf("too little was seen: %+v", seen)
	}
}

// checkPaths wants every path to lead from its source to its sink, over no node
// twice. It is what the flow has beyond the paths, and what nodes give beyond them.
func checkPaths(t *testing.T, g *mcmf.Graph, flow func(mcmf.Arc) int64) (beyond, given []int64) {
	t.Helper()
	beyond, given = make([]int64, g.ArcBound()), make([]int64, g.NodeBound())
	for a := range g.ArcBound() {
		if g.HasArc(a) {
			beyond[a] = flow(a)
		}
	}
	for v := range g.NodeBound() {
		if g.HasNode(v) {
			given[v] = g.Supply(v)
		}
	}
	last := mcmf.Node(-1)
	for p := range mcmf.Decompose(g, flow) {
		if p.Units <= 0 || p.Source < last {
			t.Fatalf("%+v after one from node %d", p, last)
		}
		last = p.Source
		u, visited := p.Source, map[mcmf.Node]bool{p.Source: true}
		for _, a := range p.Arcs {
			e, units := g.Arc(a), p.Units
			if flow(a) < 0 {
				e.From, e.To, units = e.To, e.From, -units
			}
			beyond[a] -= units
			if e.From != u || visited[e.To] || beyond[a] != 0 && (beyond[a] < 0) != (flow(a) < 0) {
				t.Fatalf("%+v cannot take arc %d from %d to %d, which has %d units beyond it", p, a, e.From, e.To, beyond[a])
			}
			u, visited[e.To] = e.To, true
		}
		given[p.Source] -= p.Units
		given[p.Sink] += p.Units
		if u != p.Sink || given[p.Source] < 0 || given[p.Sink] > 0 {
			t.Fatalf("%+v ends at node %d; its ends have %d and %d left", p, u, given[p.Source], given[p.Sink])
		}
	}
	return beyond, given
}

// TestPathsSumUp wants paths to sum to the flow, but for circles, and each node to
// give and take what it should.
func TestPathsSumUp(t *testing.T) {
	circles := 0
	for seed := range uint64(300) {
		g := mcmftest.Large(rand.New(rand.NewPCG(seed, 2)), 30, 150)
		s := mcmf.NewSolver(g)
		if r := s.Solve(mcmf.Options{}); r.Status != mcmf.Optimal {
			t.Fatalf("seed %d: %v", seed, r.Status)
		}
		beyond, given := checkPaths(t, g, s.Flow)
		for a := range g.ArcBound() {
			if g.HasArc(a) && beyond[a] != 0 {
				circles++
				given[g.Arc(a).From] += beyond[a]
				given[g.Arc(a).To] -= beyond[a]
			}
		}
		for v, units := range given {
			if units != 0 {
				t.Fatalf("seed %d: %d units of node %d are in no path and no circle", seed, units, v)
			}
		}
	}
	if circles == 0 {
		t.Error("no flow went in circles")
	}
	// Scheduling networks have no circles: nothing at all is beyond.
	g := mcmftest.Hot(100, 1.05).New(1).Graph
	s := mcmf.NewSolver(g)
	s.Solve(mcmf.Options{})
	beyond, given := checkPaths(t, g, s.Flow)
	if i := slices.IndexFunc(beyond, func(units int64) bool { return units != 0 }); i >= 0 {
		t.Errorf("arc %d has %d units beyond the paths", i, beyond[i])
	}
	if i := slices.IndexFunc(given, func(units int64) bool { return units != 0 }); i >= 0 {
		t.Errorf("node %d has %d units beyond the paths", i, given[i])
	}
}

// TestPathsOfPartialFlow wants what arrives, of flows that end in the middle.
func TestPathsOfPartialFlow(t *testing.T) {
	lost := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		g := mcmftest.Large(r, 20, 100)
		s := mcmf.NewSolver(g)
		s.Solve(mcmf.Options{Budget: 1 + r.Int64N(2000)})
		_, given := checkPaths(t, g, s.Flow)
		for _, units := range given {
			lost += int(max(units, 0))
		}
		// Nor does anything that is no flow at all do harm.
		noise := make([]int64, g.ArcBound())
		for a := range noise {
			noise[a] = r.Int64N(7) - 3
		}
		checkPaths(t, g, func(a mcmf.Arc) int64 { return noise[a] })
	}
	if lost == 0 {
		t.Error("no flow was partial")
	}
}

// TestPathsCanBeLeft ends a loop early, changes the graph in one, and begins anew.
func TestPathsCanBeLeft(t *testing.T) {
	g, _ := unequal()
	s := mcmf.NewSolver(g)
	s.Solve(mcmf.Options{})
	paths := s.Paths()
	for p := range paths {
		if p.Source != 0 {
			t.Errorf("the first path is from node %d", p.Source)
		}
		break
	}
	count := 0
	for p := range paths {
		g.RemoveNode(p.Source)
		count++
	}
	if count != 2 {
		t.Errorf("%d paths, want 2", count)
	}
}

func BenchmarkPaths(b *testing.B) {
	g := mcmftest.Hot(1250, 0.8).New(1).Graph
	s := mcmf.NewSolver(g)
	s.Solve(mcmf.Options{})
	b.ReportAllocs()
	for b.Loop() {
		for range s.Paths() {
		}
	}
}
