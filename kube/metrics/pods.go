package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Result is how an attempt to schedule a pod ended.
type Result string

// The results of an attempt, as kube-scheduler calls them.
const (
	Scheduled     Result = "scheduled"
	Unschedulable Result = "unschedulable" // no node may take the pod now
	Failed        Result = "error"         // the scheduler could not find out
)

// Queue is where a pod waits.
type Queue string

// The queues, as kube-scheduler calls them.
const (
	Active  Queue = "active"        // to be decided in the next round
	Backoff Queue = "backoff"       // waits before its next attempt
	Waiting Queue = "unschedulable" // waits for the cluster to change
	Gated   Queue = "gated"         // waits for its scheduling gates
)

// Pods is what became of pods. Names, labels and buckets are kube-scheduler's.
type Pods struct {
	attempts        *prometheus.CounterVec
	attemptDuration *prometheus.HistogramVec
	algorithm       prometheus.Histogram
	sli             *prometheus.HistogramVec
	attemptsNeeded  prometheus.Histogram
	pending         *prometheus.GaugeVec
	unschedulable   *prometheus.GaugeVec
}

func newPods() Pods {
	p := Pods{
		attempts: counters("scheduler_schedule_attempts_total",
			"Attempts to schedule a pod, by result: scheduled, unschedulable (no node may take it now) or error (the scheduler failed).",
			"result", "profile"),
		attemptDuration: histograms("scheduler_scheduling_attempt_duration_seconds",
			"Seconds that one attempt took for a pod, from the round that took it up until the API server answered the bind, or until the round had no node for it.",
			attemptBuckets(), "result", "profile"),
		algorithm: histogram("scheduler_scheduling_algorithm_duration_seconds",
			"Seconds spent deciding in one round, without binding.", attemptBuckets()),
		sli: histograms("scheduler_pod_scheduling_sli_duration_seconds",
			"Seconds from when a pod was ready to be scheduled until it was bound, by the number of attempts, of which 15 and more are one.",
			prometheus.ExponentialBuckets(0.01, 2, 20), "attempts"),
		attemptsNeeded: histogram("scheduler_pod_scheduling_attempts",
			"Attempts that a pod needed until it was bound.", prometheus.ExponentialBuckets(1, 2, 5)),
		pending: gauges("scheduler_pending_pods",
			"Pods that wait, by queue: active (decided next), backoff (waits before another attempt), unschedulable (waits for the cluster to change) or gated (has scheduling gates).",
			"queue"),
		unschedulable: gauges("scheduler_unschedulable_pods",
			"Pods that no node may take, by the plugin that refused; a pod counts once for every plugin that refused it, so do not add them up.",
			"plugin", "profile"),
	}
	for _, q := range []Queue{Active, Backoff, Waiting, Gated} {
		p.pending.WithLabelValues(string(q))
	}
	return p
}

func (p *Pods) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		p.attempts, p.attemptDuration, p.algorithm, p.sli, p.attemptsNeeded, p.pending, p.unschedulable,
	}
}

// Attempted counts one attempt to schedule one pod.
func (p *Pods) Attempted(result Result, profile string, took time.Duration) {
	p.attempts.WithLabelValues(string(result), profile).Inc()
	p.attemptDuration.WithLabelValues(string(result), profile).Observe(seconds(took))
}

// Decided counts the time that deciding took in one round.
func (p *Pods) Decided(took time.Duration) { p.algorithm.Observe(seconds(took)) }

// Bound counts a pod that is bound, the attempts that it needed and the time
// since it was ready to be scheduled.
func (p *Pods) Bound(attempts int, sinceReady time.Duration) {
	label := strconv.Itoa(attempts)
	if attempts >= 15 {
		label = "15+"
	}
	p.sli.WithLabelValues(label).Observe(seconds(sinceReady))
	p.attemptsNeeded.Observe(float64(attempts))
}

// SetPending sets how many pods wait in a queue.
func (p *Pods) SetPending(queue Queue, pods int) {
	p.pending.WithLabelValues(string(queue)).Set(float64(pods))
}

// AddUnschedulable changes how many pods the plugin refuses on every node.
func (p *Pods) AddUnschedulable(plugin, profile string, change int) {
	p.unschedulable.WithLabelValues(plugin, profile).Add(float64(change))
}
