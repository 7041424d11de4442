package promethee

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// preference is the definition of a function.
func preference(c Criterion, d int64) float64 {
	q, p := c.Indifference, c.Preference
	if d <= 0 {
		return 0
	}
	switch c.Function {
	case Usual:
		return 1
	case UShape:
		return one(d > q)
	case VShape:
		return min(float64(d)/float64(p), 1)
	case Level:
		return (one(d > q) + one(d > p)) / 2
	case Linear:
		return min(max(float64(d-q)/float64(p-q), 0), 1)
	default:
		return 1 - math.Exp(-float64(d)*float64(d)/(2*float64(p)*float64(p)))
	}
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// defined are the net flows by the definition.
func defined(criteria []Criterion, values []int64) []float64 {
	width := len(criteria)
	n := len(values) / width
	flows := make([]float64, n)
	for a := range n {
		for b := range n {
			for k, c := range criteria {
				d := values[a*width+k] - values[b*width+k]
				if a != b {
					flows[a] += c.Weight * (preference(c, d) - preference(c, -d)) / float64(n-1)
				}
			}
		}
	}
	return flows
}

// drawCriteria draws up to four criteria of any function.
func drawCriteria(t *rapid.T) []Criterion {
	criteria := make([]Criterion, rapid.IntRange(1, 4).Draw(t, "criteria"))
	for i := range criteria {
		c := &criteria[i]
		c.Function = Function(rapid.IntRange(0, int(Gaussian)).Draw(t, "function"))
		c.Weight = float64(rapid.IntRange(0, 4).Draw(t, "weight"))
		q := rapid.Int64Range(0, 8).Draw(t, "q")
		p := q + rapid.Int64Range(1, 8).Draw(t, "p")
		if c.Function == UShape || c.Function == Level || c.Function == Linear {
			c.Indifference = q
		}
		if c.Function != Usual && c.Function != UShape {
			c.Preference = p
		}
	}
	criteria[0].Weight++
	if err := Validate(criteria); err != nil {
		t.Fatal(err)
	}
	return criteria
}

// TestCounted gives alternatives that stand for several the flows of each of those, to
// the last bit.
func TestCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		criteria := drawCriteria(t)
		var values, counts, each []int64
		var first []int
		for range rapid.IntRange(1, 8).Draw(t, "kinds") {
			row := make([]int64, len(criteria))
			for i := range row {
				row[i] = rapid.Int64Range(-9, 9).Draw(t, "value")
			}
			count := rapid.Int64Range(1, 5).Draw(t, "count")
			first = append(first, len(each)/len(criteria))
			values, counts = append(values, row...), append(counts, count)
			each = append(each, slices.Repeat(row, int(count))...)
		}
		var few, all Ranker
		few.RankCounted(criteria, values, counts)
		all.Rank(criteria, each)
		for i, flow := range few.Flows() {
			if len(counts) > 1 && flow != all.Flows()[first[i]] {
				t.Fatalf("the net flow of %d is %g, that of each of its %d is %g", i, flow, counts[i], all.Flows()[first[i]])
			}
		}
	})
}

// TestDefinition compares the flows with those of the definition, and the order with the
// flows.
func TestDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		criteria := drawCriteria(t)
		n := rapid.IntRange(0, 30).Draw(t, "alternatives")
		most := rapid.SampledFrom([]int64{2, 20, Most}).Draw(t, "most")
		values := make([]int64, n*len(criteria))
		for i := range values {
			values[i] = rapid.Int64Range(-most, most).Draw(t, "value")
		}
		var r Ranker
		order := r.Rank(criteria, values)
		want := defined(criteria, values)
		for i, flow := range r.Flows() {
			if math.Abs(flow-want[i]) > 1e-9 {
				t.Fatalf("the net flow of %d is %g, by the definition %g", i, flow, want[i])
			}
		}
		for i := 1; i < len(order); i++ {
			a, b := order[i-1], order[i]
			if x, y := r.Flows()[a], r.Flows()[b]; x < y || x == y && a > b {
				t.Fatalf("%d with %g stands before %d with %g", a, x, b, y)
			}
		}
		if len(order) != n {
			t.Fatalf("%d of %d are ranked", len(order), n)
		}
	})
}

// TestTies ranks alternatives whose net flows are equal, counted in whole numbers, as
// equal: the one that was named first is first, as the specification of the SLA-class
// paper wants (§2), and no rounding decides.
func TestTies(t *testing.T) {
	source := rand.New(rand.NewPCG(1, 2))
	functions := []Criterion{{Function: Usual}, {Function: UShape, Indifference: 1}, {Function: Level, Preference: 1}, {Function: Level, Indifference: 1, Preference: 1}}
	tied := 0
	for range 5000 {
		criteria := make([]Criterion, 4)
		for i := range criteria {
			criteria[i] = functions[source.IntN(4)*source.IntN(2)]
			criteria[i].Weight = float64(1 + source.IntN(2)*source.IntN(3))
		}
		n := 2 + source.IntN(3)
		values, counts := make([]int64, 4*n), make([]int64, n)
		for i := range values {
			values[i] = 1 + source.Int64N(3)
		}
		for i := range counts {
			counts[i] = 1 + source.Int64N(9)
		}
		sums := make([]int64, n) // of the net flows, times twice the number of the others
		for a := range n {
			for i := range values {
				d := values[a*4+i%4] - values[i]
				sums[a] += counts[i/4] * int64(2*criteria[i%4].Weight*(preference(criteria[i%4], d)-preference(criteria[i%4], -d)))
			}
		}
		var r Ranker
		r.RankCounted(criteria, values, counts)
		for a := range n {
			for b := range a {
				if (sums[a] == sums[b]) != (r.Flows()[a] == r.Flows()[b]) {
					t.Fatalf("of %v, %d and %d have sums of %d and %d, and the flows %v", counts, b, a, sums[b], sums[a], r.Flows())
				}
				if sums[a] == sums[b] {
					tied++
				}
			}
		}
	}
	if tied < 500 {
		t.Fatalf("%d ties, want at least 500", tied)
	}
}

// TestExamples ranks the examples of specs/sla-classes.md, §2.
func TestExamples(t *testing.T) {
	four := func(weights ...float64) (list []Criterion) {
		for _, w := range weights {
			list = append(list, Criterion{Weight: w})
		}
		return list
	}
	aligned := func(width int) (values []int64) {
		for _, level := range []int64{3, 2, 1} {
			values = append(values, slices.Repeat([]int64{level}, width)...)
		}
		return values
	}
	mixed := []int64{3, 1, 1, 1, 1, 3, 3, 3, 2, 2, 2, 2}
	for _, tc := range []struct {
		name     string
		criteria []Criterion
		values   []int64
		flows    []float64
		order    []int32
	}{
		{"all alike", four(1, 1, 1, 1), aligned(4), []float64{4, 0, -4}, []int32{0, 1, 2}},
		{"cores and twice the time", four(1, 2), aligned(2), []float64{3, 0, -3}, []int32{0, 1, 2}},
		{"mixed", four(1, 1, 1, 1), mixed, []float64{-2, 2, 0}, []int32{1, 2, 0}},
		{"mixed, twice the first", four(2, 1, 1, 1), mixed, []float64{-1, 1, 0}, []int32{1, 2, 0}},
		{"one alone", four(1), []int64{7}, []float64{0}, []int32{0}},
		{"equals stand as they were named", four(1), []int64{7, 7, 8}, []float64{-.5, -.5, 1}, []int32{2, 0, 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var r Ranker
			if order := r.Rank(tc.criteria, tc.values); !slices.Equal(order, tc.order) || !slices.Equal(r.Flows(), tc.flows) {
				t.Errorf("order %v with flows %v, want %v with %v", order, r.Flows(), tc.order, tc.flows)
			}
		})
	}
}

// TestExp compares our power of e with the standard library's.
func TestExp(t *testing.T) {
	for x := 0.0; x < 50; x += .01 {
		if got, want := exp(x), math.Exp(-x); math.Abs(got-want) > 1e-12*want+1e-15 {
			t.Fatalf("exp(-%g) = %g, want %g", x, got, want)
		}
	}
}

// TestValidate refuses criteria that cannot be, by what is wrong.
func TestValidate(t *testing.T) {
	for _, tc := range []struct {
		name string
		of   []Criterion
		want string
	}{
		{"none", nil, "the weights of 0 criteria sum to 0, want more than 0"},
		{"weights of zero", []Criterion{{}, {}}, "the weights of 2 criteria sum to 0, want more than 0"},
		{"a weight below zero", []Criterion{{Weight: 1}, {Weight: -1}}, "criterion 1: weight -1, want 0 to 1099511627776"},
		{"no number", []Criterion{{Weight: math.NaN()}}, "criterion 0: weight NaN, want 0 to 1099511627776"},
		{"no function", []Criterion{{Weight: 1, Function: 9}}, "criterion 0: there is no preference function 9"},
		{"a threshold of none", []Criterion{{Weight: 1, Indifference: 2}}, "criterion 0: the function usual has no use for an indifference of 2, want 0"},
		{"a threshold too many", []Criterion{{Weight: 1, Function: UShape, Preference: 2}}, "criterion 0: the function u-shape has no use for a preference of 2, want 0"},
		{"a width of 0", []Criterion{{Weight: 1, Function: Gaussian}}, "criterion 0: the function gaussian has a preference of 0, want more"},
		{"thresholds the wrong way", []Criterion{{Weight: 1, Function: Linear, Indifference: 3, Preference: 3}}, "criterion 0: the function linear has an indifference of 3 and a preference of 3, want that larger"},
		{"a threshold below zero", []Criterion{{Weight: 1, Function: UShape, Indifference: -1}}, "criterion 0: thresholds -1 and 0, want 0 to 1099511627776"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := Validate(tc.of); err == nil || err.Error() != tc.want {
				t.Errorf("%v, want %s", err, tc.want)
			}
		})
	}
	for f := Usual; f <= Gaussian; f++ {
		if got, err := ParseFunction(f.String()); err != nil || got != f {
			t.Errorf("%v is read as %v, %v", f, got, err)
		}
	}
	if _, err := ParseFunction("V"); err == nil {
		t.Error("V is a function")
	}
}

// BenchmarkRank ranks 100,000 alternatives by four criteria: levels from 1 to 3, as the
// SLA classes have, and values that hardly ever are alike.
func BenchmarkRank(b *testing.B) {
	for _, levels := range []int64{3, Most} {
		for _, f := range []Function{Usual, Linear} {
			b.Run(fmt.Sprintf("%v/values=%d", f, levels), func(b *testing.B) {
				criteria := slices.Repeat([]Criterion{{Weight: 1, Function: f}}, 4)
				if f == Linear {
					for i := range criteria {
						criteria[i].Indifference, criteria[i].Preference = levels/8, levels/2
					}
				}
				chance := rand.New(rand.NewPCG(1, 2))
				values := make([]int64, 400_000)
				for i := range values {
					values[i] = chance.Int64N(levels)
				}
				var r Ranker
				for b.Loop() {
					r.Rank(criteria, values)
				}
			})
		}
	}
}
