package metrics

import "github.com/prometheus/client_golang/prometheus"

// EvictionResult is how a request to evict a pod ended.
type EvictionResult string

// The results of a request.
const (
	Evicted         EvictionResult = "evicted"
	EvictionRefused EvictionResult = "refused" // for the sake of a PodDisruptionBudget
	EvictionGone    EvictionResult = "gone"    // the pod is not there any more
	EvictionError   EvictionResult = "error"   // anything else
	// EvictionCalledBack is of one that was never sent, as nobody waits for the room any more.
	EvictionCalledBack EvictionResult = "called-back"
)

// Evictions is which pods were asked to leave.
type Evictions struct {
	preemptions
	results          *prometheus.CounterVec
	pending          *prometheus.GaugeVec
	withoutPlacement prometheus.Counter
	counted          *int64 // of withoutPlacement, since the core was made
	stopped          prometheus.Gauge
}

func newEvictions() Evictions {
	e := Evictions{
		preemptions: newPreemptions(),
		results: counters("fairlead_evictions_total",
			"Requests to evict a pod, by result: evicted, refused (by a PodDisruptionBudget), gone (the pod was not there any more), called-back (never sent, as nobody waited for the room any more) or error.",
			"result"),
		pending: gauges("fairlead_pending_evictions",
			"Pods that were decided to leave and are still there, by what they wait for: budget (nobody was asked yet) or exit (their time to end).",
			"for"),
		withoutPlacement: counter("fairlead_evictions_without_placement_total",
			"Pods that have left for others of which none was placed in the end, as they were deleted, say, or their bind was refused."),
		counted: new(int64),
		stopped: gauge("fairlead_evictions_stopped", "1 while nobody is told to leave, as too many have left in vain."),
	}
	for _, result := range []EvictionResult{Evicted, EvictionRefused, EvictionGone, EvictionError} {
		e.results.WithLabelValues(string(result))
	}
	e.SetPending(0, 0)
	return e
}

func (e *Evictions) collectors() []prometheus.Collector {
	return append(e.preemptions.collectors(), e.results, e.pending, e.withoutPlacement, e.stopped)
}

// Ended counts a request that was answered, or given up.
func (e *Evictions) Ended(result EvictionResult) { e.results.WithLabelValues(string(result)).Inc() }

// SetPending sets how many pods are to leave: those for which there is no budget
// yet, and those whose eviction was requested and that are still there.
func (e *Evictions) SetPending(queued, requested int) {
	e.pending.WithLabelValues("budget").Set(float64(queued))
	e.pending.WithLabelValues("exit").Set(float64(requested))
}

// SetStopped sets whether nobody is told to leave.
func (e *Evictions) SetStopped(is bool) {
	e.stopped.Set(0)
	if is {
		e.stopped.Set(1)
	}
}

// WithoutPlacement takes in how many pods have left for nobody since the core was made.
func (e *Evictions) WithoutPlacement(total int64) {
	if total < *e.counted { // there is a new core
		*e.counted = 0
	}
	e.withoutPlacement.Add(float64(total - *e.counted))
	*e.counted = total
}
