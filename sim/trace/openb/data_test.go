package openb_test

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
	"fairlead.dev/fairlead/sim/trace/openb"
)

// The tests in this file read the real trace and compare it with the figures
// of the specification (specs/traces.md, sections 0, 2.7 and 3.1), which were
// computed by other means.

func openData(t *testing.T, o openb.Options) *openb.Source {
	t.Helper()
	data := os.Getenv("FAIRLEAD_DATA")
	if data == "" {
		t.Skip("FAIRLEAD_DATA is not set: it names the folder that holds alibaba-openb")
	}
	src, err := openb.Open(filepath.Join(data, "alibaba-openb"), o)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// sums are what a source holds.
type sums struct {
	nodes, pods int
	capacity    [3]int64 // cpu, memory, gpu
	gpus        int64    // asked for, in thousandths
	cpuOnly     int
	shared      int // ask for less than one GPU
	required    int
}

func count(t *testing.T, src *openb.Source) sums {
	t.Helper()
	var s sums
	var r trace.Record
	for {
		err := src.Next(&r)
		if errors.Is(err, io.EOF) {
			return s
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.What == trace.NodeAdded {
			s.nodes++
			for k, q := range r.Node.Capacity {
				s.capacity[k] += q
			}
			continue
		}
		s.pods++
		gpu := r.Task.Demand[2]
		s.gpus += gpu
		switch {
		case gpu == 0:
			s.cpuOnly++
		case gpu < 1000:
			s.shared++
		}
		if len(r.Task.Requirements) > 0 {
			s.required++
		}
	}
}

func TestDataLists(t *testing.T) {
	nodes := [3]int64{107_018_000, 492_020 * 1024, 6_212_000}
	for _, c := range []struct {
		list              string
		want              sums
		typical, distinct int // shapes
	}{
		{"default", sums{1213, 8152, nodes, 6_086_800, 1088, 3078, 0}, 35, 91},
		{"cpu250", sums{1213, 9420, nodes, 6_086_800, 2356, 3078, 0}, 34, 91},
		{"gpushare100", sums{1213, 8152, nodes, 3_952_670, 1088, 7064, 0}, 21, 49},
		{"gpuspec33", sums{1213, 8152, nodes, 6_086_800, 1088, 3078, 2388}, 127, 330},
		{"multigpu50", sums{1213, 9061, nodes, 11_358_800, 1088, 3078, 0}, 43, 91},
	} {
		o := openb.Default()
		o.List = c.list
		src := openData(t, o)
		typical := src.Typical()
		covered := 0
		for _, shape := range typical {
			covered += shape.Tasks
		}
		if len(typical) != c.typical {
			t.Errorf("%s: %d typical shapes, want %d", c.list, len(typical), c.typical)
		}
		if covered*100 < 95*c.want.pods || (covered-typical[len(typical)-1].Tasks)*100 >= 95*c.want.pods {
			t.Errorf("%s: the last shape is not the one that reaches 95 %%", c.list)
		}
		if got := distinct(t, openData(t, o)); got != c.distinct {
			t.Errorf("%s: %d distinct shapes, want %d", c.list, got, c.distinct)
		}
		if diff := gocmp.Diff(c.want, count(t, src), gocmp.AllowUnexported(sums{})); diff != "" {
			t.Error(c.list, diff)
		}
	}
}

// distinct counts all shapes, where memory does not count.
func distinct(t *testing.T, src *openb.Source) int {
	t.Helper()
	return len(trace.TypicalOf(src.Kinds(), func(yield func(trace.Task) bool) {
		var r trace.Record
		for src.Next(&r) == nil {
			if r.What == trace.TaskSubmitted && !yield(r.Task) {
				return
			}
		}
	}, 100))
}

func TestDataAllNodes(t *testing.T) {
	o := openb.Default()
	o.Nodes = "all"
	got := count(t, openData(t, o))
	if got.nodes != 1523 || got.capacity[0] != 125_514_000 || got.capacity[2] != 6_212_000 {
		t.Errorf("%+v, want 1523 nodes, 125,514 cores, 6,212 GPUs", got)
	}
}

// The experiments of FGD let 130 % of the GPUs be asked for, short of the pod
// that would pass it, and so at most 8 GPUs short.
func TestDataInflated(t *testing.T) {
	const most = 6_212_000 * 13 / 10
	for _, list := range []string{"default", "cpu250", "gpushare100", "gpuspec33", "multigpu50"} {
		got := count(t, openData(t, openb.Options{Nodes: "gpu", List: list, Inflate: 1.3, Shuffle: true, Seed: 42}))
		if got.gpus > most || got.gpus < most-8000 {
			t.Errorf("%s: pods ask for %d of %d thousandths of GPUs", list, got.gpus, most)
		}
	}
}

// With its own times the list hardly uses the cluster, which is why it is not
// read so unless asked for. From creation to deletion the most is 65,590; pods
// that start at once run no longer, and the most is a little less.
func TestDataTimed(t *testing.T) {
	o := openb.Default()
	o.Timed = true
	pods, gpus := peak(t, openData(t, o))
	if pods != 56 || gpus != 64_590 {
		t.Errorf("at most %d pods with %d thousandths of GPUs at once, want 56 with 64,590", pods, gpus)
	}
}

// peak starts every pod when it is submitted and returns how many there are at
// most, and how many GPUs they ask for at most.
func peak(t *testing.T, src *openb.Source) (pods int, gpus int64) {
	t.Helper()
	type change struct {
		at   cluster.Time
		pods int
		gpus int64
	}
	var changes []change
	var r trace.Record
	for src.Next(&r) == nil {
		if r.What != trace.TaskSubmitted {
			continue
		}
		changes = append(changes, change{r.Time, 1, r.Task.Demand[2]})
		if r.Task.Work != cluster.Never {
			changes = append(changes, change{r.Time + r.Task.Work, -1, -r.Task.Demand[2]})
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.pods, b.pods)) })
	nowPods, nowGPUs := 0, int64(0)
	for _, c := range changes {
		nowPods += c.pods
		nowGPUs += c.gpus
		pods, gpus = max(pods, nowPods), max(gpus, nowGPUs)
	}
	return pods, gpus
}
