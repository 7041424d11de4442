package experiment

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
)

// This file makes figures of results.

// known is a number, or nil if it is not.
func known(v report.Number, ok bool) *report.Number {
	if !ok {
		return nil
	}
	return &v
}

// points gathers what the outcomes say, a point each, to a line for each name.
func points(outcomes []outcome, y func(*outcome) (report.Number, bool)) []report.Line {
	var lines []report.Line
	for i := range outcomes {
		o := &outcomes[i]
		v, ok := y(o)
		if !ok {
			continue
		}
		at := slices.IndexFunc(lines, func(l report.Line) bool { return l.Name == o.line })
		if at < 0 {
			at = len(lines)
			lines = append(lines, report.Line{Name: o.line})
		}
		lines[at].Points = append(lines[at].Points, [2]report.Number{o.at, v})
	}
	for _, l := range lines {
		slices.SortFunc(l.Points, func(a, b [2]report.Number) int { return cmp.Compare(a[0], b[0]) })
	}
	return lines
}

// lineOf returns the line of that name, or one without points.
func lineOf(lines []report.Line, name string) *report.Line {
	for i := range lines {
		if lines[i].Name == name {
			return &lines[i]
		}
	}
	return &report.Line{Name: name}
}

// placement is the line of an outcome in a figure of placement latency.
func placement(o *outcome) report.Line {
	return report.Line{Name: o.line, Points: o.placement}
}

// placementFigure is a chart of how long batch tasks wait for their first place.
func placementFigure(title string, outcomes []outcome) report.Figure {
	f := report.Figure{
		Title: title, Cumulative: true,
		X: report.Axis{Label: "placement latency", Unit: report.InSeconds, Log: true},
		Y: report.Axis{Label: "share of the batch tasks placed", Unit: report.InShares},
	}
	for i := range outcomes {
		f.Lines = append(f.Lines, placement(&outcomes[i]))
	}
	return f
}

// factors is the distribution of the factors by which tasks were faster than in
// the base, over the tasks that both samples hold.
func factors(base, other *report.Run) []float64 {
	if base.Sample == nil || other.Sample == nil {
		return nil
	}
	var all []float64
	for i, task := range base.Sample.Tasks {
		if j, found := slices.BinarySearch(other.Sample.Tasks, task); found && other.Sample.Response[j] > 0 {
			all = append(all, float64(base.Sample.Response[i]/other.Sample.Response[j]))
		}
	}
	slices.Sort(all)
	return all
}

// distribution is the cumulative distribution of rising values as a line of at
// most some 200 points.
func distribution(name string, rising []float64) report.Line {
	l := report.Line{Name: name}
	n := len(rising)
	for i, v := range rising {
		if (i+1)*200/n == i*200/n { // never so for the last
			continue
		}
		l.Points = append(l.Points, [2]report.Number{report.Number(v), report.Number(float64(i+1) / float64(n))})
	}
	return l
}

// above is the share of rising values that are more than the limit.
func above(rising []float64, limit float64) report.Number {
	if len(rising) == 0 {
		return 0
	}
	at, _ := slices.BinarySearchFunc(rising, limit, func(v, limit float64) int {
		if v > limit {
			return 1
		}
		return -1
	})
	return report.Number(float64(len(rising)-at) / float64(len(rising)))
}

// timeline is how long rounds took over time: the longest of each span of time.
func timeline(name string, rounds []round, span cluster.Time) report.Line {
	l := report.Line{Name: name}
	for i := 0; i < len(rounds); {
		end, longest := (rounds[i].at/span+1)*span, cluster.Time(0)
		for ; i < len(rounds) && rounds[i].at < end; i++ {
			longest = max(longest, rounds[i].took)
		}
		l.Points = append(l.Points, [2]report.Number{report.Seconds(end), report.Seconds(longest)})
	}
	return l
}
