package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// BindResult is how a bind ended.
type BindResult string

// The results of a bind.
const (
	BindBound    BindResult = "bound"
	BindConflict BindResult = "conflict" // the pod is bound already, or gone
	BindTimeout  BindResult = "timeout"  // no answer in time
	BindError    BindResult = "error"    // anything else
	// BindCalledBack is of one that was never sent, as another scheduler took the room, or a more important pod is to have it.
	BindCalledBack BindResult = "called-back"
)

// Binds is what was sent to the API server.
type Binds struct {
	inFlight  prometheus.Gauge
	duration  *prometheus.HistogramVec
	ambiguous prometheus.Counter
	writes    *prometheus.CounterVec
}

func newBinds() Binds {
	b := Binds{
		inFlight: gauge("fairlead_binds_in_flight", "Binds that wait for an answer of the API server now."),
		duration: histograms("fairlead_bind_duration_seconds",
			"Seconds that a bind took, by result: bound, conflict (the pod is bound already or gone), timeout (no answer in time), called-back (never sent, as another scheduler took the room, or a more important pod is to have it) or error.",
			attemptBuckets(), "result"),
		ambiguous: counter("fairlead_ambiguous_binds_total",
			"Binds whose outcome was unknown, so that the pod had to be looked up."),
		writes: counters("fairlead_api_writes_total",
			"Requests that change something in the API server, by resource (pods/binding, events, ...), verb and result (ok or the reason of the failure).",
			"resource", "verb", "result"),
	}
	for _, result := range []BindResult{BindBound, BindConflict, BindTimeout, BindError, BindCalledBack} {
		b.duration.WithLabelValues(string(result))
	}
	return b
}

func (b *Binds) collectors() []prometheus.Collector {
	return []prometheus.Collector{b.inFlight, b.duration, b.ambiguous, b.writes}
}

// Began counts a bind that was sent; Ended must follow.
func (b *Binds) Began() { b.inFlight.Inc() }

// Ended counts the answer to a bind.
func (b *Binds) Ended(result BindResult, took time.Duration) {
	b.inFlight.Dec()
	b.duration.WithLabelValues(string(result)).Observe(seconds(took))
}

// Ambiguous counts a bind whose outcome must be looked up.
func (b *Binds) Ambiguous() { b.ambiguous.Inc() }

// Wrote counts a request that changes something, with the result ok or the
// reason of the failure as the API server gives it.
func (b *Binds) Wrote(resource, verb, result string) {
	b.writes.WithLabelValues(resource, verb, result).Inc()
}
