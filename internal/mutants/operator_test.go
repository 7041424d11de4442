package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

// slips is the package of testdata/slips.txt, in a module of its own.
func slips(t *testing.T) *loaded {
	t.Helper()
	source, err := os.ReadFile("testdata/slips.txt")
	if err != nil {
		t.Fatal(err)
	}
	return module(t, map[string]string{"slips/slips.go": string(source)}, target{name: "slips"})
}

// module loads a target of a module of these files.
func module(t *testing.T, files map[string]string, of target) *loaded {
	t.Helper()
	root := t.TempDir()
	files["go.mod"] = "module slips.test\n\ngo 1.26\n"
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := load(t.Context(), root, of)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestOperators holds what each operator makes of a small source to a golden list.
func TestOperators(t *testing.T) {
	p := slips(t)
	var b strings.Builder
	for _, operator := range operators() {
		fmt.Fprintf(&b, "%s\n", operator)
		for _, m := range p.mutants() {
			if m.operator != operator {
				continue
			}
			compiles := ""
			if !p.compiles(m.file, m.text()) {
				compiles = "   (does not compile)"
			}
			fmt.Fprintf(&b, "%4d  %s: %s%s\n      %s\n", m.line, m.function, m.was, compiles, m.is)
		}
	}
	if *update {
		if err := os.WriteFile("testdata/slips.golden", []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/slips.golden")
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// TestDraw: the same seed draws the same mutants, another one others, each operator in turn; and
// a function that is added elsewhere leaves them as they are.
func TestDraw(t *testing.T) {
	keys := func(list []*mutant) string {
		var b strings.Builder
		for _, m := range list {
			b.WriteString(m.key())
		}
		return b.String()
	}
	p := slips(t)
	five := p.draw(1, 5)
	for i, m := range five {
		if m.operator != operators()[i] {
			t.Errorf("mutant %d is by %s, want one of each operator in turn", i, m.operator)
		}
	}
	if again := slips(t).draw(1, 5); keys(again) != keys(five) {
		t.Errorf("the same seed drew\n%s, then\n%s", keys(five), keys(again))
	}
	if other := p.draw(2, 5); keys(other) == keys(five) {
		t.Error("two seeds drew the same")
	}
	if more := p.draw(1, 8); !strings.HasPrefix(keys(more), keys(five)) {
		t.Errorf("a longer draw begins otherwise:\n%s", keys(more))
	}
	source := string(p.files[0].text)
	grown := strings.Replace(source, "type counter", "// A comment.\n\ntype other struct{}\n\ntype counter", 1)
	if moved := module(t, map[string]string{"slips/slips.go": grown}, target{name: "slips"}).draw(1, 5); keys(moved) != keys(five) {
		t.Errorf("after a change elsewhere drawn are\n%s, not\n%s", keys(moved), keys(five))
	}
	all := p.draw(1, 1000)
	seen := map[string]bool{}
	for _, m := range all {
		if at := fmt.Sprint(m.edit); seen[at] {
			t.Errorf("drawn twice: %s", m)
		} else {
			seen[at] = true
		}
	}
	if len(all) < 20 {
		t.Errorf("%d mutants in all", len(all))
	}
	if left := module(t, map[string]string{"slips/slips.go": source}, target{name: "slips", skip: []string{"slips.go"}}).draw(1, 5); len(left) != 0 {
		t.Errorf("%d mutants of a file that is left out", len(left))
	}
}

// weak is a package with a test that sees half of it.
func weak() map[string]string {
	return map[string]string{
		"weak/weak.go": "package weak\n\nfunc seen(a int) int { return a + 2 }\n\nfunc unseen(a int) int { return a - 3 }\n\nfunc endless(n int) int {\n\tfor n != 0 {\n\t\tn--\n\t}\n\treturn n\n}\n",
		"weak/weak_test.go": `package weak

import (
	"os"
	"testing"
)

func TestSeen(t *testing.T) {
	if os.Getenv("FAIRLEAD_DATA") != "" {
		t.Fatal("the real traces are not to be read")
	}
	if !testing.Short() {
		t.Fatal("the tests are to be short")
	}
	if seen(1) != 3 || unseen(0) == 0 {
		t.Fatal("seen")
	}
}

func TestEndless(t *testing.T) {
	if endless(2) != 0 {
		t.Fatal("endless")
	}
}
`,
	}
}

// TestTimes: a test whose subtests run beside each other takes no time by itself, and is none of those that run first.
func TestTimes(t *testing.T) {
	out := `=== RUN   TestA
--- PASS: TestA (0.01s)
--- PASS: TestB (0.00s)
    --- PASS: TestB/one (3.20s)
    --- PASS: TestB/two (0.40s)
--- FAIL: TestC (1.00s)
PASS
`
	want := map[string]time.Duration{"TestA": 10 * time.Millisecond, "TestB": 3200 * time.Millisecond}
	if got := times([]byte(out)); !maps.Equal(got, want) {
		t.Errorf("times %v, want %v", got, want)
	}
}

// TestTester: what a test sees is killed and what it does not see survives; what does not end is
// killed, too; and a package whose tests fail as it is, is an error.
func TestTester(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles tests")
	}
	t.Setenv("FAIRLEAD_DATA", "there")
	p := module(t, weak(), target{name: "weak"})
	all := p.draw(1, 100)
	t.Chdir(p.root)
	p.root = "."
	tester := &tester{dir: t.TempDir(), deadline: farAway(), least: 2, log: &strings.Builder{}}
	if err := tester.judge(t.Context(), []target{p.target}, all, 2); err != nil {
		t.Fatal(err)
	}
	want := map[string]verdict{
		"seen": killed, "unseen": survived, "endless": killed,
	}
	if len(all) < 4 {
		t.Errorf("%d mutants were made", len(all))
	}
	for _, m := range all {
		if m.verdict != want[m.function] && m.is != "func endless(n int) int {" && m.is != "for n != 1 {" {
			t.Errorf("%s by %s: %v, want %v: %s", m.function, m.operator, m.verdict, want[m.function], m.is)
		}
	}
	broken := weak()
	broken["weak/weak_test.go"] = strings.Replace(broken["weak/weak_test.go"], "seen(1) != 3", "seen(1) != 4", 1)
	p = module(t, broken, target{name: "weak"})
	t.Chdir(p.root)
	if err := tester.judge(t.Context(), []target{p.target}, nil, 1); err == nil || !strings.Contains(err.Error(), "do not pass") {
		t.Errorf("tests that fail as it is: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := tester.judge(ctx, nil, all, 1); err == nil {
		t.Error("a run that was interrupted is no error")
	}
}
