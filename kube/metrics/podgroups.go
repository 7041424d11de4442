package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// WaitingOnPreemption is of a pod group for which others have to leave first.
const WaitingOnPreemption Result = "waiting_on_preemption"

// PodGroups is what became of pod groups. Names, labels and buckets are kube-scheduler's, but for its podgroup_scheduling_algorithm_duration_seconds: what
// a group takes of a round is not known.
type PodGroups struct {
	attempts *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newPodGroups() PodGroups {
	return PodGroups{
		attempts: counters("scheduler_podgroup_schedule_attempts_total",
			"Attempts to schedule pods of a pod group that are placed in one turn, by result: scheduled, waiting_on_preemption (others were decided to leave for it) or unschedulable (it began to wait for nodes).",
			"result", "profile"),
		duration: histograms("scheduler_podgroup_scheduling_attempt_duration_seconds",
			"Seconds from the beginning of the round that took up a pod group until it was decided, by result: scheduled or waiting_on_preemption.", attemptBuckets(), "result", "profile"),
	}
}

func (g *PodGroups) collectors() []prometheus.Collector {
	return []prometheus.Collector{g.attempts, g.duration}
}

// Attempted counts one attempt to schedule pods of one group, which a round decided.
func (g *PodGroups) Attempted(result Result, profile string, took time.Duration) {
	g.attempts.WithLabelValues(string(result), profile).Inc()
	g.duration.WithLabelValues(string(result), profile).Observe(seconds(took))
}

// Unplaced counts a group that came to wait for nodes.
func (g *PodGroups) Unplaced(profile string) {
	g.attempts.WithLabelValues(string(Unschedulable), profile).Inc()
}
