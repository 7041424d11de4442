package page

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/report"
)

// The words and numbers of the page: what was run, and what came of it.

// fact is one thing that went into the runs.
type fact struct{ Name, Value string }

// facts are gathered from all runs of the groups.
type facts struct {
	groups []report.Group
	all    []fact
}

// text adds a thing with all the values that it had; the empty one, for what is
// unknown or usual, does not count.
func (f *facts) text(name string, value func(*report.Run) string) {
	var values []string
	for _, e := range f.groups {
		for i := range e.Runs {
			if v := value(&e.Runs[i]); v != "" && !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
	}
	if len(values) > 0 {
		f.all = append(f.all, fact{name, strings.Join(values, ", ")})
	}
}

// span adds a number, which may have as many values as there are runs: "11,864
// to 17,378".
func (f *facts) span(name string, value func(*report.Run) int) {
	low, high := math.MaxInt, math.MinInt
	for _, e := range f.groups {
		for i := range e.Runs {
			low, high = min(low, value(&e.Runs[i])), max(high, value(&e.Runs[i]))
		}
	}
	text := wholeNumber(low)
	if low < high {
		text += " to " + wholeNumber(high)
	}
	f.all = append(f.all, fact{name, text})
}

// setupOf lists what went into the runs.
func setupOf(groups []report.Group) []fact {
	f := facts{groups: groups}
	f.text("Cluster and workload", func(r *report.Run) string {
		if r.Cluster != r.Workload {
			return ""
		}
		return r.Cluster
	})
	f.text("Cluster", func(r *report.Run) string { return unless(r.Cluster, r.Workload) })
	f.span("Nodes at the end", func(r *report.Run) int { return r.Nodes })
	f.text("Workload", func(r *report.Run) string { return unless(r.Workload, r.Cluster) })
	f.span("Tasks submitted", func(r *report.Run) int { return r.Tasks.Submitted })
	f.all = append(f.all, fact{"Policies", strings.Join(namesOf(groups), ", ")})
	f.text("Seeds", func(r *report.Run) string { return strconv.FormatUint(r.Seed, 10) })
	f.text("Simulated time", func(r *report.Run) string { return nameOfSeconds(float64(r.Simulated)) })
	f.choices()
	return f.all
}

// choices adds how the simulation was configured.
func (f *facts) choices() {
	initial := map[string]string{"keep": "stay where they are", "place": "are placed anew"}
	planning := map[string]string{"ticks": "time by counted work (ticks)", "zero": "no time", "measured": "the measured time"}
	f.text("Times divided by", func(r *report.Run) string { return unless(fmt.Sprint(float64(r.Speedup)), "0", "1") })
	f.text("Over-commitment", func(r *report.Run) string { return r.Overcommit })
	for _, c := range report.Choices() {
		f.text(c.Caption, func(r *report.Run) string { return c.Value(&r.Chosen) })
	}
	f.text("Tasks that run at the start", func(r *report.Run) string { return cmp.Or(initial[r.Initial], r.Initial) })
	f.text("Time to begin", func(r *report.Run) string { return r.Overheads })
	f.text("Work of evicted tasks", func(r *report.Run) string { return r.EvictedWork })
	f.text("Plans every", func(r *report.Run) string { return unless(nameOfSeconds(float64(r.Heartbeat)), "0") })
	f.text("Plans at least every", func(r *report.Run) string { return unless(nameOfSeconds(float64(r.Watchdog)), "0") })
	f.text("Planning takes", func(r *report.Run) string { return cmp.Or(planning[r.PlannerTime], r.PlannerTime) })
	f.text("Classes", func(r *report.Run) string { return r.Setup.Classes })
	f.text("Tiers of nodes", func(r *report.Run) string { return r.Tiers })
	f.text("Faults", func(r *report.Run) string { return unless(r.Faults, "none") })
}

// namesOf lists the names of groups.
func namesOf(groups []report.Group) []string {
	var names []string
	for _, e := range groups {
		names = append(names, e.Name)
	}
	return names
}

// unless returns text, or nothing if it is one of the defaults.
func unless(text string, defaults ...string) string {
	if slices.Contains(defaults, text) {
		return ""
	}
	return text
}

// interruptedRuns names the runs that were stopped before their end.
func interruptedRuns(groups []report.Group) string {
	var names []string
	for _, e := range groups {
		for _, r := range e.Runs {
			if r.Interrupted {
				names = append(names, fmt.Sprintf("%s (seed %d)", e.Name, r.Seed))
			}
		}
	}
	return strings.Join(names, ", ")
}

// overfullNodes says which runs ended with nodes over their limit.
func overfullNodes(groups []report.Group) []string {
	var all []string
	for _, e := range groups {
		for _, r := range e.Runs {
			if r.NodesOverfull == 0 {
				continue
			}
			text := fmt.Sprintf("%s (seed %d) ended with %s nodes over their limit", e.Name, r.Seed, wholeNumber(r.NodesOverfull))
			if example := r.Examples[report.Overfull]; example != "" {
				text += ": " + example
			}
			all = append(all, text+".")
		}
	}
	return all
}

// classesOf is a table of the service classes of each experiment.
func classesOf(groups []report.Group) report.Grid {
	t := report.Grid{
		Above:  []string{"", "", "", "", "", "", "", "LATENCY", "", "", "AVAILABLE", "", "PROMISE", "", "", "", "", "", "", ""},
		Titles: []string{"POLICY", "CLASS", "SUBMITTED", "PLACED", "FINISHED", "PENDING", "PREEMPTED", "p50", "p90", "p99", "MEAN", "LEAST", "TARGET", "KEPT", "DEFICIT", "GINI", "PENALTIES", "REVENUE", "OVERHEAD", "CORES"},
		Labels: 2,
	}
	for _, e := range groups {
		found := map[string]bool{}
		for _, r := range e.Runs {
			for class := range r.Classes {
				found[class] = true
			}
		}
		for _, class := range byImportance(slices.Sorted(maps.Keys(found))) {
			t.Rows = append(t.Rows, classRow(&e, class))
		}
	}
	return t
}

// classRow is the mean of one class over the seeds of an experiment.
func classRow(e *report.Group, class string) []string {
	mean := func(show func(float64) string, value func(report.Class) (report.Number, bool)) string {
		return classCell(e, class, show, value)
	}
	tasks := func(value func(report.Class) int) string {
		return mean(wholeOrTenth, func(c report.Class) (report.Number, bool) { return report.Number(value(c)), true })
	}
	latency := func(value func(*report.Distribution) report.Number) string {
		return mean(nameOfSeconds, func(c report.Class) (report.Number, bool) {
			if c.PlacementLatency == nil {
				return 0, false
			}
			return value(c.PlacementLatency), true
		})
	}
	available := func(value func(*report.Availability) report.Number) string {
		return mean(func(x float64) string { return nameOf(share, x, 1e-5) }, func(c report.Class) (report.Number, bool) {
			if c.Availability == nil {
				return 0, false
			}
			return value(c.Availability), true
		})
	}
	return append([]string{
		e.Name, class,
		tasks(func(c report.Class) int { return c.Submitted }),
		tasks(func(c report.Class) int { return c.Placed }),
		tasks(func(c report.Class) int { return c.Finished }),
		tasks(func(c report.Class) int { return c.Pending }),
		tasks(func(c report.Class) int { return c.Preempted }),
		latency(func(d *report.Distribution) report.Number { return d.P50 }),
		latency(func(d *report.Distribution) report.Number { return d.P90 }),
		latency(func(d *report.Distribution) report.Number { return d.P99 }),
		available(func(a *report.Availability) report.Number { return a.Mean }),
		available(func(a *report.Availability) report.Number { return a.Min }),
	}, promiseCells(e, class)...)
}

// classCell is a mean over the seeds that have the value, "-" where there is none.
func classCell(e *report.Group, class string, show func(float64) string, value func(report.Class) (report.Number, bool)) string {
	v := classMean(e, class, value)
	if math.IsNaN(v) {
		return "-"
	}
	return show(v)
}

// promiseCells are the cells of a class about what was promised to it.
func promiseCells(e *report.Group, class string) []string {
	percentage := func(x float64) string { return nameOf(share, x, 1e-4) }
	money := func(x float64) string { return nameOf(rate, x, 0.01) }
	promise := func(show func(float64) string, value func(*report.Promise) report.Number) string {
		return classCell(e, class, show, func(c report.Class) (report.Number, bool) {
			if c.Promise == nil {
				return 0, false
			}
			return value(c.Promise), true
		})
	}
	bill := func(show func(float64) string, value func(*report.Bill) report.Number) string {
		return classCell(e, class, show, func(c report.Class) (report.Number, bool) {
			if c.Bill == nil {
				return 0, false
			}
			return value(c.Bill), true
		})
	}
	return []string{
		promise(percentage, func(p *report.Promise) report.Number { return p.Target }),
		promise(percentage, func(p *report.Promise) report.Number { return p.Fulfilment }),
		promise(percentage, func(p *report.Promise) report.Number { return p.Deficit }),
		promise(percentage, func(p *report.Promise) report.Number { return p.Gini }),
		promise(money, func(p *report.Promise) report.Number { return p.Penalties }),
		bill(money, func(b *report.Bill) report.Number { return b.Revenue }),
		bill(percentage, func(b *report.Bill) report.Number { return b.Overhead }),
		bill(money, func(b *report.Bill) report.Number { return b.Cores }),
	}
}

// titleOf says in a line what the page is about.
func titleOf(groups []report.Group) string {
	names := namesOf(groups)
	const shown = 4
	if len(names) > shown {
		names = append(names[:shown:shown], fmt.Sprintf("%d more", len(groups)-shown))
	}
	title := listed(names)
	var workloads []string
	for _, e := range groups {
		if w := cmp.Or(e.Runs[0].Workload, e.Runs[0].Cluster); w != "" && !slices.Contains(workloads, w) {
			workloads = append(workloads, w)
		}
	}
	if len(workloads) == 1 {
		title += " on " + workloads[0]
	}
	return title
}

// listed joins names as a sentence does: "a, b and c".
func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
