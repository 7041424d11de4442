package page

import (
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/fairlead/report"
)

// What cannot have been measured is refused before it is drawn: a chart of it
// would have no scale.

// More than anything that is measured: a value, and the nodes of a cluster.
const (
	largest   = 1e12
	mostNodes = 10_000_000
)

// checkRun says what in a run cannot be drawn.
func checkRun(file string, r *report.Run) error {
	name := fmt.Sprintf("policy %s, seed %d", r.Policy, r.Seed)
	if file != "" {
		name = file + ": " + name
	}
	for _, check := range []func(*report.Run) error{checkCounts, checkClasses, checkSeries, checkCurves, checkHeat} {
		if err := check(r); err != nil {
			return fmt.Errorf("page: %s: %w, which no run measures; write the file again", name, err)
		}
	}
	return nil
}

func checkCounts(r *report.Run) error {
	counts := []struct {
		name  string
		count int
	}{
		{"nodes", r.Nodes},
		{"nodes_active", r.NodesActive},
		{"nodes_overfull", r.NodesOverfull},
		{"tasks.submitted", r.Tasks.Submitted},
		{"tasks.placed", r.Tasks.Placed},
		{"tasks.finished", r.Tasks.Finished},
		{"tasks.failed", r.Tasks.Failed},
		{"tasks.killed", r.Tasks.Killed},
		{"tasks.superseded", r.Tasks.Superseded},
		{"tasks.running", r.Tasks.Running},
		{"tasks.pending", r.Tasks.Pending},
		{"tasks.unplaceable", r.Tasks.Unplaceable},
		{"tasks.preempted", r.Tasks.Preempted},
		{"tasks.migrated", r.Tasks.Migrated},
		{"tasks.evicted", r.Tasks.Evicted},
		{"tasks.without_placement", r.Tasks.WithoutPlacement},
		{"tasks.evictions_refused", r.Tasks.EvictionsRefused},
		{"planner.rounds", r.Planner.Rounds},
		{"planner.decisions", r.Planner.Decisions},
	}
	for _, c := range counts {
		if c.count < 0 {
			return fmt.Errorf("%s is %d", c.name, c.count)
		}
	}
	for _, code := range slices.Sorted(maps.Keys(r.Reasons)) {
		if r.Reasons[code] < 0 {
			return fmt.Errorf("reasons.%s is %d", code, r.Reasons[code])
		}
	}
	return nil
}

func checkSeries(r *report.Run) error {
	s := r.Series
	if s == nil || len(s.Columns) == 0 {
		return nil
	}
	if !(s.Step >= 1e-6 && s.Step <= largest) {
		return fmt.Errorf("its series have steps of %g s", float64(s.Step))
	}
	names := slices.Sorted(maps.Keys(s.Columns))
	for _, name := range names {
		column := s.Columns[name]
		if n := len(s.Columns[names[0]]); len(column) != n {
			return fmt.Errorf("%q has %d steps, and %q %d", name, len(column), names[0], n)
		}
		for i, v := range column {
			if !measurable(v) {
				return fmt.Errorf("%q is %g in step %d", name, float64(v), i+1)
			}
		}
	}
	return nil
}

func checkCurves(r *report.Run) error {
	for _, class := range slices.Sorted(maps.Keys(r.Latencies)) {
		curve := r.Latencies[class]
		for i, p := range curve {
			if !measurable(p[0]) || !measurable(p[1]) || i > 0 && (p[0] <= curve[i-1][0] || p[1] < curve[i-1][1]) {
				return fmt.Errorf("the latency curve of %q does not rise at point %d", class, i+1)
			}
		}
	}
	for _, class := range slices.Sorted(maps.Keys(r.Availabilities)) {
		curve := r.Availabilities[class]
		for i, p := range curve {
			if !(p[0] >= 0 && p[0] <= 1) || !measurable(p[1]) || i > 0 && (p[0] <= curve[i-1][0] || p[1] < curve[i-1][1]) {
				return fmt.Errorf("the availability curve of %q does not rise from 0 to 1 at point %d", class, i+1)
			}
		}
	}
	return nil
}

// checkClasses looks at what is drawn as bars.
func checkClasses(r *report.Run) error {
	for _, name := range slices.Sorted(maps.Keys(r.Classes)) {
		c := r.Classes[name]
		shares := map[string]report.Number{}
		if a := c.Availability; a != nil {
			shares = map[string]report.Number{"availability.mean": a.Mean, "availability.min": a.Min, "availability.max": a.Max}
		}
		if p := c.Promise; p != nil {
			shares["target"], shares["slo_fulfilment"], shares["deficit"], shares["gini"] = p.Target, p.Fulfilment, p.Deficit, p.Gini
			if !measurable(p.Penalties) {
				return fmt.Errorf("classes.%s.penalties is %g", name, float64(p.Penalties))
			}
		}
		for _, what := range slices.Sorted(maps.Keys(shares)) {
			if v := shares[what]; !(v >= 0 && v <= 1) {
				return fmt.Errorf("classes.%s.%s is %g", name, what, float64(v))
			}
		}
		if c.Preempted < 0 {
			return fmt.Errorf("classes.%s.preempted is %d", name, c.Preempted)
		}
	}
	return nil
}

func checkHeat(r *report.Run) error {
	h := r.Heat
	if h == nil {
		return nil
	}
	for i, t := range h.Times {
		if !measurable(t) || i > 0 && t <= h.Times[i-1] {
			return fmt.Errorf("the moments of the heat map do not rise at %d", i+1)
		}
	}
	if h.Nodes < 0 || h.Nodes > mostNodes {
		return fmt.Errorf("the heat map has %d nodes", h.Nodes)
	}
	return nil
}

// measurable reports whether v is a number that a run can have measured.
func measurable(v report.Number) bool { return v >= 0 && v <= largest }
