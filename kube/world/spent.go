package world

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/cluster"
)

// This file is what the ledger keeps of a replica, and how that goes on.

// Spent is how a replica had spent its time at a moment, which is the Since of its account.
type Spent struct {
	Pod         types.UID // that it had; empty if it had none
	Name        string    // of that pod, or the last one
	Class       string
	Account     cluster.Account
	Phase       cluster.Phase // Waiting, Starting, Running, or Gated: its time does not count
	Preemptions int32
	Millicores  int64        // that it asks for
	Until       cluster.Time // when it is forgotten, of one that nobody has; 0 if that is not known
}

// Times is what the ledger has to know of time and of the core.
type Times struct {
	// Account is that of a task as the core has it, advanced to now, and the phase that it is in; nil if the core has no such task.
	Account func(cluster.TaskID, cluster.Seq) (*cluster.Account, cluster.Phase)
	// At is a moment of the API server's clock.
	At func(metav1.Time) cluster.Time
}

// Standing is how a workload stands at a moment.
type Standing struct {
	Workload
	Replicas []Spent // those with a slot first
	Live     int     // how many have one
}

// standing is how the workload stands now.
func (w *workload) standing() Standing {
	s := Standing{Workload: w.Workload, Live: len(w.slots)}
	for _, of := range w.slots {
		s.Replicas = append(s.Replicas, w.ledger.spent(of))
	}
	for _, uid := range sortedUIDs(w.mine) {
		s.Replicas = append(s.Replicas, w.mine[uid])
	}
	s.Replicas = append(s.Replicas, w.past...)
	return s
}

// spent is how the replica of a slot has spent its time: as the core has it, or if that has not heard of it yet, as it began.
func (l *Ledger) spent(of *slot) Spent {
	s := Spent{Name: of.replica, Class: of.name, Phase: cluster.Gated, Preemptions: of.preemptions, Millicores: of.shape.demand[cpuColumn]}
	account, phase := l.times.Account(of.task, of.seq)
	switch {
	case account != nil:
		s.Account, s.Phase = *account, phase
	case of.begun != nil:
		s.Account = *of.begun
	default:
		s.Account = cluster.Account{Submitted: l.journal.now, Since: l.journal.now, FirstRun: cluster.Never}
	}
	if of.pod != nil {
		s.Pod = of.pod.object.UID
	}
	return s
}

// catchUp advances the account to now. A pod that is on a node has run since then, or since it came there; one that is not, and waited, has waited.
func (s *Spent) catchUp(l *Ledger, pod *v1.Pod) {
	a := s.Account
	now := max(l.journal.now, a.Since) // clocks of machines differ
	before := s.Phase
	if before != cluster.Waiting {
		before = cluster.Gated // a pod of ours that was not in the core's hands
	}
	switch {
	case pod.Spec.NodeName == "":
		a = a.At(now, before)
	case s.Phase == cluster.Running:
		a = a.At(now, cluster.Running)
	default:
		came := min(max(boundAt(l, pod, a.Since), a.Since), now)
		a = a.At(came, before)
		if a.FirstRun == cluster.Never {
			a.FirstRun = came
		}
		a = a.At(now, cluster.Running)
	}
	s.Account, s.Phase = a, cluster.Gated
}

// boundAt is when the pod came to its node; if the API server does not say, that moment.
func boundAt(l *Ledger, pod *v1.Pod, unsaid cluster.Time) cluster.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodScheduled && c.Status == v1.ConditionTrue {
			return l.times.At(c.LastTransitionTime)
		}
	}
	return unsaid
}
