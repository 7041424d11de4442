package report

import (
	"bytes"
	"strings"
	"testing"
)

// TestPrintable: text of others moves no cursor and forges no line.
func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"kube": "kube", "größer 1 µs ±": "größer 1 µs ±", "a\x1b[2Jb": `a\x1b[2Jb`, "a\nall 7 decisions identical": `a\nall 7 decisions identical`,
		"a\tb\u202e": `a\tb\u202e`,
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	var out bytes.Buffer
	c := Comparison{Base: "a\x1b[2J", Pairs: []Pair{{Other: "b\n!", Warnings: []string{"\x1b"}}}}
	if err := WriteComparison(&out, Table, c, true); err != nil || strings.Contains(out.String(), "\x1b") || strings.Contains(out.String(), "\n!\n") {
		t.Errorf("%v: %q", err, out.String())
	}
}
