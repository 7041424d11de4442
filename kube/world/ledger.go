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
// kept by workload and class, for classes that promise an availability. What is kept of a replica, and how that goes on, is spent.go.

// AccountsLast is how long the account of a replica that nobody has any more is kept, so that to delete a workload and make it again does not wash it.
const AccountsLast = cluster.Day

const (
	// mostPast is how many of these are kept of a workload, and mostIdle of how many workloads of a namespace that have no replica.
	mostPast = 256
	mostIdle = 1000
	// accountsEvery is how long a workload that was written is not written again, and restlessEvery how long it is not if some replica is to run and does not.
	accountsEvery = 5 * cluster.Second
	restlessEvery = 30 * cluster.Second
)

// Workload is by what accounts are kept: what has pods come again. Its name outlives it. The kind is in small letters: who makes a pod may write it as he likes.
type Workload struct{ Namespace, Kind, Name string }

// WorkloadOf is the workload of a pod: its controller, of a ReplicaSet that a Deployment made that Deployment, or the pod itself.
func WorkloadOf(p *v1.Pod) Workload {
	owner := metav1.GetControllerOfNoCopy(p)
	if owner == nil {
		return Workload{p.Namespace, "pod", p.Name}
	}
	kind := strings.ToLower(owner.Kind)
	if hash := p.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; kind == "replicaset" && hash != "" {
		if name, made := strings.CutSuffix(owner.Name, "-"+hash); made {
			return Workload{p.Namespace, "deployment", name}
		}
	}
	return Workload{p.Namespace, kind, owner.Name}
}

// Ledger keeps accounts of workloads.
type Ledger struct {
	journal   *journal
	times     Times
	workloads map[Workload]*workload
	idle      map[string]int      // by namespace, those without a replica
	ending    map[Workload][]*Pod // on their nodes, and marked as deleted, from whose accounts no pod goes on yet; the longest so first
	changed   []*workload
	restless  []restless // workloads that were written while some replica was to run and did not, the earliest first
	looked    cluster.Time
	swept     cluster.Time
}

// restless is a workload, and when it was written.
type restless struct {
	*workload
	at cluster.Time
}

// workload is one with replicas, or with accounts of some that were.
type workload struct {
	Workload
	ledger  *Ledger
	slots   []*slot             // each knows its place
	vacant  []*slot             // those without a pod, the longest so first
	mine    map[types.UID]Spent // remembered of pods that are yet to be seen
	past    []Spent             // of replicas that nobody has, the longest so first
	changed bool                // is in the ledger's list
	written cluster.Time
}

// LedgerOf is the ledger of a world.
func LedgerOf(w *World) *Ledger { return w.slots.classes.ledger }

// keeps reports whether accounts are kept at all.
func (l *Ledger) keeps() bool { return l.times.Account != nil }

// of is the workload of that name, made if it is not known.
func (l *Ledger) of(key Workload) *workload {
	w := l.workloads[key]
	if w == nil {
		w = &workload{Workload: key, ledger: l, mine: map[types.UID]Spent{}, written: -cluster.Day}
		l.workloads[key] = w
		w.idles(1)
	}
	return w
}

// forget forgets a workload that has no replica.
func (l *Ledger) forget(w *workload) {
	delete(l.workloads, w.Workload)
	w.idles(-1)
}

// idles counts the workload among those without a replica, or no more.
func (w *workload) idles(change int) {
	of := w.ledger.idle
	if of[w.Namespace] += change; of[w.Namespace] == 0 {
		delete(of, w.Namespace)
	}
}

// touch notes that something of the workload has changed.
func (w *workload) touch() {
	if w != nil && !w.changed {
		w.changed = true
		w.ledger.changed = append(w.ledger.changed, w)
	}
}

// open takes in a slot of the pod that has no workload yet, if its class promises something.
func (l *Ledger) open(p *Pod, promises bool) {
	if !promises || !l.keeps() || !p.Ours || p.lineage.succeeded || p.slot.workload != nil {
		return
	}
	w := l.of(WorkloadOf(p.object))
	if len(w.slots) == 0 {
		w.idles(-1)
	}
	p.slot.workload, p.slot.at = w, len(w.slots)
	w.slots = append(w.slots, p.slot)
	w.touch()
}

// vacate takes in that a slot has no pod.
func (w *workload) vacate(of *slot) {
	if w != nil {
		w.vacant = append(w.vacant, of)
		w.touch()
	}
}

// fill takes in that a slot that had none has a pod.
func (w *workload) fill(of *slot) {
	if w != nil {
		w.vacant = slices.DeleteFunc(w.vacant, func(o *slot) bool { return o == of })
		w.touch()
	}
}

// close takes in that a slot ends. What its replica has spent is kept, unless it is done.
func (l *Ledger) close(of *slot) {
	w := of.workload
	if w == nil {
		return
	}
	of.workload = nil
	last := w.slots[len(w.slots)-1]
	w.slots[of.at], last.at = last, of.at
	w.slots = w.slots[:len(w.slots)-1]
	w.fill(of)
	if !of.done {
		w.keep(l.spent(of))
	}
	if len(w.slots) == 0 {
		if w.idles(1); l.idle[w.Namespace] > mostIdle {
			w.past = nil
		}
	}
}

// handOn takes the account from a slot whose replica goes on in another one, and returns it; nil if none is kept.
func (l *Ledger) handOn(of *slot) *Spent {
	if of.workload == nil {
		return nil
	}
	spent := l.spent(of)
	of.done = true
	l.close(of)
	return &spent
}

// remembers reports whether what the pod has spent is remembered, and yet to be taken in.
func (l *Ledger) remembers(p *Pod) bool {
	w := l.workloads[WorkloadOf(p.object)]
	if w == nil {
		return false
	}
	_, is := w.mine[p.object.UID]
	return is
}

// keep keeps the account of a replica that nobody has any more. Of more than there may be the one that has run the most of its time goes, so that many replicas that do well are no way to be rid of one that did not.
func (w *workload) keep(s Spent) {
	if s.Account.Age() == 0 {
		return
	}
	s.Pod, s.Phase = "", cluster.Gated
	if s.Until == 0 {
		s.Until = w.ledger.journal.now + AccountsLast
	}
	w.past = append(w.past, s)
	if len(w.past) > mostPast {
		best := 0
		for i := range w.past {
			if w.past[i].Account.Availability() > w.past[best].Account.Availability() {
				best = i
			}
		}
		w.past = slices.Delete(w.past, best, best+1)
	}
}

// reclaim is what the replica that the pod fills has spent before, where its job has no slot for it: what is remembered of the pod itself, or of a replica of its workload that nobody has, that of its name first; nil if there is none.
func (s *slots) reclaim(p *Pod, class string) *Spent {
	l := s.classes.ledger
	if !l.keeps() || !p.Ours {
		return nil
	}
	w := l.workloads[WorkloadOf(p.object)]
	if w == nil {
		return nil
	}
	if mine, known := w.mine[p.object.UID]; known {
		delete(w.mine, p.object.UID)
		w.touch()
		if mine.Class == class {
			mine.catchUp(l, p.object)
			return &mine
		}
		w.keep(mine)
		return nil
	}
	best := -1
	for i := range w.past {
		if o := &w.past[i]; o.Class == class && (best < 0 || o.Name == p.object.Name && w.past[best].Name != p.object.Name) {
			best = i
		}
	}
	if best >= 0 {
		spent := w.past[best]
		w.past = slices.Delete(w.past, best, best+1)
		spent.catchUp(l, p.object)
		return &spent
	}
	for _, o := range w.vacant {
		if o.name == class { // of another job of the workload, as of the ReplicaSet before
			spent := l.spent(o)
			o.done = true // it goes on in another slot
			s.vacantNoMore(o)
			s.end(o)
			return &spent
		}
	}
	return nil
}

// classOf is the class that the pod had when it was last written of, as far as that is yet to be taken in; empty if nothing is remembered.
func (l *Ledger) classOf(p *v1.Pod) string {
	if w := l.workloads[WorkloadOf(p)]; w != nil {
		return w.mine[p.UID].Class
	}
	return ""
}

// suspend keeps the accounts of all slots while the world begins a new core: of those with a pod for the pod, which comes again.
func (l *Ledger) suspend() {
	l.ending = nil
	for _, w := range l.workloads {
		if len(w.slots) > 0 {
			w.idles(1)
		}
		slots := w.slots
		w.slots, w.vacant = nil, nil
		for _, of := range slots {
			spent := l.spent(of)
			of.workload = nil
			if of.pod == nil {
				w.keep(spent)
				continue
			}
			of.pod.lineage.preemptions = of.preemptions
			if of.pod.lineage.past == nil { // no core has heard of it
				of.pod.lineage.past = of.begun
			}
		}
		w.touch()
	}
}

// Remember takes in how workloads stood when that was last written, before any pod is seen. Alive says which of the pods are still there.
func (l *Ledger) Remember(standing []Standing, alive func(types.UID) bool) {
	for _, s := range standing {
		w := l.of(s.Workload)
		for _, spent := range s.Replicas {
			if spent.Pod != "" && alive(spent.Pod) {
				w.mine[spent.Pod] = spent
			} else {
				w.keep(spent)
			}
		}
		w.touch()
	}
}

// Surveyed takes in that all pods that there are have been seen: nobody has what is remembered of others.
func (l *Ledger) Surveyed() {
	for _, w := range l.workloads {
		for _, uid := range sortedUIDs(w.mine) {
			w.keep(w.mine[uid])
		}
		clear(w.mine)
	}
}

func sortedUIDs(of map[types.UID]Spent) []types.UID {
	uids := make([]types.UID, 0, len(of))
	for uid := range of {
		uids = append(uids, uid)
	}
	slices.Sort(uids)
	return uids
}

// Changed returns how workloads stand of which something has changed and that were not written for a while, and takes it that they are written; Replicas is empty of those that are forgotten.
// It is called when the core has heard of all that happened, and has a look once a second; the last time it is for those as well that were written just before.
func (l *Ledger) Changed(last bool) []Standing {
	now := l.journal.now
	if now < l.looked+cluster.Second && !last {
		return nil
	}
	l.looked = now
	l.sweep()
	for len(l.restless) > 0 && l.restless[0].at+restlessEvery <= now {
		if r := l.restless[0]; r.written == r.at { // else it was written since
			r.touch()
		}
		l.restless = l.restless[1:]
	}
	var all []Standing
	later := l.changed[:0]
	for _, w := range l.changed {
		if l.workloads[w.Workload] != w { // it was forgotten, and another of its name may be there
			continue
		}
		if now < w.written+accountsEvery && !last {
			later = append(later, w)
			continue
		}
		w.changed, w.written = false, now
		s := w.standing()
		all = append(all, s)
		switch {
		case len(s.Replicas) == 0:
			l.forget(w)
		case slices.ContainsFunc(s.Replicas[:s.Live], func(r Spent) bool { return r.Phase != cluster.Running }):
			l.restless = append(l.restless, restless{w, now})
		}
	}
	clear(l.changed[len(later):])
	l.changed = later
	slices.SortFunc(all, func(a, b Standing) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// wake is when the ledger next has something to be written.
func (l *Ledger) wake() cluster.Time {
	switch {
	case len(l.changed) > 0:
		return l.journal.now + cluster.Second
	case len(l.restless) > 0:
		return max(l.restless[0].at+restlessEvery, l.journal.now+cluster.Second)
	}
	return cluster.Never
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
		if w.past = slices.DeleteFunc(w.past, func(s Spent) bool { return s.Until <= now }); len(w.past) < before {
			w.touch()
		}
	}
}
