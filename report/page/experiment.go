package page

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/report"
)

// The page of a paper's experiment: a chart for each figure, and the published
// numbers beside ours.

//go:embed experiment.html.tmpl
var experimentTemplate string

// experimentView is what the template shows.
type experimentView struct {
	shared
	Title    string
	Quick    bool
	Setup    []fact
	Facts    []string
	Sections []section
	Numbers  report.Grid
	Goals    report.Grid
	Variants report.Grid
}

// WriteExperiment prints an experiment as a page of HTML. Nothing is written when
// it fails, except when w does. What cannot have been measured is an error.
func WriteExperiment(w io.Writer, e *report.Reproduction) error {
	v := &experimentView{Title: e.What, Quick: e.Quick, Facts: e.Facts, Numbers: e.Grid(), Goals: e.GoalsGrid(), Variants: e.Variants.Grid()}
	v.Setup = []fact{{"Experiment", e.Name}, {"From", e.Paper}, {"Data", e.Data}}
	var data island
	for i := range e.Figures {
		f, err := figureOf(&e.Figures[i])
		if err != nil {
			return fmt.Errorf("page: %s: %w", e.Name, err)
		}
		s := section{ID: "figure-" + strconv.Itoa(i+1), Title: f.Title, How: howTo(f)}
		if len(f.Lines) == 0 {
			s.None = "Nothing came of these runs that could be drawn."
		}
		for _, l := range f.Lines {
			s.Legend = append(s.Legend, key{Name: l.Name, Colour: l.Colour, Dash: l.Dash})
		}
		if len(f.Lines) > 0 {
			s.Rows = []panelRow{{Size: sizeOfLarge(1), Panels: []panel{data.panelOf(f)}}}
		}
		v.Sections = append(v.Sections, s)
	}
	var err error
	if v.shared, err = sharedOf(&data); err != nil {
		return err
	}
	t, err := template.New("page").Parse(pageTemplate)
	if err == nil {
		t, err = t.New("experiment").Parse(experimentTemplate)
	}
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := t.Execute(&text, v); err != nil {
		return err
	}
	_, err = text.WriteTo(w)
	return err
}

// howTo says how to read a chart.
func howTo(f *figure) string {
	text := f.Y.Label + " by " + f.X.Label + "."
	if f.Stepped {
		text += " A curve further to the left is smaller; where it meets 50% is the median."
	}
	var logs []string
	for _, a := range []*axis{&f.X, &f.Y} {
		if a.Log {
			logs = append(logs, a.Label)
		}
	}
	if len(logs) > 0 {
		text += " Logarithmic: " + strings.Join(logs, ", ") + "."
	}
	return text
}

// figureOf is a figure as it is drawn: all lines on common x values.
func figureOf(r *report.Figure) (*figure, error) {
	f := &figure{
		Title: r.Title, Stepped: r.Cumulative,
		X: axis{Label: r.X.Label, Unit: unitOf(r.X.Unit), Log: r.X.Log}, Y: axis{Label: r.Y.Label, Unit: unitOf(r.Y.Unit), Log: r.Y.Log},
	}
	var xs, ys values
	for _, l := range r.Lines {
		for i, p := range l.Points {
			x, y := float64(p[0]), float64(p[1])
			if !(math.Abs(x) <= largest && math.Abs(y) <= largest) {
				return nil, fmt.Errorf("%s has a point at %g, %g, which nothing measures", l.Name, x, y)
			}
			if i > 0 && p[0] < l.Points[i-1][0] {
				return nil, fmt.Errorf("the points of %s do not rise", l.Name)
			}
			xs, ys = append(xs, x), append(ys, y)
		}
	}
	if len(xs) == 0 {
		return f, nil
	}
	f.X.span(xs, false)
	f.Y.span(ys, true)
	if r.Cumulative {
		f.Y.Low, f.Y.High = 0, 1
	}
	for i, x := range xs {
		xs[i] = math.Max(x, f.X.Low)
	}
	// Both ends are there, since uPlot takes its axis from the data, and finds no
	// power of ten from a low end that is none.
	f.At = append(xs, f.X.Low, f.X.High)
	slices.Sort(f.At)
	f.At = slices.Compact(f.At)
	for i, l := range r.Lines {
		f.Lines = append(f.Lines, styled(line{Y: onto(f, &l)}, i, l.Name))
	}
	return f, nil
}

// span makes the axis hold all values: powers of ten if it is logarithmic, and
// from 0 if it is to be.
func (a *axis) span(all values, fromZero bool) {
	low, high := slices.Min(all), slices.Max(all)
	if !a.Log {
		a.Low, a.High = low, high
		if fromZero || low == high {
			a.Low, a.High = 0, ceiling(a.Unit, high)
		}
		return
	}
	least := math.Inf(1) // of those above 0
	for _, v := range all {
		if v > 0 {
			least = math.Min(least, v)
		}
	}
	if high <= 0 {
		least, high = 1, 1
	}
	top := math.Ceil(math.Log10(high) - 1e-9)
	bottom := math.Max(math.Floor(math.Log10(least)+1e-9), top-latencyDecades)
	a.Low, a.High = math.Pow10(int(math.Min(bottom, top-1))), math.Pow10(int(top))
}

// onto is y at each x of the figure: straight between the points of the line, and
// none beyond them; of a distribution the step that x stands on.
func onto(f *figure, l *report.Line) values {
	y := make(values, len(f.At))
	for i, x := range f.At {
		n := sort.Search(len(l.Points), func(n int) bool { return math.Max(float64(l.Points[n][0]), f.X.Low) > x })
		switch {
		case n == 0 && f.Stepped:
			y[i] = 0
		case n == 0:
			y[i] = math.NaN()
		case f.Stepped:
			y[i] = float64(l.Points[n-1][1])
		case n == len(l.Points):
			y[i] = math.NaN()
			if math.Max(float64(l.Points[n-1][0]), f.X.Low) == x {
				y[i] = float64(l.Points[n-1][1])
			}
		default:
			a, b := l.Points[n-1], l.Points[n]
			part := (f.X.at(x) - f.X.at(float64(a[0]))) / (f.X.at(float64(b[0])) - f.X.at(float64(a[0])))
			y[i] = float64(a[1]) + part*float64(b[1]-a[1])
		}
		if f.Y.Log {
			y[i] = math.Max(y[i], f.Y.Low) // NaN stays NaN
		}
	}
	return y
}

// unitOf is the axis for a unit.
func unitOf(u report.Unit) unit {
	switch u {
	case report.InSeconds:
		return seconds
	case report.InShares:
		return share
	case report.InFactors:
		return rate
	default:
		return count
	}
}
