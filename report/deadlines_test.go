package report_test

import (
	"bytes"
	"strings"
	"testing"

	"fairlead.dev/fairlead/report"
)

// Deadlines and runs that are to last have tables of their own, where a class has some, and else there is nothing of them.
func TestDeadlines(t *testing.T) {
	r := bare("edf")
	r.Classes = map[string]report.Class{
		"gold":   {Submitted: 1},
		"silver": {Submitted: 3, Deadlines: &report.Deadlines{Due: 4, KeptDeadlines: 3, Worth: 40, Gained: 35}},
		"spot":   {Submitted: 3, Lasting: &report.Lasting{LeastRun: 3600, EvictedRuns: 7, MeanWait: 90}},
	}
	for _, c := range []struct {
		run  report.Run
		want []string // words of lines, behind the name of the policy
	}{
		{r, []string{
			"Deadlines by class:", "POLICY CLASS DUE KEPT SHARE WORTH GAINED", "edf silver 4 3 75.0% 40 35",
			"Runs that are to last, by class:", "POLICY CLASS PROMISED EVICTED EARLY WAITED", "edf spot 1h00m 7 0 1m30s",
		}},
		{bare("edf"), nil},
	} {
		var table bytes.Buffer
		if err := report.Write(&table, report.Table, report.Results{Runs: []report.Run{c.run}}); err != nil {
			t.Fatal(err)
		}
		lines := map[string]bool{}
		for line := range strings.SplitSeq(table.String(), "\n") {
			lines[strings.Join(strings.Fields(line), " ")] = true
		}
		for _, line := range c.want {
			if !lines[line] {
				t.Errorf("no line %q in\n%s", line, &table)
			}
		}
		if c.want == nil && strings.Contains(table.String(), "by class") {
			t.Errorf("tables of nothing:\n%s", &table)
		}
	}
}
