package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestListOfExperiments compares the list with a golden file, but for the column
// that says what is lacking: that gets shorter by itself.
func TestListOfExperiments(t *testing.T) {
	want, err := os.ReadFile("testdata/experiments.golden")
	if err != nil {
		t.Fatal(err)
	}
	var text, got bytes.Buffer
	if err := listExperiments(&text); err != nil {
		t.Fatal(err)
	}
	column := strings.Index(text.String(), "LACKS")
	if column < 0 {
		t.Fatalf("there is no column LACKS in\n%s", text.String())
	}
	for line := range strings.Lines(text.String()) {
		got.WriteString(strings.TrimRight(line[:column], " ") + "\n")
	}
	if got.String() != string(want) {
		t.Errorf("the list is\n%s\nwant\n%s", got.String(), want)
	}
}
