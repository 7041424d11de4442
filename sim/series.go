package sim

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/wide"
	"fairlead.dev/fairlead/report"
)

// This file samples how the run goes over time: report.Series. Nobody knows at
// the start how long a run will be. So it begins with steps of a tenth of a
// second, and whenever there are too many of them, so many become one as make
// the next longer step: 1 s, 5 s, 15 s, a minute. Minutes are kept as long as
// 50,000 of them last, which is 34 days; after that steps double.
//
// Means over a step are integrals of integers, in 128 bits, so that steps
// become one by plain sums: the samples are what they would be if the step had
// been so long from the start.

// The first step, and how many steps there may be: few while they are shorter
// than a minute, which is what a day is cut into.
const (
	firstStep    = 100 * cluster.Millisecond
	mostShort    = 1200
	mostSteps    = 50_000
	ordinaryStep = cluster.Minute
)

// longer is how many steps become one when there are too many. It divides the
// number that there may be.
func longer(step cluster.Time) int {
	switch step {
	case firstStep:
		return 10
	case cluster.Second:
		return 5
	case 5 * cluster.Second:
		return 3
	case 15 * cluster.Second:
		return 4
	default:
		return 2
	}
}

// level is an amount that goes up and down, and its integral over each step.
type level struct {
	amount func() int64
	last   int64        // the amount since the moment until
	until  cluster.Time // up to where open reaches
	open   wide.Number  // of the step that is not over
	closed []wide.Number
}

// settle extends the open area to the moment, at the last amount.
func (l *level) settle(now cluster.Time) {
	l.open = l.open.Plus(wide.Product(l.last, int64(now-l.until)))
	l.until = now
}

// gauge is a value that is read at the end of each step.
type gauge struct {
	name   string
	value  func() float64
	counts bool // it counts since the start, and the sample is what came in the step
	values []float64
}

// share is a column with the mean of a level over each step, as a share of the
// mean of another.
type share struct {
	name        string
	part, whole int
}

// series samples levels and gauges.
type series struct {
	step   cluster.Time
	start  cluster.Time // of the open step
	steps  int          // that are over
	levels []level
	shares []share
	gauges []gauge
}

func newSeries() series { return series{step: firstStep} }

// level has the amount integrated from now on, and returns the number by which
// shares name it.
func (s *series) level(amount func() int64) int {
	s.levels = append(s.levels, level{amount: amount})
	return len(s.levels) - 1
}

// gauge adds a column with the value at the end of each step.
func (s *series) gauge(name string, value func() float64) {
	s.gauges = append(s.gauges, gauge{name: name, value: value})
}

// counter adds a column with how much the value has risen in each step.
func (s *series) counter(name string, value func() float64) {
	s.gauges = append(s.gauges, gauge{name: name, value: value, counts: true})
}

// share adds a column with the mean of a level as a share of another.
func (s *series) share(name string, part, whole int) {
	s.shares = append(s.shares, share{name, part, whole})
}

// advance lets time go by, all that happened now being done. A step is over
// when time goes beyond its end, so that what happens at its end belongs to it.
func (s *series) advance(now, to cluster.Time) {
	for i := range s.levels {
		l := &s.levels[i]
		if amount := l.amount(); amount != l.last {
			l.settle(now)
			l.last = amount
		}
	}
	for s.start+s.step < to {
		s.makeRoom()
		if end := s.start + s.step; end < to {
			s.end(end)
		}
	}
}

// end closes the open step at the moment.
func (s *series) end(at cluster.Time) {
	for i := range s.levels {
		l := &s.levels[i]
		l.settle(at)
		l.closed = append(l.closed, l.open)
		l.open = wide.Number{}
	}
	for i := range s.gauges {
		g := &s.gauges[i]
		g.values = append(g.values, g.value())
	}
	s.start = at
	s.steps++
}

// makeRoom makes steps longer if there are as many as there may be. The open
// step is the first part of a longer one.
func (s *series) makeRoom() {
	most := mostSteps
	if s.step < ordinaryStep {
		most = mostShort
	}
	if s.steps < most {
		return
	}
	n := longer(s.step)
	for i := range s.levels {
		closed := s.levels[i].closed
		for j := range s.steps / n {
			sum := wide.Number{}
			for _, a := range closed[j*n : (j+1)*n] {
				sum = sum.Plus(a)
			}
			closed[j] = sum
		}
		s.levels[i].closed = closed[:s.steps/n]
	}
	for i := range s.gauges {
		values := s.gauges[i].values
		for j := range s.steps / n {
			values[j] = values[(j+1)*n-1]
		}
		s.gauges[i].values = values[:s.steps/n]
	}
	s.steps /= n
	s.step *= cluster.Time(n)
}

// result ends the series at the moment.
func (s *series) result(now cluster.Time) *report.Series {
	s.advance(now, now)
	s.makeRoom()
	s.end(now)
	r := &report.Series{Step: report.Seconds(s.step), Columns: map[string][]report.Number{}}
	for _, c := range s.shares {
		column := make([]report.Number, s.steps)
		for i := range column {
			column[i] = report.Ratio(s.levels[c.part].closed[i].Float(), s.levels[c.whole].closed[i].Float())
		}
		r.Columns[c.name] = column
	}
	for _, g := range s.gauges {
		column, before := make([]report.Number, s.steps), 0.0
		for i, v := range g.values {
			column[i] = report.Number(v)
			if g.counts {
				column[i] = report.Number(v - before)
				before = v
			}
		}
		r.Columns[g.name] = column
	}
	return r
}
