package sim

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
)

// The whole result of a run that can be followed by hand. Rewrite it with
// go test ./sim -run TestResult -rewrite.
func TestResult(t *testing.T) {
	datadriven.RunTest(t, "testdata/contest.txt", func(t *testing.T, d *datadriven.TestData) string {
		t.Helper()
		if d.Cmd != "contest" {
			t.Fatalf("unknown command %s", d.Cmd)
		}
		r, err := Run(Config{
			Setup: report.Setup{Policy: "priority"}, Source: contest(), Lanes: lane(t, "priority"),
			World: World{Overheads: Overheads{Cold: []cluster.Time{cluster.Second}, Hot: []cluster.Time{cluster.Second}}}, Planner: Planner{Time: Zero},
		})
		if err != nil {
			t.Fatal(err)
		}
		// A tenth of a second a step says too much for reading: every fifth.
		for name, column := range r.Series.Columns {
			var some []report.Number
			for i := 4; i < len(column); i += 5 {
				some = append(some, column[i])
			}
			r.Series.Columns[name] = some
		}
		fill := unpacked(t, r.Heat.Fill)
		r.Heat.Fill, r.Heat.Names = fmt.Sprintf("%d", fill), string(unpacked(t, r.Heat.Names))
		var text bytes.Buffer
		if err := report.Write(&text, report.JSON, report.Results{Runs: []report.Run{r}}); err != nil {
			t.Fatal(err)
		}
		return text.String()
	})
	if text, err := os.ReadFile("testdata/contest.txt"); err != nil || !strings.Contains(string(text), "\ncontest\n") {
		t.Errorf("testdata/contest.txt holds no case, error %v", err)
	}
}

// The same configuration gives the same bytes, though a result holds maps and
// what is compressed.
func TestResultIsDeterministic(t *testing.T) {
	var first string
	for range 3 {
		faults := Hostile()
		faults.NodeLoss, faults.Foreign = 10*cluster.Minute, 20*cluster.Second
		r, err := Run(Config{Source: story(12, 300), Lanes: lane(t, "priority"), World: World{Seed: 3, Faults: faults}, Until: cluster.Hour})
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := report.Write(&text, report.JSON, report.Results{Runs: []report.Run{r}}); err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = text.String()
		} else if text.String() != first {
			t.Fatal("two runs differ")
		}
	}
}

// What is allocated in the end is a share of what there is then: two of three nodes.
func TestFinalAllocation(t *testing.T) {
	l := full(3)
	l.records = l.records[:len(l.records)-1]
	if got := float64(underPriority(t, l).Allocation["cpu"].Final); got < 0.666 || got > 0.667 {
		t.Errorf("in the end %v are allocated, want two thirds", got)
	}
}

// What the series says agrees with the means and the ends that the run reports.
func TestSeriesAgreesWithTheRun(t *testing.T) {
	r, err := Run(Config{Source: story(2, 300), Lanes: lane(t, "priority"), Until: 4 * cluster.Minute})
	if err != nil {
		t.Fatal(err)
	}
	c := r.Series.Columns
	mean := func(of ...string) (sum float64) {
		for _, name := range of {
			for _, v := range c[name] {
				sum += float64(v) / float64(len(c[name]))
			}
		}
		return sum
	}
	last := func(name string) int { return int(c[name][len(c[name])-1]) }
	if got, want := mean("allocation.cpu.gold", "allocation.cpu.silver", "allocation.cpu.bronze"), float64(r.Allocation["cpu"].Mean); got < want-1e-9 || got > want+1e-9 || want == 0 {
		t.Errorf("mean allocation %v, want %v", got, want)
	}
	if got, want := mean("utilisation.cpu"), float64(r.Utilisation["cpu"].Mean); got < want-1e-9 || got > want+1e-9 || want == 0 {
		t.Errorf("mean utilisation %v, want %v", got, want)
	}
	decisions := int(mean("decisions")*float64(len(c["decisions"])) + 0.5)
	if r.Tasks.Running == 0 || r.Tasks.Pending == 0 || r.Tasks.Evicted == 0 ||
		last("running") != r.Tasks.Running || last("pending") != r.Tasks.Pending || last("nodes") != r.Nodes ||
		last("nodes_active") != r.NodesActive || decisions != r.Planner.Decisions {
		t.Errorf("the series ends with %d running, %d pending, %d of %d nodes active, and has %d decisions; the run has %+v, %d of %d nodes, %d decisions",
			last("running"), last("pending"), last("nodes_active"), last("nodes"), decisions, r.Tasks, r.NodesActive, r.Nodes, r.Planner.Decisions)
	}
	if got := slices.Sorted(maps.Keys(r.Latencies)); !slices.Equal(got, []string{"all", "bronze", "gold", "silver"}) {
		t.Errorf("latency curves of %v", got)
	}
	if all := r.Latencies["all"]; all[len(all)-1] != [2]report.Number{r.PlacementLatency.Max, 1} {
		t.Errorf("the curve ends at %v, want all at %v", all[len(all)-1], r.PlacementLatency.Max)
	}
}
