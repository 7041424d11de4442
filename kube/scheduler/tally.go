package scheduler

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/metrics"
	"fairlead.dev/fairlead/kube/world"
	"fairlead.dev/fairlead/sched"
)

// countEvery is how often the gauges are set and the recording is flushed, if
// the loop turns at all.
const countEvery = cluster.Second

// tally brings to the metrics what the loop did and where everything stands.
type tally struct {
	at          cluster.Time          // when the gauges were last set
	evaluations int64                 // of the judge, that were counted
	leftOut     []v1.ResourceName     // that were logged to have no column
	excess      map[world.Excess]bool // that was logged and is still there
	// overcommitted are the nodes that were reported and still are.
	overcommitted map[string]bool
	contests      int  // that were counted
	storms        int  // of evictions, that were logged
	contested     bool // nodes were left to other schedulers when that was last looked at
}

// due reports whether the gauges are to be set, and takes it that they are.
func (t *tally) due(now cluster.Time) bool {
	if now < t.at+countEvery {
		return false
	}
	t.at = now
	return true
}

// set sets the gauges, and logs which nodes came to offer more devices than are used.
func (t *tally) set(s *Scheduler) {
	counts, m := s.world.Counts(), s.Metrics
	m.Evictions.SetPending(s.world.Exits().Lingering())
	m.Pods.SetPending(metrics.Active, counts.Queued)
	m.Pods.SetPending(metrics.Waiting, counts.Waiting+counts.AwaitingQuery)
	m.Pods.SetPending(metrics.Backoff, counts.BackingOff)
	m.Pods.SetPending(metrics.Gated, counts.Gated)
	m.Cluster.SetCached(metrics.Nodes, counts.Nodes)
	m.Cluster.SetCached(metrics.BoundPods, counts.OnNodes)
	m.Cluster.SetCached(metrics.AssumedPods, counts.Assumed)
	m.Cluster.SetAside(s.aside.count())
	excess := s.world.Columns().Excess()
	t.reportExcess(excess)
	t.reportContests(s)
	t.reportStorms(s)
	m.Cluster.SetLeftOut(len(s.world.Columns().LeftOut()), s.world.Columns().Refused(), len(excess))
	if !s.epochs.mistakes.broken && notesOf(s) == nil { // else what is noted only takes no room
		t.reportOvercommitted(s)
	}
	evaluations := s.judge.Evaluations()
	m.Rounds.EligibilityEvaluated(int(evaluations - t.evaluations))
	t.evaluations = evaluations
}

// rounds counts what the core did since the time, when it had counted so much.
func (t *tally) rounds(s *Scheduler, before *sched.Counts, began time.Time) {
	after := s.epochs.core.Counts()
	if after.Rounds == before.Rounds {
		return
	}
	took := s.Clock.Since(began)
	s.Metrics.Pods.Decided(took)
	s.Metrics.Rounds.Ended(metrics.Round{
		Rounds: int(after.Rounds - before.Rounds), Took: took,
		Ticks: uint64(after.Ticks - before.Ticks), Placements: int(after.Placed - before.Placed),
	})
	s.Metrics.Rounds.BundlesRefused(int(after.Refused - before.Refused))
	s.Metrics.Cluster.Stale(int(after.Stale - before.Stale))
}

// reportLeftOut logs which resources of nodes have no column, when that is new.
func (t *tally) reportLeftOut(left []v1.ResourceName) {
	if len(left) == 0 || slices.Equal(left, t.leftOut) {
		return
	}
	t.leftOut = left
	klog.Background().Info("nodes offer more resources than are counted; those that no pod asks for are left out until one does",
		"leftOut", len(left), "first", left[:min(len(left), 10)])
}

// reportExcess logs which nodes offer more devices than are used, each when that is new.
func (t *tally) reportExcess(excess []world.Excess) {
	var fresh []string
	logged := make(map[world.Excess]bool, len(excess))
	for _, e := range excess {
		logged[e] = true
		if !t.excess[e] {
			fresh = append(fresh, e.String())
		}
	}
	t.excess = logged
	if len(fresh) == 0 {
		return
	}
	why := fmt.Sprintf("of all resources that come in devices a node may have %d together, in equal shares", cluster.MaxDevices)
	klog.Background().Info("nodes offer more devices than are used: "+why, "leftOut", len(fresh), "first", fresh[:min(len(fresh), 10)])
}
