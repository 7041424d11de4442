package page

import (
	"math"

	"fairlead.dev/fairlead/report"
)

// Decimation: a month has 43,200 minutes and a screen some thousand columns of
// pixels. Steps are gathered in buckets of equal length. Where every spike
// counts (tasks that wait), a bucket keeps its smallest and its largest value,
// in the order in which they came, so that no spike is lost; where values are
// means over their step (allocation), it keeps their mean, which is the mean
// over the bucket, so that the bands of a stack add up.

// grid is the buckets that all runs of the page share.
type grid struct {
	width   float64 // of a bucket, in seconds
	buckets int
	single  bool // no bucket holds more than one step
}

// gridOf returns buckets for the series of runs, so few that lines have at most
// limit points. It has no buckets where no run has a series.
func gridOf(runs []*report.Run, limit int) grid {
	step, end, smallest := 0.0, 0.0, math.Inf(1)
	for _, r := range runs {
		if n := stepsOf(r.Series); n > 0 {
			step = math.Max(step, float64(r.Series.Step))
			smallest = math.Min(smallest, float64(r.Series.Step))
			end = math.Max(end, float64(n)*float64(r.Series.Step))
		}
	}
	if step <= 0 {
		return grid{}
	}
	steps := int(math.Ceil(end/step - 1e-9))
	if steps <= limit && step == smallest {
		return grid{width: step, buckets: steps, single: true}
	}
	// Two points a bucket.
	per := (2*steps + limit - 1) / limit
	return grid{width: step * float64(per), buckets: (steps + per - 1) / per}
}

// stepsOf returns how many steps a series has.
func stepsOf(s *report.Series) int {
	n := 0
	if s != nil && s.Step > 0 {
		for _, column := range s.Columns {
			n = max(n, len(column))
		}
	}
	return n
}

// bucket returns which bucket step i of a series is in.
func (g grid) bucket(s *report.Series, i int) int {
	b := int(math.Ceil(float64(i+1)*float64(s.Step)/g.width-1e-9)) - 1
	return min(max(b, 0), g.buckets-1)
}

// ends returns when each bucket ends, in seconds.
func (g grid) ends() values {
	at := make(values, g.buckets)
	for b := range at {
		at[b] = float64(b+1) * g.width
	}
	return at
}

// pairs returns the times of what extremes returns.
func (g grid) pairs() values {
	if g.single {
		return g.ends()
	}
	at := make(values, 2*g.buckets)
	for b := range g.buckets {
		at[2*b] = (float64(b) + 0.5) * g.width
		at[2*b+1] = float64(b+1) * g.width
	}
	return at
}

// means returns the mean of a column in each bucket.
func (g grid) means(s *report.Series, column []report.Number) values {
	sums, counts := make(values, g.buckets), make([]int, g.buckets)
	for i, v := range column {
		b := g.bucket(s, i)
		sums[b] += float64(v)
		counts[b]++
	}
	for b, n := range counts {
		sums[b] /= float64(n) // NaN where there is nothing
	}
	return sums
}

// extremes returns the smallest and the largest value of a column in each
// bucket, the earlier one first.
func (g grid) extremes(s *report.Series, column []report.Number) values {
	if g.single {
		return g.means(s, column)
	}
	low, high := make([]int, g.buckets), make([]int, g.buckets)
	for b := range low {
		low[b], high[b] = -1, -1
	}
	for i, v := range column {
		b := g.bucket(s, i)
		if low[b] < 0 || v < column[low[b]] {
			low[b] = i
		}
		if high[b] < 0 || v > column[high[b]] {
			high[b] = i
		}
	}
	all := make(values, 0, 2*g.buckets)
	for b := range low {
		first, second := min(low[b], high[b]), max(low[b], high[b])
		if first < 0 {
			all = append(all, math.NaN(), math.NaN())
			continue
		}
		all = append(all, float64(column[first]), float64(column[second]))
	}
	return all
}

// thin returns at most about limit points of a line, as a picture needs them:
// of each chunk the smallest and the largest value, in their order.
func thin(at, y values, limit int) (values, values) {
	per := (2*len(at) + limit - 1) / limit
	if len(at) <= limit || per < 2 {
		return at, y
	}
	var x, v values
	for from := 0; from < len(at); from += per {
		low, high := -1, -1
		for i := from; i < min(from+per, len(at)); i++ {
			if low < 0 || y[i] < y[low] || math.IsNaN(y[low]) {
				low = i
			}
			if high < 0 || y[i] > y[high] || math.IsNaN(y[high]) {
				high = i
			}
		}
		for _, i := range []int{min(low, high), max(low, high)} {
			x, v = append(x, at[i]), append(v, y[i])
			if low == high {
				break
			}
		}
	}
	return x, v
}

// thinMeans returns the means of chunks of lines that belong together, such as
// the bands of a stack: at most about limit points, each at the end of its
// chunk. A line that is nil stays so.
func thinMeans(at values, limit int, lines ...values) (values, []values) {
	per := (len(at) + limit - 1) / limit
	if per < 2 {
		return at, lines
	}
	var ends values
	for from := 0; from < len(at); from += per {
		ends = append(ends, at[min(from+per, len(at))-1])
	}
	thinned := make([]values, len(lines))
	for l, y := range lines {
		for from := 0; y != nil && from < len(y); from += per {
			thinned[l] = append(thinned[l], meanOf(y[from:min(from+per, len(y))]))
		}
	}
	return ends, thinned
}

// meanOf returns the mean of those values that are there, NaN if none is.
func meanOf(v values) float64 {
	sum, n := 0.0, 0
	for _, x := range v {
		if !math.IsNaN(x) {
			sum += x
			n++
		}
	}
	return sum / float64(n)
}
