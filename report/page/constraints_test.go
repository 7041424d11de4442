package page_test

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/report"
)

// Runs with constraints have a section with a row and a line for each experiment that had
// any; the others have none.
func TestConstraintsSection(t *testing.T) {
	s := small()
	s.policies = []string{"medea", "serial", "kube"}
	results := s.results(t)
	if text := written(t, results); strings.Contains(text, `id="constraints"`) || strings.Contains(text, `href="#constraints"`) {
		t.Error("there is a section of constraints that were not there")
	}
	for i := range results.Runs[:2] {
		r := &results.Runs[i]
		r.Constraints = &report.Constraints{
			Count: 12, Hard: 3, Subjects: 345, HardViolated: i,
			Violated: report.Level{Mean: 0.0123 * report.Number(i+1), Final: 0.0456}, Cost: report.Level{Mean: 7.8, Final: 9.1},
		}
		violated, cost := make([]report.Number, s.steps), make([]report.Number, s.steps)
		for step := range violated {
			violated[step], cost[step] = 0.01*report.Number(i+1+step%2), report.Number(step%9)
		}
		r.Series.Columns["violated"], r.Series.Columns["violation_cost"] = violated, cost
	}
	_, text, _ := strings.Cut(written(t, results), `<section id="constraints">`)
	text, _, found := strings.Cut(text, "</section>")
	if !found {
		t.Fatal("there is no section of constraints")
	}
	for part, want := range map[string]int{
		"<figure ": 2, `<th scope="row"`: 2, "<td>345</td>": 2, "<td>1.23%</td>": 1, "<td>2.46%</td>": 1, "<td>4.56%</td>": 2,
		"medea": -1, "serial": -1, ">kube</th>": 0,
	} {
		if got := strings.Count(text, part); got != want && (want >= 0 || got == 0) {
			t.Errorf("%q is there %d times, want %d", part, got, want)
		}
	}
	if !strings.Contains(written(t, results), `<a href="#constraints">Constraints</a>`) {
		t.Error("nothing leads to the section")
	}
	// Results without series, as older ones, still have the table.
	for i := range results.Runs {
		results.Runs[i].Series = nil
	}
	if text := written(t, results); !strings.Contains(text, "<td>345</td>") {
		t.Error("without series there is no table")
	}
}
