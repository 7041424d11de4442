package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Comparisons: what differs between experiments, and whether that is more than
// the chance of the seeds.
//
// Experiments are compared with one of them, the base, metric by metric. With
// the same seeds on both sides the differences are taken seed by seed, which
// leaves out what the seed does to both (a synthetic workload is made of it);
// otherwise the means are compared by Welch's interval. A verdict is passed
// only where the interval of the difference leaves out 0. It is firm where
// Holm's procedure, over all metrics of the pair, takes it for more than chance.

// File is the runs of one result file. Name is what it is called; files that
// are compared have different names.
type File struct {
	Name string
	Runs []Run
}

// Comparison is experiments held against a base.
type Comparison struct {
	// Version is that of the JSON, CompareVersion.
	Version     int          `json:"version"`
	Base        string       `json:"base"` // the name of an experiment
	Experiments []Experiment `json:"experiments"`
	// Pairs compare each other experiment with the base.
	Pairs []Pair `json:"pairs"`
	// Warnings are sentences about what was left out. Those of a pair are there.
	Warnings []string `json:"warnings"`
}

// CompareVersion is the version of the JSON of a Comparison.
const CompareVersion = 1

// Pair compares one experiment with the base.
type Pair struct {
	Other string `json:"other"` // the name of an experiment
	// Paired says that both have the same seeds, so that differences were taken
	// seed by seed.
	Paired bool `json:"paired"`
	// Differs says what differs in the set-ups.
	Differs      []SetupDifference `json:"differs"`
	Rows         []Row             `json:"metrics"`
	Improvements []Improvement     `json:"improvements"`
	// Warnings are sentences about what makes the pair hard to compare.
	Warnings []string `json:"warnings"`
}

// SetupDifference is one thing that went into two experiments differently.
type SetupDifference struct {
	Name  string `json:"name"` // as in Setup's JSON, or "file"
	Base  string `json:"base"`
	Other string `json:"other"`
}

// UnknownBaseError says that there is no experiment with the name of the base.
type UnknownBaseError struct {
	Base  string
	Names []string // of the experiments that there are
}

func (e UnknownBaseError) Error() string {
	return fmt.Sprintf("unknown base %q; there are %s", e.Base, strings.Join(e.Names, "; "))
}

// Compare compares the experiments in files with the one that is called base,
// or with the first if base is empty. Runs that were interrupted are left out.
// It fails if there are fewer than two experiments, if a run is there twice, if
// a value cannot have been measured, and with an UnknownBaseError.
func Compare(files []File, base string) (Comparison, error) {
	experiments, warnings, err := gather(files)
	if err != nil {
		return Comparison{}, err
	}
	if err := checkNumber(experiments, warnings); err != nil {
		return Comparison{}, err
	}
	at := 0
	if base != "" {
		at = slices.IndexFunc(experiments, func(e *Experiment) bool { return e.Name == base })
	}
	if at < 0 {
		unknown := UnknownBaseError{Base: base}
		for _, e := range experiments {
			unknown.Names = append(unknown.Names, e.Name)
		}
		return Comparison{}, unknown
	}
	c := Comparison{Version: CompareVersion, Base: experiments[at].Name, Warnings: warnings}
	if c.Warnings == nil {
		c.Warnings = []string{}
	}
	for i, other := range experiments {
		c.Experiments = append(c.Experiments, *other)
		if i != at {
			c.Pairs = append(c.Pairs, comparePair(experiments[at], other))
		}
	}
	return c, nil
}

// checkNumber says what to do where there is nothing to compare with.
func checkNumber(experiments []*Experiment, warnings []string) error {
	left := ""
	if len(warnings) > 0 {
		left = " (" + strings.Join(warnings, "; ") + ")"
	}
	switch len(experiments) {
	case 0:
		return fmt.Errorf("there is no run to compare%s", left)
	case 1:
		return fmt.Errorf("all runs are of one experiment, %s; want two or more: "+
			"results of several policies, or a second file%s", experiments[0].Name, left)
	}
	return nil
}

// comparePair compares other with base.
func comparePair(base, other *Experiment) Pair {
	pair := Pair{Other: other.Name, Paired: slices.Equal(base.Seeds, other.Seeds), Differs: []SetupDifference{}, Warnings: []string{}}
	for _, a := range attributes() {
		if b, o := a.value(base), a.value(other); b != o {
			pair.Differs = append(pair.Differs, SetupDifference{a.name, b, o})
		}
	}
	pair.Rows = compareRows(base, other, metricsOf(slices.Concat(base.runs, other.runs)))
	pair.Improvements = improvements(base, other)
	pair.warn(base, other)
	return pair
}

// otherWorlds are the attributes that make two runs different experiments
// rather than two answers to the same question.
const otherWorlds = "cluster workload until_s speedup"

// warn says what makes the pair hard to compare.
func (p *Pair) warn(base, other *Experiment) {
	warn := func(format string, args ...any) { p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...)) }
	for _, d := range p.Differs {
		if slices.Contains(strings.Fields(otherWorlds), d.Name) {
			warn("%s differs: %s for %s, %s for %s; what differs below may come from that", d.Name, d.Base, base.Name, d.Other, other.Name)
		}
	}
	switch few := min(len(base.runs), len(other.runs)); {
	case base.certain() && other.certain(): // and no seed would say more
	case few < 2:
		warn("one seed: no verdict; run simulate with more, such as --seeds 1-10")
	case !p.Paired:
		warn("the seeds differ, %s and %s; with the same seeds on both sides the intervals would be narrower", seedsText(base.Seeds), seedsText(other.Seeds))
	}
	for _, row := range p.Rows {
		if row.Metric != "tasks.finished" {
			continue
		}
		if change, ok := row.Change(); ok && math.Abs(float64(change)) > manyTasks {
			more := "more"
			if change < 0 {
				more = "fewer"
			}
			warn("%s finished %.1f%% %s tasks than %s; responses are of those that finished, which are not the same tasks", other.Name, 100*math.Abs(float64(change)), more, base.Name)
		}
	}
}

// manyTasks is the share of tasks that may finish on one side alone before the
// responses of both sides are of different work.
const manyTasks = 0.01

// seedsText prints seeds, with runs of them joined: "1–5, 9".
func seedsText(seeds []uint64) string {
	var parts []string
	for i := 0; i < len(seeds); {
		j := i
		for j+1 < len(seeds) && seeds[j+1] == seeds[j]+1 {
			j++
		}
		part := strconv.FormatUint(seeds[i], 10)
		if j > i {
			part += "–" + strconv.FormatUint(seeds[j], 10)
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ", ")
}
