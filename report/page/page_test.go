package page_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/report/page"
)

// TestMain knows the flag with which go test ./report/page -update rewrites the
// golden page.
func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite the golden page in testdata")
	m.Run()
}

// written is the page of results.
func written(t testing.TB, results report.Results) string {
	t.Helper()
	var text bytes.Buffer
	if err := page.Write(&text, []report.File{{Runs: results.Runs}}); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// blob is what compressors make, which differs between versions of Go.
var blob = regexp.MustCompile(`[A-Za-z0-9+/=]{120,}`)

// readable is the page without what has its own file, and without blobs.
func readable(t *testing.T, text string) string {
	t.Helper()
	for _, name := range []string{"page.css", "page.js", "uplot/uPlot.iife.min.js", "uplot/uPlot.min.css"} {
		part, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text, string(part)) {
			t.Errorf("%s is not in the page as it is", name)
		}
		text = strings.Replace(text, string(part), "("+name+")", 1)
	}
	text = regexp.MustCompile(`sha256-.{40,80}?=&#39;`).ReplaceAllString(text, "(hash)")
	return blob.ReplaceAllString(text, "(blob)")
}

func TestGolden(t *testing.T) {
	got := readable(t, written(t, small().results(t)))
	path := filepath.Join("testdata", "small.html")
	update, err := strconv.ParseBool(flag.Lookup("update").Value.String())
	if err != nil {
		t.Fatal(err)
	}
	if update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; if it should, run go test ./report/page -update and read the diff", path)
	}
}

func TestSameBytes(t *testing.T) {
	many := small()
	many.seeds = 3
	if written(t, many.results(t)) != written(t, many.results(t)) {
		t.Error("the same results gave another page")
	}
}

func TestNoRuns(t *testing.T) {
	if err := page.Write(&bytes.Buffer{}, nil); !errors.Is(err, page.ErrNoRuns) {
		t.Errorf("got %v, want ErrNoRuns", err)
	}
}

// A month of 12,500 nodes makes a page that can be sent by mail.
func TestMonthIsSmall(t *testing.T) {
	const most = 5_000_000
	size := len(written(t, month().results(t)))
	t.Logf("%d bytes", size)
	if size > most {
		t.Errorf("the page has %d bytes, want at most %d", size, most)
	}
}
