package experiment

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/setup"
)

// TestRows wants every row of the acceptance table to have a name of its own, to say what it is, and to be held to something
// by a policy that there is. Rows that need data are the only ones that name a file.
func TestRows(t *testing.T) {
	o := &Options{Seed: 1}
	rows, seen := unitedRows(o), map[string]bool{}
	for i := range rows {
		r := &rows[i]
		if seen[r.name] {
			t.Errorf("%s is there twice", r.name)
		}
		seen[r.name] = true
		if r.setting == "" || len(r.parts) == 0 || len(r.seeds) == 0 || len(r.targets) == 0 {
			t.Errorf("%s says too little: %+v", r.name, r)
		}
		if _, err := policies.Find(r.rival); err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
		parts := map[string]bool{}
		for k := range r.parts {
			parts[r.parts[k].name] = true
		}
		for _, g := range r.targets {
			if g.what == "" || g.unit == "" || g.of == nil || g.part != "" && !parts[g.part] {
				t.Errorf("%s has a target that says too little: %+v", r.name, g)
			}
		}
	}
	if len(rows) < 34 {
		t.Errorf("there are %d rows", len(rows))
	}
	if got := len(ablationRows(o)); got != 7 {
		t.Errorf("the ablation has %d rows, want 7", got)
	}
}

// TestEveryRowOnData runs all rows, those that need traces too, at a tiny size; nothing is left out then.
func TestEveryRowOnData(t *testing.T) {
	if testing.Short() {
		t.Skip("reads all traces")
	}
	for _, name := range []string{"fairlead", "fairlead-ablation"} {
		e, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		results, err := e.Run(Options{Size: tiny, Seed: 1, Data: data(t)})
		if err != nil {
			t.Fatal(err)
		}
		r := results.Experiment
		seen := map[string]bool{}
		for _, g := range r.Goals {
			seen[g.Row] = true
			if g.Verdict == report.NotRun || g.Ours == nil || g.Theirs == nil || g.Target == nil {
				t.Errorf("%+v", g)
			}
		}
		if r.Variants != nil {
			for _, n := range r.Variants.Numbers {
				seen[n.Row] = true
				if len(n.Values) != len(r.Variants.Names) {
					t.Errorf("%+v has not as many values as there are variants, %d", n, len(r.Variants.Names))
				}
			}
		}
		for _, row := range e.Rows {
			if !seen[row] {
				t.Errorf("%s: nothing is said of %s", name, row)
			}
		}
		checkPrinted(t, results)
	}
}

// TestRowsWithoutData wants a row that lacks its data to be there, and to say what it lacks.
func TestRowsWithoutData(t *testing.T) {
	e, err := Find("fairlead")
	if err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{"": "it needs fairlead/starve.jsonl.gz in the folder of traces", t.TempDir(): "no such file"} {
		results, err := e.Run(Options{Size: tiny, Seed: 1, Data: folder, Rows: []string{"starve"}})
		if err != nil {
			t.Fatal(err)
		}
		goals := results.Experiment.Goals
		if len(goals) != 3 {
			t.Fatalf("%d targets, want the three of the row", len(goals))
		}
		for _, g := range goals {
			if g.Verdict != report.NotRun || !strings.Contains(g.Note, want) {
				t.Errorf("%+v, want it not run as %s", g, want)
			}
		}
	}
}

// TestChoosingRows wants to be told the name that is wrong, and what has no rows.
func TestChoosingRows(t *testing.T) {
	e, err := Find("fairlead")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Run(Options{Size: tiny, Seed: 1, Rows: []string{"strave"}}); err == nil || !strings.Contains(err.Error(), "did you mean starve?") {
		t.Errorf("a wrong name: %v", err)
	}
	other, err := Find("qos-v1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Run(Options{Size: tiny, Seed: 1, Rows: []string{"starve"}}); err == nil || !strings.Contains(err.Error(), "qos-v1 has no rows") {
		t.Errorf("rows of what has none: %v", err)
	}
	results, err := e.Run(Options{Size: tiny, Seed: 1, Rows: []string{"google-500x8", "simulate"}})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, g := range results.Experiment.Goals {
		names = append(names, g.Row)
	}
	if got := slices.Compact(names); !slices.Equal(got, []string{"simulate", "google-500x8"}) {
		t.Errorf("ran %v, want the rows in the order of the table", got)
	}
}

// TestStoppedTable wants the rows that were run, and the others to say that they were not.
func TestStoppedTable(t *testing.T) {
	for _, name := range []string{"fairlead", "fairlead-ablation"} {
		e, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		begun := 0
		results, err := e.Run(Options{
			Size: tiny, Seed: 1, Rows: []string{"simulate", "google-500x9"},
			Progress: func(int, int, string) { begun++ }, Stop: func() bool { return begun > 2 },
		})
		if !errors.Is(err, ErrStopped) || results.Experiment == nil {
			t.Fatalf("%s, stopped: %v", name, err)
		}
		ran, left := 0, 0
		for _, g := range results.Experiment.Goals {
			switch {
			case g.Row == "simulate" && g.Verdict != report.NotRun:
				ran++
			case g.Row == "google-500x9" && g.Verdict == report.NotRun && g.Note == "stopped before its end":
				left++
			default:
				t.Errorf("%+v", g)
			}
		}
		if v := results.Experiment.Variants; v != nil {
			for _, n := range v.Numbers {
				if n.Row == "simulate" && n.Values[0] != nil && n.Values[1] != nil && n.Values[2] == nil {
					ran++
				} else if n.Row == "google-500x9" && n.Values[0] == nil {
					left++
				}
			}
		}
		if ran == 0 || left == 0 {
			t.Errorf("%s: %d targets of what was run, %d of what was not", name, ran, left)
		}
		checkPrinted(t, results)
	}
}

// TestHeld holds means over seeds to targets of each kind.
func TestHeld(t *testing.T) {
	value := func(came *tried) float64 { return came.counts["x"] }
	r := row{
		name: "r", rival: "kube", parts: []part{{name: "p"}}, seeds: []uint64{1, 2},
		targets: []target{
			targetAtMost("most", report.InTasks, 3, value), targetAtMost("most", report.InTasks, 2.9, value),
			targetAtLeast("least", report.InTasks, 3, value), targetAtLeast("least", report.InTasks, 3.1, value),
			targetNoMore("relative", report.InTasks, 0.5, value), targetNoLess("relative", report.InTasks, 0.6, value),
		},
	}
	done := trials{}
	for by, values := range map[string][2]float64{"kube": {2, 3}, "fairlead": {2, 4}} {
		for i, v := range values {
			done[idOf(&r.parts[0], setup.Policy{Name: by}, r.seeds[i])] = &tried{counts: map[string]float64{"x": v}}
		}
	}
	want := []report.Attained{report.Met, report.Missed, report.Met, report.Missed, report.Met, report.Missed}
	for i, g := range r.held(&Options{}, done) {
		if g.Verdict != want[i] || *g.Ours != 3 || *g.Theirs != 2.5 || !strings.Contains(g.Note, "means of 2 seeds") {
			t.Errorf("target %d: %+v, want it %s", i, g, want[i])
		}
	}
}

// TestWaitsOfUsers reads lines of tasks.
func TestWaitsOfUsers(t *testing.T) {
	o := &Options{Size: tiny, Seed: 1, Data: os.Getenv("FAIRLEAD_DATA")}
	s := googleSpec(o, 40, 8)
	came, err := userPart(s).run(o, setup.Policy{Name: "kube"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(came.waited) == 0 {
		t.Error("no user has waited, be it for no time")
	}
	for user, seconds := range came.waited {
		if seconds < 0 || seconds > 300 {
			t.Errorf("%s waited for %g s of 300", user, seconds)
		}
	}
}
