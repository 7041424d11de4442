package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/greedy"
	"fairlead.dev/fairlead/constraint/planted"
	"fairlead.dev/fairlead/policies"
)

// TestPlaceExample runs the example of docs/place.md: its file, its command, its output.
func TestPlaceExample(t *testing.T) {
	if !withHighs {
		t.Skip("its bound is proven by HiGHS")
	}
	doc, err := os.ReadFile(filepath.Join("..", "docs", "place.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "```yaml\n")
	text, rest, _ := strings.Cut(rest, "```\n")
	_, command, _ := strings.Cut(rest, "    fairlead ")
	command, rest, _ = strings.Cut(command, "\n")
	_, rest, _ = strings.Cut(rest, "```\n")
	want, _, found := strings.Cut(rest, "```\n")
	if !found || !strings.Contains(command, "shop.yaml") {
		t.Fatalf("docs/place.md has no example any more: %q", command)
	}
	path := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	root := newRoot(policies.All())
	root.SetArgs(strings.Fields(strings.Replace(command, "shop.yaml", path, 1)))
	var out bytes.Buffer
	root.SetOut(&out)
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for line := range strings.Lines(out.String()) {
		got.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	if got.String() != want {
		t.Errorf("docs/place.md says\n%s\nand fairlead %s prints\n%s", want, command, got.String())
	}
}

// TestPlaceWithoutTime holds a deadline of zero to what it promises: what serial finds, and
// tells a deadline in ticks from it.
func TestPlaceWithoutTime(t *testing.T) {
	d, err := planted.Draw(planted.Options{Nodes: 100, Applications: 10, Utilisation: 500, InterApp: 5, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	serial, _ := greedy.Serial().Solve(&d.Problem)
	without := placing{policy: searching}
	if f := without.solve(t.Context(), &d.Problem, &mender{}); !slices.Equal(f.plan, serial) {
		t.Error("without time the plan is not that of serial")
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if f := (&placing{policy: searching, ticks: 1e9}).solve(stopped, &d.Problem, &mender{}); !slices.Equal(f.plan, serial) {
		t.Error("after Ctrl-C the plan is not the one so far")
	}
	ticks := placing{policy: searching, ticks: 300_000}
	f := ticks.solve(t.Context(), &d.Problem, &mender{})
	before, after := constraint.Evaluate(&d.Problem, serial), constraint.Evaluate(&d.Problem, f.plan)
	if after.Score >= before.Score || after.Score != f.score || f.ticks > 2*ticks.ticks {
		t.Errorf("in %d ticks the score came from %d to %d, and is said to be %d", f.ticks, before.Score, after.Score, f.score)
	}
}
