// Package metrics is what fairlead-scheduler counts.
//
// Names that begin with scheduler_ are kube-scheduler's, with its labels and
// buckets, where the meaning is the same: dashboards and alerts that people
// have go on working. Names that begin with fairlead_ are ours.
//
// It uses client_golang rather than component-base/metrics. That registry
// hides and renames metrics by the version of Kubernetes, leaves them without
// effect until they are registered, and holds them in package variables: rules
// that a component of Kubernetes needs and that we would only work around. Here
// a registry is an argument, so that every test has its own.
//
// The labels of one metric are few and known: profiles, plugins and resources
// come from configuration, and nothing is labelled by pod, node or namespace.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics is everything that is counted, by the part that counts it.
type Metrics struct {
	Pods      Pods      // what became of pods, as kube-scheduler counts it
	PodGroups PodGroups // what became of pod groups, as kube-scheduler counts it
	Rounds    Rounds    // what the planner did
	Binds     Binds     // what was sent to the API server
	Evictions Evictions // what was asked to leave
	Cluster   Cluster   // what the API server reported

	Configuration Configuration // what became of changes of it
	Shadow        Shadow        // how what is decided compares with what another scheduler does
	Programs      Programs      // by what pods that constraints bind were placed
}

// New makes the metrics and registers them. A name that is registered already
// is a mistake in the program and panics.
func New(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{Pods: newPods(), PodGroups: newPodGroups(), Rounds: newRounds(), Binds: newBinds(), Evictions: newEvictions(), Cluster: newCluster(), Configuration: newConfiguration(), Shadow: newShadow(), Programs: newPrograms()}
	registerer.MustRegister(m.Pods.collectors()...)
	registerer.MustRegister(m.PodGroups.collectors()...)
	registerer.MustRegister(m.Rounds.collectors()...)
	registerer.MustRegister(m.Binds.collectors()...)
	registerer.MustRegister(m.Evictions.collectors()...)
	registerer.MustRegister(m.Cluster.collectors()...)
	registerer.MustRegister(m.Configuration.collectors()...)
	registerer.MustRegister(m.Shadow.collectors()...)
	registerer.MustRegister(m.Programs.collectors()...)
	return m
}

// The helpers below keep the tables of metrics readable.

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
}

func gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

// attemptBuckets are kube-scheduler's for all that one attempt takes: 1 ms to
// 16 s.
func attemptBuckets() []float64 { return prometheus.ExponentialBuckets(0.001, 2, 15) }

func seconds(took time.Duration) float64 { return took.Seconds() }
