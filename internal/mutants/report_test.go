package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func farAway() time.Time { return time.Now().Add(time.Hour) }

// listOf reads a list of equivalents that is this text.
func listOf(t *testing.T, text string) (*equivalents, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "list.txt")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return readEquivalents(file)
}

// TestReport: a run is good if enough mutants were killed, and every survivor has its reason.
func TestReport(t *testing.T) {
	p := slips(t)
	for _, tc := range []struct {
		name            string
		killed, alive   int
		named           int // of the survivors
		whole           bool
		wants, mustFail string
	}{
		{"all killed", 10, 0, 0, false, "slips 10 10 0 0 100 %", ""},
		{"a survivor", 9, 1, 0, false, "slips 10 9 1 0 90 %", "1 survived that"},
		{"it is named", 9, 1, 1, false, "slips 10 9 0 1 100 %", ""},
		{"too many", 8, 2, 0, false, "slips 10 8 2 0 80 %", "80 % were killed, want at least 85 %"},
		{"too few", 10, 0, 0, true, "slips 10 10 0 0 100 %", "10 mutants were run, want at least 200"},
		{"none was run", 0, 0, 0, false, "slips 0 0 0 0 100 %", "no mutant was run"},
	} {
		all := p.draw(1, 12)
		text := ""
		for i, m := range all {
			switch {
			case i < tc.killed:
				m.verdict = killed
			case i < tc.killed+tc.alive:
				m.verdict = survived
			}
			if i >= tc.killed && i < tc.killed+tc.named {
				text += m.String() + "why: it is a test\n\n"
			}
		}
		known, err := listOf(t, text)
		if err != nil {
			t.Fatal(err)
		}
		known.seen(p.target, p)
		var b strings.Builder
		err = report(&b, []target{p.target}, all, known, tc.whole)
		if !strings.Contains(strings.Join(strings.Fields(b.String()), " "), tc.wants) {
			t.Errorf("%s: the report has no %q:\n%s", tc.name, tc.wants, b.String())
		}
		if got := strings.Count(b.String(), "survived: "); got != tc.alive-tc.named {
			t.Errorf("%s: %d survivors are printed, want %d", tc.name, got, tc.alive-tc.named)
		}
		if tc.mustFail == "" && err != nil || tc.mustFail != "" && (err == nil || !strings.Contains(err.Error(), tc.mustFail)) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.mustFail)
		}
	}
}

// TestEquivalents: the list is read strictly, and names only what is made.
func TestEquivalents(t *testing.T) {
	entry := "slips/slips.go, between, wrong sign\n- func between(from, to int) int { return to - from }\n+ func between(from, to int) int { return to + from }\n"
	for name, wrong := range map[string]string{
		"no reason":     entry,
		"an old reason": entry + "why:\n",
		"no change":     "slips/slips.go, between, wrong sign\nwhy: so\n",
		"no operator":   strings.Replace(entry, ", wrong sign", "", 1) + "why: so\n",
		"twice":         entry + "why: so\n\n" + entry + "why: so\n",
	} {
		if _, err := listOf(t, wrong); err == nil {
			t.Errorf("%s is no error", name)
		}
	}
	p := slips(t)
	for text, stale := range map[string]bool{
		"# A comment.\n\n" + entry + "why: so\n":                       false,
		strings.Replace(entry, "between,", "beside,", 1) + "why: so\n": true,
		strings.Replace(entry, "slips/", "slops/", 1) + "why: so\n":    false, // of a package that is not looked at
	} {
		known, err := listOf(t, text)
		if err != nil {
			t.Fatal(err)
		}
		known.seen(p.target, p)
		if err := known.check(); (err != nil) != stale {
			t.Errorf("%v, want an error %v, of\n%s", err, stale, text)
		}
	}
	if _, err := readEquivalents("equivalent.txt"); err != nil {
		t.Error(err)
	}
}

// TestTargets: the packages that are asked for are known, and the whole run has enough mutants.
func TestTargets(t *testing.T) {
	sum := 0
	for _, target := range targets() {
		sum += target.make
		if _, err := os.Stat(filepath.Join("../..", target.module, target.name)); err != nil {
			t.Error(err)
		}
	}
	if sum < leastMade {
		t.Errorf("%d mutants in all, want at least %d", sum, leastMade)
	}
	some, err := chosen(options{only: "queue,kube/world", make: 3})
	if got := fmt.Sprint(some); err != nil || got != "[queue kube/world]" || some[1].make != 3 {
		t.Errorf("chosen are %s, %v", got, err)
	}
	if _, err := chosen(options{only: "nobody"}); err == nil {
		t.Error("a target that there is not is no error")
	}
}
