// Package promethee ranks alternatives by several criteria at once: PROMETHEE II, as
// the SLA-class paper orders its queue (Brans and Vincke 1985; a method of outranking).
//
// For each criterion a preference function says how much a difference d in favour of one
// of two alternatives counts, from 0 to 1. An alternative's net flow is the weighted sum,
// over criteria, of how much it is preferred to the others on average, less how much the
// others are preferred to it:
//
//	φ(a) = Σ over criteria c of  weight c · Σ over b of (P_c(a, b) − P_c(b, a)) / (n − 1)
//
// By the definition that is n² comparisons for each criterion. Sorted by the criterion,
// those that count in full, and those that count in part, are runs next to each other, so
// that two positions and sums up to them are enough: q·n·log n in all (Calders and Van
// Assche 2016). The Gaussian function has no such sums, and takes the square of how many
// different values there are.
//
// It is pure, and gives the same to the last bit on every machine.
package promethee

import (
	"cmp"
	"fmt"
	"slices"
)

// Function is how much a difference counts, from 0 to 1; 0 where there is none, or it is
// against the alternative. What q and p are, Criterion says.
type Function uint8

// The six functions of PROMETHEE, of a difference d above 0.
const (
	Usual    Function = iota // 1
	UShape                   // 1 above q
	VShape                   // d/p up to p, then 1
	Level                    // ½ above q, 1 above p
	Linear                   // 0 up to q, 1 from p on, and even between
	Gaussian                 // 1 − exp(−d²/2p²)
)

// Functions are the names of the functions, in their order.
func Functions() []string {
	return []string{"usual", "u-shape", "v-shape", "level", "linear", "gaussian"}
}

// String is the function's name.
func (f Function) String() string {
	if f <= Gaussian {
		return Functions()[f]
	}
	return fmt.Sprintf("function %d", f)
}

// ParseFunction is the function of a name.
func ParseFunction(name string) (Function, error) {
	at := slices.Index(Functions(), name)
	if at < 0 {
		return 0, fmt.Errorf("there is no preference function %q; want one of %q", name, Functions())
	}
	return Function(at), nil
}

// Criterion is one of the numbers that alternatives have: the more, the better.
type Criterion struct {
	// Weight is how much the criterion counts beside others; at least 0.
	Weight float64
	// Function says how much a difference counts.
	Function Function
	// Indifference is q, up to which a difference does not count, and Preference is p,
	// from which it counts in full, or the width of a Gaussian; in the unit of the
	// criterion. Functions that have no use for one of them want it to be 0.
	Indifference, Preference int64
}

// Most is the largest value and threshold; the smallest value is its negative. With these
// sums fit for two million alternatives.
const Most = 1 << 40

// Validate says what is wrong with criteria: the first that cannot be, or that no weight
// is above 0.
func Validate(criteria []Criterion) error {
	sum := 0.0
	for i, c := range criteria {
		if err := c.validate(); err != nil {
			return fmt.Errorf("criterion %d: %w", i, err)
		}
		sum += c.Weight
	}
	if !(sum > 0) {
		return fmt.Errorf("the weights of %d criteria sum to %g, want more than 0", len(criteria), sum)
	}
	return nil
}

func (c Criterion) validate() error {
	usesQ := c.Function == UShape || c.Function == Level || c.Function == Linear
	usesP := c.Function == VShape || c.Function == Level || c.Function == Linear || c.Function == Gaussian
	q, p := c.Indifference, c.Preference
	switch {
	case !(c.Weight >= 0 && c.Weight <= Most):
		return fmt.Errorf("weight %g, want 0 to %d", c.Weight, int64(Most))
	case c.Function > Gaussian:
		return fmt.Errorf("there is no preference %v", c.Function)
	case q < 0 || q > Most || p < 0 || p > Most:
		return fmt.Errorf("thresholds %d and %d, want 0 to %d", q, p, int64(Most))
	case !usesQ && q != 0:
		return fmt.Errorf("the function %v has no use for an indifference of %d, want 0", c.Function, q)
	case !usesP && p != 0:
		return fmt.Errorf("the function %v has no use for a preference of %d, want 0", c.Function, p)
	case usesP && p == 0:
		return fmt.Errorf("the function %v has a preference of 0, want more", c.Function)
	case c.Function == Linear && q >= p, c.Function == Level && q > p:
		return fmt.Errorf("the function %v has an indifference of %d and a preference of %d, want that larger", c.Function, q, p)
	}
	return nil
}

// Ranker ranks. Its memory is used again.
type Ranker struct {
	flows  []float64
	order  []int32
	sorted []entry
	counts []int64 // how many stand before each position of sorted
	sums   []int64 // of their values
	groups []group
}

// entry is the value of an alternative.
type entry struct {
	value int64
	row   int32
}

// Rank lists the alternatives by net flow, the highest first, and of equal ones the one
// that was named first. Values are those of the first alternative by every criterion,
// then of the second, and so on. Criteria are as Validate wants them. What it returns is
// good until the next call.
func (r *Ranker) Rank(criteria []Criterion, values []int64) []int32 {
	return r.RankCounted(criteria, values, nil)
}

// RankCounted is Rank where the alternative i stands for counts[i] that are alike, which
// is 1 or more; no counts are 1 each. The flows are those of one of them among all.
// So tasks are ranked in the time that it takes to rank their classes.
func (r *Ranker) RankCounted(criteria []Criterion, values, counts []int64) []int32 {
	r.net(criteria, values, counts)
	r.order = r.order[:0]
	for i := range r.flows {
		r.order = append(r.order, int32(i))
	}
	slices.SortFunc(r.order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(r.flows[b], r.flows[a]), cmp.Compare(a, b))
	})
	return r.order
}

// Flows are the net flows of the alternatives that were ranked last, in the order in
// which they were named.
func (r *Ranker) Flows() []float64 { return r.flows }

func (r *Ranker) net(criteria []Criterion, values, counts []int64) {
	n := 0
	if len(criteria) > 0 {
		n = len(values) / len(criteria)
	}
	r.flows = slices.Grow(r.flows[:0], n)[:n]
	clear(r.flows)
	r.counts = r.counts[:0] // of an earlier call
	if n < 2 {              // one kind of alternative is preferred to no other
		return
	}
	for at, c := range criteria {
		if c.Weight == 0 {
			continue
		}
		r.sort(values, counts, at, len(criteria))
		if c.Function == Gaussian {
			r.addGaussian(c)
		} else {
			r.addSums(c)
		}
	}
	// The mean is taken once, at the end: sums of whole numbers are exact, so that equal
	// flows come out equal, where each function counts by halves and weights are whole.
	others := float64(1)
	if len(r.counts) > 0 {
		others = float64(r.counts[n] - 1)
	}
	for i := range r.flows {
		r.flows[i] /= others
	}
}

// sort sorts the alternatives by a criterion, counts them, and adds values up.
func (r *Ranker) sort(values, counts []int64, at, width int) {
	r.sorted, r.counts, r.sums = r.sorted[:0], append(r.counts[:0], 0), append(r.sums[:0], 0)
	for row := range r.flows {
		r.sorted = append(r.sorted, entry{values[row*width+at], int32(row)})
	}
	slices.SortFunc(r.sorted, func(a, b entry) int { return cmp.Compare(a.value, b.value) })
	for i, e := range r.sorted {
		count := int64(1)
		if counts != nil {
			count = counts[e.row]
		}
		r.counts = append(r.counts, r.counts[i]+count)
		r.sums = append(r.sums, r.sums[i]+count*e.value)
	}
}

// run is those whose difference to an alternative is above one threshold, and those
// where it is above another, in one direction: positions in sorted.
type run struct{ some, full int }

// addSums adds the flows of a criterion whose function is constant, or a line, between
// its thresholds.
func (r *Ranker) addSums(c Criterion) {
	n := len(r.sorted)
	var below, above run
	for _, e := range r.sorted {
		for below.some < n && r.sorted[below.some].value < e.value-c.Indifference {
			below.some++
		}
		for below.full < n && r.sorted[below.full].value < e.value-c.Preference {
			below.full++
		}
		for above.some < n && r.sorted[above.some].value <= e.value+c.Indifference {
			above.some++
		}
		for above.full < n && r.sorted[above.full].value <= e.value+c.Preference {
			above.full++
		}
		count, parts := int64(0), int64(1) // what is preferred, in so many parts of 1
		some := r.counts[below.some] - (r.counts[n] - r.counts[above.some])
		full := r.counts[below.full] - (r.counts[n] - r.counts[above.full])
		switch c.Function {
		case Level:
			count, parts = some+full, 2
		case VShape, Linear:
			parts = c.Preference - c.Indifference
			down := (r.counts[below.some]-r.counts[below.full])*(e.value-c.Indifference) - (r.sums[below.some] - r.sums[below.full])
			up := r.sums[above.full] - r.sums[above.some] - (r.counts[above.full]-r.counts[above.some])*(e.value+c.Indifference)
			count = full*parts + down - up
		default:
			count = some
		}
		r.add(c, e.row, float64(float64(count)/float64(parts)))
	}
}

// add adds to the net flow of an alternative, as a sum over all others. Each step is
// rounded by itself, so that no machine may do two of them in one.
func (r *Ranker) add(c Criterion, row int32, preferred float64) {
	r.flows[row] += float64(c.Weight * preferred)
}

// group is alternatives of equal value.
type group struct{ from, to int }

// addGaussian adds the flows of a criterion whose function is a Gaussian, value by value.
func (r *Ranker) addGaussian(c Criterion) {
	r.groups = r.groups[:0]
	for from, to := 0, 0; from < len(r.sorted); from = to {
		for to = from; to < len(r.sorted) && r.sorted[to].value == r.sorted[from].value; {
			to++
		}
		r.groups = append(r.groups, group{from, to})
	}
	for i, g := range r.groups {
		value, preferred := r.sorted[g.from].value, 0.0
		for k, other := range r.groups {
			d := float64(value - r.sorted[other.from].value)
			x := float64(d / float64(c.Preference))
			p := float64(float64(r.counts[other.to]-r.counts[other.from]) * (1 - exp(float64(float64(x*x)/2))))
			if k < i {
				preferred += p
			} else {
				preferred -= p
			}
		}
		for _, e := range r.sorted[g.from:g.to] {
			r.add(c, e.row, preferred)
		}
	}
}

// exp is e to the power of -x, for x of at least 0. The standard library's differs in the
// last digit from one kind of processor to another.
func exp(x float64) float64 {
	const halvings = 10 // of x, until a short series is as exact as can be
	if x > 700 {
		return 0
	}
	small := float64(x / (1 << halvings))
	sum, term := 1.0, 1.0
	for k := 1; k < 12; k++ {
		term = float64(-term * float64(small/float64(k)))
		sum += term
	}
	for range halvings {
		sum = float64(sum * sum)
	}
	return sum
}
