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
// golden page, and ends the browser.
func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite the golden page in testdata")
	m.Run()
	if shared.stop != nil {
		shared.stop()
	}
}

// written is the page of results.
func written(t *testing.T, results report.Results) string {
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
	first := written(t, many.results(t))
	if again := written(t, many.results(t)); again != first {
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

// hostile is a result in which every text that a user's file may hold tries to
// break out of the page.
func hostile(t *testing.T) report.Results {
	t.Helper()
	const evil = `</script><script>hacked()</script><img src=x onerror=hacked()>"'` + "`&amp;<!--\u2028"
	s := small()
	s.policies = []string{evil, "kube" + evil}
	s.kinds, s.classes = []string{evil, "cpu"}, []string{"gold", "<b>class</b>"}
	s.seeds, s.stay = 2, true
	results := s.results(t)
	for i := range results.Runs {
		r := &results.Runs[i]
		r.TieBreak, r.Cluster, r.Workload, r.Overcommit, r.Initial, r.Overheads, r.EvictedWork, r.PlannerTime, r.Faults = evil, evil, evil+"w", evil, evil, evil, evil, evil, evil
		r.Reasons, r.Examples = map[string]int{evil: 3}, map[string]string{evil: evil}
		r.Heat.Names = packed(t, []byte(strings.Repeat(evil+"\n", r.Heat.Nodes)))
	}
	results.Runs[0].Interrupted = true
	return results
}

func TestEscaping(t *testing.T) {
	text := written(t, hostile(t))
	for _, part := range []string{"page.css", "page.js", "uplot/uPlot.iife.min.js"} {
		own, err := os.ReadFile(part)
		if err != nil {
			t.Fatal(err)
		}
		text = strings.Replace(text, string(own), "", 1)
	}
	if n := strings.Count(text, "hacked()"); n < 50 {
		t.Errorf("the names are on the page %d times, want at least 50", n)
	}
	for tag, want := range map[string]int{"<script": 3, "</script": 3, "<img": 2, "<b>": 2, "<!--": 0} {
		if got := strings.Count(text, tag); got != want {
			t.Errorf("%d times %s, want %d", got, tag, want)
		}
	}
}

// A page leaves out what is not there, and draws no axes.
func TestAbsentData(t *testing.T) {
	bare := report.Run{Setup: report.Setup{Policy: "kube"}}
	text := written(t, report.Results{Runs: []report.Run{bare}})
	if strings.Contains(text, "<figure") {
		t.Error("there is a chart of nothing")
	}
	for _, id := range []string{"latency", "promises", "allocation", "backlog", "arrived", "fragmentation", "heat", "reasons"} {
		if strings.Contains(text, `id="`+id+`"`) || strings.Contains(text, `href="#`+id+`"`) {
			t.Errorf("there is a section %s of nothing", id)
		}
	}
	for _, want := range []string{"Nothing to compare", `<a href="#setup">`, `<p class="verdict">Under kube 0 of 0 tasks wait`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
}

func TestBrokenHeat(t *testing.T) {
	for name, breakIt := range map[string]func(*report.Heat){
		"no base64":       func(h *report.Heat) { h.Fill = "?" + h.Fill },
		"no gzip":         func(h *report.Heat) { h.Fill = "AAAA" + h.Fill },
		"too short":       func(h *report.Heat) { h.Nodes++ },
		"too long":        func(h *report.Heat) { h.Nodes-- },
		"too few moments": func(h *report.Heat) { h.Times = h.Times[1:] },
	} {
		results := small().results(t)
		breakIt(results.Runs[1].Heat)
		err := page.Write(&bytes.Buffer{}, []report.File{{Runs: results.Runs}})
		if err == nil || !strings.Contains(err.Error(), "heat map of policy best-fit, seed 1") {
			t.Errorf("%s: got %v, want an error that names the run", name, err)
		}
	}
}

func TestUnmeasurable(t *testing.T) {
	for want, spoil := range map[string]func(*report.Run){
		`tasks.placed is -5`:                                                     func(r *report.Run) { r.Tasks.Placed = -5 },
		`reasons.cpu is -1`:                                                      func(r *report.Run) { r.Reasons = map[string]int{"cpu": -1} },
		`its series have steps of 0 s`:                                           func(r *report.Run) { r.Series.Step = 0 },
		`"running" has 23 steps, and "allocation.cpu.bronze" 24`:                 func(r *report.Run) { r.Series.Columns["running"] = r.Series.Columns["running"][1:] },
		`"pending" is 1e+300 in step 2`:                                          func(r *report.Run) { r.Series.Columns["pending"][1] = 1e300 },
		`the latency curve of "all" does not rise at point 3`:                    func(r *report.Run) { r.Latencies["all"][2][0] = 0 },
		`the availability curve of "gold" does not rise from 0 to 1 at point 50`: func(r *report.Run) { r.Availabilities["gold"][49][0] = 1.5 },
		`classes.silver.slo_fulfilment is 2`:                                     func(r *report.Run) { r.Classes["silver"].Fulfilment = 2 },
		`classes.gold.penalties is -1`:                                           func(r *report.Run) { r.Classes["gold"].Penalties = -1 },
		`the moments of the heat map do not rise at 2`:                           func(r *report.Run) { r.Heat.Times[1] = 0 },
		`the heat map has -1 nodes`:                                              func(r *report.Run) { r.Heat.Nodes = -1 },
	} {
		results := small().results(t)
		spoil(&results.Runs[1])
		err := page.Write(&bytes.Buffer{}, []report.File{{Name: "a.json", Runs: results.Runs}})
		if want = "page: a.json: policy best-fit, seed 1: " + want + ", which no run measures; write the file again"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// FuzzWrite draws what any results file may hold: a page or an error, and no
// panic or endless loop.
func FuzzWrite(f *testing.F) {
	for _, seed := range []string{
		`{"version":1,"runs":[{"policy":"a","seed":1,"series":{"step_s":60,"columns":{"pending":[1,2,0],"arrived.x":[0,0.5,1],"allocation.x.b":[0,0.4,0.5]}}}]}`,
		`{"version":1,"runs":[{"policy":"a","seed":1,"series":{"step_s":1e-6,"columns":{"running":[1]}}},{"policy":"a","seed":2,"series":{"step_s":1e9,"columns":{"running":[1e12]}}}]}`,
		`{"version":1,"runs":[{"policy":"a","seed":1,"latency_curves":{"all":[[0,0.5],[1e12,1]]},"heat":{"times_s":[1],"nodes":1,"fill":"","names":""}}]}`,
		`{"version":1,"runs":[{"policy":"a","seed":1,"tasks":{"pending":-1},"reasons":{"cpu":-5,"<":2},"examples":{"cpu":"x"}}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		results, err := report.ReadJSON(bytes.NewReader(text))
		if err != nil {
			t.Skip()
		}
		var out bytes.Buffer
		if err := page.Write(&out, []report.File{{Runs: results.Runs}}); err == nil && !strings.HasSuffix(out.String(), "</html>\n") {
			t.Errorf("the page is cut: %q", out.String()[max(0, out.Len()-100):])
		}
	})
}

// Equal set-ups in two files are no seeds of each other.
func TestFilesAreDistinguished(t *testing.T) {
	s := small()
	s.policies = s.policies[:1]
	runs := s.results(t).Runs
	var text bytes.Buffer
	if err := page.Write(&text, []report.File{{Name: "before.json", Runs: runs}, {Name: "after.json", Runs: runs}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`class="label">before.json<`, `class="label">after.json<`} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the page has no %s", want)
		}
	}
}
