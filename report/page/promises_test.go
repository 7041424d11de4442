package page

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"fairlead.dev/fairlead/report"
)

// kept is a run with a class of which a tenth of the tasks missed the target of 0.9.
func kept(policy string, seed uint64, mean report.Number) report.Run {
	return report.Run{
		Setup: report.Setup{Policy: policy, Seed: seed},
		Classes: map[string]report.Class{
			"none": {Submitted: 3},
			"silver <&": {
				Submitted: 10, Preempted: 7, Availability: &report.Availability{Mean: mean, Min: 0.5, Max: 1},
				Promise: &report.Promise{Target: 0.9, Fulfilment: 0.9, Deficit: 0.4, Penalties: 2.5},
			},
		},
		Availabilities: map[string]report.Curve{"silver <&": {{0.5, 0.1}, {0.95, 0.5}, {1, 1}}},
	}
}

// Bars are as high as their values and the target crosses its group; the picture is XML,
// whatever classes are called.
func TestBars(t *testing.T) {
	groups := report.Groups([]report.File{{Runs: []report.Run{kept("a", 1, 0.8), kept("a", 2, 0.6), kept("b", 1, 0.25)}}})
	s := promisesSection(&island{}, groups)
	if len(s.Bars) != 6 {
		t.Fatalf("%d charts of bars, want 6", len(s.Bars))
	}
	heights := map[string][]string{}
	targets := 0
	for _, p := range s.Bars {
		d := xml.NewDecoder(strings.NewReader(string(p.Picture)))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s is no XML: %v", p.Title, err)
			}
			e, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			at := map[string]string{}
			for _, a := range e.Attr {
				at[a.Name.Local] = a.Value
			}
			switch {
			case e.Name.Local == "rect":
				heights[p.Title] = append(heights[p.Title], at["height"])
			case at["class"] == "line ink d1":
				targets++
				if at["y1"] != "10%" || at["y2"] != "10%" {
					t.Errorf("the target of 0.9 is at %s to %s, want 10%% from above", at["y1"], at["y2"])
				}
			}
		}
	}
	if targets != 1 {
		t.Errorf("%d lines of targets, want that of one class with availability", targets)
	}
	for title, want := range map[string]string{
		"Availability": "70% 25%", // 0.8 and 0.6 are seeds of one policy
		"Kept":         "90% 90%", "Deficit": "100% 100%", "Gini coefficient": "0% 0%", "Preemptions": "87.5% 87.5%", "Penalties": "100% 100%",
	} {
		if got := strings.Join(heights[title], " "); got != want {
			t.Errorf("%s: bars of %s, want %s", title, got, want)
		}
	}
}

// The curve has each point of the result, and the target goes up where it is.
func TestAvailabilityCurves(t *testing.T) {
	var d island
	groups := report.Groups([]report.File{{Runs: []report.Run{kept("a", 1, 0.8)}}})
	s := promisesSection(&d, groups)
	if len(s.Rows) != 1 || len(d.Figures) != 1 || len(s.Legend) != 2 {
		t.Fatalf("%d rows, %d figures and %d keys", len(s.Rows), len(d.Figures), len(s.Legend))
	}
	f := d.Figures[0]
	want := map[float64]float64{0.5: 0.1, 0.8999: 0.1, 0.9: 0.1, 0.95: 0.5, 1: 1}
	for i, x := range f.At {
		if y, ok := want[x]; !ok || f.Lines[0].Y[i] != y {
			t.Errorf("at %v it is %v, want %v", x, f.Lines[0].Y[i], want)
		}
		target := math.NaN()
		switch x {
		case 0.8999:
			target = 0
		case 0.9:
			target = 1
		}
		if y := f.Lines[1].Y[i]; y != target && !(math.IsNaN(y) && math.IsNaN(target)) {
			t.Errorf("at %v the target is %v, want %v", x, y, target)
		}
	}
}

// Classes that were promised nothing have no section.
func TestNoPromises(t *testing.T) {
	r := kept("a", 1, 0.8)
	delete(r.Classes, "silver <&")
	files := []report.File{{Runs: []report.Run{r}}}
	if s := promisesSection(&island{}, report.Groups(files)); s.None == "" || len(s.Bars) > 0 {
		t.Errorf("there is a section: %+v", s)
	}
	if err := Write(&bytes.Buffer{}, files); err != nil {
		t.Error(err)
	}
}
