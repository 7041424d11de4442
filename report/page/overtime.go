package page

import (
	"maps"
	"math"
	"slices"
	"strings"

	"fairlead.dev/fairlead/report"
)

// What the charts over time have in common: which columns there are, and how
// the runs of an experiment become one line.

// overTime draws columns of the series of all groups on one grid.
type overTime struct {
	groups []report.Group
	grid   grid
	seeds  bool // some experiment was run with several seeds
}

// numbersOnPage is about how many values of lines the page holds, six bytes
// each: with the pictures and the heat maps it then stays below 5 MB.
const numbersOnPage = 250_000

// A line has at most mostPoints, and at least fewestPoints however many there
// are.
const (
	mostPoints   = 4000
	fewestPoints = 200
)

func newOverTime(groups []report.Group) overTime {
	o := overTime{groups: groups}
	var runs []*report.Run
	columns := 1
	for _, e := range groups {
		per := 1
		if len(e.Runs) > 1 {
			o.seeds = true
			per = 3 // the mean and two quartiles
		}
		for i := range e.Runs {
			runs = append(runs, &e.Runs[i])
		}
		if s := e.Runs[0].Series; s != nil {
			columns += per * len(s.Columns)
		}
	}
	o.grid = gridOf(runs, max(fewestPoints, min(mostPoints, numbersOnPage/columns)))
	return o
}

// columns lists the columns with a prefix that some run has, sorted, without
// the prefix.
func (o *overTime) columns(prefix string) []string {
	found := map[string]bool{}
	for _, e := range o.groups {
		for i := range e.Runs {
			if s := e.Runs[i].Series; s != nil {
				for name, column := range s.Columns {
					if rest, ok := strings.CutPrefix(name, prefix); ok && len(column) > 0 {
						found[rest] = true
					}
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// has reports whether a run of the experiment has the column.
func has(e *report.Group, column string) bool {
	return slices.ContainsFunc(e.Runs, func(r report.Run) bool { return r.Series != nil && len(r.Series.Columns[column]) > 0 })
}

// at returns the x values of what spiky returns.
func (o *overTime) at() values {
	if o.seeds {
		return o.grid.ends()
	}
	return o.grid.pairs()
}

// spiky returns a column of an experiment in which every spike counts; where u
// is rate, counts of a step become counts per second. Over several seeds it is
// the mean with its quartiles.
func (o *overTime) spiky(e *report.Group, column string, u unit) line {
	gather := o.grid.extremes
	if o.seeds {
		gather = o.grid.means
	}
	mean, low, high := overSeeds(o.gather(e, column, u, gather))
	return line{Y: mean, Low: low, High: high}
}

// smooth returns a column of an experiment that holds means over steps.
func (o *overTime) smooth(e *report.Group, column string) values {
	mean, _, _ := overSeeds(o.gather(e, column, share, o.grid.means))
	return mean
}

func (o *overTime) gather(e *report.Group, column string, u unit, of func(*report.Series, []report.Number) values) []values {
	var all []values
	for i := range e.Runs {
		s := e.Runs[i].Series
		if s == nil || len(s.Columns[column]) == 0 {
			continue
		}
		y := of(s, s.Columns[column])
		for j := range y {
			if u == rate {
				y[j] /= float64(s.Step)
			}
		}
		all = append(all, y)
	}
	return all
}

// timeAxis is the x axis of all charts over time.
func (o *overTime) timeAxis() axis {
	end := o.grid.width * float64(o.grid.buckets)
	return axis{Label: "time since the start", Unit: seconds, High: math.Max(end, o.grid.width)}
}

// nothingChanges says why nothing is drawn of what is the same at all times.
const nothingChanges = "Nothing of this changes over time, or these results hold no series of it."

// noSeries says why there is nothing over time.
const noSeries = "These results hold no series over time: they were written by a version of fairlead that did not record them, or the runs ended before their first step."
