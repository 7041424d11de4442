//go:build !nohighs

package highs_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/ilp"
	"fairlead.dev/fairlead/ilp/highs"
)

// engine is compiled once for all tests, or found where an earlier run kept it.
var engine = sync.OnceValue(func() *highs.Engine { return highs.Start(highs.Options{}) })

// ready returns the engine. Where there can be none, the test is skipped.
func ready(tb testing.TB) *highs.Engine {
	tb.Helper()
	switch err := engine().Wait(tb.Context()); {
	case errors.Is(err, highs.ErrPlatform) && runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64":
		tb.Skip(err)
	case err != nil:
		tb.Fatal(err)
	}
	return engine()
}

func solve(tb testing.TB, m *ilp.Model, start []float64, l ilp.Limits) ilp.Solution {
	tb.Helper()
	s, err := ready(tb).Solve(m, start, l)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

var inf = math.Inf(1)

func terms(values ...float64) []ilp.Term {
	var row []ilp.Term
	for c, v := range values {
		if v != 0 {
			row = append(row, ilp.Term{Column: int32(c), Value: v})
		}
	}
	return row
}

// TestWaitSaysWhatIsKnown waits for what is ready until a time that has passed.
func TestWaitSaysWhatIsKnown(t *testing.T) {
	e := ready(t)
	ended, end := context.WithCancel(t.Context())
	end()
	for range 64 {
		if err := e.Wait(ended); err != nil {
			t.Fatal(err)
		}
	}
}

// random draws a bounded model, with at most four integer columns beside two continuous
// ones, or six alone.
func random(t *rapid.T) *ilp.Model {
	m := &ilp.Model{}
	number := func(least, most int, label string) float64 {
		return float64(rapid.IntRange(least, most).Draw(t, label))
	}
	continuous := rapid.IntRange(0, 2).Draw(t, "continuous")
	whole := rapid.IntRange(0, 6-continuous).Draw(t, "whole")
	for c := range whole + continuous {
		kind := ilp.Integer
		if c >= whole {
			kind = ilp.Continuous
		}
		lower := number(-3, 2, "lower")
		m.AddColumn(lower, lower+number(0, 3, "width"), number(-5, 5, "cost"), kind)
	}
	for range rapid.IntRange(0, 5).Draw(t, "rows") {
		var row []ilp.Term
		for c := range m.Columns() {
			if value := number(-4, 4, "value"); value != 0 {
				row = append(row, ilp.Term{Column: int32(c), Value: value})
			}
		}
		lower := number(-9, 9, "from")
		switch rapid.SampledFrom([]string{"at most", "at least", "equal", "range"}).Draw(t, "relation") {
		case "at most":
			m.AddRow(-inf, lower, row...)
		case "at least":
			m.AddRow(lower, inf, row...)
		case "equal":
			m.AddRow(lower, lower, row...)
		default:
			m.AddRow(lower, lower+number(0, 4, "width"), row...)
		}
	}
	return m
}

// TestAgainstEnumeration solves random models. They have values that hold, or
// none, each often enough to mean something.
func TestAgainstEnumeration(t *testing.T) {
	e := ready(t)
	seen := map[ilp.Status]int{}
	rapid.Check(t, func(t *rapid.T) {
		m := random(t)
		best, feasible := enumerate(m)
		s, err := e.Solve(m, nil, ilp.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		seen[s.Status]++
		switch {
		case !feasible && s.Status != ilp.Infeasible:
			t.Fatalf("%+v, and no values hold", s)
		case !feasible:
			return
		case s.Status != ilp.Optimal || math.Abs(s.Objective-best) > 1e-5 || math.Abs(s.Bound-best) > 1e-5 || s.Limit != ilp.None:
			t.Fatalf("%+v, and the least cost is %g", s, best)
		}
		objective, err := ilp.Check(m, s.Values)
		if err != nil || objective != s.Objective {
			t.Fatalf("values %v cost %g, %v; not %g", s.Values, objective, err, s.Objective)
		}
	})
	if !testing.Short() && (seen[ilp.Optimal] < 10 || seen[ilp.Infeasible] < 10) {
		t.Errorf("too few of a kind: %v", seen)
	}
}

// TestUnbounded adds to random models a column that may grow and pays for it: no
// cost is the least, if there are values that hold at all.
func TestUnbounded(t *testing.T) {
	e := ready(t)
	seen := map[ilp.Status]int{}
	rapid.Check(t, func(t *rapid.T) {
		m := random(t)
		kind := rapid.SampledFrom([]ilp.Kind{ilp.Continuous, ilp.Integer}).Draw(t, "kind")
		_, feasible := enumerate(m)
		more := m.AddColumn(0, inf, -1, kind)
		m.AddRow(-3, inf, ilp.Term{Column: more, Value: 2})
		s, err := e.Solve(m, nil, ilp.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		seen[s.Status]++
		want := ilp.Infeasible
		if feasible {
			want = ilp.Unbounded
		}
		if s.Status != want || s.Values != nil {
			t.Fatalf("%+v, want %v", s, want)
		}
	})
	if !testing.Short() && (seen[ilp.Unbounded] < 10 || seen[ilp.Infeasible] < 10) {
		t.Errorf("too few of a kind: %v", seen)
	}
}

// TestSmall is what people would try first.
func TestSmall(t *testing.T) {
	chairs := &ilp.Model{}
	chairs.AddColumn(0, inf, -30, ilp.Integer)
	chairs.AddColumn(0, inf, -50, ilp.Integer)
	chairs.AddRow(-inf, 40, terms(1, 2)...)
	chairs.AddRow(-inf, 50, terms(2, 1)...)
	linear := &ilp.Model{}
	linear.AddColumn(0, inf, 2, ilp.Continuous)
	linear.AddColumn(0, inf, 3, ilp.Continuous)
	linear.AddRow(4, inf, terms(1, 1)...)
	linear.AddRow(6, inf, terms(1, 3)...)
	halves := &ilp.Model{}
	halves.AddColumn(-10, 10, 1, ilp.Integer)
	halves.AddRow(3, 3, terms(2)...)
	odd := &ilp.Model{}
	for range 3 {
		odd.AddColumn(0, inf, -1, ilp.Integer)
	}
	odd.AddRow(1, 1, terms(2, -2, 4)...)
	impossible := &ilp.Model{}
	impossible.AddRow(1, 2)
	for _, tc := range []struct {
		name      string
		model     *ilp.Model
		status    ilp.Status
		objective float64
	}{
		{"chairs and tables", chairs, ilp.Optimal, -1100},
		{"no whole numbers, positive cost", linear, ilp.Optimal, 9},
		{"no whole number is a half", halves, ilp.Infeasible, inf},
		{"no even number is odd, however far", odd, ilp.Infeasible, inf},
		{"nothing", &ilp.Model{}, ilp.Optimal, 0},
		{"a row of nothing", impossible, ilp.Infeasible, inf},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := solve(t, tc.model, nil, ilp.Limits{})
			if s.Status != tc.status || s.Objective != tc.objective || s.Bound != tc.objective {
				t.Errorf("%+v, want %v at %g", s, tc.status, tc.objective)
			}
		})
	}
}

// knapsack is a model whose optimum takes a search: rows of weights, columns to
// take or to leave. Taking nothing holds.
func knapsack(columns, rows int, seed uint64) *ilp.Model {
	chance := rand.New(rand.NewPCG(seed, 0))
	m := &ilp.Model{}
	for range columns {
		m.AddColumn(0, 1, -float64(10+chance.IntN(90)), ilp.Integer)
	}
	for range rows {
		var row []ilp.Term
		sum := 0
		for c := range columns {
			if chance.IntN(4) == 0 {
				weight := 5 + chance.IntN(60)
				sum += weight
				row = append(row, ilp.Term{Column: int32(c), Value: float64(weight)})
			}
		}
		m.AddRow(-inf, float64(sum/3), row...)
	}
	return m
}

// TestSameAgain solves a model twice, after others, beside others, and on an
// engine of its own: values and ticks are the same each time.
func TestSameAgain(t *testing.T) {
	m := knapsack(40, 8, 1)
	ready(t)
	own := highs.Start(highs.Options{Memory: 256 << 20})
	for _, l := range []ilp.Limits{{}, {Ticks: 200}, {Gap: .02}} {
		first := solve(t, m, nil, l)
		again := solve(t, m, nil, l)
		var beside ilp.Solution
		var group sync.WaitGroup
		group.Go(func() { solve(t, knapsack(30, 5, 2), nil, ilp.Limits{}) })
		group.Go(func() { beside = solve(t, m, nil, l) })
		group.Wait()
		other, err := own.Solve(m, nil, l)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range []ilp.Solution{again, beside, other} {
			if !reflect.DeepEqual(s, first) {
				t.Errorf("%+v: %d: %+v, want %+v", l, i, s, first)
			}
		}
		if first.Ticks == 0 {
			t.Error("no tick was counted")
		}
	}
}

// TestLimits stops a search early: what is found holds, the bound is a bound,
// and more effort finds no worse.
func TestLimits(t *testing.T) {
	m := knapsack(50, 10, 1)
	best := solve(t, m, nil, ilp.Limits{})
	if best.Status != ilp.Optimal || best.Gap() != 0 {
		t.Fatalf("%+v, want an optimum", best)
	}
	last := inf
	for _, ticks := range []int64{1, 100, 300, 1000, 3000, 1 << 40} {
		s := solve(t, m, nil, ilp.Limits{Ticks: ticks})
		t.Logf("%d ticks: %v, %v, %g, at least %g, %d ticks", ticks, s.Status, s.Limit, s.Objective, s.Bound, s.Ticks)
		if s.Objective > last || s.Objective < best.Objective || s.Bound > best.Objective+1e-6 {
			t.Errorf("%d ticks: %+v after %g; the optimum is %g", ticks, s, last, best.Objective)
		}
		if s.Status != ilp.Optimal && (s.Limit != ilp.Ticks || s.Ticks <= ticks || s.Ticks > ticks+500) {
			t.Errorf("%d ticks: %+v, want the limit ticks, a little overrun", ticks, s)
		}
		last = s.Objective
	}
	if s := solve(t, m, nil, ilp.Limits{Ticks: 1}); s.Status != ilp.Unknown || s.Values != nil || s.Objective != inf {
		t.Errorf("one tick: %+v, want nothing", s)
	}
	if s := solve(t, m, nil, ilp.Limits{Gap: .05}); s.Status != ilp.Feasible || s.Limit != ilp.Gap || s.Gap() > .05 || s.Gap() <= 0 {
		t.Errorf("gap: %+v, want one of at most .05", s)
	}
}

// TestStart gives solves a start: it is never lost, and it is used.
func TestStart(t *testing.T) {
	m := knapsack(50, 10, 1)
	best := solve(t, m, nil, ilp.Limits{})
	s := solve(t, m, best.Values, ilp.Limits{Ticks: 1})
	if s.Status != ilp.Feasible || s.Limit != ilp.Ticks || !reflect.DeepEqual(s.Values, best.Values) || s.Objective != best.Objective {
		t.Errorf("one tick from the optimum: %+v, want the start", s)
	}
	cold, warm := solve(t, m, nil, ilp.Limits{Ticks: 200}), solve(t, m, best.Values, ilp.Limits{Ticks: 200})
	if warm.Objective != best.Objective || cold.Objective <= best.Objective {
		t.Errorf("200 ticks: %g from nothing, %g from the optimum, which is %g", cold.Objective, warm.Objective, best.Objective)
	}
	// HiGHS itself begins from it, and need not search for values as good.
	cold, warm = solve(t, m, nil, ilp.Limits{Gap: .1}), solve(t, m, best.Values, ilp.Limits{Gap: .1})
	if warm.Limit != ilp.Gap || warm.Ticks >= cold.Ticks {
		t.Errorf("gap .1: %d ticks from nothing, %d from the optimum", cold.Ticks, warm.Ticks)
	}
	wrong := make([]float64, m.Columns())
	for c := range wrong {
		wrong[c] = 1
	}
	if s := solve(t, m, wrong, ilp.Limits{}); s.Status != ilp.Optimal || s.Objective != best.Objective {
		t.Errorf("from a start that does not hold: %+v, want the optimum %g", s, best.Objective)
	}
}

// TestStartCompleted gives a start that is right in its whole numbers only.
func TestStartCompleted(t *testing.T) {
	m := &ilp.Model{}
	m.AddColumn(0, 5, 1, ilp.Integer)
	m.AddColumn(0, 9, 1, ilp.Continuous)
	m.AddRow(7, 7, terms(2, 1)...)
	s := solve(t, m, []float64{3, 0}, ilp.Limits{})
	if s.Status != ilp.Optimal || s.Objective != 4 {
		t.Errorf("%+v, want 4", s)
	}
}

// TestContext ends solves by contexts that end before, during and after.
func TestContext(t *testing.T) {
	e := ready(t)
	m := knapsack(300, 20, 3)
	start := make([]float64, m.Columns())
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s, err := e.SolveContext(ended, m, start, ilp.Limits{})
	if err != nil || s.Status != ilp.Feasible || s.Limit != ilp.Time || s.Objective != 0 {
		t.Errorf("before: %+v, %v; want the start", s, err)
	}
	during, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	s, err = e.SolveContext(during, m, start, ilp.Limits{})
	if err != nil || s.Status != ilp.Feasible || s.Limit != ilp.Time {
		t.Errorf("during: %v, limit %v, %v; want what was found", s.Status, s.Limit, err)
	}
	after, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if s, err = e.SolveContext(after, knapsack(10, 2, 1), nil, ilp.Limits{}); err != nil || s.Status != ilp.Optimal {
		t.Errorf("after: %+v, %v; want the optimum", s, err)
	}
}

// TestPreemptible solves with an engine that gives way: the answers are the same.
// Either engine breaks off what nobody waits for any more.
func TestPreemptible(t *testing.T) {
	m := knapsack(20, 5, 1)
	want := solve(t, m, nil, ilp.Limits{})
	gives := highs.Start(highs.Options{Preemptible: true})
	if s, err := gives.Solve(m, nil, ilp.Limits{}); err != nil || !reflect.DeepEqual(s, want) {
		t.Errorf("%+v, %v; want %+v", s, err, want)
	}
	for _, e := range []*highs.Engine{ready(t), gives} {
		if limit, err := e.GivenUp(m); err != nil || limit != ilp.Time {
			t.Errorf("given up: limit %v, %v; want time", limit, err)
		}
	}
}

// TestMemory solves models that need more than they may have: one whose search
// comes near the cap and ends with what it has, one that does not even fit.
func TestMemory(t *testing.T) {
	ready(t)
	e := highs.Start(highs.Options{Memory: 1})
	s, err := e.Solve(knapsack(6000, 10, 1), nil, ilp.Limits{})
	if err != nil || s.Status != ilp.Feasible || s.Limit != ilp.Memory || s.Gap() > .1 {
		t.Errorf("%v, limit %v, gap %g, %v; want values and a bound, for memory", s.Status, s.Limit, s.Gap(), err)
	}
	large := &ilp.Model{}
	for range 400_000 {
		large.AddColumn(0, 1, -1, ilp.Integer)
	}
	s, err = e.Solve(large, nil, ilp.Limits{})
	if err != nil || s.Status != ilp.Unknown || s.Limit != ilp.Memory || s.Values != nil || s.Bound != -inf {
		t.Errorf("%v, limit %v, %v; want nothing, for memory", s.Status, s.Limit, err)
	}
	start := make([]float64, large.Columns())
	s, err = e.Solve(large, start, ilp.Limits{})
	if err != nil || s.Status != ilp.Feasible || s.Limit != ilp.Memory || s.Objective != 0 {
		t.Errorf("%v, limit %v, %v; want the start, for memory", s.Status, s.Limit, err)
	}
	if s, err = e.Solve(knapsack(10, 2, 1), nil, ilp.Limits{}); err != nil || s.Status != ilp.Optimal {
		t.Errorf("afterwards: %+v, %v; want the optimum", s, err)
	}
}

// TestCrash traps in one solve and aborts in another; others go on beside it and after.
func TestCrash(t *testing.T) {
	e := ready(t)
	m := knapsack(20, 5, 1)
	want := solve(t, m, nil, ilp.Limits{})
	var beside ilp.Solution
	var group sync.WaitGroup
	group.Go(func() { beside = solve(t, m, nil, ilp.Limits{}) })
	if err := e.Trap(); !errors.Is(err, highs.ErrCrashed) || !strings.Contains(err.Error(), "out of bounds") {
		t.Errorf("trapped: %v", err)
	}
	if err := e.Abort(); !errors.Is(err, highs.ErrCrashed) {
		t.Errorf("aborted: %v", err)
	}
	group.Wait()
	for _, got := range []ilp.Solution{beside, solve(t, m, nil, ilp.Limits{})} {
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// TestRefused asks what cannot be answered.
func TestRefused(t *testing.T) {
	m := knapsack(3, 1, 1)
	invalid := knapsack(3, 1, 1)
	invalid.Lower[1] = 2
	for _, tc := range []struct {
		name  string
		model *ilp.Model
		start []float64
		l     ilp.Limits
		want  string
	}{
		{"model", invalid, nil, ilp.Limits{}, "column 1: from 2 to 1"},
		{"start", m, []float64{1}, ilp.Limits{}, "1 values for 3 columns"},
		{"gap", m, nil, ilp.Limits{Gap: math.NaN()}, "gap NaN"},
		{"ticks", m, nil, ilp.Limits{Ticks: -1}, "-1 ticks"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := ready(t).Solve(tc.model, tc.start, tc.l); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want one that says %q", err, tc.want)
			}
		})
	}
}

// TestCache keeps compiled code in a folder, finds it again, makes it anew where it was spoilt, and does without
// where the folder cannot be made. The code is that of a module
// which has one function, and that one does nothing.
func TestCache(t *testing.T) {
	ready(t)
	code := []byte("\x00asm\x01\x00\x00\x00" + "\x01\x04\x01\x60\x00\x00" + "\x03\x02\x01\x00" + "\x0a\x04\x01\x02\x00\x0b")
	folder := filepath.Join(t.TempDir(), "not", "there")
	if err := highs.Find(folder, code); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*", "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files %v, %v; want compiled code", files, err)
	}
	for _, file := range files {
		if err := os.Truncate(file, 30); err != nil {
			t.Fatal(err)
		}
	}
	if err := highs.Find(folder, code); err != nil {
		t.Errorf("cut short: %v", err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Size() <= 30 {
		t.Errorf("what was cut short stays: %v, %v", info, err)
	}
	if err := highs.Find(filepath.Join(files[0], "folder"), code); err != nil {
		t.Errorf("no folder: %v", err)
	}
	if err := highs.Find(folder, code[:20]); err == nil {
		t.Error("a module that is cut short was compiled")
	}
}

// TestModule holds the module to what README.md says of it, and the name of the
// folder of compiled code to the wazero that compiles.
func TestModule(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(highs.Module())
	if !strings.Contains(string(readme), hex.EncodeToString(sum[:])) {
		t.Errorf("README.md does not have the module's SHA-256, %x", sum)
	}
	if version := ready(t).Version(); version == "" || !strings.Contains(string(readme), "HiGHS "+version) {
		t.Errorf("README.md does not have the module's version, HiGHS %s", version)
	}
	requirements, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil || !strings.Contains(string(requirements), "tetratelabs/wazero v"+highs.CoreVersion+"\n") {
		t.Errorf("go.mod (%v) does not require wazero %s", err, highs.CoreVersion)
	}
}
