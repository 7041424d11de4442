package scheduler

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/metrics"
	"fairlead.dev/fairlead/kube/world"
	"fairlead.dev/fairlead/sched"
)

// This file is for whom pods leave, and counts that.

// preemptor is for whom others leave, as kube-scheduler calls it in events, conditions and metrics: a pod, or the pod group that it is of, or the root of the
// composite ones above that.
type preemptor struct {
	pod    *v1.Pod        // that comes to the room
	object runtime.Object // itself, or its group
	uid    types.UID
	kind   metrics.Preemptor
}

// preemptorOf is the preemptor whose pod this is. Groups that labels alone make are none to kube-scheduler.
func preemptorOf(p *world.Pod) *preemptor {
	pod, g := p.Object(), p.Group()
	if g == nil || g.Object == nil {
		return &preemptor{pod, pod, pod.UID, metrics.OfPod}
	}
	if above := g.Above(); len(above) > 0 {
		root := above[len(above)-1].Object
		return &preemptor{pod, root, root.UID, metrics.OfCompositePodGroup}
	}
	return &preemptor{pod, g.Object, g.Object.UID, metrics.OfPodGroup}
}

// preemption is who was decided to leave for one preemptor.
type preemption struct {
	by     *preemptor
	of     metrics.Preemption
	groups map[*world.Gang]bool // whose pods leave all at once
}

// countPreemptions counts for whom the decisions, which are out, have others leave. What made them began at that time.
func countPreemptions(s *Scheduler, decisions []sched.Decision, began time.Time) {
	v, preemptions, overdrawn := s.epochs.core.View(), map[types.UID]*preemption{}, map[cluster.BudgetID]int{}
	for _, d := range slices.Backward(decisions) { // a budget spared those who were told first
		if d.Kind != sched.Evict {
			continue
		}
		violates := takesOver(v, overdrawn, d.Task)
		t, serves := d.Purpose.Serves()
		if !serves || t == d.Task {
			continue
		}
		victim, by := s.world.Of(d.Task), s.world.Of(t)
		if victim == nil || by == nil {
			continue
		}
		preemptor := preemptorOf(by)
		p := preemptions[preemptor.uid]
		if p == nil {
			p = &preemption{by: preemptor, groups: map[*world.Gang]bool{}}
			preemptions[preemptor.uid] = p
		}
		p.of.Victims++
		if violates && s.world.Exits().Overrules(victim) {
			p.of.Violations++
		}
		if v.Job(v.Task(d.Task).Job).Disruption == cluster.DisruptTogether {
			p.groups[victim.Gang()] = true
		}
	}
	for _, p := range preemptions {
		p.of.Groups = len(p.groups)
		s.Metrics.Evictions.Preempted(p.by.kind, p.of)
		if p.by.kind != metrics.OfPod {
			s.Metrics.PodGroups.Attempted(metrics.WaitingOnPreemption, p.by.pod.Spec.SchedulerName, s.Clock.Since(began))
		}
	}
}

// takesOver takes a run that leaves back from its budgets, by how many more leave than they can spare, and reports whether it was one of these.
func takesOver(v *cluster.View, overdrawn map[cluster.BudgetID]int, t cluster.TaskID) (is bool) {
	for _, b := range cluster.GuardsOf(v, t) {
		if _, known := overdrawn[b]; !known {
			overdrawn[b] = cluster.Overdrawn(v, b)
		}
		is = is || overdrawn[b] > 0
		overdrawn[b]--
	}
	return is
}

// executions are the preemptors for which requests to evict are under way. They are the loop's.
type executions map[types.UID]*execution

type execution struct {
	began    time.Time
	open     int  // requests without an answer
	answered bool // one that was sent has been
	failed   bool // somebody stays
}

// begin takes in a request that is about to be made.
func (x executions) begin(d *departure, now time.Time) {
	if d.by == nil {
		return
	}
	if x[d.by.uid] == nil {
		x[d.by.uid] = &execution{began: now}
	}
	x[d.by.uid].open++
}

// end takes in what came of it, and counts the execution if nothing more is under way for it.
func (x executions) end(s *Scheduler, d *departure, result metrics.EvictionResult) {
	if d.by == nil || x[d.by.uid] == nil {
		return
	}
	e := x[d.by.uid]
	e.open--
	e.answered = e.answered || result != metrics.EvictionCalledBack
	e.failed = e.failed || result == metrics.EvictionRefused || result == metrics.EvictionError
	if e.open > 0 {
		return
	}
	delete(x, d.by.uid)
	if e.answered {
		s.Metrics.Evictions.Executed(d.by.kind, e.failed, s.Clock.Since(e.began))
	}
}
