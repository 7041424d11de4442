package metrics

import "github.com/prometheus/client_golang/prometheus"

// Shadow is how a shadow's decisions compare with what the other scheduler does. The label by is ours or theirs.
type Shadow struct {
	pods     *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	opened   *prometheus.CounterVec
	violated *prometheus.CounterVec
	victims  *prometheus.CounterVec
}

// Shadowed is what happened since it was last counted.
type Shadowed struct {
	Same, Different, Unplaced, Earlier int64
	Ours, Theirs                       ShadowSide
}

// ShadowSide is what one of the two did.
type ShadowSide struct{ Opened, Hard, Soft, Victims int64 }

const ours, theirs = "ours", "theirs"

func newShadow() Shadow {
	return Shadow{
		pods: counters("fairlead_shadow_pods_total",
			"Pods that the other scheduler has bound, by how that compares with what was decided: same (node), different (node), unplaced (nothing was found for it) or earlier (it was bound before anybody looked).", "result"),
		latency: histograms("fairlead_shadow_placement_latency_seconds",
			"Seconds from when a pod could be placed to the decision (ours), or until it was seen to be bound (theirs), of pods for which both have decided.", prometheus.ExponentialBuckets(0.001, 2, 20), "by"),
		opened: counters("fairlead_shadow_nodes_opened_total",
			"Pods that came to a node that had no other, of pods for which both have decided, by whose choice it was: ours or theirs.", "by"),
		violated: counters("fairlead_shadow_rules_violated_total",
			"Pods for which a rule between pods does not hold on the chosen node, of pods for which both have decided, by whose choice it was (ours or theirs) and rule: hard or soft.", "by", "rule"),
		victims: counters("fairlead_shadow_victims_total",
			"Pods that were to leave for others: as was decided and not done (ours), or as the other scheduler did (theirs).", "by"),
	}
}

func (s *Shadow) collectors() []prometheus.Collector {
	return []prometheus.Collector{s.pods, s.latency, s.opened, s.violated, s.victims}
}

// Compared counts a pod for which both have decided, each after so many seconds.
func (s *Shadow) Compared(after, afterTheirs float64) {
	s.latency.WithLabelValues(ours).Observe(after)
	s.latency.WithLabelValues(theirs).Observe(afterTheirs)
}

// Count counts what happened since it was last called.
func (s *Shadow) Count(since Shadowed) {
	for result, n := range map[string]int64{"same": since.Same, "different": since.Different, "unplaced": since.Unplaced, "earlier": since.Earlier} {
		s.pods.WithLabelValues(result).Add(float64(n))
	}
	for by, side := range map[string]ShadowSide{ours: since.Ours, theirs: since.Theirs} {
		s.opened.WithLabelValues(by).Add(float64(side.Opened))
		s.violated.WithLabelValues(by, "hard").Add(float64(side.Hard))
		s.violated.WithLabelValues(by, "soft").Add(float64(side.Soft))
		s.victims.WithLabelValues(by).Add(float64(side.Victims))
	}
}
