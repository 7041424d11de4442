package metrics_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// This file holds the dashboards to what Grafana demands of one (its schema of dashboards, version 39), of which a mistake shows only where somebody looks: a field that is misspelled is passed over, of two panels with one id one is not drawn, and a variable that is not there is sent to Prometheus as it is written.

// dashboard is as much of Grafana's as we write; a field that is not here is an error.
type dashboard struct {
	UID           string                           `json:"uid"`
	Title         string                           `json:"title"`
	Tags          []string                         `json:"tags"`
	Editable      bool                             `json:"editable"`
	SchemaVersion int                              `json:"schemaVersion"`
	Version       int                              `json:"version"`
	Refresh       string                           `json:"refresh"`
	Time          timeRange                        `json:"time"`
	Timezone      string                           `json:"timezone"`
	Annotations   struct{ List []json.RawMessage } `json:"annotations"`
	Templating    struct {
		List []variable `json:"list"`
	} `json:"templating"`
	Panels []panel `json:"panels"`
}

type timeRange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// variable is one that expressions may name.
type variable struct {
	Name       string          `json:"name"`
	Label      string          `json:"label"`
	Type       string          `json:"type"`
	Datasource *datasource     `json:"datasource"`
	Query      json.RawMessage `json:"query"`
	Definition string          `json:"definition"`
	Refresh    int             `json:"refresh"`
	Sort       int             `json:"sort"`
}

type datasource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

// panel is one, or the row above some.
type panel struct {
	ID          int         `json:"id"`
	Type        string      `json:"type"`
	Title       string      `json:"title"`
	Description string      `json:"description"`
	Datasource  *datasource `json:"datasource"`
	GridPos     rectangle   `json:"gridPos"`
	FieldConfig *struct {
		Defaults struct {
			Unit     string `json:"unit"`
			Min      *int   `json:"min"`
			Decimals *int   `json:"decimals"`
		} `json:"defaults"`
		Overrides []json.RawMessage `json:"overrides"`
	} `json:"fieldConfig"`
	Targets   []target `json:"targets"`
	Collapsed *bool    `json:"collapsed"`
	Panels    []panel  `json:"panels"`
}

// rectangle is where a panel stands on a grid of 24 columns.
type rectangle struct{ H, W, X, Y int }

// meets reports whether two of them have a field in common.
func (r rectangle) meets(o rectangle) bool {
	return r.X < o.X+o.W && o.X < r.X+r.W && r.Y < o.Y+o.H && o.Y < r.Y+r.H
}

type target struct {
	RefID        string `json:"refId"`
	Expr         string `json:"expr"`
	LegendFormat string `json:"legendFormat"`
}

// dashboards are those of the chart, by their files.
func dashboards(t *testing.T) map[string]*dashboard {
	t.Helper()
	files, err := filepath.Glob("../deploy/chart/dashboards/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("found no dashboards: %v", err)
	}
	all := map[string]*dashboard{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if all[file], err = readDashboard(text); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	return all
}

func readDashboard(text []byte) (*dashboard, error) {
	d := &dashboard{}
	r := json.NewDecoder(bytes.NewReader(text))
	r.DisallowUnknownFields()
	return d, r.Decode(d)
}

// panelExpressions are all that they ask for.
func panelExpressions(t *testing.T) (all []string) {
	t.Helper()
	for _, d := range dashboards(t) {
		for i := range d.Panels {
			for _, target := range d.Panels[i].Targets {
				all = append(all, target.Expr)
			}
		}
	}
	return all
}

// TestDashboards: Grafana finds nothing wrong with them.
func TestDashboards(t *testing.T) {
	uids := map[string]bool{}
	for file, d := range dashboards(t) {
		for _, problem := range d.problems() {
			t.Errorf("%s: %s", file, problem)
		}
		if uids[d.UID] {
			t.Errorf("%s: another one has the uid %s", file, d.UID)
		}
		uids[d.UID] = true
	}
}

// TestDashboardProblems: the check finds what it is for.
func TestDashboardProblems(t *testing.T) {
	files, err := filepath.Glob("../deploy/chart/dashboards/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("found no dashboards: %v", err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ from, to, want string }{
		{`"schemaVersion"`, `"schemeVersion"`, `unknown field "schemeVersion"`},
		{`"legendFormat"`, `"legend"`, `unknown field "legend"`},
		{`"id": 3`, `"id": 2`, "two panels have the id 2"},
		{`"x": 8`, `"x": 7`, "stand on each other"},
		{`"w": 24`, `"w": 25`, "is wider than the grid"},
		{`"refId": "B"`, `"refId": "A"`, "two targets are called A"},
		{`"${datasource}"`, `"prometheus"`, "does not ask the data source that is chosen"},
		{`{job=\"$job\"}[$__rate_interval]`, `{job=\"$jobs\"}[$__rate_interval]`, "there is no variable jobs"},
		{`"unit": "ops"`, `"unit": "opps"`, "Grafana knows no unit opps"},
		{`"type": "timeseries"`, `"type": "timeserie"`, "Grafana has no panel timeserie"},
		{`"description": "Attempts`, `"title": "Attempts`, "says nothing"},
		{`"uid": "fairlead-scheduler"`, `"uid": "fairlead scheduler"`, "is no uid"},
		{`"now-3h"`, `"3h"`, "the time is"},
	} {
		wrong := strings.Replace(string(text), tc.from, tc.to, 1)
		d, err := readDashboard([]byte(wrong))
		said := fmt.Sprint(err)
		if err == nil {
			said = strings.Join(d.problems(), "; ")
		}
		if wrong == string(text) || !strings.Contains(said, tc.want) {
			t.Errorf("%s as %s: %q, want %q", tc.from, tc.to, said, tc.want)
		}
	}
}

// problems says what is wrong with it.
func (d *dashboard) problems() (problems []string) {
	report := func(format string, a ...any) { problems = append(problems, fmt.Sprintf(format, a...)) }
	if !regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`).MatchString(d.UID) {
		report("%q is no uid", d.UID)
	}
	if d.Title == "" || d.SchemaVersion < 36 { // from which data sources are objects
		report("the title is %q, and the version of the schema %d", d.Title, d.SchemaVersion)
	}
	if moment := regexp.MustCompile(`^now(-\d+[smhdwMy])?$`); !moment.MatchString(d.Time.From) || !moment.MatchString(d.Time.To) {
		report("the time is from %s to %s", d.Time.From, d.Time.To)
	}
	variables := map[string]string{"__rate_interval": "", "__interval": "", "__range": ""} // Grafana's own, with their types
	for i := range d.Templating.List {
		v := &d.Templating.List[i]
		if _, is := variables[v.Name]; is {
			report("two variables are called %s", v.Name)
		}
		variables[v.Name] = v.Type
		if v.Type == "query" && (v.Datasource == nil || v.Datasource.UID != "${datasource}") {
			report("the variable %s does not ask the data source that is chosen", v.Name)
		}
	}
	if variables["datasource"] != "datasource" {
		report("nobody chooses the data source")
	}
	for i := range d.Panels {
		p := &d.Panels[i]
		for j := range d.Panels[:i] {
			if o := &d.Panels[j]; o.ID == p.ID {
				report("two panels have the id %d", p.ID)
			} else if o.GridPos.meets(p.GridPos) {
				report("the panels %d and %d stand on each other", o.ID, p.ID)
			}
		}
		for _, problem := range p.problems(variables) {
			report("panel %d, %q: %s", p.ID, p.Title, problem)
		}
	}
	return problems
}

// problems says what is wrong with a panel, where there are such variables.
func (p *panel) problems(variables map[string]string) (problems []string) {
	report := func(format string, a ...any) { problems = append(problems, fmt.Sprintf(format, a...)) }
	if g := p.GridPos; g.W < 1 || g.H < 1 || g.X < 0 || g.Y < 0 || g.X+g.W > 24 {
		report("it is wider than the grid, or nowhere: %+v", g)
	}
	if p.ID < 1 || p.Title == "" {
		report("it has no id, or no title")
	}
	if p.Type == "row" {
		if len(p.Targets) > 0 || p.Collapsed == nil {
			report("it is a row, and asks for something, or is neither open nor not")
		}
		return problems
	}
	if !slices.Contains([]string{"timeseries", "stat", "gauge", "table", "heatmap", "barchart", "text"}, p.Type) {
		report("Grafana has no panel %s", p.Type)
	}
	if p.Description == "" || len(p.Targets) == 0 {
		report("it says nothing, or shows nothing")
	}
	if p.Datasource == nil || *p.Datasource != (datasource{"prometheus", "${datasource}"}) {
		report("it does not ask the data source that is chosen")
	}
	if p.FieldConfig == nil || !slices.Contains([]string{"short", "none", "ops", "reqps", "s", "ms", "percentunit", "percent", "bytes", "decbytes"}, p.FieldConfig.Defaults.Unit) {
		report("Grafana knows no unit %s", unitOf(p))
	}
	seen := map[string]bool{}
	for _, target := range p.Targets {
		if seen[target.RefID] || target.RefID == "" {
			report("two targets are called %s, or one is not called anything", target.RefID)
		}
		seen[target.RefID] = true
		for _, match := range regexp.MustCompile(`\$\{?(\w+)`).FindAllStringSubmatch(target.Expr, -1) {
			if _, is := variables[match[1]]; !is {
				report("there is no variable %s", match[1])
			}
		}
	}
	return problems
}

func unitOf(p *panel) string {
	if p.FieldConfig == nil {
		return ""
	}
	return p.FieldConfig.Defaults.Unit
}
