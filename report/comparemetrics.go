package report

import (
	"maps"
	"slices"
)

// The metrics that runs are compared by, and which way is better. What the
// machine had to do with, wall time and the rate made of it, is not among them:
// it differs between two runs of the same thing.

// Direction says which values of a metric are better.
type Direction string

// The directions. Of a metric without one, such as the share of the cluster
// that is allocated, neither more nor less is better in itself.
const (
	LowerIsBetter  Direction = "lower"
	HigherIsBetter Direction = "higher"
	NeitherBetter  Direction = "neither"
)

// Unit is what a metric is counted in.
type Unit string

// The units.
const (
	InSeconds   Unit = "s"
	InShares    Unit = "share"  // a fraction of 1
	InFactors   Unit = "factor" // a ratio: 1 is alike
	InTasks     Unit = "tasks"
	InEvents    Unit = "events"
	InNodes     Unit = "nodes"
	InDecisions Unit = "decisions"
	InBytes     Unit = "bytes"
	InUnits     Unit = "units" // of the priced kind, such as cores
	InMoney     Unit = "money" // of a currency without a name
	InCores     Unit = "cores"

	InWatts         Unit = "W"
	InKilowattHours Unit = "kWh"
	InNodeHours     Unit = "node hours"

	InConstraints Unit = "constraints"
	InViolations  Unit = "violations" // of a constraint of weight 1
)

// metric is one number that a run may have.
type metric struct {
	name   string // the path to it in JSON, joined by dots
	unit   Unit
	better Direction
	// value returns the number, and false if the run has none.
	value func(*Run) (Number, bool)
}

// metricsOf lists the metrics that any of runs can have, those of the whole
// cluster first.
func metricsOf(runs []*Run) []metric {
	metrics := countMetrics()
	metrics = append(metrics, distributionMetrics("placement_latency_s.", func(r *Run) *Distribution { return r.PlacementLatency })...)
	for _, d := range []struct {
		name string
		of   func(*Run) *Distribution
	}{
		{"task_response_s.", func(r *Run) *Distribution { return r.TaskResponse }},
		{"job_response_s.", func(r *Run) *Distribution { return r.JobResponse }},
	} {
		all := distributionMetrics(d.name, d.of)
		metrics = append(metrics, all[0], all[1], all[3]) // mean, p50, p99
	}
	for _, kind := range keysOf(runs, func(r *Run) map[string]Utilisation { return r.Utilisation }) {
		metrics = append(metrics, metric{"utilisation." + kind + ".mean", InShares, HigherIsBetter, func(r *Run) (Number, bool) {
			u, ok := r.Utilisation[kind]
			return u.Mean, ok
		}})
	}
	for _, kind := range keysOf(runs, func(r *Run) map[string]Allocation { return r.Allocation }) {
		metrics = append(metrics,
			metric{"allocation." + kind + ".mean", InShares, NeitherBetter, func(r *Run) (Number, bool) {
				a, ok := r.Allocation[kind]
				return a.Mean, ok
			}},
			metric{"allocation." + kind + ".final", InShares, NeitherBetter, func(r *Run) (Number, bool) {
				a, ok := r.Allocation[kind]
				return a.Final, ok
			}})
	}
	for _, kind := range keysOf(runs, func(r *Run) map[string]Fragmentation { return r.Fragmentation }) {
		metrics = append(metrics, metric{"fragmentation." + kind + ".final", InShares, LowerIsBetter, func(r *Run) (Number, bool) {
			f, ok := r.Fragmentation[kind]
			return f.Final, ok
		}})
	}
	metrics = append(metrics, metric{"nodes_empty", InShares, NeitherBetter, func(r *Run) (Number, bool) {
		if r.NodesEmpty == nil {
			return 0, false
		}
		return *r.NodesEmpty, true
	}})
	metrics = append(metrics, unservedMetrics(runs)...)
	metrics = append(metrics, moveMetrics(runs)...)
	metrics = append(metrics, powerMetrics()...)
	metrics = append(metrics, nodeCostMetrics(runs)...)
	metrics = append(metrics, readMetrics()...)
	metrics = append(metrics, constraintMetrics()...)
	metrics = append(metrics, gapMetrics()...)
	for _, class := range keysOf(runs, func(r *Run) map[string]Class { return r.Classes }) {
		metrics = append(metrics, classMetrics(class)...)
		metrics = append(metrics, shortfallMetrics("classes."+class+".", runs, func(r *Run) *Shortfall { return r.Classes[class].Shortfall })...)
	}
	return metrics
}

// countMetrics are those that every run has. Migrations are a means, which may
// be worth their price; losing a place to another task is one for the loser.
func countMetrics() []metric {
	count := func(name string, unit Unit, better Direction, of func(*Run) int) metric {
		return metric{name, unit, better, func(r *Run) (Number, bool) { return Number(of(r)), true }}
	}
	return []metric{
		count("tasks.placed", InTasks, HigherIsBetter, func(r *Run) int { return r.Tasks.Placed }),
		count("tasks.finished", InTasks, HigherIsBetter, func(r *Run) int { return r.Tasks.Finished }),
		count("tasks.pending", InTasks, LowerIsBetter, func(r *Run) int { return r.Tasks.Pending }),
		count("tasks.unplaceable", InTasks, LowerIsBetter, func(r *Run) int { return r.Tasks.Unplaceable }),
		count("tasks.preempted", InEvents, LowerIsBetter, func(r *Run) int { return r.Tasks.Preempted }),
		count("tasks.evicted", InEvents, LowerIsBetter, func(r *Run) int { return r.Tasks.Evicted }),
		count("tasks.migrated", InEvents, NeitherBetter, func(r *Run) int { return r.Tasks.Migrated }),
		count("nodes_active", InNodes, NeitherBetter, func(r *Run) int { return r.NodesActive }),
		count("planner.decisions", InDecisions, NeitherBetter, func(r *Run) int { return r.Planner.Decisions }),
	}
}

// distributionMetrics are the numbers of a distribution in their order: mean,
// p50, p90, p99, max.
func distributionMetrics(prefix string, of func(*Run) *Distribution) []metric {
	part := func(name string, pick func(*Distribution) Number) metric {
		return metric{prefix + name, InSeconds, LowerIsBetter, func(r *Run) (Number, bool) {
			d := of(r)
			if d == nil {
				return 0, false
			}
			return pick(d), true
		}}
	}
	return []metric{
		part("mean", func(d *Distribution) Number { return d.Mean }),
		part("p50", func(d *Distribution) Number { return d.P50 }),
		part("p90", func(d *Distribution) Number { return d.P90 }),
		part("p99", func(d *Distribution) Number { return d.P99 }),
		part("max", func(d *Distribution) Number { return d.Max }),
	}
}

// classMetrics are those of one service class.
func classMetrics(class string) []metric {
	prefix := "classes." + class + "."
	latency := distributionMetrics(prefix+"placement_latency_s.", func(r *Run) *Distribution { return r.Classes[class].PlacementLatency })
	availability := func(name string, pick func(*Availability) Number) metric {
		return metric{prefix + "availability." + name, InShares, HigherIsBetter, func(r *Run) (Number, bool) {
			a := r.Classes[class].Availability
			if a == nil {
				return 0, false
			}
			return pick(a), true
		}}
	}
	promise := func(name string, unit Unit, better Direction, pick func(*Promise) Number) metric {
		return metric{prefix + name, unit, better, func(r *Run) (Number, bool) {
			p := r.Classes[class].Promise
			if p == nil {
				return 0, false
			}
			return pick(p), true
		}}
	}
	bill := func(name string, unit Unit, better Direction, pick func(*Bill) Number) metric {
		return metric{prefix + name, unit, better, func(r *Run) (Number, bool) {
			b := r.Classes[class].Bill
			if b == nil {
				return 0, false
			}
			return pick(b), true
		}}
	}
	return []metric{
		{prefix + "pending", InTasks, LowerIsBetter, func(r *Run) (Number, bool) {
			c, ok := r.Classes[class]
			return Number(c.Pending), ok
		}},
		latency[3], // p99
		availability("mean", func(a *Availability) Number { return a.Mean }),
		availability("min", func(a *Availability) Number { return a.Min }),
		promise("slo_fulfilment", InShares, HigherIsBetter, func(p *Promise) Number { return p.Fulfilment }),
		promise("deficit", InShares, LowerIsBetter, func(p *Promise) Number { return p.Deficit }),
		promise("gini", InShares, LowerIsBetter, func(p *Promise) Number { return p.Gini }),
		promise("penalties", InMoney, LowerIsBetter, func(p *Promise) Number { return p.Penalties }),
		{prefix + "preempted", InEvents, LowerIsBetter, func(r *Run) (Number, bool) {
			c, ok := r.Classes[class]
			return Number(c.Preempted), ok
		}},
		bill("overhead", InShares, LowerIsBetter, func(b *Bill) Number { return b.Overhead }),
		bill("cores", InUnits, NeitherBetter, func(b *Bill) Number { return b.Cores }),
		bill("revenue", InMoney, NeitherBetter, func(b *Bill) Number { return b.Revenue }),
	}
}

// readMetrics are those of runs whose tasks have input.
func readMetrics() []metric {
	read := func(name string, unit Unit, better Direction, of func(*Reads) Number) metric {
		return metric{"reads." + name, unit, better, func(r *Run) (Number, bool) {
			if r.Reads == nil {
				return 0, false
			}
			return of(r.Reads), true
		}}
	}
	return []metric{
		read("locality", InShares, HigherIsBetter, func(r *Reads) Number { return r.Locality }),
		read("run_locality", InShares, HigherIsBetter, func(r *Reads) Number { return r.RunLocality }),
		read("moved_bytes_per_hour", InBytes, LowerIsBetter, func(r *Reads) Number { return r.Moved }),
		read("missing_bytes", InBytes, LowerIsBetter, func(r *Reads) Number { return r.Missing }),
	}
}

// gapMetrics are those of runs of policies that know how good their plans are.
func gapMetrics() []metric {
	gap := func(name string, better Direction, of func(*Gaps) Number) metric {
		return metric{"planner.gap." + name, InShares, better, func(r *Run) (Number, bool) {
			if r.Planner.Gap == nil {
				return 0, false
			}
			return of(r.Planner.Gap), true
		}}
	}
	return []metric{
		gap("optimal", HigherIsBetter, func(g *Gaps) Number { return g.Optimal }),
		gap("mean", LowerIsBetter, func(g *Gaps) Number { return g.Mean }),
		gap("p99", LowerIsBetter, func(g *Gaps) Number { return g.P99 }),
	}
}

// keysOf returns the names that any of runs has in a map, sorted.
func keysOf[V any](runs []*Run, of func(*Run) map[string]V) []string {
	seen := map[string]bool{}
	for _, r := range runs {
		for name := range of(r) {
			seen[name] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
