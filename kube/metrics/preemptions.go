package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// This file counts for whom pods leave. Names, labels and buckets are kube-scheduler's, but for its preemption_evaluation_duration_seconds: a round decides
// for all preemptors at once, and what one of them took of it is not known.

// Preemptor is for whom pods leave, as kube-scheduler calls it.
type Preemptor string

// The preemptors: a pod that is placed by itself, and pod groups.
const (
	OfPod               Preemptor = "pod"
	OfPodGroup          Preemptor = "podgroup"
	OfCompositePodGroup Preemptor = "compositepodgroup"
)

// Preemption is who was decided to leave for one preemptor.
type Preemption struct {
	Victims    int // pods
	Groups     int // pod groups, whose pods leave all at once
	Violations int // pods of which a PodDisruptionBudget could spare no more
}

// preemptions is who was to leave for others.
type preemptions struct {
	attempts      prometheus.Counter
	victims       prometheus.Histogram
	groupAttempts *prometheus.CounterVec
	groupVictims  prometheus.Histogram
	disruptions   *prometheus.HistogramVec
	violations    *prometheus.CounterVec
	execution     *prometheus.HistogramVec
}

func newPreemptions() preemptions {
	return preemptions{
		attempts: counter("scheduler_preemption_attempts_total", "Pods for which others were decided to leave."),
		victims: histogram("scheduler_preemption_victims",
			"Pods that were decided to leave for the sake of one pod.", prometheus.ExponentialBuckets(1, 2, 7)),
		groupAttempts: counters("scheduler_workload_preemption_attempts_total",
			"Pod groups for which others were decided to leave. The result is always Success, as one that nobody can leave for is counted as unschedulable alone.", "result"),
		groupVictims: histogram("scheduler_workload_preemption_victims",
			"Pods that were decided to leave for the sake of one pod group.", prometheus.ExponentialBuckets(1, 2, 11)),
		disruptions: histograms("scheduler_preemption_workload_disruptions",
			"Pod groups, whose pods leave all at once, that were decided to leave for the sake of one pod or pod group, by that: pod, podgroup or compositepodgroup.",
			prometheus.ExponentialBuckets(1, 2, 11), "preemptor"),
		violations: counters("scheduler_preemption_pdb_violations_total",
			"Pods that were decided to be deleted although a PodDisruptionBudget could spare no more, by for whom: pod, podgroup or compositepodgroup.", "preemptor"),
		execution: histograms("scheduler_preemption_execution_duration_seconds",
			"Seconds from the first request to evict somebody for a pod or pod group until all were answered, by for whom (pod, podgroup or compositepodgroup) and result: success, or error (somebody stays).",
			prometheus.ExponentialBuckets(0.001, 2, 16), "preemptor", "result"),
	}
}

func (p *preemptions) collectors() []prometheus.Collector {
	return []prometheus.Collector{p.attempts, p.victims, p.groupAttempts, p.groupVictims, p.disruptions, p.violations, p.execution}
}

// Preempted counts a pod or a pod group for which others were decided to leave.
func (p *preemptions) Preempted(by Preemptor, of Preemption) {
	if by == OfPod {
		p.attempts.Inc()
		p.victims.Observe(float64(of.Victims))
	} else {
		p.groupAttempts.WithLabelValues("Success").Inc()
		p.groupVictims.Observe(float64(of.Victims))
	}
	if of.Groups > 0 {
		p.disruptions.WithLabelValues(string(by)).Observe(float64(of.Groups))
	}
	p.violations.WithLabelValues(string(by)).Add(float64(of.Violations))
}

// Executed counts the requests to evict others for a pod or a pod group, which have all been answered.
func (p *preemptions) Executed(by Preemptor, failed bool, took time.Duration) {
	result := "success"
	if failed {
		result = "error"
	}
	p.execution.WithLabelValues(string(by), result).Observe(seconds(took))
}
