package report_test

import (
	"bytes"
	"strings"
	"testing"

	"fairlead.dev/fairlead/report"
)

// How constraints were kept is a row for each experiment that had any, the mean over its
// seeds: medea's tasks violated them for 6.25 % of their time, and for 8.25 %.
func TestTableShowsHowConstraintsWereKept(t *testing.T) {
	first, second := run("medea", 1, 1), run("medea", 2, 1)
	first.Constraints, second.Constraints = keeping(), keeping()
	second.Constraints.Violated.Mean, second.Constraints.HardViolated, second.Constraints.Cost.Final = 0.0825, 0, 0
	runs := []report.Run{first, run("kube", 1, 1), second}
	const want = `
Placement constraints:
                               HARD  TASKS    TASKS      AT         AT
POLICY  CONSTRAINTS  HARD  VIOLATED  BOUND  VIOLATE     END  COST  END
medea             3     1       0.5     40    7.25%  10.00%   2.6  2.2

`
	var text bytes.Buffer
	if err := report.Write(&text, report.Table, report.Results{Runs: runs}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), want) {
		t.Errorf("got\n%s\nwant in it\n%s", text.String(), want)
	}
	grid := report.ConstraintNumbers(report.Groups([]report.File{{Runs: runs}}))
	if len(grid.Rows) != 1 || strings.Join(grid.Rows[0], " ") != "medea 3 1 0.5 40 7.25% 10.00% 2.6 2.2" {
		t.Errorf("the page's rows are %q", grid.Rows)
	}
}

// Of all that is compared about constraints, less is better.
func TestCompareConstraints(t *testing.T) {
	var runs []report.Run
	for seed := range uint64(6) {
		wobble := report.Number(seed%3) / 1000
		before, after := tried("kube", seed, 900, 0.3, 0.5), tried("medea", seed, 900, 0.3, 0.5)
		before.Constraints, after.Constraints = keeping(), keeping()
		before.Constraints.Violated = report.Level{Mean: 0.06 + wobble, Final: 0.1}
		after.Constraints.Violated = report.Level{Mean: 0.01 - wobble, Final: 0.1}
		before.Constraints.Cost.Mean, after.Constraints.Cost.Mean = 1+wobble, 3-wobble
		runs = append(runs, before, after)
	}
	c, err := report.Compare([]report.File{{Name: "a.json", Runs: runs}}, "")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]report.Verdict{}
	for _, row := range c.Pairs[0].Rows {
		if strings.HasPrefix(row.Metric, "constraints.") {
			got[row.Metric] = row.Verdict
		}
	}
	for metric, want := range map[string]report.Verdict{
		"constraints.violated.mean": report.Better, "constraints.violated.final": report.Equal,
		"constraints.cost.mean": report.Worse, "constraints.cost.final": report.Equal, "constraints.hard_violated": report.Equal,
	} {
		if got[metric] != want {
			t.Errorf("%s: %q, want %q", metric, got[metric], want)
		}
	}
}
