package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlead.dev/fairlead/report"
)

// tried is a small run of a policy; the numbers are those by which it differs.
func tried(policy string, seed uint64, placed int, latency, cpu report.Number) report.Run {
	r := bare(policy)
	r.Cluster, r.Workload, r.Until = "c", "w", 3600
	r.Seed = seed
	r.Tasks.Placed, r.Tasks.Finished, r.Tasks.Pending = placed, placed-10, 1000-placed
	r.PlacementLatency = &report.Distribution{Mean: latency, P50: latency / 2, P90: 2 * latency, P99: 3 * latency, Max: 4 * latency}
	r.Allocation = map[string]report.Allocation{"cpu": {Mean: cpu, Final: cpu}}
	return r
}

// comparisons are the inputs of which the golden files are prints.
func comparisons() map[string][]report.File {
	var seeds, before, after []report.Run
	for i, wobble := range []report.Number{0.01, -0.02, 0.03, 0, -0.01, 0.02} {
		seed := uint64(i + 1)
		seeds = append(seeds, tried("kube", seed, 900+10*i, 0.34+wobble, 0.5+wobble/10), tried("random", seed, 899+10*i, 0.68+wobble/2, 0.5-wobble/7))
		b, a := tried("kube", seed, 900+10*i, 0.34+wobble, 0.5), tried("kube", seed+3, 905+10*i, 0.3+wobble, 0.5)
		b.Sample = &report.Sample{Tasks: []uint64{1, 3, 5, 7}, Response: []report.Number{4, 8, 2, 1}, Latency: []report.Number{0, 1, 0, 0}, Of: 890}
		a.Sample = &report.Sample{Tasks: []uint64{1, 2, 5, 7}, Response: []report.Number{1, 9, 4, 1}, Latency: []report.Number{0, 0, 0.5, 0.0002}, Of: 895}
		before, after = append(before, b), append(after, a)
	}
	lost := tried("priority", 1, 1, 1, 1)
	lost.Interrupted = true
	elsewhere := tried("sla", 1, 500, 0.5, 0.4)
	elsewhere.Cluster = "d"
	elsewhere.PlacementLatency = nil
	return map[string][]report.File{
		"seeds": {{Name: "a.json", Runs: seeds}},
		"files": {{Name: "before.json", Runs: before}, {Name: "after.json", Runs: after}},
		"one":   {{Runs: []report.Run{tried("kube", 1, 900, 0.3, 0.5), tried("random", 1, 900, 0.7, 0.6), lost, elsewhere}}},
		"still": {{Runs: []report.Run{
			tried("kube", 1, 900, 0.3, 0.5), tried("kube", 2, 900, 0.3, 0.5),
			tried("random", 1, 900, 0.7, 0.6), tried("random", 2, 900, 0.7, 0.6),
		}}},
	}
}

func TestCompareGolden(t *testing.T) {
	for _, c := range []struct {
		name   string
		format report.Format
		all    bool
	}{
		{"seeds", report.Table, false},
		{"files", report.Table, false},
		{"files", report.JSON, false},
		{"files", report.CSV, false},
		{"one", report.Table, true},
		{"still", report.Table, false},
	} {
		compared, err := report.Compare(comparisons()[c.name], "")
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := report.WriteComparison(&text, c.format, compared, c.all); err != nil {
			t.Fatal(err)
		}
		golden(t, "compare_"+c.name+"."+string(c.format), text.String())
	}
}

// pairOf compares two experiments and returns the only pair.
func pairOf(t interface{ Fatal(...any) }, runs []report.Run, base string) report.Pair {
	c, err := report.Compare([]report.File{{Runs: runs}}, base)
	if err != nil {
		t.Fatal(err)
	}
	return c.Pairs[0]
}

// anyRuns draws runs of the policies a and b, which have the same seeds or not,
// now and then a metric missing or the same everywhere.
func anyRuns(t *rapid.T) []report.Run {
	var runs []report.Run
	small := rapid.IntRange(0, 4)
	n := map[string]int{"a": rapid.IntRange(1, 8).Draw(t, "n")}
	n["b"] = n["a"]
	if rapid.Bool().Draw(t, "unpaired") {
		n["b"] = rapid.IntRange(1, 8).Draw(t, "m")
	}
	better := rapid.IntRange(-30, 30).Draw(t, "better")
	for _, policy := range []string{"a", "b"} {
		for seed := range n[policy] {
			draw := small.Draw(t, "draw")
			if policy == "a" {
				draw += better
			}
			r := tried(policy, uint64(seed), 900+draw, 1+report.Number(small.Draw(t, "latency"))/7, 0.5+report.Number(draw)/100)
			if rapid.IntRange(0, 9).Draw(t, "missing") == 0 {
				r.PlacementLatency = nil
			}
			runs = append(runs, r)
		}
	}
	return runs
}

func mirrored(v report.Verdict) report.Verdict {
	switch v {
	case report.Better:
		return report.Worse
	case report.Worse:
		return report.Better
	case report.Higher:
		return report.Lower
	case report.Lower:
		return report.Higher
	case report.Undecided, report.Equal, report.NoVerdict:
	}
	return v
}

// To swap base and other mirrors differences and verdicts.
func TestCompareMirrors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runs := anyRuns(t)
		there, back := pairOf(t, runs, "a"), pairOf(t, runs, "b")
		for i, row := range there.Rows {
			want := back.Rows[i]
			want.Base, want.Other = want.Other, want.Base
			d := want.Difference
			want.Difference = report.Interval{Mean: -d.Mean, Low: -d.High, High: -d.Low, N: d.N}
			want.Verdict, want.Note = mirrored(want.Verdict), row.Note // a note names a side
			if row != want {
				t.Fatalf("there %+v\nback and mirrored %+v", row, want)
			}
		}
	})
}

// There is a verdict only where there are two seeds and the interval leaves out
// 0, and it goes the way of the difference.
func TestCompareVerdictsFollowIntervals(t *testing.T) {
	seen := map[report.Verdict]bool{}
	rapid.Check(t, func(t *rapid.T) {
		for _, row := range pairOf(t, anyRuns(t), "").Rows {
			seen[row.Verdict] = true
			d := row.Difference
			way := map[report.Verdict]bool{
				report.Better: (d.Mean > 0) == (row.Better == report.HigherIsBetter),
				report.Worse:  (d.Mean > 0) == (row.Better == report.LowerIsBetter),
				report.Higher: d.Mean > 0, report.Lower: d.Mean < 0,
			}
			if right, passed := way[row.Verdict]; passed && (!right || !d.Known() || d.Holds(0)) {
				t.Fatalf("%+v", row)
			}
			if _, passed := way[row.Verdict]; row.Firm && !passed || passed && !row.Firm != strings.HasSuffix(row.Judgement(), "?") {
				t.Fatalf("%q: %+v", row.Judgement(), row)
			}
			if row.Verdict == report.Equal && (d.Mean != 0 || d.Low != d.High) {
				t.Fatalf("%+v", row)
			}
			if row.Verdict == report.Undecided && !d.Holds(0) {
				t.Fatalf("a difference was seen: %+v", row)
			}
			if row.Verdict == report.NoVerdict && row.Note == "" {
				t.Fatalf("no verdict, and no word why: %+v", row)
			}
		}
	})
	for _, v := range []report.Verdict{report.Better, report.Worse, report.Higher, report.Lower, report.Undecided, report.Equal, report.NoVerdict} {
		if !seen[v] && !testing.Short() {
			t.Errorf("no comparison had the verdict %q; the test says little", v)
		}
	}
}

// The order of runs does not matter once the base is named.
func TestCompareIgnoresOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runs := anyRuns(t)
		want := pairOf(t, runs, "a")
		got := pairOf(t, rapid.Permutation(runs).Draw(t, "order"), "a")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// What is added to all runs is in no difference.
func TestCompareIgnoresWhatAllHave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runs := anyRuns(t)
		more := slices.Clone(runs)
		add := rapid.IntRange(0, 1_000_000).Draw(t, "add")
		for i := range more {
			more[i].Tasks.Placed += add
		}
		want, got := pairOf(t, runs, "a").Rows[0], pairOf(t, more, "a").Rows[0]
		near := func(x, y report.Number) bool { return x-y < 1e-6 && y-x < 1e-6 }
		if w, g := want.Difference, got.Difference; !near(w.Mean, g.Mean) || !near(w.Low, g.Low) || !near(w.High, g.High) || want.Verdict != got.Verdict {
			t.Fatalf("%+v; with %d more %+v", want, add, got)
		}
	})
}

// Between runs of the same thing, at most 5 % of the pairs have any firm
// verdict, with all their metrics; the least that a user does must not find a winner.
func TestCompareFindsNoWinnerAmongEquals(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	const pairs = 600
	wrong := 0
	for range pairs {
		var runs []report.Run
		for seed := range uint64(5) {
			for _, policy := range []string{"a", "b"} {
				r := tried(policy, seed, 0, 0, 0)
				normal := func() report.Number { return report.Number(10 + random.NormFloat64()) }
				r.PlacementLatency = &report.Distribution{Mean: normal(), P50: normal(), P90: normal(), P99: normal(), Max: normal()}
				r.TaskResponse = &report.Distribution{Mean: normal(), P50: normal(), P90: normal(), P99: normal(), Max: normal()}
				r.Allocation["cpu"] = report.Allocation{Mean: normal(), Final: normal()}
				runs = append(runs, r)
			}
		}
		for _, row := range pairOf(t, runs, "").Rows {
			if row.Firm {
				wrong++
				break
			}
		}
	}
	if share := float64(wrong) / pairs; share < 0.02 || share > 0.075 {
		t.Errorf("%.1f%% of the pairs have a firm verdict, want nearly 5%%", 100*share)
	}
}

// Every thing that can go into a run tells experiments apart, and gives them
// different names.
func TestEverySetupDistinguishesExperiments(t *testing.T) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[report.Setup]()) {
		if field.Anonymous { // its fields are visible
			continue
		}
		other := bare("kube")
		v := reflect.ValueOf(&other.Setup).Elem().FieldByIndex(field.Index)
		switch v.Kind() {
		case reflect.String:
			v.SetString("x")
		case reflect.Float64:
			v.SetFloat(2)
		default:
			if field.Name == "Seed" || field.Name == "Certain" { // the cluster says that
				continue
			}
			t.Fatalf("Setup.%s is a %s, which this test does not know", field.Name, v.Kind())
		}
		c, err := report.Compare([]report.File{{Runs: []report.Run{bare("kube"), other}}}, "")
		if err != nil {
			t.Errorf("%s: %v", field.Name, err)
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if d := c.Pairs[0].Differs; len(d) != 1 || d[0].Name != name || c.Pairs[0].Other == c.Base {
			t.Errorf("%s: %q against %q differ in %v, want %s", field.Name, c.Pairs[0].Other, c.Base, d, name)
		}
	}
}

func TestExperimentNames(t *testing.T) {
	spread := func(policy, cluster string) report.Run {
		r := bare(policy)
		r.Cluster = cluster
		return r
	}
	for _, c := range []struct {
		name  string
		files []report.File
		want  []string
	}{
		{"policies", []report.File{{"a", []report.Run{bare("kube"), bare("random")}}}, []string{"kube", "random"}},
		{"policies in files", []report.File{{"a", []report.Run{bare("kube")}}, {"b", []report.Run{bare("random")}}}, []string{"kube", "random"}},
		{"files", []report.File{{"a", []report.Run{bare("kube")}}, {"b", []report.Run{bare("kube")}}}, []string{"a", "b"}},
		{"policies and files", []report.File{{"a", []report.Run{bare("kube"), bare("random")}}, {"b", []report.Run{bare("kube")}}}, []string{"kube, a", "random, a", "kube, b"}},
		{"clusters", []report.File{{"a", []report.Run{spread("kube", "x"), spread("kube", "y")}}}, []string{"cluster x", "cluster y"}},
		{"a cluster for each policy", []report.File{{"a", []report.Run{spread("kube", "x"), spread("random", "y")}}}, []string{"kube", "random"}},
	} {
		compared, err := report.Compare(c.files, "")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range compared.Experiments {
			got = append(got, e.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestCompareErrors(t *testing.T) {
	lost := bare("random")
	lost.Interrupted = true
	endless := bare("random")
	endless.PlacementLatency = &report.Distribution{P99: 1e300}
	ragged := bare("random")
	ragged.Sample = &report.Sample{Tasks: []uint64{1}}
	shuffled := bare("random")
	shuffled.Sample = &report.Sample{Tasks: []uint64{2, 1}, Response: make([]report.Number, 2), Latency: make([]report.Number, 2)}
	for _, c := range []struct {
		runs []report.Run
		base string
		want string
	}{
		{nil, "", "there is no run to compare"},
		{[]report.Run{bare("kube")}, "", "all runs are of one experiment, kube; want two or more"},
		{[]report.Run{bare("kube"), lost}, "", "(f: policy random, seed 0 was interrupted, and is left out)"},
		{[]report.Run{bare("kube"), bare("kube")}, "", "f: policy kube, seed 0 is there twice"},
		{[]report.Run{bare("kube"), bare("random")}, "sla", `unknown base "sla"; there are kube; random`},
		{[]report.Run{bare("kube"), endless}, "", "f: policy random, seed 0: placement_latency_s.p99 is 1e+300"},
		{[]report.Run{bare("kube"), ragged}, "", "its sample has 1 tasks, 0 responses and 0 latencies"},
		{[]report.Run{bare("kube"), shuffled}, "", "the 2 tasks of its sample are not in rising order"},
	} {
		_, err := report.Compare([]report.File{{Name: "f", Runs: c.runs}}, c.base)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
	_, err := report.Compare([]report.File{{Runs: []report.Run{bare("kube"), bare("random")}}}, "x")
	if unknown, ok := errors.AsType[report.UnknownBaseError](err); !ok || !slices.Equal(unknown.Names, []string{"kube", "random"}) {
		t.Errorf("unknown base: %#v", err)
	}
}

// Result files come from people; whatever they hold, there is an answer.
func FuzzCompare(f *testing.F) {
	for _, files := range comparisons() {
		for _, file := range files {
			var text bytes.Buffer
			if err := report.Write(&text, report.JSON, report.Results{Runs: file.Runs}); err != nil {
				f.Fatal(err)
			}
			f.Add(text.Bytes(), text.Bytes(), "")
		}
	}
	f.Add([]byte(`{"version":1,"runs":[{"policy":"a","tasks":{"placed":999999999999}},{"policy":"b","seed":1}]}`), []byte(`{"version":1}`), "b")
	f.Fuzz(func(t *testing.T, first, second []byte, base string) {
		var files []report.File
		for i, text := range [][]byte{first, second} {
			results, err := report.ReadJSON(bytes.NewReader(text))
			if err != nil {
				return
			}
			files = append(files, report.File{Name: []string{"first", "second"}[i], Runs: results.Runs})
		}
		c, err := report.Compare(files, base)
		if err != nil {
			return
		}
		for _, format := range []report.Format{report.Table, report.JSON, report.CSV} {
			if err := report.WriteComparison(new(bytes.Buffer), format, c, true); err != nil {
				t.Errorf("%s: %v", format, err)
			}
		}
	})
}

// A difference that is the same with every seed counts where the seed changes
// nothing at all, or where there are six seeds or more.
func TestCompareOfDifferencesWithoutSpread(t *testing.T) {
	runs := func(seeds int, restless bool) []report.Run {
		var runs []report.Run
		for seed := range uint64(seeds) {
			a, b := tried("a", seed, 900, 0.057, 0.5), tried("b", seed, 903, 1.001, 0.5)
			if restless {
				a.NodesActive, b.NodesActive = int(seed), int(seed)
			}
			runs = append(runs, a, b)
		}
		return runs
	}
	for _, c := range []struct {
		seeds    int
		restless bool
		want     report.Verdict
		note     string
	}{
		{1, false, report.NoVerdict, "one seed"},
		{2, false, report.Better, "the seed changes nothing"},
		{2, true, report.NoVerdict, "the same with 2 seeds; needs 6"},
		{5, true, report.NoVerdict, "the same with 5 seeds; needs 6"},
		{6, true, report.Better, "the same with all 6 seeds"},
	} {
		row := pairOf(t, runs(c.seeds, c.restless), "").Rows[0]
		if row.Verdict != c.want || row.Note != c.note || row.Difference.Mean != 3 {
			t.Errorf("%d seeds: %+v, want %s, %s", c.seeds, row, c.want, c.note)
		}
		// 1.001 - 0.057 is not 0.944 to a computer, but it is to people.
		latency := pairOf(t, runs(c.seeds, c.restless), "").Rows[9]
		if d := latency.Difference; d.Mean != 0.944 || d.Low != 0.944 || d.High != 0.944 {
			t.Errorf("%d seeds: %+v, want 0.944", c.seeds, latency)
		}
	}
}

// A metric is what stands in the result under its name.
func TestMetricsAreNamedByTheirPaths(t *testing.T) {
	full := run("quincy", 1, 1)
	full.Fragmentation = map[string]report.Fragmentation{"cpu": {Final: 0.125}, "gpu": {Final: 0.25}}
	full.Reads = reading()
	var text bytes.Buffer
	if err := report.Write(&text, report.JSON, report.Results{Runs: []report.Run{full}}); err != nil {
		t.Fatal(err)
	}
	var file struct{ Runs []map[string]any }
	if err := json.Unmarshal(text.Bytes(), &file); err != nil {
		t.Fatal(err)
	}
	other := run("kube", 1, 1)
	other.Reads = report.NewReads(report.Reads{Local: 1, Missing: 3}, 86400)
	rows := pairOf(t, []report.Run{full, other}, "").Rows
	if len(rows) < 37 {
		t.Errorf("only %d metrics", len(rows))
	}
	for _, row := range rows {
		var value any = file.Runs[0]
		for name := range strings.SplitSeq(row.Metric, ".") {
			below, _ := value.(map[string]any)
			value = below[name]
		}
		x, found := value.(float64)
		if !found || math.Abs(float64(row.Base.Mean)-x) > 1e-9 {
			t.Errorf("%s is %g, in the result %v", row.Metric, float64(row.Base.Mean), value)
		}
	}
}
