package experiment

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"fairlead.dev/fairlead/queue"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/dlrm"
)

// TestDLRM replays 23,871 pods of 156 inference services (Alibaba, 2025) with
// their real anti-affinity, max_instance_per_node. From the records of the run
// alone it is counted again how many pods of a service share a node: never more
// than each of them allows, and at some time as many.
func TestDLRM(t *testing.T) {
	allowed := limits(t)
	for _, policy := range []string{"kube", "gpu-bestfit", "fgd"} {
		p, err := queue.New(policy, queue.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		var placements, tasks bytes.Buffer
		run, err := sim.Run(sim.Config{
			Source: openDLRM(t), Lanes: []sched.Lane{{Name: policy, Policy: p}},
			Output: sim.Output{Placements: &placements, Tasks: &tasks},
		})
		if err != nil {
			t.Fatal(err)
		}
		if run.Tasks.Submitted != 23_871 || run.Tasks.Placed < 23_000 || run.Tasks.Evicted > 0 {
			t.Errorf("%s: %+v", policy, run.Tasks)
		}
		over, full := count(t, &placements, &tasks, allowed)
		t.Logf("%s: %d of 23,871 pods placed; %d times more pods of a service on a node than one of them allows, %d times as many", policy, run.Tasks.Placed, over, full)
		if over > 0 || full < 100 {
			t.Errorf("%s: want 0 times, and often", policy)
		}
	}
}

// pod names a task as records do: job and task.
type pod [2]string

func openDLRM(t *testing.T) *dlrm.Source {
	t.Helper()
	src, err := dlrm.Open(filepath.Join(data(t), "alibaba-dlrm", "disaggregated_DLRM_trace.csv.gz"), dlrm.Default())
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// limits is how many pods of its service a node may hold, by pod; 0 is any
// number.
func limits(t *testing.T) map[pod]int {
	t.Helper()
	src, all := openDLRM(t), map[pod]int{}
	for {
		var r trace.Record
		err := src.Next(&r)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.What == trace.TaskSubmitted {
			all[pod{strconv.FormatUint(r.Task.Job, 10), strconv.FormatUint(uint64(r.Task.Index), 10)}] = int(r.Task.PerNode)
		}
	}
}

// count plays the records, and counts how often a pod came to a node that then
// held more pods of its service than the strictest of them allows, or as many.
func count(t *testing.T, placements, tasks io.Reader, allowed map[pod]int) (over, full int) {
	t.Helper()
	type change struct {
		at   float64 // seconds
		pod  pod
		node string
		ends bool
	}
	var changes []change
	ends := map[pod]float64{}
	for _, row := range rowsOf(t, tasks)[1:] {
		if row[7] == "finish" {
			ends[pod{row[0], row[1]}] = seconds(t, row[6])
		}
	}
	for _, row := range rowsOf(t, placements) {
		at, p := seconds(t, row[0])/1e6, pod{row[2], row[3]}
		end, ended := ends[p]
		if ended && end <= at {
			continue // it had nothing to do
		}
		changes = append(changes, change{at, p, row[4], false})
		if ended {
			changes = append(changes, change{end, p, row[4], true})
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int {
		switch {
		case a.at != b.at || a.ends == b.ends:
			return cmp.Compare(a.at, b.at)
		case a.ends:
			return -1
		}
		return 1
	})
	together := map[[2]string][]pod{} // by service and node
	for _, c := range changes {
		key := [2]string{c.pod[0], c.node}
		if c.ends {
			at := slices.Index(together[key], c.pod)
			together[key] = slices.Delete(together[key], at, at+1)
			continue
		}
		together[key] = append(together[key], c.pod)
		strictest := 0
		for _, p := range together[key] {
			if limit := allowed[p]; limit > 0 && (strictest == 0 || limit < strictest) {
				strictest = limit
			}
		}
		switch {
		case strictest > 0 && len(together[key]) > strictest:
			over++
		case strictest > 0 && len(together[key]) == strictest:
			full++
		}
	}
	return over, full
}

func rowsOf(t *testing.T, file io.Reader) [][]string {
	t.Helper()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func seconds(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
