package scheduler

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/cluster"
)

// This file says loudly which nodes have pods that request more than they offer. Nothing that is decided
// here leads to that. Two schedulers that place on the same nodes do: each counts the other's pods only once
// it has seen them bound, and the API server binds what it is told to.

// mostReported is how many nodes are named at a time.
const mostReported = 10

// reportOvercommitted reports nodes whose pods request more than they offer, each when that is new.
func (t *tally) reportOvercommitted(s *Scheduler) {
	v, kinds := s.epochs.core.View(), s.world.Columns().Meanings()
	kept := func(t cluster.TaskID) bool {
		p := s.world.Of(t)
		return p != nil && p.StandsForRoom()
	}
	now := map[string]bool{}
	var fresh []string
	for row := range v.NodeRows() {
		n := cluster.NodeID(row)
		words := overcommitted(v, kinds, n, kept)
		if words == "" {
			continue
		}
		name := v.NodeSpec(n).Name
		now[name] = true
		if !t.overcommitted[name] && len(fresh) < mostReported {
			fresh = append(fresh, name+": "+words)
			node := &v1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: name}
			s.recorders[s.Config.Profiles[0].SchedulerName].Eventf(node, nil, v1.EventTypeWarning, "Overcommitted", "Scheduling",
				"Its pods request more than it offers: %s. Does another scheduler place on the same nodes?", words)
		}
	}
	t.overcommitted = now
	s.Metrics.Cluster.SetOvercommitted(len(now))
	if len(fresh) > 0 {
		klog.Background().Error(nil, "nodes are over-committed: their pods request more than they offer, as happens where two schedulers place on the same nodes", "nodes", len(now), "new", fresh)
	}
}

// overcommitted says of which kind the pods on the node request more than it offers; empty if of none. What
// is held for pods until others have left does not count, be they ours, or nominated by another scheduler, which kept says.
func overcommitted(v *cluster.View, kinds []cluster.Kind, n cluster.NodeID, kept func(cluster.TaskID) bool) string {
	if !v.NodeLive(n) {
		return ""
	}
	used, capacity := v.Used(n), v.Capacity(n)
	for k := range used {
		if used[k] <= capacity[k] {
			continue // which is all there is to do for nearly every node
		}
		taken := int64(0)
		for _, t := range v.TasksOn(n) {
			if task := v.Task(t); task.Phase != cluster.Reserved && task.Node == n && !kept(t) {
				taken += v.DemandOn(t, n)[k]
			}
		}
		if taken > capacity[k] {
			return fmt.Sprintf("%s %s of %s", kinds[k].Format(taken), kinds[k].Name, kinds[k].Format(capacity[k]))
		}
	}
	return ""
}
