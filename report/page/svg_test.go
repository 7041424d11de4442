package page

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"fairlead.dev/fairlead/report"
)

// drawn are the paths of a picture, "class: d", as an XML parser sees them.
func drawn(t *testing.T, f *figure) []string {
	t.Helper()
	var paths []string
	d := xml.NewDecoder(strings.NewReader(string(picture(f, "f1"))))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return paths
		}
		if err != nil {
			t.Fatalf("the picture is no XML: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "path" {
			text := map[string]string{}
			for _, a := range e.Attr {
				text[a.Name.Local] = a.Value
			}
			paths = append(paths, text["class"]+": "+text["d"])
		}
	}
}

func compare(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The picture's box is 2000 wide and 1000 high, with 0 at its top.
func TestPictureOfLines(t *testing.T) {
	f := &figure{
		Title: "<b>&", X: axis{Unit: seconds, High: 4}, Y: axis{Unit: count, High: 10}, At: values{1, 2, 3, 4},
		Lines: []line{
			{Name: "a", Colour: "p0", Y: values{0, 10, math.NaN(), 5}, Low: values{0, 8, 8, 5}, High: values{0, 10, 10, 5}},
			{Name: "]]>", Colour: "p1", Dash: 1, Y: values{5, 5, 5, 5}},
		},
	}
	compare(t, drawn(t, f),
		"band p0: M500 1000L1000 0L1500 0L2000 500L1500 200L1000 200L500 1000Z",
		"line p0 d0: M500 1000L1000 0M2000 500",
		"line p1 d1: M500 500L1000 500L1500 500L2000 500")
	f.Stepped, f.Lines = true, f.Lines[1:]
	f.Lines[0].Y, f.Lines[0].Low, f.Lines[0].High = values{0, 5, 5, 10}, values{0, 0, 5, 5}, values{0, 10, 10, 10}
	compare(t, drawn(t, f), "band p1: M500 1000L1000 1000L1000 0L1500 0L2000 0L2000 500L1500 500L1500 1000L1000 1000L500 1000Z",
		"line p1 d1: M500 1000L1000 1000L1000 500L1500 500L2000 500L2000 0")
}

func TestPictureOfStack(t *testing.T) {
	f := &figure{
		X: axis{Unit: seconds, High: 2}, Y: axis{Unit: share, High: 1}, At: values{1, 2}, Stacked: true,
		Lines: []line{
			{Colour: "c0", Y: values{0.25, 0.5}},
			{Colour: "c1", Y: values{0.5, 0.25}},
			{Colour: "ink", Y: values{0.5, 0.5}, Over: true},
		},
	}
	compare(t, drawn(t, f),
		"area c0: M1000 750L2000 500L2000 1000L1000 1000Z",
		"area c1: M1000 250L2000 250L2000 500L1000 750Z",
		"line ink d0: M1000 500L2000 500")
	if f.top() != 0.75 {
		t.Errorf("the stack reaches %g, want 0.75", f.top())
	}
}

func TestValuesAsJSON(t *testing.T) {
	text, err := json.Marshal(values{0, 1, math.NaN(), 1.0 / 3, 12345.678901, 2.5e-7, 43200 * 60})
	if err != nil || string(text) != "[0,1,null,0.33333,12345.68,2.5e-07,2.592e+06]" {
		t.Errorf("got %s, %v", text, err)
	}
	var back []any
	if err := json.Unmarshal(text, &back); err != nil {
		t.Error(err)
	}
}

// A curve on a grid is the share of samples at or below each value; samples
// below the axis stand at its left end.
func TestCurveOnGrid(t *testing.T) {
	x := axis{Low: 0.01, High: 10, Log: true}
	curve := report.Curve{{0, 0.25}, {0.005, 0.375}, {0.5, 0.5}, {4, 1}}
	if got := onGrid(curve, values{0.01, 0.4, 0.5, 1, 4, 10}, &x); !same(got, values{0.375, 0.375, 0.5, 0.5, 1, 1}) {
		t.Errorf("got %v", got)
	}
	groups := []report.Group{{Runs: []report.Run{{Latencies: map[string]report.Curve{"all": curve}}}}}
	if got := latencyAxis(groups); got.Low != 1e-3 || got.High != 10 {
		t.Errorf("the axis is from %g to %g, want 0.001 to 10", got.Low, got.High)
	}
	if got := curveGrid(groups, "all", &x); !same(got, values{0.01, 0.5, 4, 10}) {
		t.Errorf("the grid is %v", got)
	}
}

// What is allocated when so much has arrived; shares that fall because nodes
// came are passed over.
func TestLoadCurve(t *testing.T) {
	s := &report.Series{Step: 1, Columns: map[string][]report.Number{
		"arrived.gpu":           numbers(0.2, 0.4, 0.4, 0.3, 0.8),
		"allocation.gpu.gold":   numbers(0.1, 0.2, 0.3, 0.3, 0.3),
		"allocation.gpu.bronze": numbers(0.1, 0.1, 0.1, 0.1, 0.2),
		"allocation.gpu.x.gold": numbers(9, 9, 9, 9, 9), // of the kind gpu.x
	}}
	curve := loadCurve(s, "gpu")
	got := interpolated(curve, values{0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 0.9})
	for i, want := range []float64{math.NaN(), 0.2, 0.3, 0.4, 0.45, 0.5, math.NaN()} {
		if math.Abs(got[i]-want) > 1e-9 || math.IsNaN(want) != math.IsNaN(got[i]) {
			t.Errorf("point %d: got %g, want %g", i, got[i], want)
		}
	}
	if got := parting([]report.Curve{curve}); got != 0.3 {
		t.Errorf("the axes begin at %g, want 0.3", got)
	}
}

func TestPeaksAreCut(t *testing.T) {
	f := &figure{Y: axis{Label: "decisions per second", Unit: rate, High: 600}, At: make(values, 1000), Lines: []line{{Y: make(values, 1000)}}}
	for i := range f.At {
		f.At[i], f.Lines[0].Y[i] = float64(i), 1
	}
	f.cutPeaks()
	if f.Y.High != 600 {
		t.Error("an axis without peaks is cut")
	}
	f.Lines[0].Y[0] = 540
	f.cutPeaks()
	if f.Y.High != 2 || f.Y.Label != "decisions per second, cut off below the peak of 540" {
		t.Errorf("the axis ends at %g: %s", f.Y.High, f.Y.Label)
	}
}
