package world

import (
	"cmp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/cluster"
)

// This file keeps how replicas have spent their time for longer than their slots live: for the next leader, and where a workload is made anew or rolled out. It is
// kept by workload and class, for classes that promise an availability.

const (
	// accountsLast is how long the account of a replica that nobody wants any more is kept, so that to delete a workload and make it again does not wash it.
	accountsLast = cluster.Day
	// accountsEvery is how long a workload that was written is not written again.
	accountsEvery = 5 * cluster.Second
	// mostPast is how many of these are kept of a workload.
	mostPast = 256
)

// Workload is by what accounts are kept: what has pods come again. Its name outlives it.
type Workload struct{ Namespace, Kind, Name string }

// WorkloadOf is the workload of a pod: its controller, of a ReplicaSet that a Deployment made that Deployment, or the pod itself.
func WorkloadOf(p *v1.Pod) Workload {
	owner := metav1.GetControllerOfNoCopy(p)
	if owner == nil {
		return Workload{p.Namespace, "Pod", p.Name}
	}
	if hash := p.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; owner.Kind == "ReplicaSet" && hash != "" {
		if name, made := strings.CutSuffix(owner.Name, "-"+hash); made {
			return Workload{p.Namespace, "Deployment", name}
		}
	}
	return Workload{p.Namespace, owner.Kind, owner.Name}
}

// Spent is how a replica had spent its time at a moment, which is the Since of its account.
type Spent struct {
	Pod         types.UID // that it had; empty if it had none
	Name        string    // of that pod, or the last one
	Class       string
	Account     cluster.Account
	Phase       cluster.Phase // Waiting, Starting, Running, or Gated: its time does not count
	Preemptions int32

	until cluster.Time // when it is forgotten, of one that nobody has
}

// Times is what the ledger has to know of time and of the core.
type Times struct {
	// Account is that of a task as the core has it, advanced to now, and the phase that it is in; nil if the core has no such task.
	Account func(cluster.TaskID, cluster.Seq) (*cluster.Account, cluster.Phase)
	// At is a moment of the API server's clock.
	At func(metav1.Time) cluster.Time
}

// Ledger keeps accounts of workloads.
type Ledger struct {
	journal   *journal
	times     Times
	workloads map[Workload]*workload
	changed   []*workload
	looked    cluster.Time // when Changed last had a look
	swept     cluster.Time
}

// workload is one with replicas, or with accounts of some that were.
type workload struct {
	Workload
	ledger  *Ledger
	slots   []*slot // in the order in which they came
	past    []Spent // of replicas without a slot, those first that have been so for the longest
	changed bool    // is in the ledger's list
	written cluster.Time
}

// LedgerOf is the ledger of a world.
func LedgerOf(w *World) *Ledger { return w.slots.ledger }

// keeps reports whether accounts are kept at all.
func (l *Ledger) keeps() bool { return l.times.Account != nil }

// of is the workload of a pod, made if it is not known.
func (l *Ledger) of(key Workload) *workload {
	w := l.workloads[key]
	if w == nil {
		w = &workload{Workload: key, ledger: l, written: -cluster.Day}
		l.workloads[key] = w
	}
	return w
}

// touch notes that something of the workload has changed.
func (w *workload) touch() {
	if w != nil && !w.changed {
		w.changed = true
		w.ledger.changed = append(w.ledger.changed, w)
	}
}

// open takes in a new slot of the pod, whose class promises something.
func (l *Ledger) open(p *Pod, promises bool) {
	if !promises || !l.keeps() || !p.Ours {
		return
	}
	w := l.of(WorkloadOf(p.object))
	p.slot.workload = w
	w.slots = append(w.slots, p.slot)
	w.touch()
}

// close takes in that a slot ends. What its replica has spent is kept, unless it is done.
func (l *Ledger) close(of *slot) {
	w := of.workload
	if w == nil {
		return
	}
	w.slots = slices.DeleteFunc(w.slots, func(o *slot) bool { return o == of })
	if account, _ := l.times.Account(of.task, of.seq); account != nil && !of.done {
		w.keep(Spent{Name: of.replica, Class: of.name, Account: *account, Phase: cluster.Gated, Preemptions: of.preemptions})
	}
	w.touch()
}

// keep keeps the account of a replica that nobody has any more.
func (w *workload) keep(s Spent) {
	s.Pod, s.until = "", w.ledger.journal.now+accountsLast
	w.past = append(w.past, s)
	if len(w.past) > mostPast {
		w.past = slices.Delete(w.past, 0, 1)
	}
}

// reclaim is what the replica that the pod fills has spent before, where its job has no slot for it: what is remembered of the pod itself, or of a replica of its workload that nobody has, that of its name first; nil if there is none.
func (s *slots) reclaim(p *Pod, class string) *Spent {
	l := s.ledger
	if !l.keeps() || !p.Ours {
		return nil
	}
	w := l.workloads[WorkloadOf(p.object)]
	if w == nil {
		return nil
	}
	best := -1
	for i := range w.past {
		o := &w.past[i]
		switch {
		case o.Class != class || o.Pod != "" && o.Pod != p.object.UID:
		case o.Pod != "":
			return w.takePast(i, p)
		case best < 0 || o.Name == p.object.Name && w.past[best].Name != p.object.Name:
			best = i
		}
	}
	if best >= 0 {
		return w.takePast(best, p)
	}
	for _, o := range w.slots {
		if o.pod == nil && o.name == class { // of another job of the workload, as of the ReplicaSet before
			account, _ := l.times.Account(o.task, o.seq)
			if account == nil {
				continue
			}
			spent := Spent{Class: class, Account: *account, Phase: cluster.Gated, Preemptions: o.preemptions}
			o.done = true // it goes on in another slot
			s.vacantNoMore(o)
			s.end(o)
			return &spent
		}
	}
	return nil
}

// takePast takes an account that nobody has for the pod, as it is now.
func (w *workload) takePast(i int, p *Pod) *Spent {
	spent := w.past[i]
	w.past = slices.Delete(w.past, i, i+1)
	spent.catchUp(w.ledger, p.object)
	w.touch()
	return &spent
}

// catchUp advances the account to now. A pod that is on a node has run since then, or since it came there; one that is not, and waited, has waited.
func (s *Spent) catchUp(l *Ledger, pod *v1.Pod) {
	now, a := l.journal.now, s.Account
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

// suspend keeps the accounts of all slots while the world begins a new core: of those with a pod for the pod, which comes again.
func (l *Ledger) suspend() {
	for _, w := range l.workloads {
		slots := w.slots
		w.slots = nil
		for _, of := range slots {
			account, _ := l.times.Account(of.task, of.seq)
			switch {
			case of.pod != nil:
				of.pod.preemptions = of.preemptions
				if of.pod.past == nil { // no core has heard of it
					of.pod.past = of.begun
				}
			case account != nil:
				w.keep(Spent{Name: of.replica, Class: of.name, Account: *account, Phase: cluster.Gated, Preemptions: of.preemptions})
			}
		}
	}
}

// Standing is how a workload stands at a moment.
type Standing struct {
	Workload
	Replicas []Spent // those with a slot first
	Live     int     // how many have one
}

// Remember takes in how workloads stood when that was last written, before any pod is seen. Alive says which of the pods are still there.
func (l *Ledger) Remember(standing []Standing, alive func(types.UID) bool) {
	for _, s := range standing {
		w := l.of(s.Workload)
		for _, spent := range s.Replicas {
			if spent.Pod != "" && !alive(spent.Pod) {
				spent.Pod = ""
			}
			spent.until = l.journal.now + accountsLast
			w.past = append(w.past, spent)
		}
	}
}

// Changed returns how workloads stand of which something has changed and that were not written for a while, and takes it that they are written; Replicas is empty of those that are forgotten.
// It is called when the core has heard of all that happened, and has a look once a second.
func (l *Ledger) Changed() []Standing {
	if l.journal.now < l.looked+cluster.Second {
		return nil
	}
	l.looked = l.journal.now
	l.sweep()
	var all []Standing
	later := l.changed[:0]
	for _, w := range l.changed {
		if l.journal.now < w.written+accountsEvery {
			later = append(later, w)
			continue
		}
		w.changed, w.written = false, l.journal.now
		all = append(all, w.standing())
		if len(w.slots)+len(w.past) == 0 {
			delete(l.workloads, w.Workload)
		}
	}
	clear(l.changed[len(later):])
	l.changed = later
	slices.SortFunc(all, func(a, b Standing) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// Unwritten takes it that a workload is yet to be written.
func (l *Ledger) Unwritten(key Workload) { l.of(key).touch() }

// sweep forgets what has been kept for long enough, once a minute.
func (l *Ledger) sweep() {
	now := l.journal.now
	if now < l.swept+cluster.Minute {
		return
	}
	l.swept = now
	for _, w := range l.workloads {
		before := len(w.past)
		if w.past = slices.DeleteFunc(w.past, func(s Spent) bool { return s.until <= now }); len(w.past) < before {
			w.touch()
		}
	}
}

// standing is how the workload stands now.
func (w *workload) standing() Standing {
	s := Standing{Workload: w.Workload}
	for _, of := range w.slots {
		account, phase := w.ledger.times.Account(of.task, of.seq)
		if account == nil { // the core has not heard of it yet
			account, phase = of.begun, cluster.Gated
		}
		if account == nil {
			account = &cluster.Account{Submitted: w.ledger.journal.now, Since: w.ledger.journal.now, FirstRun: cluster.Never}
		}
		spent := Spent{Name: of.replica, Class: of.name, Account: *account, Phase: phase, Preemptions: of.preemptions}
		if of.pod != nil {
			spent.Pod = of.pod.object.UID
		}
		s.Replicas = append(s.Replicas, spent)
	}
	s.Live = len(s.Replicas)
	s.Replicas = append(s.Replicas, w.past...)
	return s
}
