package mcmf

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// wideSimplex is networkSimplex as it is with numbers that do not fit int32.
func wideSimplex(g *Graph, volume int64, m *meter) solution {
	o := survey(g, volume)
	return solveSimplex(g, &o, int64(1<<62), m)
}

func TestSimplex(t *testing.T)         { checkAgainst(t, networkSimplex) }
func TestSimplexWide(t *testing.T)     { checkAgainst(t, wideSimplex) }
func TestSimplexEnds(t *testing.T)     { checkEnds(t, networkSimplex) }
func TestSimplexWideEnds(t *testing.T) { checkEnds(t, wideSimplex) }

// simplexGraph makes a graph of words: "3" is a node with a supply of 3, "0>1"
// an arc, and "0>1:2..5*7" one with the bounds 2 and 5 and the cost 7, which else
// are 0, 9 and 1.
func simplexGraph(t *testing.T, text string) *Graph {
	t.Helper()
	g := NewGraph(0, 0)
	for word := range strings.FieldsSeq(text) {
		ends, numbers, bounded := strings.Cut(word, ":")
		if !strings.Contains(ends, ">") {
			var supply int64
			if _, err := fmt.Sscan(word, &supply); err != nil {
				t.Fatalf("%q: %v", word, err)
			}
			g.AddNode(supply)
			continue
		}
		var from, to Node
		if _, err := fmt.Sscanf(ends, "%d>%d", &from, &to); err != nil {
			t.Fatalf("%q: %v", word, err)
		}
		var lower, capacity, cost int64 = 0, 9, 1
		if bounded {
			if _, err := fmt.Sscanf(numbers, "%d..%d*%d", &lower, &capacity, &cost); err != nil {
				t.Fatalf("%q: %v", word, err)
			}
		}
		g.AddArc(from, to, lower, capacity, cost)
	}
	return g
}

func TestSimplexCases(t *testing.T) {
	for _, c := range []struct{ name, graph, want string }{
		{"nothing", "", "optimal []"},
		{"nodes without arcs", "0 0", "optimal []"},
		{"one way", "2 -2 0>1", "optimal [2]"},
		{"no way", "2 -2", "infeasible, cut [0]"},
		{"the wrong way", "2 -2 1>0", "infeasible, cut [0]"},
		{"too narrow, behind a node", "2 0 -2 0>1 1>2:0..1*1", "infeasible, cut [0 1]"},
		{"one of two components", "2 -2 1 -1 0>1 3>2", "infeasible, cut [2]"},
		{"parallel arcs, the cheap one first", "4 -4 0>1:0..9*5 0>1:0..3*2", "optimal [1 3]"},
		{"a way round is cheaper", "4 0 -4 0>2:0..9*5 0>1:0..3*1 1>2:0..9*1", "optimal [1 3 3]"},
		{"a loop that pays, one that costs", "0 0>0:0..3*-1 0>0:1..3*1", "optimal [3 1]"},
		{"a cycle that pays", "0 0 0>1:0..3*-5 1>0:0..4*2", "optimal [3 3]"},
		{"a cycle that does not", "0 0 0>1:0..3*-5 1>0:0..4*6", "optimal [0 0]"},
		{"lower bounds", "0 0 0 0>1:2..3*5 1>2 2>0", "optimal [2 2 2]"},
		{"negative lower bounds", "0 0 0>1:-2..3*5 1>0:-2..3*-1", "optimal [-2 -2]"},
		{"no room", "1 -1 0>1:0..0*1 0>1:1..1*9", "optimal [0 1]"},
		{"a lower bound that nothing feeds", "0 0 0>1:1..2*1", "infeasible, cut [1]"},
		{"no limit", "1 -1 0>1:0..9223372036854775807*3", "optimal [1]"},
	} {
		g := simplexGraph(t, c.graph)
		status, _, volume := g.examine()
		if status != Optimal {
			t.Fatalf("%s: %v", c.name, status)
		}
		s := networkSimplex(g, volume, newMeter(Options{}))
		if err := checkSolution(g, s); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		got := fmt.Sprint(s.status, " ", s.flow)
		if s.status == Infeasible {
			got = fmt.Sprint(s.status, ", cut ", s.cut)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestSimplexExtremes is about numbers as big as examine lets pass, and about
// those that int32 just fits, or just not.
func TestSimplexExtremes(t *testing.T) {
	for _, c := range []struct{ name, graph string }{
		{"cost", "1 0 -1 0>1:0..9*288230376151711744 1>2:0..9*288230376151711744 2>1:0..9*-288230376151711744"},
		{"supply", "576460752303423487 0 -576460752303423487 0>1:0..9223372036854775807*1 1>2:0..9223372036854775807*1"},
		{"components", "1 -1 0 -2 2 0>1:0..9*192153584101141162 4>3:0..9*-192153584101141162"},
		{"volume for int32", "268435455 0 -268435455 0>1:0..999999999999*1 1>2:0..536870911*1"},
		{"volume for int64", "268435456 0 -268435456 0>1:0..999999999999*1 1>2:0..536870912*1"},
		{"cost for int32", "1 0 -1 0>1:0..9*178956970 1>2:0..9*178956970 0>2:0..9*178956970"},
		{"cost for int64", "1 0 -1 0>1:0..9*178956971 1>2:0..9*178956971 0>2:0..9*178956971"},
	} {
		g := simplexGraph(t, c.graph)
		status, _, volume := g.examine()
		if status != Optimal {
			t.Fatalf("%s: %v", c.name, status)
		}
		s := networkSimplex(g, volume, newMeter(Options{}))
		if s.status != Optimal {
			t.Errorf("%s: %v", c.name, s.status)
			continue
		}
		if err := checkSolution(g, s); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for v, price := range s.price {
			if magnitude(price) > mostPrice {
				t.Errorf("%s: node %d has the price %d", c.name, v, price)
			}
		}
	}
}

// TestSimplexInvariants looks at the basis after every pivot.
func TestSimplexInvariants(t *testing.T) {
	pivots := 0
	for seed := range uint64(1000) {
		g := oddGraph(rand.New(rand.NewPCG(seed, 3)))
		_, _, volume := g.examine()
		o := survey(g, volume)
		s := newSimplex[int32](g, &o)
		s.plant(&o, 1<<30)
		for {
			if err := s.check(); err != nil {
				t.Fatalf("seed %d, after %d pivots in all: %v", seed, pivots, err)
			}
			e := s.entering()
			if e == None {
				break
			}
			s.pivot(e)
			pivots++
		}
	}
	if pivots < 1000 {
		t.Errorf("only %d pivots", pivots)
	}
}

// check reports what is wrong with a basis, the slow way.
func (s *simplex[N]) check() error {
	root := int32(len(s.tree) - 1)
	children := make([][]int32, len(s.tree))
	for v := s.thread[root]; v != root; v = s.thread[v] {
		t := &s.tree[v]
		children[t.parent] = append(children[t.parent], v)
		if t.up <= 0 || t.down < 0 {
			return fmt.Errorf("node %d: %+v is not strongly feasible", v, *t)
		}
		if s.back[s.thread[v]] != v {
			return fmt.Errorf("back of %d is %d, and not %d", s.thread[v], s.back[s.thread[v]], v)
		}
		if e := s.pred[v]; e >= 0 {
			a := s.arcs[e]
			if a.cost-s.price[a.from]+s.price[a.to] != 0 || t.up+t.down != s.room[e] {
				return fmt.Errorf("node %d: %+v by arc %+v with room %d", v, *t, a, s.room[e])
			}
		}
	}
	var order []int32
	var visit func(v int32) error
	visit = func(v int32) error {
		begin := len(order)
		order = append(order, v)
		for _, child := range children[v] {
			if err := visit(child); err != nil {
				return err
			}
		}
		if size, last := len(order)-begin, order[len(order)-1]; size != int(s.tree[v].size) || last != s.last[v] {
			return fmt.Errorf("node %d: size %d and last node %d, and not %d and %d", v, s.tree[v].size, s.last[v], size, last)
		}
		return nil
	}
	if err := visit(root); err != nil {
		return err
	}
	v := root
	for _, w := range order {
		if v != w {
			return fmt.Errorf("thread %v is not the preorder %v", s.thread, order)
		}
		v = s.thread[v]
	}
	return nil
}

// TestSimplexRepeats asks twice, and once with wider numbers.
func TestSimplexRepeats(t *testing.T) {
	g := crossroads(300, 8)
	_, _, volume := g.examine()
	first, second := newMeter(Options{}), newMeter(Options{})
	a, b := networkSimplex(g, volume, first), networkSimplex(g, volume, second)
	wide := wideSimplex(g, volume, newMeter(Options{}))
	if err := checkSolution(g, a); err != nil || a.status != Optimal {
		t.Error(a.status, err)
	}
	if !slices.Equal(a.flow, b.flow) || !slices.Equal(a.price, b.price) || first.ticks != second.ticks {
		t.Errorf("%d ticks, then %d", first.ticks, second.ticks)
	}
	if !slices.Equal(a.flow, wide.flow) || !slices.Equal(a.price, wide.price) {
		t.Error("int32 and int64 differ")
	}
}

// crossroads is a random graph much like those of NETGEN-8, and a ring of dear
// arcs without limit, so that there is a flow.
func crossroads(nodes, degree int) *Graph {
	r := rand.New(rand.NewPCG(1, 1))
	g := NewGraph(nodes, nodes*degree)
	for range nodes {
		g.AddNode(0)
	}
	for i := range nodes / 50 {
		g.SetSupply(Node(i), 1000)
		g.SetSupply(Node(nodes-1-i), -1000)
	}
	for v := range nodes {
		g.AddArc(Node(v), Node((v+1)%nodes), 0, 1<<62, 10_000)
		for range degree - 1 {
			g.AddArc(Node(v), Node(r.IntN(nodes)), 0, 1+r.Int64N(1000), 1+r.Int64N(10_000))
		}
	}
	return g
}

func BenchmarkSimplex(b *testing.B) {
	for _, nodes := range []int{256, 4096, 16384} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			g := crossroads(nodes, 8)
			_, _, volume := g.examine()
			m := newMeter(Options{})
			for b.Loop() {
				networkSimplex(g, volume, m)
			}
			b.ReportMetric(float64(m.ticks)/float64(b.N), "ticks/op")
		})
	}
}

// Nodes that are gone do not count where it is asked how dear a path may be: with
// them the bound would overflow, and 32 bits would seem enough.
func TestSimplexRemovedNodes(t *testing.T) {
	g := NewGraph(0, 0)
	from, to := g.AddNode(1), g.AddNode(-1)
	var gone []Node
	for range 30 {
		gone = append(gone, g.AddNode(0))
	}
	for _, v := range gone {
		g.RemoveNode(v)
	}
	for _, cost := range []int64{1 << 58, 1 << 40, 5} {
		g.AddArc(from, to, 0, 1, cost)
	}
	if r := NewSolver(g).Solve(Options{Algorithm: NetworkSimplex}); r.Status != Optimal || r.Cost != 5 {
		t.Errorf("%v with the cost %d, should be optimal with 5", r.Status, r.Cost)
	}
}
