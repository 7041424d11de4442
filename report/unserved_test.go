package report_test

import (
	"bytes"
	"strings"
	"testing"

	"fairlead.dev/fairlead/report"
)

// What was not served is a row for each experiment, the mean over its seeds: tasks of quincy waited for 12.5 hours of cpu, and for 25. Of
// a run of an earlier version nothing is known, and those of spread waited for next to nothing.
func TestTableShowsWhatWasNotServed(t *testing.T) {
	earlier := run("kube", 1, 1)
	earlier.Unserved = nil
	little := run("spread", 1, 1)
	little.Unserved.Waited["cpu"], little.Unserved.Lost["cpu"] = 0.0004, 1e-7
	runs := []report.Run{run("quincy", 1, 1), run("quincy", 2, 2), earlier, little}
	const want = `
Not served, in hours × cpu, and the longest waits of tasks that fill so much of a node:
               CPU  WORK  UP TO  UP TO  TASKS   NODES    SERVED  USERS'
POLICY  WAITED FOR  LOST     1%    50%  MOVED  GAINED  BY MOVES     GAP
quincy          19  0.75  1m32s  1h40m     12    0.25         3    6.2%
kube             -     -      -      -     12     0.5         3       -
spread      <0.001     0  1m01s  1h07m     12     0.5         3    6.2%

`
	var text bytes.Buffer
	if err := report.Write(&text, report.Table, report.Results{Runs: runs}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), want) {
		t.Errorf("got\n%s\nwant in it\n%s", text.String(), want)
	}
	grid, kind := report.NotServed(report.Groups([]report.File{{Runs: runs}}))
	if kind != "cpu" || len(grid.Rows) != 3 || strings.Join(grid.Rows[0], " ") != "quincy 19 0.75 1m32s 1h40m 12 0.25 3 6.2%" {
		t.Errorf("the page's rows are %q, of %s", grid.Rows, kind)
	}
}

// Where everything was served at once, and in results of earlier versions, there is no such table.
func TestNothingWasNotServed(t *testing.T) {
	served := run("kube", 1, 1)
	served.Unserved = &report.Unserved{Shortfall: report.Shortfall{Waited: map[string]report.Number{"cpu": 0}, Lost: map[string]report.Number{"cpu": 0}}}
	soon := run("kube", 1, 1)
	soon.Unserved = &report.Unserved{Shortfall: report.Shortfall{Waited: map[string]report.Number{"cpu": 9.9e-8}}} // 0 in JSON
	for name, r := range map[string]report.Run{"all was served": served, "all was served in no time to speak of": soon, "an earlier version": bare("kube")} {
		var text bytes.Buffer
		if err := report.Write(&text, report.Table, report.Results{Runs: []report.Run{r}}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text.String(), "Not served") {
			t.Errorf("%s: there is a table of what was not served\n%s", name, &text)
		}
		if grid, _ := report.NotServed(report.Groups([]report.File{{Runs: []report.Run{r}}})); grid.Rows != nil {
			t.Errorf("%s: the page has rows %q", name, grid.Rows)
		}
	}
}

// Of all that was not served, less is better; a run of an earlier version has none of it.
func TestCompareWhatWasNotServed(t *testing.T) {
	var runs []report.Run
	for seed := range uint64(6) {
		wobble := report.Number(seed%3) / 1000
		slow, fast, earlier := tried("kube", seed, 900, 0.3, 0.5), tried("quincy", seed, 900, 0.3, 0.5), tried("random", seed, 900, 0.3, 0.5)
		slow.Unserved, fast.Unserved = unserved(3+wobble), unserved(1-wobble)
		slow.Classes, fast.Classes = missing(3+wobble), missing(1-wobble)
		runs = append(runs, slow, fast, earlier)
	}
	c, err := report.Compare([]report.File{{Name: "a.json", Runs: runs}}, "")
	if err != nil {
		t.Fatal(err)
	}
	got := []map[string]report.Row{{}, {}}
	for i := range got {
		for _, row := range c.Pairs[i].Rows {
			got[i][row.Metric] = row
		}
	}
	for metric, want := range map[string]report.Verdict{
		"unserved.waited_hours.cpu": report.Better, "unserved.lost_hours.cpu": report.Equal,
		"unserved.by_size.50%.mean_s": report.Better, "unserved.by_size.50%.longest_s": report.Better,
		"unserved.shares.mean": report.Equal, "unserved.shares.largest": report.Equal,
		"classes.gold.waited_hours.cpu": report.Better, "classes.gold.lost_hours.cpu": report.Equal,
	} {
		if row := got[0][metric]; row.Verdict != want || row.Better != report.LowerIsBetter {
			t.Errorf("%s: %q, %s is better, want %q", metric, row.Verdict, row.Better, want)
		}
		if row := got[1][metric]; row.Verdict != report.NoVerdict || row.Note != "random has none" {
			t.Errorf("%s of an earlier version: %q, %q", metric, row.Verdict, row.Note)
		}
	}
}

// missing are the classes of a run whose gold tasks waited so many times as long as those of another one.
func missing(slow report.Number) map[string]report.Class {
	return map[string]report.Class{"gold": {Shortfall: new(shortfall(slow))}}
}
