// Package page turns the results of simulations into one HTML page that needs
// no network, no server and no JavaScript.
//
// Every chart is a static SVG first (svg.go), so that the page can be read,
// printed and compared byte for byte as it is. Where JavaScript runs, page.js
// puts interactive charts made by uPlot in their place, drawn from the same
// figures (figure.go), and lets the heat map move in time. Whatever the
// results hold, names included, is escaped; a content security policy forbids
// the page everything but its own two scripts and its own style.
//
// The page is a function of the results, byte for byte.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"html/template"
	"io"
	"slices"

	"fairlead.dev/fairlead/report"
)

//go:embed page.html.tmpl
var pageTemplate string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

//go:embed uplot/uPlot.iife.min.js
var uplotScript string

//go:embed uplot/uPlot.min.css
var uplotStyle string

//go:embed uplot/LICENSE
var uplotLicense string

// shared is what stands in every page.
type shared struct {
	Policy  string // the content security policy
	Style   template.CSS
	Uplot   template.JS
	Script  template.JS
	Data    template.JS
	License string // of uPlot, which wants to be in every copy
}

// view is what the template shows.
type view struct {
	shared
	opening
	Parts       []part
	Overfull    []string // a sentence for each group with such nodes
	Setup       []fact
	Numbers     report.Grid
	AllRuns     report.Grid
	Classes     report.Grid
	NotServed   report.Grid
	NotServedOf string // the kind
	Differences differences
	Charts      []section
	Heat        heatSection
	Reasons     reasonsSection
}

// opening is how the page begins.
type opening struct {
	Title, Verdict string
	Certain        bool // nothing is left to chance
	Interrupted    string
}

// part is a part of the page that can be gone to.
type part struct{ ID, Title string }

// arrange leaves out the sections in which there is nothing, and lists the others.
func (v *view) arrange() {
	v.Charts = slices.DeleteFunc(v.Charts, func(s section) bool { return s.None != "" })
	v.Parts = append(v.Parts, part{"numbers", "Numbers"})
	if v.Reasons.None == "" {
		v.Parts = append(v.Parts, part{"reasons", "Why pending"})
	}
	v.Parts = append(v.Parts, part{"differences", "Differences"})
	for _, s := range v.Charts {
		v.Parts = append(v.Parts, part{s.ID, s.Short})
	}
	if v.Heat.None == "" {
		v.Parts = append(v.Parts, part{"heat", "Nodes"})
	}
	v.Parts = append(v.Parts, part{"setup", "Set-up"})
}

// ErrNoRuns says that there is nothing to make a page of.
var ErrNoRuns = errors.New("the results hold no runs")

// Write prints the runs of files as a page of HTML. Nothing is written when it
// fails, except when w does. No runs at all are ErrNoRuns; what cannot have been
// measured, or decoded, is an error that names its run.
func Write(w io.Writer, files []report.File) error {
	groups := report.Groups(files)
	if len(groups) == 0 {
		return ErrNoRuns
	}
	for _, file := range files {
		for i := range file.Runs {
			if err := checkRun(file.Name, &file.Runs[i]); err != nil {
				return err
			}
		}
	}
	v, err := viewOf(files, groups)
	if err != nil {
		return err
	}
	t, err := template.New("page").Parse(pageTemplate)
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

func viewOf(files []report.File, groups []report.Group) (*view, error) {
	over := newOverTime(groups)
	v := &view{
		opening:     opening{titleOf(groups), report.Summary(groups), groups[0].Runs[0].Certain, interruptedRuns(groups)},
		Overfull:    overfullNodes(groups),
		Setup:       setupOf(groups),
		Classes:     classesOf(groups),
		Differences: differencesOf(files),
		Reasons:     reasonsOf(groups),
	}
	v.Numbers, v.AllRuns = report.Numbers(groups)
	v.NotServed, v.NotServedOf = report.NotServed(groups)
	var data island
	v.Charts = []section{latencySection(&data, groups), promisesSection(&data, groups)}
	if s := over.constraintsSection(&data); s != nil {
		v.Charts = append(v.Charts, *s)
	}
	v.Charts = append(v.Charts, over.allocationSection(&data), over.backlogSection(&data), over.arrivedSection(&data), over.fragmentationSection(&data))
	var err error
	if v.Heat, err = heatOf(&data, groups); err != nil {
		return nil, err
	}
	v.arrange()
	v.shared, err = sharedOf(&data)
	return v, err
}

// sharedOf is the style and the scripts, with the data of the page's charts.
func sharedOf(data *island) (shared, error) {
	text, err := data.text()
	if err != nil {
		return shared{}, err
	}
	style := uplotStyle + "\n" + pageStyle
	return shared{
		License: uplotLicense,
		Data:    template.JS(text),        //nolint:gosec // json.Marshal leaves no "<"
		Style:   template.CSS(style),      //nolint:gosec // ours
		Uplot:   template.JS(uplotScript), //nolint:gosec // ours
		Script:  template.JS(pageScript),  //nolint:gosec // ours
		Policy: "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src " + hashOf(style) +
			"; script-src " + hashOf(uplotScript) + " " + hashOf(pageScript),
	}, nil
}

// hashOf names an inline script or style in a content security policy.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
