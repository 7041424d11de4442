package page

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"
)

// Bars: a value for each experiment in each of a few groups, side by side. They are drawn
// as svg.go draws curves, with all places in percent, and stay as they are where scripts
// run: there is nothing to zoom into.

// barChart is groups of bars over one axis.
type barChart struct {
	Title  string
	Y      axis
	Groups []barGroup
}

// barGroup is the bars of one class.
type barGroup struct {
	Name   string
	Target float64 // where a line crosses the group; NaN for none
	Bars   []bar
}

// bar is one value, NaN where there is none. Low and High are the ends of a line over
// it, NaN for none.
type bar struct {
	Name, Colour     string
	Value, Low, High float64
}

// top is the largest value of all bars.
func (c *barChart) top() float64 {
	top := 0.0
	for _, g := range c.Groups {
		for _, b := range g.Bars {
			for _, v := range []float64{b.Value, b.High, g.Target} {
				if v > top { // not so for NaN
					top = v
				}
			}
		}
	}
	return top
}

// barPicture draws c; id is unique on the page.
func barPicture(c *barChart, id string) template.HTML {
	var s svg
	s.put(`<svg class="chart" role="img" aria-labelledby="%s-t %s-d">`, id, id)
	s.put("<title id=\"%s-t\">%s</title><desc id=\"%s-d\">%s</desc>\n", id, html.EscapeString(c.Title), id, html.EscapeString(c.describe()))
	s.put(`<g class="grid">`)
	ticks := c.Y.ticks(ticksUp)
	for _, t := range ticks {
		y := percent(1 - c.Y.at(t.value))
		s.put(`<line x1="0" x2="100%%" y1="%s" y2="%s"/>`, y, y)
	}
	s.put("</g>\n<g class=\"ticks\">")
	for _, t := range ticks {
		s.put(`<text x="0" y="%s" dx="-7" dy="4" text-anchor="end">%s</text>`, percent(1-c.Y.at(t.value)), html.EscapeString(t.name))
	}
	n := float64(len(c.Groups))
	for i, g := range c.Groups {
		s.put(`<text x="%s" y="100%%" dy="17" text-anchor="middle">%s</text>`, percent((float64(i)+0.5)/n), html.EscapeString(g.Name))
	}
	s.put("</g>\n")
	for i := range c.Groups {
		s.group(c, &c.Groups[i], float64(i)/n, 1/n)
	}
	s.put("</svg>")
	return template.HTML(s.String()) //nolint:gosec // all text went through EscapeString
}

// group draws the bars of a group, from left on and so wide in all.
func (s *svg) group(c *barChart, g *barGroup, left, width float64) {
	const margin = 0.12 // of the group, on each side
	each := width * (1 - 2*margin) / float64(len(g.Bars))
	for i, b := range g.Bars {
		if math.IsNaN(b.Value) {
			continue
		}
		x, height := left+width*margin+each*float64(i), c.Y.at(b.Value)
		s.put(`<rect class="area %s" x="%s" width="%s" y="%s" height="%s"/>`, b.Colour, percent(x+0.05*each), percent(0.9*each), percent(1-height), percent(height))
		if !math.IsNaN(b.Low) && !math.IsNaN(b.High) {
			middle := percent(x + 0.5*each)
			s.put(`<line class="line ink" x1="%s" x2="%s" y1="%s" y2="%s"/>`, middle, middle, percent(1-c.Y.at(b.Low)), percent(1-c.Y.at(b.High)))
		}
	}
	if !math.IsNaN(g.Target) {
		y := percent(1 - c.Y.at(g.Target))
		s.put(`<line class="line ink d1" x1="%s" x2="%s" y1="%s" y2="%s"/>`, percent(left+0.04*width), percent(left+0.96*width), y, y)
	}
	s.put("\n")
}

// describe says in words what the picture shows.
func (c *barChart) describe() string {
	step := c.Y.High / 1000
	var groups []string
	for _, g := range c.Groups {
		var all []string
		if !math.IsNaN(g.Target) {
			all = append(all, "target "+nameOf(c.Y.Unit, g.Target, step))
		}
		for _, b := range g.Bars {
			if math.IsNaN(b.Value) {
				continue
			}
			text := b.Name + " " + nameOf(c.Y.Unit, b.Value, step)
			if !math.IsNaN(b.Low) && !math.IsNaN(b.High) {
				text += fmt.Sprintf(" (%s to %s)", nameOf(c.Y.Unit, b.Low, step), nameOf(c.Y.Unit, b.High, step))
			}
			all = append(all, text)
		}
		groups = append(groups, g.Name+": "+strings.Join(all, ", "))
	}
	return c.Y.Label + " by class. " + strings.Join(groups, "; ") + "."
}
