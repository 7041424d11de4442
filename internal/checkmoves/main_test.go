package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"fairlead.dev/fairlead/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"fairlead":   func() { os.Exit(cli.Main()) },
		"checkmoves": func() { os.Exit(run(os.Args[1:])) },
	})
}

// TestScripts holds the moves of the real command on clusters with everything against the checker, and the checker against moves
// that are known to be wrong.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true})
}
