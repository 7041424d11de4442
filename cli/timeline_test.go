package cli

import (
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"fairlead.dev/fairlead/timeline"
)

// valid checks a timeline as a viewer would: valid FILE.
func valid(t *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		t.Fatalf("usage: valid FILE")
	}
	_, err := timeline.Check(strings.NewReader(t.ReadFile(args[0])))
	t.Check(err)
}
