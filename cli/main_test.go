package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"fairlead": func() { os.Exit(Main()) }})
}

// TestScripts runs the command as a user would; each script is one story, and
// its first word is the subcommand it is about.
func TestScripts(t *testing.T) {
	bed, err := filepath.Abs("testdata/bed.json.gz") // a cluster as kube/e2e's TestWhyPodsWait lists it, with --redact
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("FAIRLEAD_DATA", os.Getenv("FAIRLEAD_DATA"))
			e.Setenv("BED", bed)
			if cache, err := os.UserCacheDir(); err == nil {
				e.Setenv("XDG_CACHE_HOME", cache) // so that HiGHS is not compiled for each command
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"alike":      alike,
			"valid":      valid,
			"recordings": func(t *testscript.TestScript, _ bool, _ []string) { t.Check(recordings(t.MkAbs("."))) },
		},
		Condition: func(name string) (bool, error) {
			return name == "data" && os.Getenv("FAIRLEAD_DATA") != "" || name == "highs" && withHighs, nil
		},
	})
}
