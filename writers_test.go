package fairlead_test

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestWritersOfState: whoever decides reads a cluster.View. A cluster.State, which can be
// changed, is named by the core, by who makes one for a core, and by what is explained on a
// copy. The list only shrinks.
func TestWritersOfState(t *testing.T) {
	writers := []string{
		"experiment/medeatwoclock.go", // which measures a core of its own
		"experiment/reclaim.go",       // which asks a core of its own once
		"flow/explainworth.go",        // on a copy
		"kube/scheduler/core.go",      // makes a core
		"recording/replay.go",         // makes a core
		"sched/copies.go",
		"sched/core.go",
		"sched/explanation.go", // makes the copy
		"sched/lane.go",        // the views of rounds that run beside the world
		"sched/policy.go",
		"sched/schedtest/company_story.go",
		"sched/schedtest/gang_near.go",
		"sched/schedtest/gang_parts.go",
		"sched/schedtest/gang_rival.go",
		"sched/schedtest/optimum.go",
		"sched/schedtest/scenario.go",
		"sched/schedtest/world.go",
		"sim/run.go", // makes a core
	}
	names := regexp.MustCompile(`\bcluster\.(State|NewState)\b`)
	var found []string
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "cluster/") || d.Name() == "doc.go" {
			return err
		}
		text, err := os.ReadFile(path)
		if names.Match(text) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(found, writers) {
		t.Errorf("a writable state is named in %q, want %q", found, writers)
	}
}
