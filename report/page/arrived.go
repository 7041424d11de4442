package page

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"fairlead.dev/fairlead/report"
)

// Allocation against arrived load, the plot of FGD (USENIX ATC 2023): tasks
// arrive and stay, and the question is how much of them the policy packs into
// the cluster before it is full. One panel a resource kind, one line an
// experiment, and the diagonal on which everything that arrived has been placed.

// arrivedPoints is how many x values the lines have.
const arrivedPoints = 800

// mostEnded is the share of tasks that may end: above it what has arrived says
// nothing about what should be held.
const mostEnded = 0.1

// arrivedSection draws the columns arrived.KIND and allocation.KIND.CLASS.
func (o *overTime) arrivedSection(d *island) section {
	s := section{
		ID: "arrived", Title: "Allocation against arrived load", Short: "Arrived load",
		How: "Tasks arrive and stay: to the right, all demand that has been submitted so far; upwards, what of it the policy has placed; both as shares of the cluster's capacity. " +
			"On the thin diagonal everything has found room, and the earlier a line leaves it, the more room the policy wastes. The axes begin shortly before the first line leaves it.",
		Legend: policyKeys(o.groups),
	}
	kinds := o.columns("arrived.")
	if len(kinds) == 0 {
		s.None = noSeries
		return s
	}
	if !o.tasksStay() {
		s.None = fmt.Sprintf("Tasks of this workload end and make room again, so that what has arrived is more than what should be held. "+
			"The chart is drawn for workloads of which at most %s of the tasks end, such as openb's list of pods.", nameOf(share, mostEnded, mostEnded))
		return s
	}
	if o.seeds {
		s.How += quartiles
	}
	g := panelRow{}
	for _, kind := range kinds {
		if f := o.arrivedOf(kind); f != nil {
			g.Panels = append(g.Panels, d.panelOf(f))
		}
	}
	if len(g.Panels) == 0 {
		s.None = "These results say what arrived, and not what was allocated."
		return s
	}
	g.Size = sizeOfLarge(len(g.Panels))
	s.Legend = append(s.Legend, key{Name: "everything placed", Colour: "quiet", Dash: 2})
	s.Rows = []panelRow{g}
	return s
}

// tasksStay reports whether in some run few tasks ended.
func (o *overTime) tasksStay() bool {
	for _, e := range o.groups {
		for i := range e.Runs {
			t := &e.Runs[i].Tasks
			if float64(t.Finished+t.Failed+t.Killed+t.Superseded) <= mostEnded*float64(t.Submitted) {
				return true
			}
		}
	}
	return false
}

// arrivedOf is the panel of one kind, nil if no run has it.
func (o *overTime) arrivedOf(kind string) *figure {
	f := &figure{
		Title: kind,
		X:     axis{Label: "arrived, as a share of " + kind, Unit: share},
		Y:     axis{Label: "allocated, as a share of " + kind, Unit: share},
	}
	curves := make([][]report.Curve, len(o.groups))
	for i, e := range o.groups {
		for _, r := range e.Runs {
			if c := loadCurve(r.Series, kind); len(c) > 0 {
				curves[i] = append(curves[i], c)
				f.X.High = math.Max(f.X.High, float64(c[len(c)-1][0]))
			}
		}
	}
	if f.X.High == 0 {
		return nil
	}
	f.X.Low = parting(slices.Concat(curves...))
	f.Y.Low = f.X.Low
	for i := range arrivedPoints {
		f.At = append(f.At, f.X.Low+(f.X.High-f.X.Low)*float64(i)/(arrivedPoints-1))
	}
	for i, e := range o.groups {
		var lines []values
		for _, c := range curves[i] {
			lines = append(lines, interpolated(c, f.At))
		}
		if len(lines) > 0 {
			mean, low, high := overSeeds(lines)
			f.Lines = append(f.Lines, styled(line{Y: mean, Low: low, High: high}, i, e.Name))
		}
	}
	f.Y.High = math.Max(1, ceiling(share, f.top()))
	ideal := make(values, len(f.At))
	for i, x := range f.At {
		ideal[i] = math.NaN()
		if x <= f.Y.High {
			ideal[i] = x
		}
	}
	f.Lines = append(f.Lines, line{Name: "everything placed", Colour: "quiet", Dash: 2, Y: ideal})
	return f
}

// parting returns where the axes begin: at least a tenth before some curve falls
// by two hundredths of the cluster below the diagonal, which all of them follow
// at first.
func parting(curves []report.Curve) float64 {
	first := math.Inf(1)
	for _, c := range curves {
		on := 0.0 // the last point near the diagonal
		for _, p := range c {
			if p[1] < p[0]-0.02 {
				break
			}
			on = float64(p[0])
		}
		first = math.Min(first, on)
	}
	return math.Max(0, math.Floor(10*first-1)/10)
}

// loadCurve returns pairs of what had arrived and what was allocated then,
// rising in the first.
func loadCurve(s *report.Series, kind string) report.Curve {
	if s == nil {
		return nil
	}
	arrived := s.Columns["arrived."+kind]
	allocated := make([]report.Number, len(arrived))
	found := false
	for _, name := range slices.Sorted(maps.Keys(s.Columns)) {
		column := s.Columns[name]
		rest, ok := strings.CutPrefix(name, "allocation."+kind+".")
		if !ok || strings.Contains(rest, ".") || len(column) != len(arrived) {
			continue
		}
		found = true
		for i, v := range column {
			allocated[i] += v
		}
	}
	if !found {
		return nil
	}
	var curve report.Curve
	for i, x := range arrived {
		// The share falls when nodes are added: then the line waits.
		if n := len(curve); n == 0 || x > curve[n-1][0] {
			curve = append(curve, [2]report.Number{x, allocated[i]})
		} else if x == curve[n-1][0] {
			curve[n-1][1] = allocated[i]
		}
	}
	return curve
}

// interpolated returns the curve at each x, straight between its points, and
// NaN outside of them.
func interpolated(curve report.Curve, at values) values {
	y := make(values, len(at))
	for i, x := range at {
		n, found := slices.BinarySearchFunc(curve, x, func(p [2]report.Number, x float64) int {
			switch {
			case float64(p[0]) < x:
				return -1
			case float64(p[0]) > x:
				return 1
			}
			return 0
		})
		switch {
		case found:
			y[i] = float64(curve[n][1])
		case n == 0 || n == len(curve):
			y[i] = math.NaN()
		default:
			a, b := curve[n-1], curve[n]
			part := (x - float64(a[0])) / float64(b[0]-a[0])
			y[i] = float64(a[1]) + float64(float64(b[1]-a[1])*part)
		}
	}
	return y
}
