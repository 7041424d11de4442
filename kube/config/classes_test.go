package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/kube/config"
)

// TestClasses: a preset, a file and a table in the configuration are read, and written
// down so that they read as the same.
func TestClasses(t *testing.T) {
	inline := strings.ReplaceAll("classes:\n"+string(class.Google().Encode()), "\n", "\n  ")
	for _, c := range []struct {
		text string
		want config.Classes
	}{
		{"", config.Classes{}},
		{"classes: google", config.Classes{Name: "google", Table: class.Google()}},
		{inline, config.Classes{Table: class.Google()}},
	} {
		got, err := config.Parse("f.yaml", []byte(header+c.text))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if diff := cmp.Diff(c.want, got.Classes); diff != "" {
			t.Errorf("%s: want -, got +:\n%s", c.text, diff)
		}
		if errs := got.Validate(); len(errs) > 0 {
			t.Errorf("%s: %v", c.text, errs.ToAggregate())
		}
		checkReadAgain(t, c.text, got)
	}
}

// TestClassesThatCannotBeKept: what this scheduler has no means for is refused.
func TestClassesThatCannotBeKept(t *testing.T) {
	c, err := config.Parse("f.yaml", []byte(header+"classes: sla"))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, e := range c.Validate() {
		paths = append(paths, e.Field)
	}
	const want = "classes.classes[0].tier classes.classes[0].size classes.classes[0].replicas " +
		"classes.classes[1].tier classes.classes[1].size classes.classes[1].replicas classes.classes[2].tier classes.classes[2].size"
	if got := strings.Join(paths, " "); got != want {
		t.Errorf("refused: %s\nwant: %s", got, want)
	}
}

// checkReadAgain fails where the configuration that text gave, written to a file and read from there, is another one.
func checkReadAgain(t *testing.T, text string, given *config.SchedulerConfiguration) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "again.yaml")
	if err := given.Write(file); err != nil {
		t.Fatal(err)
	}
	again, err := config.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(given, again); diff != "" {
		t.Errorf("%s: written and read, before -, after +:\n%s", text, diff)
	}
}
