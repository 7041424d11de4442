package dlrm_test

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/dlrm"
)

// The tests in this file read the real trace and compare it with the figures of
// its description and of the specification (specs/traces.md, section 0).

func dataFile(t *testing.T) string {
	t.Helper()
	data := os.Getenv("FAIRLEAD_DATA")
	if data == "" {
		t.Skip("FAIRLEAD_DATA is not set: it names the folder that holds alibaba-dlrm")
	}
	return filepath.Join(data, "alibaba-dlrm", "disaggregated_DLRM_trace.csv.gz")
}

// stay is when an instance is there.
type stay struct {
	from, to cluster.Time
	gpus     int64 // in thousandths
}

// peaks returns how many instances are there at most, and how many GPUs they
// have at most.
func peaks(stays []stay) [2]int64 {
	type change struct {
		at              cluster.Time
		instances, gpus int64
	}
	var changes []change
	for _, s := range stays {
		changes = append(changes, change{s.from, 1, s.gpus}, change{s.to, -1, -s.gpus})
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.instances, b.instances)) })
	var now, most [2]int64
	for _, c := range changes {
		now[0] += c.instances
		now[1] += c.gpus
		most[0], most[1] = max(most[0], now[0]), max(most[1], now[1])
	}
	return most
}

// The peak is reached by instances that wait, which are there from creation to
// deletion. If all start at once, one less is there.
func TestDataPeak(t *testing.T) {
	var published []stay
	header := trace.Header{
		Needed: []string{"gpu_request", "creation_time", "deletion_time"},
		Optional: []string{
			"instance_sn", "role", "app_name", "cpu_request", "cpu_limit", "gpu_limit", "rdma_request", "rdma_limit",
			"memory_request", "memory_limit", "disk_request", "disk_limit", "max_instance_per_node", "scheduled_time",
		},
	}
	err := trace.ReadTable(dataFile(t), &trace.Skips{}, header, func(c trace.Columns, row *trace.Row) error {
		s := stay{to: cluster.Never, gpus: row.Decimal(c["gpu_request"], "a number", 3, trace.Up)}
		if at := c["creation_time"]; !row.Empty(at) {
			s.from = cluster.Time(row.Decimal(at, "a time", 6, trace.Down))
		}
		if at := c["deletion_time"]; !row.Empty(at) {
			s.to = cluster.Time(row.Decimal(at, "a time", 6, trace.Down))
		}
		published = append(published, s)
		return row.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := peaks(published); got != [2]int64{8984, 3_414_000} {
		t.Errorf("at most %d instances with %d thousandths of GPUs, want 8,984 with 3,414,000", got[0], got[1])
	}
	var started []stay
	for _, r := range records(t) {
		if r.What != trace.TaskSubmitted {
			continue
		}
		s := stay{r.Time, cluster.Never, r.Task.Demand[2]}
		if r.Task.Work != cluster.Never {
			s.to = r.Time + r.Task.Work
		}
		started = append(started, s)
	}
	if got := peaks(started); got != [2]int64{8983, 3_414_000} {
		t.Errorf("if all start at once: at most %d instances with %d thousandths of GPUs, want 8,983 with 3,414,000", got[0], got[1])
	}
}

// records reads the trace on the nodes that it has unless told otherwise.
func records(t *testing.T) []trace.Record {
	t.Helper()
	src, err := dlrm.Open(dataFile(t), dlrm.Default())
	if err != nil {
		t.Fatal(err)
	}
	var all []trace.Record
	for {
		var r trace.Record
		err := src.Next(&r)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
}

func TestDataCounts(t *testing.T) {
	got := map[string]int{}
	jobs := map[uint64]uint32{}
	for _, r := range records(t) {
		if r.What == trace.NodeAdded {
			got["nodes"]++
			continue
		}
		got["instances"]++
		got[r.Task.Requirements[0].Value]++
		jobs[r.Task.Job] = r.Task.JobTasks
		if r.Time == 0 {
			got["at the start"]++
		}
		if r.Task.Work == cluster.Never {
			got["endless"]++
		}
		if r.Task.PerNode == 0 {
			got["any number on a node"]++
		}
	}
	got["services"] = len(jobs)
	for _, instances := range jobs {
		got["instances of services"] += int(instances)
	}
	want := map[string]int{
		"nodes": 2912, "instances": 23_871, "instances of services": 23_871, "services": 156, "CN": 16_485, "HN": 7386,
		"at the start": 7280, "endless": 8878, "any number on a node": 12_248,
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
