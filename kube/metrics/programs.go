package metrics

import "github.com/prometheus/client_golang/prometheus"

// Programs is by what pods that constraints bind were placed, and how the solver of integer programs does.
type Programs struct {
	plans    *prometheus.CounterVec
	gap      prometheus.Histogram
	solved   prometheus.Counter
	failures *prometheus.CounterVec
	ready    prometheus.Gauge
}

// Planned is a plan for pods that constraints bind.
type Planned struct {
	By      string // search or programs
	Bounded bool   // something is proven of how good a plan can be
	Optimal bool   // none is better
	Gap     float64
}

// Failure is why the solver has no answer.
type Failure string

// The failures.
const (
	NotStarted  Failure = "start"
	Crashed     Failure = "crash"
	TooSlow     Failure = "time"
	OutOfMemory Failure = "memory"
)

func newPrograms() Programs {
	return Programs{
		plans: counters("fairlead_constraint_plans_total",
			"Plans for pods that constraints bind, by what found them: search, or (integer) programs, which made better what the search had found; and by what is proven: optimal (no plan is better), bound (how much better one might be) or nothing.", "by", "proven"),
		gap: histogram("fairlead_constraint_plan_gap",
			"By how much a better plan for pods that constraints bind might cost less, in violations of a constraint of weight 1; of plans of which that is known.", prometheus.ExponentialBuckets(0.125, 2, 14)),
		solved: counter("fairlead_programs_solved_total", "Integer programs that were solved for pods that constraints bind."),
		failures: counters("fairlead_programs_failures_total",
			"Times that the solver of integer programs was given up, and pods that constraints bind were placed by search alone for a while, or for good if it did not start: start, crash, time or memory.", "reason"),
		ready: gauge("fairlead_programs_ready", "1 from when the solver of integer programs is ready, which is begun with the first constraint that counts."),
	}
}

func (p *Programs) collectors() []prometheus.Collector {
	return []prometheus.Collector{p.plans, p.gap, p.solved, p.failures, p.ready}
}

// Planned counts a plan.
func (p *Programs) Planned(plan Planned) {
	proven := "nothing"
	switch {
	case plan.Optimal:
		proven = "optimal"
	case plan.Bounded:
		proven = "bound"
	}
	p.plans.WithLabelValues(plan.By, proven).Inc()
	if plan.Bounded {
		p.gap.Observe(plan.Gap)
	}
}

// Solved counts integer programs that were solved.
func (p *Programs) Solved(models int) { p.solved.Add(float64(models)) }

// Failed counts that the solver was given up.
func (p *Programs) Failed(why Failure) { p.failures.WithLabelValues(string(why)).Inc() }

// Ready says that the solver is ready.
func (p *Programs) Ready() { p.ready.Set(1) }
