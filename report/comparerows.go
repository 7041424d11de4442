package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Row compares two experiments in one metric.
type Row struct {
	Metric string    `json:"metric"` // the path to it in a result, joined by dots
	Unit   Unit      `json:"unit"`
	Better Direction `json:"better"`
	// Base and Other are the means over the seeds, Difference is that of other
	// minus base. N is 0 where no run of a side has the metric.
	Base       Interval `json:"base"`
	Other      Interval `json:"other"`
	Difference Interval `json:"difference"`
	Verdict    Verdict  `json:"verdict"`
	// Firm says that the verdict holds among all those of the pair, of which
	// some are chance where there are many (Holm's procedure).
	Firm bool `json:"firm"`
	// Note says why there is no verdict, or what is special about it.
	Note string `json:"note"`
}

// Verdict says what the numbers allow to say about other, against base.
type Verdict string

// The verdicts. Higher and Lower are those of metrics without a better
// direction.
const (
	Better    Verdict = "better"
	Worse     Verdict = "worse"
	Higher    Verdict = "higher"
	Lower     Verdict = "lower"
	Undecided Verdict = "no difference seen" // the interval holds 0
	Equal     Verdict = "same"               // the same value with every seed
	NoVerdict Verdict = "none"               // Note says why
)

// fewestAlike is from how many seeds on the same difference in each is no
// coincidence, where other metrics do change with the seed: if other were as
// often above base as below it, all six would be on one side in 1 of 32 cases.
const fewestAlike = 6

// Judgement is the verdict in words. One that is not firm has a question mark.
func (r *Row) Judgement() string {
	switch r.Verdict {
	case Better, Worse, Higher, Lower:
		if !r.Firm {
			return string(r.Verdict) + "?"
		}
	case NoVerdict:
		return "— " + r.Note
	case Undecided, Equal: // as they are
	}
	return string(r.Verdict)
}

// Differs reports whether the row is worth showing.
func (r *Row) Differs() bool {
	return r.Verdict != Equal && !(r.Difference.N == 1 && r.Difference.Mean == 0)
}

// Change is the difference as a share of base, and false where base is 0 or
// there is no difference to speak of.
func (r *Row) Change() (Number, bool) {
	if r.Difference.N == 0 || r.Base.Mean == 0 {
		return 0, false
	}
	return r.Difference.Mean / r.Base.Mean, true
}

// compareRows compares other with base metric by metric, and passes judgement
// on all rows together.
func compareRows(base, other *Experiment, metrics []metric) []Row {
	settled := base.settled(metrics) && other.settled(metrics)
	var rows []Row
	var open family
	for _, m := range metrics {
		row, difference := compareMetric(base, other, m, settled)
		if row.Base.N == 0 && row.Other.N == 0 {
			continue
		}
		switch {
		case row.Verdict != "": // decided
		case (settled || difference.deviation == 0) && !row.isOpen(settled):
		default:
			open.add(len(rows), difference)
		}
		rows = append(rows, row)
	}
	for i, found := range open.judge() {
		rows[i].judgeAmong(found)
	}
	return rows
}

// family is the differences that are judged together. Metrics that say the same
// in other words, such as placed and pending where all runs submit as many
// tasks, have the same mean and deviation but for the sign, and count once.
type family struct {
	tests   map[[3]float64]int // by mean, deviation and degrees of freedom
	chances []float64          // by test
	rows    map[int]int        // the test of each row
}

// add puts the difference of a row into the family.
func (f *family) add(row int, difference estimate) {
	if f.rows == nil {
		f.tests, f.rows = map[[3]float64]int{}, map[int]int{}
	}
	key := [3]float64{math.Abs(difference.mean), difference.deviation, difference.freedom}
	test, there := f.tests[key]
	if !there {
		test = len(f.chances)
		f.tests[key] = test
		f.chances = append(f.chances, difference.chance())
	}
	f.rows[row] = test
}

// judge says of each row whether its difference is more than chance.
func (f *family) judge() map[int]bool {
	found := holm(f.chances)
	verdicts := map[int]bool{}
	for row, test := range f.rows {
		verdicts[row] = found[test]
	}
	return verdicts
}

// judgeAmong passes judgement on a difference that was found to be more than
// chance among all those of the pair, or not.
func (r *Row) judgeAmong(found bool) {
	if r.Difference.Holds(0) {
		r.Verdict = Undecided
		return
	}
	r.judge()
	r.Firm = found
}

// compareMetric returns the row of m and the difference as it was measured. The
// verdict is left open where it depends on the difference.
func compareMetric(base, other *Experiment, m metric, settled bool) (Row, estimate) {
	row := Row{Metric: m.name, Unit: m.unit, Better: m.better}
	baseSeeds, baseValues := base.samples(m)
	otherSeeds, otherValues := other.samples(m)
	row.Base, row.Other = intervalOf(baseValues), intervalOf(otherValues)
	for _, side := range []struct {
		e     *Experiment
		seeds []uint64
	}{{base, baseSeeds}, {other, otherSeeds}} {
		if n := len(side.seeds); n == 0 {
			row.Verdict, row.Note = NoVerdict, side.e.Name+" has none"
		} else if n < len(side.e.Seeds) && row.Note == "" {
			row.Note = fmt.Sprintf("%d of %d runs of %s have it", n, len(side.e.Seeds), side.e.Name)
		}
	}
	if row.Verdict != "" {
		return row, estimate{}
	}
	var difference estimate
	if slices.Equal(baseSeeds, otherSeeds) {
		difference = pairedDifference(baseValues, otherValues)
	} else {
		difference = welchDifference(baseValues, otherValues)
	}
	row.Difference = difference.interval()
	if !difference.known() && !settled {
		row.Verdict, row.Note = NoVerdict, cmp.Or(row.Note, "one seed")
	}
	return row, difference
}

// isOpen reports whether a difference that is the same with every seed has to be
// judged among the others, and settles it if not.
func (r *Row) isOpen(settled bool) bool {
	n := r.Difference.N
	switch {
	case r.Difference.Mean == 0:
		r.Verdict = Equal
	case settled:
		r.judge()
		r.Firm = true
		if n > 1 {
			r.Note = cmp.Or(r.Note, "the seed changes nothing")
		}
	case n >= fewestAlike:
		r.Note = cmp.Or(r.Note, fmt.Sprintf("the same with all %d seeds", n))
		return true
	default:
		r.Verdict = NoVerdict
		r.Note = cmp.Or(r.Note, fmt.Sprintf("the same with %d seeds; needs %d", n, fewestAlike))
	}
	return false
}

// judge says which way a difference goes whose interval leaves out 0.
func (r *Row) judge() {
	rises := r.Difference.Mean > 0
	switch {
	case r.Better == NeitherBetter && rises:
		r.Verdict = Higher
	case r.Better == NeitherBetter:
		r.Verdict = Lower
	case rises == (r.Better == HigherIsBetter):
		r.Verdict = Better
	default:
		r.Verdict = Worse
	}
}

// intervalOf is the mean of values in millionths, which may be none.
func intervalOf(values []float64) Interval {
	if len(values) == 0 {
		return Interval{}
	}
	return meanOf(values).interval()
}

// interval turns an estimate in millionths into what is shown.
func (e estimate) interval() Interval {
	half := e.half()
	return Interval{
		Mean: Number(e.mean / millionths),
		Low:  Number((e.mean - half) / millionths),
		High: Number((e.mean + half) / millionths),
		N:    e.n,
	}
}
