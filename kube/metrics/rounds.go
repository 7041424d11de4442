package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Rounds is what the planner did. One round decides for all that wait at once.
type Rounds struct {
	rounds         prometheus.Counter
	duration       prometheus.Histogram
	ticks          prometheus.Counter
	placements     prometheus.Counter
	refusals       *prometheus.CounterVec
	bundlesRefused prometheus.Counter
	eligibility    prometheus.Counter
	recordedBytes  prometheus.Counter
}

// Round is one round of the planner, when it is over.
type Round struct {
	Rounds     int           // of how many lanes
	Took       time.Duration // from its first input to its last decision
	Ticks      uint64        // the work it did, which is the same on any machine
	Placements int           // pods that it gave a node
}

func newRounds() Rounds {
	return Rounds{
		rounds: counter("fairlead_rounds_total", "Rounds of the planner."),
		duration: histogram("fairlead_round_duration_seconds",
			"Seconds that one round of the planner took.", attemptBuckets()),
		ticks: counter("fairlead_round_ticks_total",
			"Ticks of work done in rounds; a tick is a step of the algorithm, so this is the same on any machine."),
		placements: counter("fairlead_placements_total",
			"Pods that rounds gave a node; those that upstream's last word or the API server then refused are counted too."),
		refusals: counters("fairlead_last_word_refusals_total",
			"Placements that upstream's plugins refused between decision and bind, by plugin; each is a difference between our model and Kubernetes.",
			"plugin"),
		bundlesRefused: counter("fairlead_bundles_refused_total",
			"Bundles of placements that were undone together because one of them was refused."),
		eligibility: counter("fairlead_eligibility_evaluations_total",
			"Evaluations of upstream's filters for one shape of pod on one node; a cache answers all others."),
		recordedBytes: counter("fairlead_recording_bytes_total",
			"Bytes written to the recording, compressed."),
	}
}

func (r *Rounds) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		r.rounds, r.duration, r.ticks, r.placements, r.refusals, r.bundlesRefused, r.eligibility, r.recordedBytes,
	}
}

// Ended counts a round.
func (r *Rounds) Ended(round Round) {
	r.rounds.Add(float64(round.Rounds))
	r.duration.Observe(seconds(round.Took))
	r.ticks.Add(float64(round.Ticks))
	r.placements.Add(float64(round.Placements))
}

// LastWordRefused counts a placement that the plugin refused before the bind.
func (r *Rounds) LastWordRefused(plugin string) { r.refusals.WithLabelValues(plugin).Inc() }

// BundlesRefused counts bundles that were undone.
func (r *Rounds) BundlesRefused(bundles int) { r.bundlesRefused.Add(float64(bundles)) }

// EligibilityEvaluated counts evaluations of upstream's filters.
func (r *Rounds) EligibilityEvaluated(evaluations int) { r.eligibility.Add(float64(evaluations)) }

// Recorded counts bytes that were written to the recording.
func (r *Rounds) Recorded(bytes int) { r.recordedBytes.Add(float64(bytes)) }
