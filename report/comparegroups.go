package report

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Which runs are samples of the same experiment, and what experiments are
// called.

// Experiment is a set-up that was run with one or more seeds.
type Experiment struct {
	// Name is what tells it from the others: the policy, what else it takes,
	// and the file where set-ups are the same.
	Name  string   `json:"name"`
	File  string   `json:"file"`
	Seeds []uint64 `json:"seeds"` // rising
	// Setup has no seed.
	Setup Setup `json:"-"`

	runs []*Run // in the order of Seeds
}

// attribute is one thing in which experiments can differ.
type attribute struct {
	name  string
	value func(*Experiment) string // exact: equal only if the things are
}

// attributes lists them in the order in which they are used as names.
func attributes() []attribute {
	text := func(name string, of func(*Setup) string) attribute {
		return attribute{name, func(e *Experiment) string { return cmp.Or(of(&e.Setup), "none") }}
	}
	number := func(name string, of func(*Setup) Number) attribute {
		return attribute{name, func(e *Experiment) string { return strconv.FormatFloat(float64(of(&e.Setup)), 'g', -1, 64) }}
	}
	all := []attribute{text("policy", func(s *Setup) string { return s.Policy })}
	for _, c := range Choices() {
		all = append(all, text(c.Name, func(s *Setup) string { return cmp.Or(c.Value(&s.Chosen), c.name) }))
	}
	return append(all, []attribute{
		text("cluster", func(s *Setup) string { return s.Cluster }),
		text("workload", func(s *Setup) string { return s.Workload }),
		text("data", func(s *Setup) string { return s.Data }),
		number("until_s", func(s *Setup) Number { return s.Until }),
		number("speedup", func(s *Setup) Number { return s.Speedup }),
		text("overcommit", func(s *Setup) string { return s.Overcommit }),
		text("initial", func(s *Setup) string { return s.Initial }),
		text("overheads", func(s *Setup) string { return s.Overheads }),
		text("evicted_work", func(s *Setup) string { return s.EvictedWork }),
		number("heartbeat_s", func(s *Setup) Number { return s.Heartbeat }),
		number("watchdog_s", func(s *Setup) Number { return s.Watchdog }),
		text("long_running", func(s *Setup) string { return s.LongRunning }),
		text("planner_time", func(s *Setup) string { return s.PlannerTime }),
		text("usage", func(s *Setup) string { return s.Usage }),
		text("classes_table", func(s *Setup) string { return cmp.Or(s.Classes, "google") }),
		text("tiers", func(s *Setup) string { return s.Tiers }),
		text("power_table", func(s *Setup) string { return s.Power }),
		text("node_prices", func(s *Setup) string { return s.NodePrices }),
		text("faults", func(s *Setup) string { return s.Faults }),
		{"file", func(e *Experiment) string { return e.File }},
	}...)
}

// gather groups the runs of files into experiments, in the order in which they
// first come, and says which runs it leaves out.
func gather(files []File) (experiments []*Experiment, warnings []string, err error) {
	type key struct {
		file  string
		setup Setup
	}
	index := map[key]*Experiment{}
	var errs []error
	for f := range files {
		for i := range files[f].Runs {
			r := &files[f].Runs[i]
			if r.Interrupted {
				warnings = append(warnings, fmt.Sprintf("%s was interrupted, and is left out", runName(files[f].Name, r)))
				continue
			}
			errs = append(errs, checkRun(files[f].Name, r))
			setup := r.Setup
			setup.Seed = 0
			k := key{files[f].Name, setup}
			e := index[k]
			if e == nil {
				e = &Experiment{File: files[f].Name, Setup: setup}
				index[k] = e
				experiments = append(experiments, e)
			}
			e.runs = append(e.runs, r)
		}
	}
	for _, e := range experiments {
		slices.SortStableFunc(e.runs, func(a, b *Run) int { return cmp.Compare(a.Seed, b.Seed) })
		for i, r := range e.runs {
			if i > 0 && r.Seed == e.runs[i-1].Seed {
				errs = append(errs, fmt.Errorf("%s is there twice; a seed counts once, so name each result file once", runName(e.File, r)))
			}
			e.Seeds = append(e.Seeds, r.Seed)
		}
	}
	nameExperiments(experiments)
	return experiments, warnings, errors.Join(errs...)
}

// runName is what messages call a run.
func runName(file string, r *Run) string {
	name := fmt.Sprintf("policy %s, seed %d", r.Policy, r.Seed)
	if file != "" {
		name = file + ": " + name
	}
	return name
}

// largestValue is more than anything that is measured. Up to it sums and
// squares stay well within floating-point numbers.
const largestValue = 1e12

// checkRun says what in a run cannot have been measured.
func checkRun(file string, r *Run) error {
	for _, m := range metricsOf([]*Run{r}) {
		if x, ok := m.value(r); ok && !(math.Abs(float64(x)) <= largestValue) {
			return fmt.Errorf("%s: %s is %g, which no run measures; write the file again", runName(file, r), m.name, float64(x))
		}
	}
	if r.Sample != nil {
		if err := r.Sample.check(); err != nil {
			return fmt.Errorf("%s: %w", runName(file, r), err)
		}
	}
	return nil
}

// nameExperiments gives each the shortest name that the order of attributes
// allows: an attribute is part of the names if it distinguishes some that were
// not yet distinguished.
func nameExperiments(experiments []*Experiment) {
	parts := make([][]string, len(experiments))
	for _, a := range attributes() {
		if !distinguishes(a, experiments, parts) {
			continue
		}
		for i, e := range experiments {
			part := a.value(e)
			if a.name != "policy" && a.name != "file" {
				part = a.name + " " + part
			}
			parts[i] = append(parts[i], part)
		}
	}
	for i, e := range experiments {
		e.Name = cmp.Or(strings.Join(parts[i], ", "), e.Setup.Policy)
	}
}

// distinguishes reports whether two experiments with the same parts of a name have
// different values of a.
func distinguishes(a attribute, experiments []*Experiment, parts [][]string) bool {
	first := map[string]string{}
	for i, e := range experiments {
		so := strings.Join(parts[i], "\x00")
		value, seen := first[so]
		if seen && value != a.value(e) {
			return true
		}
		first[so] = a.value(e)
	}
	return false
}

// settled reports whether the seed changes nothing in an experiment: all
// metrics are the same in two or more runs.
func (e *Experiment) settled(metrics []metric) bool {
	for _, m := range metrics {
		_, samples := e.samples(m)
		if n := len(samples); n > 0 && (n < len(e.runs) || !constant(samples)) {
			return false
		}
	}
	return len(e.runs) >= 2 || e.certain()
}

// certain reports whether nothing in the runs is left to chance, so that one of them is as good as many.
func (e *Experiment) certain() bool {
	return !slices.ContainsFunc(e.runs, func(r *Run) bool { return !r.Certain })
}

// samples returns the values of a metric in millionths, and the seeds of the
// runs that have it. Whole millionths are what a result file holds, and are
// added and subtracted without an error, so that what is equal stays equal.
func (e *Experiment) samples(m metric) (seeds []uint64, values []float64) {
	for _, r := range e.runs {
		if x, ok := m.value(r); ok {
			seeds = append(seeds, r.Seed)
			values = append(values, math.Round(float64(x)*millionths))
		}
	}
	return seeds, values
}

const millionths = 1e6
