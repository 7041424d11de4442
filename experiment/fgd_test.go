// Package experiment repeats what the papers published, and compares.
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

// TestFGDAllocation repeats the main experiment of FGD (Weng et al., ATC 2023,
// Fig. 9; specs/traces.md §3.1, GT-1): pods arrive on the 1,213 nodes of openb
// until they have asked for 130 % of its GPUs. The share of the GPUs that is
// allocated then is, in the mean over ten seeds, within half a point of what was
// published, for each list of pods and policy.
func TestFGDAllocation(t *testing.T) {
	if testing.Short() {
		t.Skip("250 runs take a minute and a half")
	}
	published := readFGD(t, "analysis_allo_discrete.csv.gz", "130")
	for _, list := range []string{"default", "gpuspec33", "multigpu50", "cpu250", "gpushare100"} {
		for policy, theirs := range fgdPolicies() {
			t.Run(list+"/"+policy, func(t *testing.T) {
				t.Parallel()
				var ours []float64
				for seed := range uint64(10) {
					ours = append(ours, 100*float64(runOpenb(t, list, policy, 42+seed).Allocation["gpu"].Final))
				}
				got, want := mean(ours), mean(published[list][theirs])
				t.Logf("%-11s %-14s %.2f (%.2f to %.2f), published %.2f (%.2f to %.2f), difference %+.2f", list, policy,
					got, slices.Min(ours), slices.Max(ours), want, slices.Min(published[list][theirs]), slices.Max(published[list][theirs]), got-want)
				if !(math.Abs(got-want) <= 0.5) {
					t.Errorf("%.2f %% of the GPUs are allocated, published %.2f %%", got, want)
				}
			})
		}
	}
}

// runOpenb is one run of the experiment.
func runOpenb(t *testing.T, list, policy string, seed uint64) report.Run {
	t.Helper()
	o := openb.Default()
	o.List, o.Inflate, o.Shuffle, o.Seed = list, 1.3, true, seed
	src, err := openb.Open(filepath.Join(data(t), "alibaba-openb"), o)
	if err != nil {
		t.Fatal(err)
	}
	p, err := queue.New(policy, queue.Options{Seed: seed, Typical: src.Typical()})
	if err != nil {
		t.Fatal(err)
	}
	run, err := sim.Run(sim.Config{Source: src, Lanes: []sched.Lane{{Name: policy, Policy: p}}, World: sim.World{Seed: seed}})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// readFGD reads a column of a table that FGD's authors published: by list and
// policy, a figure for each of ten seeds.
func readFGD(t *testing.T, name, column string) map[string]map[string][]float64 {
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
	at := slices.Index(rows[0], column)
	table := map[string]map[string][]float64{}
	for _, row := range rows[1:] {
		list := strings.TrimPrefix(row[0], "openb_pod_list_")
		v, err := strconv.ParseFloat(row[at], 64)
		if err != nil {
			t.Fatal(err)
		}
		if table[list] == nil {
			table[list] = map[string][]float64{}
		}
		table[list][row[1]] = append(table[list][row[1]], v)
	}
	return table
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / float64(len(list))
}

// data is the folder with the real traces and published tables.
func data(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("FAIRLEAD_DATA")
	if dir == "" {
		t.Skip("FAIRLEAD_DATA is not set: the folder with the real traces")
	}
	return dir
}
