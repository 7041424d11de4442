package page

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestUPlot holds what every page contains of others to what uplot/README.md says of it.
func TestUPlot(t *testing.T) {
	readme, err := os.ReadFile("uplot/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"uPlot.iife.min.js": uplotScript, "uPlot.min.css": uplotStyle, "LICENSE": uplotLicense} {
		if line := fmt.Sprintf("| `%s` | `%x` |\n", name, sha256.Sum256([]byte(text))); !strings.Contains(string(readme), line) {
			t.Errorf("uplot/README.md lacks the line %s", line)
		}
	}
	version, _, _ := strings.Cut(strings.TrimPrefix(string(readme), "uPlot "), ",")
	if !strings.Contains(uplotScript[:200], "v"+version+")") {
		t.Errorf("uplot/README.md has version %s, and the script begins with %s", version, uplotScript[:200])
	}
}
