package page_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/report/page"
)

func figureWith(lines ...report.Line) report.Figure {
	return report.Figure{
		Title: "time", X: report.Axis{Label: "tasks", Unit: report.InTasks},
		Y: report.Axis{Label: "time", Unit: report.InSeconds, Log: true}, Lines: lines,
	}
}

// TestExperimentPage draws a line with a gap, and wants it in the picture, in the
// data and in the table, with names escaped.
func TestExperimentPage(t *testing.T) {
	three := report.Number(3)
	e := &report.Reproduction{
		Name: "fig1", What: "how <script>long</script>", Paper: "A paper", Data: "generator", Facts: []string{"Measured here.", "On <two> cores."},
		Compared: []report.Compared{{What: "at 10", Unit: report.InSeconds, Published: &three}},
		Figures: []report.Figure{figureWith(
			report.Line{Name: "ours", Points: [][2]report.Number{{10, 0.5}, {30, 50}}},
			report.Line{Name: "theirs", Points: [][2]report.Number{{10, 1}, {20, 0}}},
		)},
	}
	var text bytes.Buffer
	if err := page.WriteExperiment(&text, e); err != nil {
		t.Fatal(err)
	}
	html := text.String()
	for _, want := range []string{"<h1>how &lt;script&gt;long", "at 10</th><td>3.0s</td><td>-</td>", `<p class="how">On &lt;two&gt; cores.</p>`, `<path class="line p0 d0"`, `<path class="line p1 d0"`, "uPlot"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	_, data, _ := strings.Cut(html, `<script type="application/json" id="data">`)
	data, _, _ = strings.Cut(data, "</script>")
	var island struct {
		Grids   [][]float64 `json:"grids"`
		Figures []struct {
			Lines []struct {
				Y []*float64 `json:"y"`
			} `json:"lines"`
		} `json:"figures"`
	}
	if err := json.Unmarshal([]byte(data), &island); err != nil {
		t.Fatal(err)
	}
	// Between 0.5 and 50 is 25.25; 0 stands at the bottom of a logarithmic axis.
	ours, theirs := island.Figures[0].Lines[0].Y, island.Figures[0].Lines[1].Y
	if len(island.Grids[0]) != 3 || *ours[1] != 25.25 || *theirs[1] != 0.1 || theirs[2] != nil {
		t.Errorf("drawn from %s", data)
	}
}

// TestLogarithmicAxisBeginsAtPowerOfTen wants both ends of the axis among the data,
// since the chart that is alive has no others, and names powers of ten from there.
func TestLogarithmicAxisBeginsAtPowerOfTen(t *testing.T) {
	f := figureWith(report.Line{Name: "a", Points: [][2]report.Number{{141, 0.5}, {2900, 1}}})
	f.X.Log, f.Y.Log, f.Cumulative = true, false, true
	var text bytes.Buffer
	if err := page.WriteExperiment(&text, &report.Reproduction{Name: "fig1", Figures: []report.Figure{f}}); err != nil {
		t.Fatal(err)
	}
	if html := text.String(); !strings.Contains(html, `"grids":[[100,141,2900,10000]]`) {
		_, data, _ := strings.Cut(html, `id="data">`)
		t.Errorf("drawn from %.200s", data)
	}
}

func TestExperimentPageRefuses(t *testing.T) {
	for what, f := range map[string]report.Figure{
		"has a point at 1, NaN": figureWith(report.Line{Name: "a", Points: [][2]report.Number{{1, report.Number(math.NaN())}}}),
		"do not rise":           figureWith(report.Line{Name: "a", Points: [][2]report.Number{{2, 1}, {1, 1}}}),
	} {
		var text bytes.Buffer
		err := page.WriteExperiment(&text, &report.Reproduction{Name: "fig1", Figures: []report.Figure{f}})
		if err == nil || !strings.Contains(err.Error(), what) || text.Len() > 0 {
			t.Errorf("%v and %d bytes, want an error that says %q", err, text.Len(), what)
		}
	}
	// Nothing to draw is said, not drawn.
	var text bytes.Buffer
	if err := page.WriteExperiment(&text, &report.Reproduction{Name: "fig1", Figures: []report.Figure{figureWith()}}); err != nil || !strings.Contains(text.String(), "Nothing came") {
		t.Errorf("no lines: %v", err)
	}
}
