package page

import (
	"encoding/json"
	"math"
	"strconv"
)

// A figure is one chart, before anybody has drawn it. It is drawn twice from
// the same values: by svg.go when the page is written, and by page.js when it
// is read.

// unit is what the numbers of an axis count. page.js knows the same names.
type unit string

// The units.
const (
	seconds unit = "s"     // a duration
	share   unit = "share" // a fraction of 1, printed in percent
	count   unit = "count" // whole things
	rate    unit = "rate"  // events per second
)

// axis is a range of values, and what they are.
type axis struct {
	Label string  `json:"label"`
	Unit  unit    `json:"unit"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// Log says that equal ratios are equally long; Low is positive then.
	Log bool `json:"log,omitempty"`
}

// at returns where v lies on the axis: 0 at Low, 1 at High.
func (a *axis) at(v float64) float64 {
	if a.Log {
		return math.Log(math.Max(v, a.Low)/a.Low) / math.Log(a.High/a.Low)
	}
	return (v - a.Low) / (a.High - a.Low)
}

// values are numbers, NaN where there is none.
type values []float64

// MarshalJSON prints v in at most seven digits and six decimals, which is more
// than a screen shows, and null for none.
func (v values) MarshalJSON() ([]byte, error) {
	text := []byte{'['}
	for i, x := range v {
		if i > 0 {
			text = append(text, ',')
		}
		if math.IsNaN(x) {
			text = append(text, "null"...)
			continue
		}
		text = strconv.AppendFloat(text, rounded(x), 'g', -1, 64)
	}
	return append(text, ']'), nil
}

// rounded cuts x to seven digits, or five where it is below 10.
func rounded(x float64) float64 {
	digits := 7
	if math.Abs(x) < 10 {
		digits = 5
	}
	x, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	if err != nil {
		panic("page: a number that was just printed cannot be read: " + err.Error())
	}
	return x
}

// line is one curve of a figure, or one band of a stack.
type line struct {
	Name string `json:"name"`
	// Colour is a class of page.css: p0, p1, … are policies, c0, c1, … classes.
	Colour string `json:"colour"`
	// Dash tells lines of one colour apart: 0 is solid.
	Dash int `json:"dash,omitempty"`
	// Y is as long as the figure's At. Low and High, where several seeds were
	// run, are the quartiles around the mean Y.
	Y    values `json:"y"`
	Low  values `json:"q1,omitempty"`
	High values `json:"q3,omitempty"`
	// Over says that a line lies over a stack and is not part of it.
	Over bool `json:"over,omitempty"`
}

// figure is a chart of lines over one common x axis.
type figure struct {
	Title string `json:"title"`
	X     axis   `json:"x"`
	Y     axis   `json:"y"`
	// At are the x values, which rise. page.js gets them once for all figures
	// that share them.
	At    values `json:"-"`
	Lines []line `json:"lines"`
	// Stacked piles the lines up; Stepped holds each value until the next one.
	Stacked bool `json:"stacked,omitempty"`
	Stepped bool `json:"stepped,omitempty"`
}

// top returns the largest value that a figure shows, 0 if there is none.
func (f *figure) top() float64 {
	top := 0.0
	sum := make([]float64, len(f.At))
	for _, l := range f.Lines {
		for i, y := range l.Y {
			if math.IsNaN(y) {
				continue
			}
			if f.Stacked && !l.Over {
				sum[i] += y
				y = sum[i]
			}
			top = math.Max(top, y)
		}
		for _, y := range l.High {
			if y > top { // not so for NaN
				top = y
			}
		}
	}
	return top
}

// island is the data that page.js reads.
type island struct {
	// Grids are x values; At[i] says which of them figure i uses.
	Grids   []values  `json:"grids"`
	At      []int     `json:"at"`
	Figures []*figure `json:"figures"`
	Heat    *heatData `json:"heat,omitempty"`
}

// add takes a figure up and returns its number.
func (d *island) add(f *figure) int {
	grid := -1
	for i, g := range d.Grids {
		if sameValues(g, f.At) {
			grid = i
		}
	}
	if grid < 0 {
		grid = len(d.Grids)
		d.Grids = append(d.Grids, f.At)
	}
	d.At = append(d.At, grid)
	d.Figures = append(d.Figures, f)
	return len(d.Figures) - 1
}

func sameValues(a, b values) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// text returns the island as JSON in which no "<" is left, so that it can stand
// inside a script element whatever names hold.
func (d *island) text() ([]byte, error) { return json.Marshal(d) }
