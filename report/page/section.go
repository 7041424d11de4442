package page

import (
	"html/template"
	"strconv"

	"fairlead.dev/fairlead/report"
)

// section is a part of the page with charts.
type section struct {
	ID, Title, Short string // Short is for lists
	// How says how to read the charts. None says instead why there are none.
	How, None string
	// Table stands above all charts; it may be empty.
	Table report.Grid
	// Bars stand above the charts of lines, with a legend of their own. They are
	// pictures alone.
	BarKeys []key
	Bars    []panel
	Legend  []key
	Rows    []panelRow
}

// key is an entry of a legend: a name and its look.
type key struct {
	Name, Colour string
	Dash         int
	Area         bool
}

// panelRow is a row of panels below a heading, which may be empty.
type panelRow struct {
	Title string
	// Size is how many panels stand abreast on a wide screen: "two", "three" or
	// "four".
	Size   string
	Panels []panel
}

// panel is one figure on the page.
type panel struct {
	ID      string
	Figure  int // its number in the island
	Title   string
	YLabel  string
	Picture template.HTML
}

// sizeFor is the Size that leaves few panels of n alone in their row.
func sizeFor(n int) string {
	switch {
	case n <= 2:
		return "two"
	case n%4 == 0 || n > 6:
		return "four"
	}
	return "three"
}

// sizeOfLarge is the Size of panels that want room.
func sizeOfLarge(n int) string {
	if n == 3 {
		return "three"
	}
	return "two"
}

// policyKeys is the legend of charts with a line for each experiment.
func policyKeys(groups []report.Group) []key {
	var keys []key
	for i, e := range groups {
		colour, dash := policyColour(i)
		keys = append(keys, key{Name: e.Name, Colour: colour, Dash: dash})
	}
	return keys
}

// panelOf takes f up into the island and draws it.
func (d *island) panelOf(f *figure) panel {
	n := d.add(f)
	id := "f" + strconv.Itoa(n)
	return panel{ID: id, Figure: n, Title: f.Title, YLabel: f.Y.Label, Picture: picture(f, id)}
}

// quartiles is said where several seeds were run.
const quartiles = " Lines are means over the seeds; the pale band around a line holds the middle half of the seeds."
