package page

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Allocation over time: for each resource kind a panel an experiment, in which
// the service classes are bands on top of each other, and a line says how much
// of it works.

// allocationSection draws the columns allocation.KIND.CLASS and
// utilisation.KIND.
func (o *overTime) allocationSection(d *island) section {
	s := section{
		ID: "allocation", Title: "Allocation and utilisation over time", Short: "Allocation",
		How: "What tasks hold, as a share of the capacity of the live nodes, one band a service class. The dashed line is utilisation, the part of it that runs: " +
			"the gap below the top of the bands belongs to tasks that are starting or leaving. Above 100% is over-commitment.",
	}
	bands := o.columns("allocation.")
	if len(bands) == 0 {
		s.None = noSeries
		return s
	}
	if o.seeds {
		s.How += " Values are means over the seeds."
	}
	classes, kinds := splitBands(bands)
	for i, class := range classes {
		s.Legend = append(s.Legend, key{Name: class, Colour: classColour(i), Area: true})
	}
	for _, kind := range kinds {
		g := panelRow{Title: kind, Size: sizeFor(len(o.groups))}
		var figures []*figure
		top := 1.0
		for i := range o.groups {
			if f := o.allocationOf(i, kind, classes); f != nil {
				figures = append(figures, f)
				top = math.Max(top, f.top())
			}
		}
		for _, f := range figures {
			f.Y.High = top
			if top > 1 {
				f.Y.High = ceiling(share, top)
			}
			g.Panels = append(g.Panels, d.panelOf(f))
		}
		if len(g.Panels) > 0 {
			s.Rows = append(s.Rows, g)
		}
	}
	if len(s.Rows) == 0 {
		s.None = nothingChanges
		return s
	}
	s.Legend = append(s.Legend, key{Name: "utilisation", Colour: "ink", Dash: 1})
	return s
}

// splitBands returns the classes and the kinds of columns KIND.CLASS. A kind
// may hold dots ("nvidia.com/gpu"), a class may not.
func splitBands(columns []string) (classes, kinds []string) {
	for _, c := range columns {
		dot := strings.LastIndexByte(c, '.')
		kinds = append(kinds, c[:max(dot, 0)])
		classes = append(classes, c[dot+1:])
	}
	slices.Sort(classes)
	slices.Sort(kinds)
	return byImportance(slices.Compact(classes)), slices.Compact(kinds)
}

// allocationOf is the panel of one experiment and kind, nil if it has no such
// thing, or none that changes.
func (o *overTime) allocationOf(i int, kind string, classes []string) *figure {
	e := &o.groups[i]
	f := &figure{
		Title: e.Name, X: o.timeAxis(), At: o.grid.ends(), Stacked: true,
		Y: axis{Label: fmt.Sprintf("share of %s", kind), Unit: share, High: 1},
	}
	for c, class := range classes {
		if column := "allocation." + kind + "." + class; has(e, column) {
			f.Lines = append(f.Lines, line{Name: class, Colour: classColour(c), Y: o.smooth(e, column)})
		}
	}
	if len(f.Lines) == 0 || f.flat() {
		return nil
	}
	if column := "utilisation." + kind; has(e, column) {
		f.Lines = append(f.Lines, line{Name: "utilisation", Colour: "ink", Dash: 1, Over: true, Y: o.smooth(e, column)})
	}
	return f
}
