package page_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"fairlead.dev/fairlead/report"
)

// shape is how large a made-up result is.
type shape struct {
	policies       []string
	seeds          int
	steps          int     // of the series
	step           float64 // their length, in seconds
	kinds, classes []string
	nodes, moments int  // of the heat map
	stay           bool // tasks do not end, as in a packing list
}

// small is the shape of the golden page.
func small() shape {
	return shape{
		policies: []string{"kube", "best-fit"}, seeds: 1, steps: 24, step: 300, nodes: 60, moments: 4,
		kinds: []string{"cpu", "memory"}, classes: []string{"gold", "silver", "bronze"},
	}
}

// month is a month of 12,500 nodes, sampled each minute.
func month() shape {
	return shape{
		policies: []string{"kube", "best-fit"}, seeds: 1, steps: 43_200, step: 60, nodes: 12_500, moments: 48,
		kinds: []string{"cpu", "memory", "gpu"}, classes: []string{"gold", "silver", "bronze", "other"},
	}
}

// results makes up results of a shape: curves that look like those of a busy
// cluster, the same ones each time.
func (s shape) results(t *testing.T) report.Results {
	t.Helper()
	var all report.Results
	for p, policy := range s.policies {
		for seed := range s.seeds {
			r := rand.New(rand.NewPCG(uint64(p), uint64(seed)))
			all.Runs = append(all.Runs, s.run(t, policy, float64(p), uint64(seed+1), r))
		}
	}
	return all
}

func (s shape) run(t *testing.T, policy string, p float64, seed uint64, r *rand.Rand) report.Run {
	t.Helper()
	run := report.Run{
		Setup: report.Setup{
			Policy: policy, Chosen: report.Chosen{TieBreak: "fixed"}, Cluster: "synthetic:google?nodes=1000", Workload: "synthetic:google?nodes=1000",
			Seed: seed, Until: report.Number(float64(s.steps) * s.step), Speedup: 1, Initial: "keep", EvictedWork: "lost", PlannerTime: "ticks", Faults: "none",
		},
		Nodes: s.nodes, NodesActive: s.nodes - int(p), Simulated: report.Number(float64(s.steps) * s.step),
		Tasks:       report.Tasks{Submitted: 12000, Placed: 11500, Finished: 9000, Running: 2500, Pending: 500 + int(100*p), Preempted: 12},
		Allocation:  map[string]report.Allocation{},
		Utilisation: map[string]report.Utilisation{},
		Classes:     map[string]report.Class{},
		Latencies:   map[string]report.Curve{}, Availabilities: map[string]report.Curve{},
		Reasons:  map[string]int{"cpu": 300 + int(100*p), "memory": 150, "apart": 38, "unplaceable": 12},
		Examples: map[string]string{"cpu": "task 2 of job 7: 0 of 60 nodes take it: 60 lack cpu (needs 0.5, left at most 0.25)", "unplaceable": "task 0 of job 9: unplaceable on any of 60 nodes, even empty: 60 lack memory (needs 2, the largest offers 1)"},
		Planner:  report.Planner{Rounds: 5000, Decisions: 20000, Seconds: 3.25, DecisionsPerSecond: 6154},
		Series:   s.series(p, r),
		Heat:     s.heat(t, p, r),
	}
	if s.stay {
		run.Tasks.Finished, run.Tasks.Running = 0, 11_500
	}
	for c, class := range append([]string{"all"}, s.classes...) {
		run.Latencies[class] = latencies(math.Pow(4, float64(c)) * (1 + p) * (1 + r.Float64()/5))
		d := &report.Distribution{Mean: 1.2, P50: 0.35, P90: 12, P99: 125.3, Max: 4000}
		if class == "all" {
			run.PlacementLatency, run.TaskResponse, run.JobResponse = d, d, d
			continue
		}
		run.Classes[class] = report.Class{
			Submitted: 4000, Placed: 3900, Finished: 3000, Pending: 100, Preempted: c, PlacementLatency: d,
		}
		s.promise(&run, class, c, p)
	}
	for _, kind := range s.kinds {
		run.Allocation[kind] = report.Allocation{Mean: 0.72, Final: 0.75}
		run.Utilisation[kind] = report.Utilisation{Mean: 0.68, Max: 0.79}
	}
	run.Unserved = s.unserved(report.Number(p))
	return run
}

// unserved makes up what was not served: the more, the larger p is.
func (s shape) unserved(p report.Number) *report.Unserved {
	u := &report.Unserved{
		Shortfall: report.Shortfall{Waited: map[string]report.Number{}, Lost: map[string]report.Number{}},
		Shares:    &report.ShareGap{Mean: 0.04 + p/100, Largest: 0.25},
	}
	for _, kind := range s.kinds {
		u.Waited[kind], u.Lost[kind] = 12+30*p, 1.5
	}
	u.Add(report.SizeWait{UpTo: 0.1, Tasks: 11_000, Mean: 1 + p, Longest: 480 * (1 + p)})
	u.Add(report.SizeWait{UpTo: 0.5, Tasks: 1000, Mean: 70 * (1 + p), Longest: 3400 * (1 + p)})
	return u
}

// promise makes up how available the tasks of class c were, which was promised less the
// larger c is.
func (s shape) promise(run *report.Run, name string, c int, p float64) {
	class := run.Classes[name]
	target := []float64{1, 0.9, 0.5, 0}[c-1]
	class.Availability = &report.Availability{Mean: report.Number(1 - 0.05*float64(c) - 0.02*p), Min: report.Number(0.82 - 0.2*float64(c)), P50: 0.9991, Max: 1}
	class.Bill = &report.Bill{Overhead: 0.01, Cores: 1.5, Revenue: 1200}
	if target > 0 {
		class.Promise = &report.Promise{
			Target: report.Number(target), Fulfilment: report.Number(1 - 0.1*float64(c-1) - 0.05*p),
			Deficit: report.Number(0.03 * float64(c-1)), Gini: 0.02, Penalties: report.Number(12 * float64(c) * (1 + p)),
		}
	}
	run.Classes[name] = class
	curve := report.Curve{}
	for i := range 50 {
		x := 0.82 - 0.2*float64(c) + (0.18+0.2*float64(c))*float64(i)/49
		curve = append(curve, [2]report.Number{report.Number(x), report.Number(math.Pow(float64(i+1)/50, 3+p))})
	}
	run.Availabilities[name] = curve
}

// latencies is a distribution whose median is about 50 ms times slow.
func latencies(slow float64) report.Curve {
	var c report.Curve
	for i := range 60 {
		z := float64(i)/10 - 3
		c = append(c, [2]report.Number{report.Number(0.05 * slow * math.Exp(1.6*z)), report.Number(1 / (1 + math.Exp(-1.7*z)))})
	}
	c[59][1] = 1
	return c
}

func (s shape) series(p float64, r *rand.Rand) *report.Series {
	columns := map[string][]report.Number{}
	put := func(name string, at func(x float64) float64) {
		column := make([]report.Number, s.steps)
		for i := range column {
			column[i] = report.Number(at(float64(i) / float64(s.steps)))
		}
		columns[name] = column
	}
	days := float64(s.steps) * s.step / 86400
	wave := func(x float64) float64 { return math.Sin(2 * math.Pi * x * math.Max(days, 1)) }
	noise := func(size float64) float64 { return size * (r.Float64() - 0.5) }
	put("pending", func(x float64) float64 { return math.Round(math.Max(0, 200*(wave(x)+p)+noise(120))) })
	put("running", func(x float64) float64 { return math.Round(2500 + 150*wave(x) - 40*p + noise(60)) })
	put("decisions", func(float64) float64 { return math.Round(40 + noise(60)) })
	put("nodes", func(float64) float64 { return float64(s.nodes) })
	put("nodes_active", func(x float64) float64 {
		return math.Round(float64(s.nodes) * (0.9 - 0.2*p + 0.05*wave(x)))
	})
	for k, kind := range s.kinds {
		for c, class := range s.classes {
			put("allocation."+kind+"."+class, func(x float64) float64 {
				level := (0.3 - 0.07*float64(c)) * (1 - 0.15*float64(k))
				if s.stay {
					return math.Min(1.3*x, 0.93-0.02*p+noise(0.002)) / float64(len(s.classes))
				}
				return math.Max(0, level+0.03*wave(x+float64(c)/7)+noise(0.01))
			})
		}
		put("utilisation."+kind, func(x float64) float64 { return 0.55 - 0.1*float64(k) + 0.04*wave(x) + noise(0.01) })
		put("arrived."+kind, func(x float64) float64 { return 1.3 * x })
		put("fragmentation."+kind, func(x float64) float64 { return math.Min(1, 0.2+0.6*x*x+0.1*p+noise(0.02)) })
	}
	return &report.Series{Step: report.Number(s.step), Columns: columns}
}

func (s shape) heat(t *testing.T, p float64, r *rand.Rand) *report.Heat {
	t.Helper()
	h := &report.Heat{Nodes: s.nodes}
	var fill []byte
	var names []string
	for n := range s.nodes {
		names = append(names, fmt.Sprintf("n%d", n+1))
	}
	for m := range s.moments {
		h.Times = append(h.Times, report.Number(float64(s.steps)*s.step*float64(m+1)/float64(s.moments)))
		for n := range s.nodes {
			level := 0.3 + 0.6*float64(m+1)/float64(s.moments)*(1-p*float64(n)/float64(s.nodes)) + (r.Float64()-0.5)/4
			switch {
			case n%97 == 13:
				fill = append(fill, 0)
			case n%89 == 7:
				fill = append(fill, 1)
			default:
				fill = append(fill, byte(1+200*math.Min(1.1, math.Max(0, level))))
			}
		}
	}
	h.Fill, h.Names = packed(t, fill), packed(t, []byte(strings.Join(names, "\n")))
	return h
}

// packed is data as Heat holds it.
func packed(t *testing.T, data []byte) string {
	t.Helper()
	var text bytes.Buffer
	w := gzip.NewWriter(&text)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(text.Bytes())
}
