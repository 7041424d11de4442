package cli

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// alike is a command for scripts, alike UNTIL SRC [SRC]. It runs a policy on a
// source, then on what it becomes when it is converted, until that time, or to
// the end that they have of themselves if it is -, and wants the same bytes:
// every decision, every task, and the results, but for the names of the sources
// and how long it took.
func alike(t *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		t.Fatalf("usage: alike UNTIL SRC [SRC]")
	}
	until, sources := args[0], args[1:]
	nodes, tasks := sources[0], sources[len(sources)-1]
	var limit []string
	if until != "-" {
		limit = []string{"--until", until}
	}
	t.Check(t.Exec("fairlead", slices.Concat([]string{"trace", "convert", "--output", "converted.jsonl.gz"}, limit, sources)...))
	want := outcomeOf(t, nodes, tasks, limit)
	// What was converted ends where the source was cut.
	if got := outcomeOf(t, "converted.jsonl.gz", "converted.jsonl.gz", nil); got != want {
		t.Fatalf("what was converted runs differently:\n%s\nbefore:\n%s", got, want)
	}
}

// outcomeOf simulates and returns all that came of it.
func outcomeOf(t *testscript.TestScript, nodes, tasks string, limit []string) string {
	t.Check(t.Exec("fairlead", slices.Concat([]string{
		"simulate", "--cluster", nodes, "--workload", tasks, "--classes", "google", // which a dump is not given unless told so
		"--policy", "kube", "--placements", "placements.csv", "--tasks", "tasks.csv", "-o", "json",
	}, limit)...))
	var b strings.Builder
	ownName := regexp.MustCompile(`"(cluster|workload|certain|wall_s|decisions_per_s)": `)
	decided := false
	_, runs, _ := strings.Cut(t.ReadFile("stdout"), `"runs": [`) // behind the spec, which names the sources
	for line := range strings.Lines(runs) {
		if !ownName.MatchString(line) {
			b.WriteString(line)
		}
		decided = decided || strings.Contains(line, `"placed": `) && !strings.Contains(line, `"placed": 0,`)
	}
	if !decided {
		t.Fatalf("nothing was placed in %s, so that nothing is compared", nodes)
	}
	return b.String() + t.ReadFile("placements.csv") + t.ReadFile("tasks.csv")
}
