package report_test

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
)

// TestWriteMeans: a row a set-up, and decisions a second where somebody measured them.
func TestWriteMeans(t *testing.T) {
	var runs []report.Run
	for seed := range uint64(3) {
		for i, policy := range []string{"kube", "random"} {
			runs = append(runs, report.Run{
				Setup: report.Setup{Policy: policy, Seed: seed}, Tasks: report.Tasks{Placed: 10*i + int(seed)},
				Planner: report.NewPlanner(1, 6, cluster.Second, 2),
			})
		}
	}
	text := func() string {
		t.Helper()
		var b strings.Builder
		if err := report.WriteMeans(&b, []report.File{{Runs: runs}}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	got := text()
	if rows := strings.Split(got, "\n"); len(rows) != 5 || !strings.HasPrefix(rows[2], "kube         1 ") || !strings.HasPrefix(rows[3], "random      11 ") {
		t.Errorf("the table is\n%s", got)
	}
	if !strings.Contains(got, "PER S") {
		t.Errorf("what was measured is not there:\n%s", got)
	}
	for i := range runs {
		if wall := runs[i].Planner.TakeWall(); wall != 2 || runs[i].Planner.DecisionsPerSecond != 6 {
			t.Errorf("it took %v, and the rate is %v by the second that was charged", wall, runs[i].Planner.DecisionsPerSecond)
		}
	}
	if got := text(); strings.Contains(got, "PER S") {
		t.Errorf("what nobody measured is there:\n%s", got)
	}
}

// TestEncodeRun: a run is on one line, with nothing that is null, and without lists where they were dropped.
func TestEncodeRun(t *testing.T) {
	run := report.Run{Setup: report.Setup{Policy: "a<b"}, Heat: &report.Heat{}, Latencies: map[string]report.Curve{"all": {}}}
	report.DropLists(&run)
	text, err := report.EncodeRun(&run)
	if got := string(text); err != nil || !strings.HasPrefix(got, `{"policy":"a<b","seed":0,`) || !strings.Contains(got, `"utilisation":{}`) ||
		strings.ContainsAny(got, "\n") || strings.Contains(got, "null") || strings.Contains(got, "heat") || strings.Contains(got, "curves") {
		t.Errorf("%s, %v", got, err)
	}
}
