package workload

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// tally collects what is published of a set of tasks.
type tally struct {
	tasks, jobs     int
	cpu, memory     []float64
	bandTasks       [bands]float64
	bandCPU         [bands]float64
	bandMemory      [bands]float64
	priority        [12]float64
	jobPriority     [12]float64
	class, jobClass [4]float64
	sizes           []float64
	apart, wants    float64
	apartJobs       float64
	userJobs        map[string]int
	gaps            []float64 // seconds, as are the next
	work            []float64 // of small jobs
	runs            []float64 // of tasks that end in the window in which they came
	arrived         cluster.Time
	longest         cluster.Time // of the tasks of the job
}

// window is how long the part of Google's trace is that says when tasks end.
const window = 5011 * cluster.Second

func (y *tally) add(r *trace.Record) {
	k := &r.Task
	y.tasks++
	c, m := float64(k.Demand[0])/perUnit, float64(k.Demand[1])/perUnit
	b := band(k.Priority)
	y.cpu, y.memory = append(y.cpu, c), append(y.memory, m)
	y.bandTasks[b]++
	y.bandCPU[b] += c
	y.bandMemory[b] += m
	y.priority[k.Priority]++
	y.class[k.Class]++
	if k.PerNode > 0 {
		y.apart++
	}
	if len(k.Requirements) > 0 {
		y.wants++
	}
	if at := r.Time % window; k.Work <= window-at {
		y.runs = append(y.runs, k.Work.Seconds())
	}
	if k.Index == 0 {
		y.longest = 0
	}
	y.longest = max(y.longest, k.Work)
	if k.Index == k.JobTasks-1 && k.JobTasks < largeJob {
		y.work = append(y.work, y.longest.Seconds())
	}
	if k.Index > 0 {
		return
	}
	y.jobs++
	y.jobPriority[k.Priority]++
	y.jobClass[k.Class]++
	y.sizes = append(y.sizes, float64(k.JobTasks))
	y.userJobs[k.User]++
	if k.PerNode > 0 {
		y.apartJobs++
	}
	y.gaps = append(y.gaps, (r.Time - y.arrived).Seconds())
	y.arrived = r.Time
}

// sort makes the quantiles ready.
func (y *tally) sort() {
	for _, v := range [][]float64{y.cpu, y.memory, y.sizes, y.gaps, y.work, y.runs} {
		slices.Sort(v)
	}
}

func quantile(sorted []float64, p float64) float64 { return sorted[int(p*float64(len(sorted)))] }

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// variation is the standard deviation over the mean.
func variation(v []float64) float64 {
	m, sum := mean(v), 0.0
	for _, x := range v {
		sum += (x - m) * (x - m)
	}
	return math.Sqrt(sum/float64(len(v))) / m
}

func above(sorted []float64, limit float64) float64 {
	n := 0
	for _, x := range sorted {
		if x > limit {
			n++
		}
	}
	return float64(n) / float64(len(sorted))
}

// topUsers is the share of jobs of the n busiest users.
func (y *tally) topUsers(n int) float64 {
	var counts []int
	for _, c := range y.userJobs {
		counts = append(counts, c)
	}
	slices.Sort(counts)
	sum := 0
	for _, c := range counts[len(counts)-n:] {
		sum += c
	}
	return float64(sum) / float64(y.jobs)
}

// published is one number that is known of Google's cluster, and how far ours
// may be from it, as a share of it.
type published struct {
	name                      string
	published, tolerance, got float64
}

func check(t *testing.T, rows []published) {
	t.Helper()
	var text strings.Builder
	for _, r := range rows {
		off := math.Abs(r.got-r.published) / r.published
		fmt.Fprintf(&text, "%-40s %12.5g %12.5g  %5.1f %% (%.0f %%)\n", r.name, r.published, r.got, 100*off, 100*r.tolerance)
		if !(off <= r.tolerance) {
			t.Errorf("%s: published %g, got %g, want within %.0f %%", r.name, r.published, r.got, 100*r.tolerance)
		}
	}
	t.Logf("published, ours, apart (allowed)\n%s", text.String())
}

// TestPublished generates Google's cluster at its own size, with its stock and
// eight days of its flow, and compares it with what is known of it. Much of
// that went into the tables, so it shows that drawing keeps what they say; it
// is no independent evidence.
func TestPublished(t *testing.T) {
	const nodes, days = 12477, 8
	g := Google{Nodes: nodes, TasksPerNode: 144339.0 / nodes, Seed: 1, Rate: 1, Constrained: 0.06, Length: days * cluster.Day}
	s, err := New(g)
	if err != nil {
		t.Fatal(err)
	}
	stock, flow := tally{userJobs: map[string]int{}}, tally{userJobs: map[string]int{}}
	mix := map[string]float64{}
	var cpu, memory float64
	var r trace.Record
	for err = s.Next(&r); err == nil; err = s.Next(&r) {
		switch {
		case r.What == trace.NodeAdded:
			cpu += float64(r.Node.Capacity[0]) / perUnit
			memory += float64(r.Node.Capacity[1]) / perUnit
			mix[fmt.Sprint(r.Node.Labels[1].Value, r.Node.Capacity)]++
		case r.Task.Job < firstFlowJob:
			stock.add(&r)
		default:
			flow.add(&r)
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	stock.sort()
	flow.sort()
	t.Run("machines", func(t *testing.T) {
		check(t, []published{
			{"nodes HofL .50/.4995", 6672, 0, mix["HofL[5000000 4995000]"]},
			{"nodes HofL .50/.2493", 3835, 0, mix["HofL[5000000 2493000]"]},
			{"nodes GtXa 1/1", 788, 0, mix["GtXa[10000000 10000000]"]},
			{"nodes 70ZO .25/.2498", 123, 0, mix["70ZO[2500000 2498000]"]},
			{"cpu of all nodes", 6603.25, 0.001, cpu},
			{"memory of all nodes", 5862.75, 0.001, memory},
		})
	})
	t.Run("stock", func(t *testing.T) { checkStock(t, &stock, cpu, memory) })
	t.Run("flow", func(t *testing.T) { checkFlow(t, &flow, days) })
}

func checkStock(t *testing.T, y *tally, cpu, memory float64) {
	t.Helper()
	n, jobs := float64(y.tasks), float64(y.jobs)
	rows := []published{
		{"tasks", 144339, 0.001, n},
		{"jobs", 3981, 0.01, jobs},
		{"tasks a job", 36.3, 0.01, n / jobs},
		{"jobs of one task", 0.594, 0.02, 1 - above(y.sizes, 1)},
		{"jobs of more than 10", 0.143, 0.02, above(y.sizes, 10)},
		{"jobs of more than 100", 0.046, 0.05, above(y.sizes, 100)},
		{"jobs of more than 1000", 0.0050, 0.1, above(y.sizes, 1000)},
		{"largest job", 20010, 0.02, y.sizes[len(y.sizes)-1]},
		{"cpu asked for, of all there is", 8360.1 / 6603.25, 0.01, mean(y.cpu) * n / cpu},
		{"memory asked for", 6546.0 / 5862.75, 0.01, mean(y.memory) * n / memory},
		{"cpu p10", 0.0125, 0.01, quantile(y.cpu, 0.1)},
		{"cpu p50", 0.0588, 0.1, quantile(y.cpu, 0.5)},
		{"cpu p90", 0.125, 0.01, quantile(y.cpu, 0.9)},
		{"cpu p99", 0.3125, 0.2, quantile(y.cpu, 0.99)},
		{"memory p10", 0.0039, 0.2, quantile(y.memory, 0.1)},
		{"memory p50", 0.0256, 0.1, quantile(y.memory, 0.5)},
		{"memory p90", 0.1184, 0.1, quantile(y.memory, 0.9)},
		{"memory p99", 0.2249, 0.15, quantile(y.memory, 0.99)},
		{"tasks apart", 0.241, 0.02, y.apart / n},
		{"jobs apart", 0.149, 0.02, y.apartJobs / jobs},
		{"tasks with requirements", 0.06, 0.01, y.wants / n},
		{"jobs of the busiest user", 0.1347, 0.15, y.topUsers(1)},
		{"jobs of the ten busiest", 0.3338, 0.1, y.topUsers(10)},
		// Users of a single job are drawn or not.
		{"users", 507, 0.2, float64(len(y.userJobs))},
	}
	for b, p := range [bands][3]float64{{0.4142, 0.032253, 0.018455}, {0.1974, 0.056125, 0.070697}, {0.3883, 0.086212, 0.061158}} {
		rows = append(rows,
			published{fmt.Sprintf("band %d: share of tasks", b), p[0], 0.01, y.bandTasks[b] / n},
			published{fmt.Sprintf("band %d: cpu", b), p[1], 0.01, y.bandCPU[b] / y.bandTasks[b]},
			published{fmt.Sprintf("band %d: memory", b), p[2], 0.01, y.bandMemory[b] / y.bandTasks[b]})
	}
	for p, share := range [12]float64{0: 0.2925, 1: 0.1217, 2: 0.1759, 8: 0.0215, 9: 0.3374, 10: 0.0056, 11: 0.0453} {
		if share == 0 {
			continue
		}
		rows = append(rows, published{fmt.Sprintf("priority %d: share of tasks", p), share, 0.02, y.priority[p] / n})
	}
	for p, share := range [12]float64{0: 0.08, 1: 0.20, 9: 0.52, 10: 0.11} {
		if share == 0 {
			continue
		}
		rows = append(rows, published{fmt.Sprintf("priority %d: share of jobs", p), share, 0.05, y.jobPriority[p] / jobs})
	}
	for c, share := range [4]float64{0.346, 0.175, 0.286, 0.193} {
		rows = append(rows, published{fmt.Sprintf("class %d: share of tasks", c), share, 0.02, y.class[c] / n})
	}
	check(t, rows)
}

func checkFlow(t *testing.T, y *tally, days float64) {
	t.Helper()
	n, jobs := float64(y.tasks), float64(y.jobs)
	rows := []published{
		{"jobs in 29 days", 668088, 0.03, jobs / days * 29},
		{"tasks in 29 days", 25.43e6, 0.06, n / days * 29},
		{"tasks a job", 37.8, 0.06, n / jobs},
		// Published for 29 days; 0.815 in the 83 minutes at hand.
		{"jobs of one task", 0.75, 0.1, 1 - above(y.sizes, 1)},
		{"jobs of more than 100", 0.0558, 0.25, above(y.sizes, 100)},
		{"gap mean", 3.75, 0.03, mean(y.gaps)},
		{"gap variation", 1.84, 0.1, variation(y.gaps)},
		{"gaps below 3 ms", 0.25, 0.05, 1 - above(y.gaps, 0.003)},
		{"gap p50", 0.886, 0.1, quantile(y.gaps, 0.5)},
		{"gap p75", 4.05, 0.05, quantile(y.gaps, 0.75)},
		{"gap p90", 12.6, 0.05, quantile(y.gaps, 0.9)},
		{"gap p99", 31.3, 0.1, quantile(y.gaps, 0.99)},
		// The jobs of part 0 that end in it; ours are of all priorities.
		{"task run in a window p10", 141, 0.2, quantile(y.runs, 0.1)},
		{"task run in a window p50", 367, 0.2, quantile(y.runs, 0.5)},
		{"task run in a window p90", 1604, 0.2, quantile(y.runs, 0.9)},
		{"task run in a window mean", 561, 0.2, mean(y.runs)},
		// Published of all jobs, ours of the small ones, nine of ten. Over all
		// jobs ours are 222 s and 2386 s: the last task of a large job ends late.
		{"job run p50", 176, 0.15, quantile(y.work, 0.5)},
		{"job run p90", 1649, 0.25, quantile(y.work, 0.9)},
		{"tasks apart", 0.241, 0.15, y.apart / n},
		{"tasks with requirements", 0.06, 1.0 / 6, y.wants / n},
		{"jobs of the busiest user", 0.1471, 0.05, y.topUsers(1)},
		{"jobs of the ten busiest", 0.5572, 0.02, y.topUsers(10)},
	}
	for p, share := range [12]float64{0: 0.2545, 1: 0.0965, 2: 0.0437, 4: 0.5584, 6: 0.0252, 8: 0.0100, 9: 0.0113} {
		if share == 0 {
			continue
		}
		rows = append(rows, published{fmt.Sprintf("priority %d: share of tasks", p), share, 0.2, y.priority[p] / n})
	}
	for c, share := range [4]float64{0.384, 0.320, 0.289, 0.0064} {
		rows = append(rows, published{fmt.Sprintf("class %d: share of jobs", c), share, 0.05, y.jobClass[c] / jobs})
	}
	check(t, rows)
}
