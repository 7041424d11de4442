package page

import (
	"fmt"
	"math"
	"slices"
)

// The backlog: how many tasks wait and run, how busy the scheduler is, and how
// many nodes it uses, over time. One line an experiment.

// backlogSection draws the columns pending, running, decisions and
// nodes_active.
func (o *overTime) backlogSection(d *island) section {
	s := section{
		ID: "backlog", Title: "Backlog and decisions over time", Short: "Backlog",
		How: "Tasks that wait for room, tasks that hold room, placements and evictions per second, and nodes with at least one task. " +
			"A backlog that keeps growing means that the cluster, or the policy, does not keep up with what is submitted.",
		Legend: policyKeys(o.groups),
	}
	if o.seeds {
		s.How += quartiles
	}
	g := panelRow{}
	for _, c := range []struct {
		column, title, label string
		unit                 unit
	}{
		{"pending", "Tasks waiting", "tasks", count},
		{"running", "Tasks running", "tasks", count},
		{"decisions", "Decisions", "decisions per second", rate},
		{"nodes_active", "Nodes in use", "nodes", count},
	} {
		if f := o.linesOf(c.column, c.unit); f != nil {
			f.Title, f.Y.Label = c.title, c.label
			if c.unit == rate {
				f.cutPeaks()
			}
			g.Panels = append(g.Panels, d.panelOf(f))
		}
	}
	if len(g.Panels) == 0 {
		s.None = nothingChanges
		return s
	}
	s.Rows = []panelRow{g}
	return s
}

// linesOf draws a column with a line for each experiment that has it, nil if
// none does, or nothing changes in it. Counts of a step become rates where that is the unit.
func (o *overTime) linesOf(column string, u unit) *figure {
	f := &figure{X: o.timeAxis(), Y: axis{Unit: u}, At: o.at()}
	for i := range o.groups {
		e := &o.groups[i]
		if !has(e, column) {
			continue
		}
		f.Lines = append(f.Lines, styled(o.spiky(e, column, u), i, e.Name))
	}
	if len(f.Lines) == 0 || f.flat() {
		return nil
	}
	f.Y.High = ceiling(u, f.top())
	return f
}

// flat reports whether no line of the figure rises or falls: a picture of it would show nothing
// that a table does not.
func (f *figure) flat() bool {
	for _, l := range f.Lines {
		first := math.NaN()
		for _, y := range l.Y {
			switch {
			case math.IsNaN(y):
			case math.IsNaN(first):
				first = y
			case y != first:
				return false
			}
		}
	}
	return true
}

// A peak is cut off where it is so many times what all but the busiest
// hundredth of the values stay below.
const peak = 5

// cutPeaks ends the y axis below single peaks, such as the placement of a whole
// cluster in the first step, which would press all else to the ground.
func (f *figure) cutPeaks() {
	var all []float64
	for _, l := range f.Lines {
		for _, y := range l.Y {
			if !math.IsNaN(y) {
				all = append(all, y)
			}
		}
	}
	slices.Sort(all)
	usual, top := quantile(all, 0.99), f.top()
	if usual > 0 && top > peak*usual {
		f.Y.High = ceiling(f.Y.Unit, 2*usual)
		f.Y.Label += fmt.Sprintf(", cut off below the peak of %s", nameOf(f.Y.Unit, top, math.Max(1, top/1000)))
	}
}
