package dimacs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"

	"fairlead.dev/fairlead/mcmf"
)

const (
	small = `c a problem
p min 4 5
n 1 4

n	4   -4
c
` + smallArcs
	smallArcs = `a 1 2 0 4 2
a 1 3 0 2 2
a 2 3 -1 2 -1
a 2 4 0 3 3
a 3 4 1 5 1
`
)

func mustRead(t *testing.T, text string) *Problem {
	t.Helper()
	p, err := Read(strings.NewReader(text), "x.min")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func written(t *testing.T, p *Problem) string {
	t.Helper()
	var b strings.Builder
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReadAndWrite(t *testing.T) {
	const want = "p min 4 5\nn 1 4\nn 4 -4\n" + smallArcs
	for _, tc := range []struct{ name, text string }{
		{"as it is", small},
		{"ends of lines as on Windows", strings.ReplaceAll(small, "\n", "\r\n")},
		{"no end of the last line", strings.TrimSpace(small)},
		{"nodes after arcs", strings.ReplaceAll(small, "n 1 4\n", "") + "n 1 4"},
		{"leading blanks", strings.ReplaceAll(small, "\na", "\n  a")},
		{"signs and zeros", strings.ReplaceAll(small, " 4 2\n", " +4 00000000000000000000002\n")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := mustRead(t, tc.text)
			if diff := cmp.Diff(want, written(t, p)); diff != "" {
				t.Errorf("written (-want +got):\n%s", diff)
			}
			if p.Node(4) != 3 || p.ID(3) != 4 || p.Node(5) != mcmf.None || p.Node(0) != mcmf.None || p.ID(4) != 0 {
				t.Error("the node of id 1 should be the graph's first, and so on")
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", `x.min:1:1: the file ends; expected a line "p min NODES ARCS"`},
		{"c only this\n", `x.min:2:1: the file ends; expected a line "p min NODES ARCS"`},
		{"a 1 2 0 1 1\n", `x.min:1:1: no line "p min NODES ARCS" so far; expected it before all others`},
		{"p max 1 1\n", `x.min:1:3: the problem is "max"; expected min`},
		{"p min 1\n", `x.min:1:8: the line ends; expected the number of arcs`},
		{"p min 1 0 0\n", `x.min:1:11: "0" is left over; expected the end of the line`},
		{"p min 9999999999 1\n", `x.min:1:7: 9999999999 nodes; expected 0 to 67108864`},
		{"p min 1 9999999999\n", `x.min:1:9: 9999999999 arcs; expected 0 to 268435456`},
		{"p min 99999999999999999999 1\n", `x.min:1:7: "99999999999999999999" does not fit 64 bits; expected the number of nodes`},
		{"p min 60000000 5\n", `x.min:1:7: 60000000 nodes but only 5 arcs; expected at most 1048576 nodes without an arc`},
		{"p min -1 0\n", `x.min:1:7: -1 nodes; expected 0 to 67108864`},
		{"p min 1 0\np min 1 0\n", `x.min:2:1: a second line p; expected only that of line 1`},
		{"p min 60000000 60000000\n", `x.min:2:1: the file ends after 0 arcs; expected the 60000000 that line 1 promises`},
		{"p min 2 1\na 1 2 0 1 1\na 1 2 0 1 1\n", `x.min:3:1: one arc more; expected the 1 that line 1 promises`},
		{"p min 2 1\na 1 3 0 1 1\n", `x.min:2:5: there is no node 3; expected an id from 1 to 2`},
		{"p min 2 1\nn 0 1\n", `x.min:2:3: there is no node 0; expected an id from 1 to 2`},
		{"p min 2 0\nn 1 1\nn 2 1\nn 1 1\n", `x.min:4:3: a second line n of node 1; expected one at most`},
		{"p min 2 1\na 1 2 0 x 1\n", `x.min:2:9: "x" is no whole number; expected the arc's capacity`},
		{"p min 2 1\na 1 2 0 1.5 1\n", `x.min:2:9: "1.5" is no whole number; expected the arc's capacity`},
		{"p min 2 1\na 1 2 0 - 1\n", `x.min:2:9: "-" is no whole number; expected the arc's capacity`},
		{"p min 2 1\na 1 2 0 1 9223372036854775808\n", `x.min:2:11: "9223372036854775808" does not fit 64 bits; expected the arc's cost of a unit`},
		{"p min 2 1\na 1 2 0 1\n", `x.min:2:10: the line ends; expected the arc's cost of a unit`},
		{"p min 2 1\nx 1 2 0 1 1\n", `x.min:2:1: an unknown kind of line; expected c, p, n or a, then a blank`},
		{"p min 2 1\narc 1 2 0 1 1\n", `x.min:2:1: an unknown kind of line; expected c, p, n or a, then a blank`},
		{"p min 2 1\na " + strings.Repeat("9", 100), `x.min:2:3: "9999999999999999999999999999999999999999"… does not fit 64 bits; expected the id of the node where the arc begins`},
		{"c " + strings.Repeat("x", longest), `x.min:1:65537: the line goes on; expected at most 65536 bytes a line`},
		{"\x1f\x8b", `x.min:1:1: the gzip file is cut short; expected the rest of it`},
		{"\x1f\x8b345678901234567890", `x.min:1:1: the gzip file is damaged; expected intact gzip data: gzip: invalid header`},
	} {
		_, err := Read(strings.NewReader(tc.text), "x.min")
		if err == nil || err.Error() != tc.want {
			t.Errorf("%.60q:\ngot  %v\nwant %s", tc.text, err, tc.want)
		}
	}
}

func TestInt64Limits(t *testing.T) {
	text := fmt.Sprintf("p min 1 1\nn 1 %d\na 1 1 %d %d %d\n", int64(math.MinInt64), int64(math.MinInt64), int64(math.MaxInt64), int64(math.MinInt64))
	if got := written(t, mustRead(t, text)); got != text {
		t.Errorf("got %s, want %s", got, text)
	}
}

func TestGzipAndSlowReaders(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, small); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	want := written(t, mustRead(t, small))
	for name, r := range map[string]io.Reader{
		"gzip": &b, "a byte at a time": iotest.OneByteReader(strings.NewReader(small)),
		"data with the end": iotest.DataErrReader(strings.NewReader(small)),
	} {
		p, err := Read(r, "x.min")
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(want, written(t, p)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	cut := errors.New("cable cut")
	_, err := Read(io.MultiReader(strings.NewReader(small), iotest.ErrReader(cut)), "x.min")
	if !errors.Is(err, cut) || err.Error() != "x.min: cable cut" {
		t.Errorf("a reader that fails: %v", err)
	}
}

func TestWriteCurve(t *testing.T) {
	g := mcmf.NewGraph(0, 0)
	u, v := g.AddNode(7), g.AddNode(-7)
	g.AddCurve(u, v, 5, []mcmf.Step{{Capacity: 3, Cost: 1}, {Capacity: 4, Cost: 2}, {Capacity: 5, Cost: 9}})
	const want = "p min 2 3\nn 1 7\nn 2 -7\na 1 2 3 3 1\na 1 2 2 4 2\na 1 2 0 5 9\n"
	if got := written(t, New(g)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestWriteFlow(t *testing.T) {
	var b strings.Builder
	flow := []int64{2, 0, -1, 3, 1}
	if err := mustRead(t, small).WriteFlow(&b, -12, func(a mcmf.Arc) int64 { return flow[a] }); err != nil {
		t.Fatal(err)
	}
	if want := "s -12\nf 1 2 2\nf 2 3 -1\nf 2 4 3\nf 3 4 1\n"; b.String() != want {
		t.Errorf("got %s, want %s", b.String(), want)
	}
}

func TestWriteSaysWhatFailed(t *testing.T) {
	p := mustRead(t, small)
	if err := p.Write(failing{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Write: %v", err)
	}
	if err := p.WriteFlow(failing{}, 0, func(mcmf.Arc) int64 { return 1 }); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("WriteFlow: %v", err)
	}
	if err := p.Apply(Change{Kind: SetNode, Node: 1 << 40}); err != nil {
		t.Fatal(err)
	}
	if err := p.Write(io.Discard); err == nil || !strings.Contains(err.Error(), "the greatest that a .min file may have is 67108864") {
		t.Errorf("an id beyond what a .min file may have: %v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestChanges tells a story: each batch, then the whole problem.
func TestChanges(t *testing.T) {
	p := mustRead(t, "p min 3 2\nn 1 2\nn 3 -2\na 1 2 0 9 1\na 2 3 0 9 1\n")
	changes := NewChanges(strings.NewReader(`c arcs and supplies
n 1 5
n 3 -5
a 1 2 0 8 2
a 1 2 0 7 3
c EOI
c of parallel arcs, the first that is still there
x 1 2 0 0 1
x 1 2 1 6 4
c EOI
c EOI
c an id is used again
r 2
n 2 0
n 1000000000000 1
a 1000000000000 2 0 1 0
a 2 3 0 9 9
c	EOI 
x 2 3 0 0 0
r 1000000000000`), "x.chg", p)
	for i, want := range []struct {
		changes int
		text    string
	}{
		{4, "p min 3 4\nn 1 5\nn 3 -5\na 1 2 0 9 1\na 2 3 0 9 1\na 1 2 0 8 2\na 1 2 0 7 3\n"},
		{2, "p min 3 3\nn 1 5\nn 3 -5\na 2 3 0 9 1\na 1 2 1 6 4\na 1 2 0 7 3\n"},
		{0, "p min 3 3\nn 1 5\nn 3 -5\na 2 3 0 9 1\na 1 2 1 6 4\na 1 2 0 7 3\n"},
		{5, ""},
		{2, "p min 3 0\nn 1 5\nn 3 -5\n"},
	} {
		n, err := changes.Next()
		if err != nil || n != want.changes {
			t.Fatalf("batch %d: %d changes, %v; want %d", i, n, err, want.changes)
		}
		if want.text == "" {
			if v := p.Node(1e12); v == mcmf.None || p.ID(v) != 1e12 {
				t.Errorf("batch %d: no node of a great id", i)
			}
			continue
		}
		if diff := cmp.Diff(want.text, written(t, p)); diff != "" {
			t.Errorf("batch %d (-want +got):\n%s", i, diff)
		}
	}
	if n, err := changes.Next(); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("after the last batch: %d changes, %v", n, err)
	}
}

func TestRefusedChanges(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"r 5\n", "x.chg:1:3: there is no node 5; expected a node that is there"},
		{"r 2\nr 2\n", "x.chg:2:3: there is no node 2; expected a node that is there"},
		{"n 0 1\n", "x.chg:1:3: a node with the id 0; expected an id from 1"},
		{"n -7 1\n", "x.chg:1:3: a node with the id -7; expected an id from 1"},
		{"n 7\n", "x.chg:1:4: the line ends; expected its supply"},
		{"a 1 9 0 1 1\n", "x.chg:1:5: there is no node 9; expected a node that is there"},
		{"a 9 1 0 1 1\n", "x.chg:1:3: there is no node 9; expected a node that is there"},
		{"x 2 1 0 1 1\n", "x.chg:1:3: there is no arc from 2 to 1; expected an arc that is there"},
		{"x 1 2 1 0 1\n", "x.chg:1:7: the lower bound 1 of an arc to be removed; expected 0 where the capacity is 0"},
		{"p min 1 1\n", "x.chg:1:1: an unknown kind of line; expected c, n, r, a or x, then a blank"},
		{"c EOI\nr 1 2\n", `x.chg:2:5: "2" is left over; expected the end of the line`},
	} {
		changes := NewChanges(strings.NewReader(tc.text), "x.chg", mustRead(t, small))
		var err error
		for err == nil {
			_, err = changes.Next()
		}
		if err.Error() != tc.want {
			t.Errorf("%q:\ngot  %v\nwant %s", tc.text, err, tc.want)
		}
	}
	if err := mustRead(t, small).Apply(Change{Kind: 'z'}); err == nil || !strings.Contains(err.Error(), `there is no change of kind 'z'; expected n, r, a or x`) {
		t.Errorf("a change of no kind: %v", err)
	}
}

// TestFirstArc compares with the obvious way to know which arc was added first:
// to remember all in their order.
func TestFirstArc(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := New(mcmf.NewGraph(0, 0))
	for id := range int64(4) {
		if err := p.Apply(Change{Kind: SetNode, Node: id + 1}); err != nil {
			t.Fatal(err)
		}
	}
	type pair struct{ from, to int64 }
	order := map[pair][]int64{} // their costs, all different
	for cost := range int64(5000) {
		at := pair{1 + r.Int64N(4), 1 + r.Int64N(4)}
		left := order[at]
		if r.IntN(3) > 0 {
			order[at] = append(left, cost)
			if err := p.Apply(Change{Kind: AddArc, From: at.from, To: at.to, Capacity: 1, Cost: cost}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		a := p.firstArc(p.Node(at.from), p.Node(at.to))
		if len(left) == 0 {
			if a != mcmf.None {
				t.Fatalf("found arc %d where there is none", a)
			}
			continue
		}
		if got := p.Graph.Arc(a).Cost; got != left[0] {
			t.Fatalf("first arc is that of cost %d, want %d", got, left[0])
		}
		order[at] = left[1:]
		if err := p.Apply(Change{Kind: ChangeArc, From: at.from, To: at.to}); err != nil {
			t.Fatal(err)
		}
	}
}

// randomText is a problem and changes to it that can all be made.
func randomText(r *rand.Rand) (problem string, changes []Change) {
	var b []byte
	nodes, arcs := 1+r.Int64N(9), r.Int64N(20)
	number := func() int64 { return r.Int64() >> r.IntN(64) * (1 - 2*r.Int64N(2)) }
	b = appendNumbers(append(b, "p min"...), nodes, arcs)
	ids := map[int64]bool{}
	for id := range nodes {
		ids[id+1] = true
		if supply := number(); supply != 0 {
			b = Change{Kind: SetNode, Node: id + 1, Supply: supply}.Append(b)
		}
	}
	count := map[[2]int64]int{}
	for range arcs {
		c := Change{Kind: AddArc, From: 1 + r.Int64N(nodes), To: 1 + r.Int64N(nodes), Lower: number(), Capacity: number(), Cost: number()}
		count[[2]int64{c.From, c.To}]++
		b = c.Append(b)
	}
	for range r.IntN(30) {
		id, other := 1+r.Int64N(12), 1+r.Int64N(12)
		switch kind := r.IntN(4); {
		case kind == 0 && ids[id]:
			changes = append(changes, Change{Kind: RemoveNode, Node: id})
			delete(ids, id)
			for pair := range count {
				if pair[0] == id || pair[1] == id {
					delete(count, pair)
				}
			}
		case kind == 1 && ids[id] && ids[other]:
			changes = append(changes, Change{Kind: AddArc, From: id, To: other, Lower: number(), Capacity: number(), Cost: number()})
			count[[2]int64{id, other}]++
		case kind == 2 && count[[2]int64{id, other}] > 0:
			c := Change{Kind: ChangeArc, From: id, To: other, Lower: number(), Capacity: number(), Cost: number()}
			if r.IntN(2) == 0 {
				c.Lower, c.Capacity = 0, 0
			}
			if c.Capacity == 0 {
				c.Lower = 0
				count[[2]int64{id, other}]--
			}
			changes = append(changes, c)
		default:
			changes = append(changes, Change{Kind: SetNode, Node: id, Supply: number()})
			ids[id] = true
		}
	}
	return string(b), changes
}

// TestRoundTrip writes what it made up, reads it and writes it again; changes
// that are read do what those do that are applied.
func TestRoundTrip(t *testing.T) {
	for seed := range uint64(2000) {
		text, changes := randomText(rand.New(rand.NewPCG(seed, 0)))
		p := mustRead(t, text)
		if again := written(t, p); again != text {
			t.Fatalf("seed %d: read\n%s\nand wrote\n%s", seed, text, again)
		}
		var lines []byte
		q := mustRead(t, text)
		for _, c := range changes {
			if err := q.Apply(c); err != nil {
				t.Fatalf("seed %d: %v: %v", seed, c, err)
			}
			lines = append(c.Append(lines), "c then\n"...)
		}
		lines = append(lines, EndOfBatch...)
		n, err := NewChanges(bytes.NewReader(lines), "x.chg", p).Next()
		if err != nil || n != len(changes) {
			t.Fatalf("seed %d: %d changes, %v; want %d", seed, n, err, len(changes))
		}
		if got, want := written(t, p), written(t, q); got != want {
			t.Fatalf("seed %d: changes read made\n%s\nchanges applied made\n%s", seed, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(small)
	f.Add("p min 2 1\na 1 2 0 1 1\nn 1 5\n")
	f.Add("\x1f\x8b")
	f.Add("p min 9999999999 1\n")
	for seed := range uint64(5) {
		text, _ := randomText(rand.New(rand.NewPCG(seed, 0)))
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Read(strings.NewReader(text), "x.min")
		if err != nil {
			checkError(t, err)
			return
		}
		once := written(t, p)
		q := mustRead(t, once)
		if twice := written(t, q); once != twice {
			t.Errorf("wrote\n%s\nread that and wrote\n%s", once, twice)
		}
		if p.Graph.ArcBound() != q.Graph.ArcBound() || q.Graph.NodeBound() > p.Graph.NodeBound() {
			t.Error("what was read again is of another size")
		}
	})
}

func FuzzChanges(f *testing.F) {
	f.Add("n 1 5\nr 2\nc EOI\na 1 1 0 5 5\nx 1 1 0 0 0\n")
	f.Add("n 9223372036854775807 1\nr 9223372036854775807\n")
	for seed := range uint64(5) {
		_, changes := randomText(rand.New(rand.NewPCG(seed, 0)))
		var lines []byte
		for _, c := range changes {
			lines = c.Append(lines)
		}
		f.Add(string(lines))
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := mustRead(t, small)
		changes := NewChanges(strings.NewReader(text), "x.chg", p)
		for {
			_, err := changes.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				checkError(t, err)
				return
			}
		}
		for v := range p.Graph.NodeBound() {
			if p.Graph.HasNode(v) != (p.ID(v) != 0) || p.ID(v) != 0 && p.Node(p.ID(v)) != v {
				t.Errorf("node %d has the id %d, which is that of node %d", v, p.ID(v), p.Node(p.ID(v)))
			}
		}
		// The same lines, written anew, make the same problem.
		q := mustRead(t, small)
		var lines []byte
		s := newScanner(strings.NewReader(text), "x.chg")
		for s.next() {
			if kind := s.kind(); kind != 0 && kind != 'c' {
				lines = s.change(Kind(kind)).Append(lines)
			}
		}
		if _, err := NewChanges(bytes.NewReader(lines), "x.chg", q).Next(); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		var a, b strings.Builder
		errP, errQ := p.Write(&a), q.Write(&b)
		if a.String() != b.String() || (errP == nil) != (errQ == nil) {
			t.Errorf("changes made %s, written anew they made %s", a.String(), b.String())
		}
	})
}

// checkError wants an error that names the place.
func checkError(t *testing.T, err error) {
	t.Helper()
	place, ok := errors.AsType[*Error](err)
	if !ok || place.Line < 1 || place.Column < 1 || place.What == "" || place.Want == "" {
		t.Errorf("an error without a place, or without what was expected: %v", err)
	}
}
