package scheduler

import "k8s.io/klog/v2"

// reportStorms says loudly that evictions are stopped for a while, each time.
func (t *tally) reportStorms(s *Scheduler) {
	left, times := s.world.Exits().Storm().Stopped(s.now())
	s.Metrics.Evictions.SetStopped(left > 0)
	if times > t.storms {
		klog.Background().Error(nil, "nobody is told to leave for a while: more than 20 pods in a minute, and more than half of those that left, have left in vain, as nobody came to the room, or others had just left for them; "+
			"look at why pods for which others left were not bound (fairlead_evictions_without_placement_total), and at classes and priorities that take turns", "for", left, "times", times)
	}
	t.storms = times
}
