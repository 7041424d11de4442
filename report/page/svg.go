package page

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The SVG writer: a figure as a static picture, which is all that a reader
// without JavaScript, a printer and a test see.
//
// A picture has no size of its own. The outer element is as wide as its place
// on the page, and its text is placed in percent, so that it is as large on a
// telephone as on a wide screen; the curves live in an inner element of
// 2000 × 1000 units that is stretched to the same box, with strokes that are
// not. The margins in which the ticks are written are padding, in page.css.
// Colours are classes, so that one picture serves light and dark.

// The inner box, and how many points of a line a picture needs.
const (
	svgWidth  = 2000
	svgHeight = 1000
	svgPoints = 700
)

// Some five ticks fit on a telephone.
const (
	ticksAcross = 5
	ticksUp     = 5
)

// svg is a picture that is being written.
type svg struct{ strings.Builder }

func (s *svg) put(format string, args ...any) { fmt.Fprintf(s, format, args...) }

// picture draws f; id is unique on the page.
func picture(f *figure, id string) template.HTML {
	var s svg
	s.put(`<svg class="chart" role="img" aria-labelledby="%s-t %s-d">`, id, id)
	s.put("<title id=\"%s-t\">%s</title><desc id=\"%s-d\">%s</desc>\n", id, html.EscapeString(f.Title), id, html.EscapeString(describe(f)))
	s.axes(f)
	s.put(`<svg class="plot" viewBox="0 0 %d %d" preserveAspectRatio="none">`, svgWidth, svgHeight)
	if f.Stacked {
		s.stack(f)
	} else {
		s.curves(f)
	}
	s.put("</svg></svg>")
	return template.HTML(s.String()) //nolint:gosec // all text went through EscapeString
}

// describe says in words what the picture shows, for those who cannot see it.
func describe(f *figure) string {
	var all []string
	for _, l := range f.Lines {
		highest, last := math.Inf(-1), math.NaN()
		for _, y := range l.Y {
			if !math.IsNaN(y) {
				highest, last = math.Max(highest, y), y
			}
		}
		if math.IsNaN(last) {
			continue
		}
		step := f.Y.High / 1000
		all = append(all, fmt.Sprintf("%s: at most %s, at the end %s", l.Name, nameOf(f.Y.Unit, highest, step), nameOf(f.Y.Unit, last, step)))
	}
	return f.Y.Label + " by " + f.X.Label + ". " + strings.Join(all, "; ") + "."
}

// percent prints a place between 0 and 1.
func percent(at float64) string {
	return strconv.FormatFloat(math.Round(1e4*at)/100, 'f', -1, 64) + "%"
}

// axes draws the grid and what is written around it.
func (s *svg) axes(f *figure) {
	s.put(`<g class="grid">`)
	for _, t := range f.X.ticks(ticksAcross) {
		x := percent(f.X.at(t.value))
		s.put(`<line x1="%s" x2="%s" y1="0" y2="100%%"/>`, x, x)
	}
	for _, t := range f.Y.ticks(ticksUp) {
		y := percent(1 - f.Y.at(t.value))
		s.put(`<line x1="0" x2="100%%" y1="%s" y2="%s"/>`, y, y)
	}
	s.put("</g>\n<g class=\"ticks\">")
	for _, t := range f.X.ticks(ticksAcross) {
		if t.name == "" {
			continue
		}
		at := f.X.at(t.value)
		anchor := "middle"
		switch {
		case at < 0.02:
			anchor = "start"
		case at > 0.98:
			anchor = "end"
		}
		s.put(`<text x="%s" y="100%%" dy="17" text-anchor="%s">%s</text>`, percent(at), anchor, html.EscapeString(t.name))
	}
	for _, t := range f.Y.ticks(ticksUp) {
		s.put(`<text x="0" y="%s" dx="-7" dy="4" text-anchor="end">%s</text>`, percent(1-f.Y.at(t.value)), html.EscapeString(t.name))
	}
	s.put(`<text class="axis" x="100%%" y="100%%" dy="33" text-anchor="end">%s</text>`, html.EscapeString(f.X.Label))
	s.put("</g>\n")
}

// curves draws lines that stand for themselves, and their bands below them.
func (s *svg) curves(f *figure) {
	for i := range f.Lines {
		if l := &f.Lines[i]; l.Low != nil {
			at, q := thinMeans(f.At, svgPoints, l.Low, l.High)
			s.put("<path class=\"band %s\" d=\"%s\"/>\n", l.Colour, area(f, at, q[0], q[1]))
		}
	}
	for i := range f.Lines {
		s.curve(f, &f.Lines[i])
	}
}

// curve draws one line.
func (s *svg) curve(f *figure, l *line) {
	x, y := thin(f.At, l.Y, svgPoints)
	var d path
	for i := range x {
		if math.IsNaN(y[i]) {
			d.up = true
			continue
		}
		if f.Stepped && !d.up && i > 0 {
			d.to(f, x[i], y[i-1])
		}
		d.to(f, x[i], y[i])
	}
	s.put("<path class=\"line %s d%d\" d=\"%s\"/>\n", l.Colour, l.Dash, d.String())
}

// stack draws the lines as bands on top of each other, and over them those
// that are no part of the pile.
func (s *svg) stack(f *figure) {
	all := make([]values, len(f.Lines))
	for i, l := range f.Lines {
		all[i] = l.Y
	}
	at, thinned := thinMeans(f.At, svgPoints, all...)
	floor := make(values, len(at))
	for i, l := range f.Lines {
		if l.Over {
			continue
		}
		top := make(values, len(at))
		for j := range top {
			top[j] = floor[j]
			if y := thinned[i][j]; !math.IsNaN(y) {
				top[j] += y
			}
		}
		s.put("<path class=\"area %s\" d=\"%s\"/>\n", l.Colour, area(f, at, floor, top))
		floor = top
	}
	for i := range f.Lines {
		if f.Lines[i].Over {
			s.curve(f, &f.Lines[i])
		}
	}
}

// area is the outline of what lies between low and high: there along high, and
// back along low.
func area(f *figure, at, low, high values) string {
	var d path
	for i, x := range at {
		if math.IsNaN(high[i]) {
			continue
		}
		if f.Stepped && i > 0 && !math.IsNaN(high[i-1]) {
			d.to(f, x, high[i-1])
		}
		d.to(f, x, high[i])
	}
	for i, x := range slices.Backward(at) {
		if math.IsNaN(low[i]) {
			continue
		}
		d.to(f, x, low[i])
		if f.Stepped && i > 0 && !math.IsNaN(low[i-1]) {
			d.to(f, x, low[i-1])
		}
	}
	if d.Len() > 0 {
		d.WriteByte('Z')
	}
	return d.String()
}

// path is the d attribute of a path that is being written.
type path struct {
	strings.Builder
	up           bool // the pen is up: the next point begins anew
	lastX, lastY int
}

// to moves the pen to a value of f, in whole units of the inner box. Points
// that fall together are written once.
func (d *path) to(f *figure, x, y float64) {
	px := int(math.Round(svgWidth * f.X.at(x)))
	py := svgHeight - int(math.Round(svgHeight*f.Y.at(y)))
	command := byte('L')
	if d.up || d.Len() == 0 {
		command = 'M'
	} else if px == d.lastX && py == d.lastY {
		return
	}
	d.up = false
	d.WriteByte(command)
	d.WriteString(strconv.Itoa(px))
	d.WriteByte(' ')
	d.WriteString(strconv.Itoa(py))
	d.lastX, d.lastY = px, py
}
