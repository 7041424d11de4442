package page

import (
	"cmp"
	"math"
	"slices"

	"fairlead.dev/fairlead/report"
)

// The distribution of placement latency: one panel a service class, one line
// an experiment, latency on a logarithmic axis.

// A latency below the axis is drawn at its left end. The axis spans at most so
// many powers of ten: what is faster than a ten-millionth of the slowest is at
// once.
const latencyDecades = 7

// latencySection draws Run.Latencies.
func latencySection(d *island, groups []report.Group) section {
	s := section{
		ID: "latency", Title: "Placement latency", Short: "Latency",
		How: "The share of tasks that ran for the first time within a given time of their submission. A curve further to the left and higher is better; " +
			"where it meets 50% is the median. The time axis is logarithmic: each line of the grid is ten times the one before it, and what was faster than its beginning stands there.",
		Legend: policyKeys(groups),
	}
	classes := curveClasses(groups)
	if len(classes) == 0 {
		s.None = "These results hold no latency curves: no task ran for the first time, or the file was written by a version of fairlead that did not record them."
		return s
	}
	if slices.ContainsFunc(groups, func(e report.Group) bool { return len(e.Runs) > 1 }) {
		s.How += quartiles
	}
	x := latencyAxis(groups)
	g := panelRow{}
	for _, class := range classes {
		f := &figure{
			Title: class, X: x, Y: axis{Label: "share of tasks placed", Unit: share, High: 1},
			At: curveGrid(groups, class, &x), Stepped: true,
		}
		if class == "all" {
			f.Title = "all tasks"
		}
		for i := range groups {
			var lines []values
			for _, r := range groups[i].Runs {
				if curve := r.Latencies[class]; len(curve) > 0 {
					lines = append(lines, onGrid(curve, f.At, &x))
				}
			}
			if len(lines) == 0 {
				continue
			}
			mean, low, high := overSeeds(lines)
			f.Lines = append(f.Lines, styled(line{Y: mean, Low: low, High: high}, i, groups[i].Name))
		}
		g.Panels = append(g.Panels, d.panelOf(f))
	}
	s.Rows = []panelRow{g}
	return s
}

// curveClasses lists the classes with curves, "all" first.
func curveClasses(groups []report.Group) []string {
	found := map[string]bool{}
	for _, e := range groups {
		for _, r := range e.Runs {
			for class, curve := range r.Latencies {
				if len(curve) > 0 {
					found[class] = true
				}
			}
		}
	}
	var classes []string
	for class := range found {
		if class != "all" {
			classes = append(classes, class)
		}
	}
	slices.Sort(classes)
	classes = byImportance(classes)
	if found["all"] {
		classes = slices.Insert(classes, 0, "all")
	}
	return classes
}

// latencyAxis spans the latencies of all curves, in whole powers of ten.
func latencyAxis(groups []report.Group) axis {
	low, high := math.Inf(1), 0.0
	for _, e := range groups {
		for _, r := range e.Runs {
			for _, curve := range r.Latencies {
				for _, p := range curve {
					if v := float64(p[0]); v > 0 {
						low, high = math.Min(low, v), math.Max(high, v)
					}
				}
			}
		}
	}
	x := axis{Label: "time from submission to first run", Unit: seconds, Log: true, Low: 1e-3, High: 1}
	if high > 0 {
		top := math.Ceil(math.Log10(high) - 1e-9)
		bottom := math.Max(math.Floor(math.Log10(low)+1e-9), top-latencyDecades)
		x.Low, x.High = math.Pow10(int(math.Min(bottom, top-1))), math.Pow10(int(top))
	}
	return x
}

// curvePoints is how many values a curve needs at most: a step is then less
// than two pixels on a wide screen.
const curvePoints = 800

// curveGrid returns x values for the curves of a class: all that occur, or
// evenly spread ones where these are too many. Both ends of the axis are among
// them.
func curveGrid(groups []report.Group, class string, x *axis) values {
	at := values{x.Low, x.High}
	for _, e := range groups {
		for _, r := range e.Runs {
			for _, p := range r.Latencies[class] {
				at = append(at, math.Max(float64(p[0]), x.Low))
			}
		}
	}
	slices.Sort(at)
	at = slices.Compact(at)
	if len(at) <= curvePoints {
		return at
	}
	even := make(values, curvePoints)
	for i := range even {
		even[i] = x.Low * math.Pow(x.High/x.Low, float64(i)/(curvePoints-1))
	}
	even[curvePoints-1] = x.High
	return even
}

// onGrid returns the share of samples at or below each x value.
func onGrid(curve report.Curve, at values, x *axis) values {
	y := make(values, len(at))
	for i, v := range at {
		n, found := slices.BinarySearchFunc(curve, v, func(p [2]report.Number, v float64) int {
			return cmp.Compare(math.Max(float64(p[0]), x.Low), v)
		})
		// Of several points at the left end, the last one counts.
		for found && n+1 < len(curve) && float64(curve[n+1][0]) <= v {
			n++
		}
		if found {
			n++
		}
		if n > 0 {
			y[i] = float64(curve[n-1][1])
		}
	}
	return y
}
