package report

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
)

// Improvements, task by task: by which factor each task was faster than it was
// under the base, as a distribution over the tasks that both samples hold (the
// plots of Firmament, OSDI 2016, and of the QoS paper, JISA 2020). A mean can
// improve while most tasks get slower; this shows it.
//
// Only runs with the same seed are held against each other, since the seed may
// be part of the workload, and the factors of all seeds are counted together.
// Times below a millisecond count as one: most tasks are placed at once, and
// a factor between 0 and a microsecond says nothing.

// Improvement is the distribution of the factors base / other of one time: 2 is
// twice as fast as under the base, 0.5 half as fast.
type Improvement struct {
	// Metric is "task_response_s" or "placement_latency_s".
	Metric string `json:"metric"`
	// Seeds is how many pairs of runs were held against each other.
	Seeds int `json:"seeds"`
	// Tasks is how many tasks both samples hold; BaseTasks and OtherTasks how
	// many each holds; BaseOf and OtherOf out of how many that finished.
	Tasks      int `json:"tasks"`
	BaseTasks  int `json:"base_tasks"`
	OtherTasks int `json:"other_tasks"`
	BaseOf     int `json:"base_of"`
	OtherOf    int `json:"other_of"`
	// Better, Worse and Same are shares of the tasks. Same is within 1 %.
	Better  Number    `json:"better"`
	Worse   Number    `json:"worse"`
	Same    Number    `json:"same"`
	Factors Quantiles `json:"factors"`
}

// Quantiles are those of a distribution, by nearest rank.
type Quantiles struct {
	P1  Number `json:"p1"`
	P5  Number `json:"p5"`
	P25 Number `json:"p25"`
	P50 Number `json:"p50"`
	P75 Number `json:"p75"`
	P95 Number `json:"p95"`
	P99 Number `json:"p99"`
}

const (
	// shortestTime is what shorter times count as, in seconds.
	shortestTime = 0.001
	// sameFactor is up to which factor, either way, a task was as fast as before.
	sameFactor = 1.01
)

// improvements compares the samples of both sides task by task. There are none
// where the workloads differ, or no two runs of the same seed have samples with
// a task in common.
func improvements(base, other *Experiment) []Improvement {
	response, latency := Improvement{Metric: "task_response_s"}, Improvement{Metric: "placement_latency_s"}
	if base.Setup.Workload != other.Setup.Workload {
		return []Improvement{}
	}
	var responses, latencies []float64
	for _, b := range base.runs {
		i, found := slices.BinarySearchFunc(other.runs, b.Seed, func(r *Run, seed uint64) int { return cmp.Compare(r.Seed, seed) })
		if !found || b.Sample == nil || other.runs[i].Sample == nil {
			continue
		}
		o := other.runs[i].Sample
		for _, imp := range []*Improvement{&response, &latency} {
			imp.count(b.Sample, o)
		}
		for pair := range inBoth(b.Sample.Tasks, o.Tasks) {
			responses = append(responses, factor(b.Sample.Response[pair[0]], o.Response[pair[1]]))
			latencies = append(latencies, factor(b.Sample.Latency[pair[0]], o.Latency[pair[1]]))
		}
	}
	if len(responses) == 0 {
		return []Improvement{}
	}
	response.sumUp(responses)
	latency.sumUp(latencies)
	return []Improvement{response, latency}
}

// check says what is wrong with a sample that was read from a file.
func (s *Sample) check() error {
	n := len(s.Tasks)
	if len(s.Response) != n || len(s.Latency) != n {
		return fmt.Errorf("its sample has %d tasks, %d responses and %d latencies; want as many of each", n, len(s.Response), len(s.Latency))
	}
	if !slices.IsSorted(s.Tasks) {
		return fmt.Errorf("the %d tasks of its sample are not in rising order", n)
	}
	return nil
}

// count adds up how many tasks there are on either side.
func (imp *Improvement) count(base, other *Sample) {
	imp.Seeds++
	imp.BaseTasks += len(base.Tasks)
	imp.OtherTasks += len(other.Tasks)
	imp.BaseOf += base.Of
	imp.OtherOf += other.Of
}

// inBoth yields the places of what is in both of two rising lists.
func inBoth(a, b []uint64) iter.Seq[[2]int] {
	return func(yield func([2]int) bool) {
		for i, j := 0, 0; i < len(a) && j < len(b); {
			switch {
			case a[i] < b[j]:
				i++
			case a[i] > b[j]:
				j++
			default:
				if !yield([2]int{i, j}) {
					return
				}
				i, j = i+1, j+1
			}
		}
	}
}

// factor is by how much a time got shorter.
func factor(base, other Number) float64 {
	return max(float64(base), shortestTime) / max(float64(other), shortestTime)
}

// sumUp fills in what the factors, of which there is one or more, say.
func (imp *Improvement) sumUp(factors []float64) {
	slices.Sort(factors)
	better, worse := 0, 0
	for _, f := range factors {
		switch {
		case f > sameFactor:
			better++
		case f < 1/sameFactor:
			worse++
		}
	}
	n := float64(len(factors))
	imp.Tasks = len(factors)
	imp.Better, imp.Worse = Number(float64(better)/n), Number(float64(worse)/n)
	imp.Same = Number(float64(len(factors)-better-worse) / n)
	q := func(share float64) Number {
		f := factors[nearestRank(share, len(factors))-1]
		return Number(math.Min(f, largestValue))
	}
	imp.Factors = Quantiles{P1: q(0.01), P5: q(0.05), P25: q(0.25), P50: q(0.50), P75: q(0.75), P95: q(0.95), P99: q(0.99)}
}
