package experiment

import (
	"compress/gzip"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fairlead.dev/fairlead/queue"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace/openb"
)

// fgdPolicies are our names of the policies of FGD's table.
func fgdPolicies() map[string]string {
	return map[string]string{
		"gpu-random": "01-Random", "gpu-clustering": "03-GpuClustering", "gpu-packing": "04-GpuPacking",
		"gpu-bestfit": "05-BestFit", "fgd": "06-FGD",
	}
}

// TestFGD repeats the main experiment of FGD (Weng et al., ATC 2023;
// specs/traces.md §3.1, GT-1): pods arrive on the 1,213 nodes of openb until they
// have asked for 130 % of its GPUs, with ten seeds for each list of pods and
// policy. In the mean over seeds the share of the GPUs that is allocated then is
// within half a point of what was published, and the share of the free GPUs that
// is a fragment, when half, 80 % and 90 % have been asked for, is near it.
func TestFGD(t *testing.T) {
	if testing.Short() {
		t.Skip("250 runs take a minute and a half")
	}
	allocated := readFGD(t, "analysis_allo_discrete.csv.gz")
	wasted := readFGD(t, "analysis_frag_ratio_discrete.csv.gz")
	for _, list := range []string{"default", "gpuspec33", "multigpu50", "cpu250", "gpushare100"} {
		for policy, theirs := range fgdPolicies() {
			t.Run(list+"/"+policy, func(t *testing.T) {
				t.Parallel()
				ours := map[string][]float64{}
				for seed := range uint64(10) {
					run := runOpenb(t, list, policy, 42+seed)
					ours["130"] = append(ours["130"], 100*float64(run.Allocation["gpu"].Final))
					for _, load := range []string{"50", "80", "90"} {
						ours[load] = append(ours[load], 100*wasteAt(t, &run, load))
					}
				}
				within(t, "allocated at 130 %", ours["130"], allocated.of(t, list, theirs, "130"), 0.5)
				for _, load := range []string{"50", "80", "90"} {
					within(t, "wasted at "+load+" %", ours[load], wasted.of(t, list, theirs, load), 2)
				}
			})
		}
	}
}

// within compares two means.
func within(t *testing.T, what string, ours, published []float64, most float64) {
	t.Helper()
	got, want := mean(ours), mean(published)
	t.Logf("%-26s %-18s %.2f (%.2f to %.2f), published %.2f (%.2f to %.2f), difference %+.2f", strings.TrimPrefix(t.Name(), "TestFGD/"), what,
		got, slices.Min(ours), slices.Max(ours), want, slices.Min(published), slices.Max(published), got-want)
	if !(math.Abs(got-want) <= most) {
		t.Errorf("%s: %.2f %%, published %.2f %%", what, got, want)
	}
}

// wasteAt is the fragmentation at the end of the first step by which so many per
// cent of the GPUs have been asked for.
func wasteAt(t *testing.T, run *report.Run, load string) float64 {
	t.Helper()
	percent, err := strconv.ParseFloat(load, 64)
	if err != nil {
		t.Fatal(err)
	}
	for i, arrived := range run.Series.Columns["arrived.gpu"] {
		if 100*float64(arrived) >= percent {
			return float64(run.Series.Columns["fragmentation.gpu"][i])
		}
	}
	t.Fatalf("no more than %v of the GPUs were asked for", run.Series.Columns["arrived.gpu"])
	return 0
}

// runOpenb is one run of the experiment.
func runOpenb(tb testing.TB, list, policy string, seed uint64) report.Run {
	tb.Helper()
	o := openb.Default()
	o.List, o.Inflate, o.Shuffle, o.Seed = list, 1.3, true, seed
	src, err := openb.Open(filepath.Join(data(tb), "alibaba-openb"), o)
	if err != nil {
		tb.Fatal(err)
	}
	p, err := queue.New(policy, queue.Options{Seed: seed, Typical: src.Typical()})
	if err != nil {
		tb.Fatal(err)
	}
	run, err := sim.Run(sim.Config{Source: src, Typical: src.Typical(), Lanes: []sched.Lane{{Name: policy, Policy: p}}, World: sim.World{Seed: seed}})
	if err != nil {
		tb.Fatal(err)
	}
	return run
}

// BenchmarkOpenb is one run: about 10,800 pods on 1,213 nodes, reading included.
func BenchmarkOpenb(b *testing.B) {
	for _, list := range []string{"default", "gpuspec33"} {
		for _, policy := range []string{"gpu-random", "gpu-bestfit", "gpu-packing", "gpu-clustering", "fgd"} {
			b.Run(list+"/"+policy, func(b *testing.B) {
				for b.Loop() {
					runOpenb(b, list, policy, 42)
				}
			})
		}
	}
}

// table is a table that FGD's authors published. Its first four columns name a
// run, and the others are per cent of the GPUs that have been asked for.
type table [][]string

func readFGD(t *testing.T, name string) table {
	t.Helper()
	file, err := os.Open(filepath.Join(data(t), "fgd", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(text).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// of lists the figures of a list of pods and a policy, one for each seed.
func (rows table) of(t *testing.T, list, policy, load string) (seeds []float64) {
	t.Helper()
	at := slices.Index(rows[0], load)
	for _, row := range rows[1:] {
		if row[0] != "openb_pod_list_"+list || row[1] != policy {
			continue
		}
		v, err := strconv.ParseFloat(row[at], 64)
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, v)
	}
	if len(seeds) != 10 {
		t.Fatalf("%d seeds of %s with %s are published, want 10", len(seeds), list, policy)
	}
	return seeds
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / float64(len(list))
}

// data is the folder with the real traces and published tables.
func data(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("FAIRLEAD_DATA")
	if dir == "" {
		tb.Skip("FAIRLEAD_DATA is not set: the folder with the real traces")
	}
	return dir
}
