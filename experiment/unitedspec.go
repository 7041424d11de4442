package experiment

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/setup"
	"fairlead.dev/fairlead/sim"
)

// This file runs parts of the acceptance table: most are specs, what 'fairlead simulate' runs; the others
// are cases of the papers' experiments.

// specOf is the newcomer's run with that source of nodes and tasks.
func specOf(source string) setup.Spec {
	s := setup.Default()
	s.Source.Cluster, s.Policies = source, nil
	return s
}

// until is the spec of a run that stops then.
func until(s setup.Spec, at cluster.Time) setup.Spec {
	s.Limits.Until = new(setup.Time(at))
	return s
}

// shorter is the spec as it is at full size, and at a smaller one a run that stops then.
func shorter(o *Options, s setup.Spec, quick cluster.Time) setup.Spec {
	if o.Size == Full {
		return s
	}
	return until(s, of(o.Size, 0, quick, quick/10))
}

// traceSource names a file or folder of the data as a source.
func traceSource(o *Options, format, path, query string) string {
	return strings.TrimSuffix(format+":"+filepath.Join(o.Data, path)+"?"+query, "?")
}

// specPart is a part that is a spec, of which the look may note more of a run.
func specPart(s setup.Spec, look func(*tried)) part {
	return watchedPart(s, look, false)
}

// userPart is one that also says how long the tasks of each user waited.
func userPart(s setup.Spec) part { return watchedPart(s, nil, true) }

func watchedPart(s setup.Spec, look func(*tried), users bool) part {
	name := s.Source.Cluster
	if text := worldText(&s); text != "" {
		name += ", " + text
	}
	return part{name: name, run: func(o *Options, by setup.Policy, seed uint64) (*tried, error) {
		came, err := runSpec(o, s, by, seed, users)
		if err == nil && look != nil {
			look(came)
		}
		return came, err
	}}
}

// worldText is what else than the source the name of a part says.
func worldText(s *setup.Spec) string {
	var list []string
	if s.Limits.Until != nil {
		list = append(list, "until "+cluster.Time(*s.Limits.Until).String())
	}
	if s.World.EvictedWork != "lost" {
		list = append(list, "evicted work "+s.World.EvictedWork)
	}
	for _, kind := range []string{"cpu", "memory"} {
		if factor, given := s.World.Overcommit[kind]; given {
			list = append(list, fmt.Sprintf("%s × %g", kind, factor))
		}
	}
	if s.Source.Data != "" {
		list = append(list, "data "+s.Source.Data)
	}
	return strings.Join(list, ", ")
}

// runSpec runs a spec with a policy and a seed.
func runSpec(o *Options, s setup.Spec, by setup.Policy, seed uint64, users bool) (*tried, error) {
	s.Policies, s.Seeds = []setup.Policy{by}, setup.Seeds{seed}
	p, err := s.Plan(policies.All())
	if err != nil {
		return nil, err
	}
	source, err := p.Sources.Open(seed)
	if err != nil {
		return nil, err
	}
	defer source.Close() //nolint:errcheck // it was only read
	config, err := p.Config(p.Runs()[0], source, setup.Env{Stop: o.Stop})
	if err != nil {
		return nil, err
	}
	start := time.Now()
	config.Planner.Clock = func() cluster.Time { return cluster.Time(time.Since(start).Microseconds()) }
	var tasks bytes.Buffer
	if users {
		config.Output.Tasks = &tasks
	}
	came := &tried{outcome: outcome{simulation: &simulation{policy: by.Name}}, counts: map[string]float64{}}
	if came.run, err = sim.Run(config); err == nil && users {
		came.waited, err = waitsOfUsers(&tasks)
	}
	return came, err
}

// waitsOfUsers is how long the tasks of each user waited in the mean, by the lines of all tasks.
func waitsOfUsers(lines *bytes.Buffer) (map[string]float64, error) {
	const user, waiting = 2, 9
	rows, err := csv.NewReader(lines).ReadAll()
	if err != nil {
		return nil, err
	}
	sums, counts := map[string]float64{}, map[string]float64{}
	for _, row := range rows[1:] {
		seconds, err := strconv.ParseFloat(row[waiting], 64)
		if err != nil {
			return nil, fmt.Errorf("a task that waited for %q: %w", row[waiting], err)
		}
		sums[row[user]] += seconds
		counts[row[user]]++
	}
	for name := range sums {
		sums[name] /= counts[name]
	}
	return sums, nil
}

// casePart is a part that is a case of a paper's experiment, which is made for a policy.
func casePart(name string, setUp func(o *Options, by string, seed uint64) (simulation, error)) part {
	return part{name: name, run: func(o *Options, by setup.Policy, seed uint64) (*tried, error) {
		own := *o
		own.Seed = seed
		c, err := setUp(&own, by.Name, seed)
		if err != nil {
			return nil, err
		}
		c.policy = by.Name
		c.options.Own = by.Options
		out, err := c.run(&own)
		return &tried{outcome: out, counts: map[string]float64{}}, err
	}}
}

// The measures of most rows.

func pendingTasks(came *tried) float64   { return float64(came.run.Tasks.Pending) }
func preemptions(came *tried) float64    { return float64(came.run.Tasks.Preempted) }
func penaltiesOf(came *tried) float64    { return float64(penalties(&came.outcome)) }
func cpuAllocated(came *tried) float64   { return float64(came.run.Allocation["cpu"].Mean) }
func gpusAllocated(came *tried) float64  { return float64(came.run.Allocation["gpu"].Final) }
func activeNodes(came *tried) float64    { return float64(came.run.NodesActive) }
func localInput(came *tried) float64     { return float64(came.run.Reads.Locality) }
func finalViolations(c *tried) float64   { return float64(c.run.Constraints.Violated.Final) }
func meanResponse(came *tried) float64   { return meanSeconds(came.run.TaskResponse) }
func placementP99(came *tried) float64   { return p99Seconds(came.run.PlacementLatency) }
func batchPlacementP99(c *tried) float64 { return p99OfCurve(c.placement) }

func meanSeconds(d *report.Distribution) float64 {
	if d == nil {
		return 0
	}
	return float64(d.Mean)
}

func p99Seconds(d *report.Distribution) float64 {
	if d == nil {
		return 0
	}
	return float64(d.P99)
}

func p99OfCurve(c report.Curve) float64 {
	l := report.Line{Points: c}
	v, _ := l.Quantile(0.99)
	return float64(v)
}

// keptBy is the share of the tasks of a class that had what was promised; 1 where there are none.
func keptBy(class string) func(*tried) float64 {
	return func(came *tried) float64 {
		if p := came.run.Classes[class].Promise; p != nil {
			return float64(p.Fulfilment)
		}
		return 1
	}
}

// waitOf is how long tasks of the user waited in the mean, in seconds.
func waitOf(user string) func(*tried) float64 {
	return func(came *tried) float64 { return came.waited[user] }
}

// countOf is what the part counted under that name.
func countOf(name string) func(*tried) float64 {
	return func(came *tried) float64 { return came.counts[name] }
}
