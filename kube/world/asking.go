package world

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/judge"
)

// This file asks about pods whose nodes depend on more than themselves and one
// node: on other pods, on volumes, on claims. All pods that ask alike are one
// question. Its answer, by all of upstream's filters, holds for the moment
// only, so it is given to the core just before a round, for as many pods as
// are likely to get through on it: one at first, twice as many each time that
// all did, one again when one did not. With preferences the answer is the
// nodes that upstream's scores like best, for one pod at a time.

const maxWindow = 64

type question struct {
	key     string
	class   *class // its set; not kept up
	demand  cluster.Vector
	pods    []*Pod // asking, the first in line first
	prefers bool
	// prepares says that volumes or devices are set aside for its pods.
	prepares bool
	judged   *judge.Case  // open while some of the pods are in the core's hands
	asked    uint64       // World.changes when it was last asked
	after    cluster.Time // not to be asked again before
	// lastAsked is when it was last asked; 0 if it never was, or was answered.
	lastAsked cluster.Time
	failures  int
	window    int
	refused   bool // one that was let through was refused in this round
}

// ask puts the pod into the queue of those whose nodes have to be worked out.
func (w *World) ask(p *Pod, demand cluster.Vector) {
	key := questionKey(p.object)
	q := w.asking[key]
	if q == nil {
		q = &question{
			key: key, demand: demand, window: 1, prepares: w.judge.SetsAside(p.object),
			class: &class{key: key, set: cluster.SetID(w.setRows.Take())},
		}
		w.asking[key] = q
	}
	w.take(p, w.shapeOf(q.class, demand))
	w.move(p, Asking)
	p.question, p.Why = q, ""
	q.insert(p)
	q.asked = 0 // a new pod wants an answer at once
}

// insert keeps the pods in the order of priority and arrival.
func (q *question) insert(p *Pod) {
	at, _ := slices.BinarySearchFunc(q.pods, p, before)
	q.pods = slices.Insert(q.pods, at, p)
}

func before(a, b *Pod) int {
	return cmp.Or(cmp.Compare(priority(b.object), priority(a.object)), cmp.Compare(a.order, b.order))
}

// unask takes the pod out of its question.
func (w *World) unask(p *Pod) {
	q := p.question
	p.question = nil
	q.pods = slices.DeleteFunc(q.pods, func(other *Pod) bool { return other == p })
	if len(q.pods) == 0 && q.judged == nil && w.asking[q.key] == q {
		delete(w.asking, q.key)
	}
}

func (q *question) close() {
	if q.judged != nil {
		q.judged.Close()
		q.judged = nil
	}
}

// Ask lets pods wait in the core: those in line, and then pods that ask, whose
// nodes it works out until enough says that it has taken long enough. It returns the pods that no
// node would take.
func (w *World) Ask(enough func() bool) []*Pod {
	w.letThrough()
	var unplaced []*Pod
	for _, q := range w.due() {
		if enough() {
			break
		}
		if w.mayAsk(q) { // nor did those before it take the room to prepare
			unplaced = append(unplaced, w.answer(q)...)
		}
	}
	return unplaced
}

// claimsCome is how long a pod's claims may take to be made after it.
const claimsCome = 10 * cluster.Second

// due lists the questions that are worth asking now: those that were not asked
// for the longest time first, so that many hopeless ones do not keep the others,
// and then in the order of their first pods.
func (w *World) due() []*question {
	var due []*question
	for _, q := range w.asking {
		if w.mayAsk(q) && q.judged == nil && w.askAt(q) <= w.now {
			due = append(due, q)
		}
	}
	slices.SortFunc(due, func(a, b *question) int {
		return cmp.Or(cmp.Compare(a.lastAsked, b.lastAsked), before(a.pods[0], b.pods[0]))
	})
	return due
}

// mayAsk reports whether the question is worth asking, now or later: something has
// changed, and its pods could be prepared for.
func (w *World) mayAsk(q *question) bool {
	return len(q.pods) > 0 && q.asked != w.changes && (!q.prepares || w.preparations > 0)
}

// askAt is when the question may be asked again. One that is more important than
// a pod that waits in the core does not leave to it what room appears.
func (w *World) askAt(q *question) cluster.Time {
	at := q.after
	for rank := range w.ranks {
		if rank < priority(q.pods[0].object) {
			return min(at, q.lastAsked+urgentRest)
		}
	}
	return at
}

// urgentRest is how long a question that outranks what waits rests at least.
const urgentRest = 100 * cluster.Millisecond

// answer asks one question and lets pods through on the answer.
func (w *World) answer(q *question) []*Pod {
	w.handling(q.pods[0].object)
	q.asked, q.lastAsked = w.changes, w.now
	q.prefers = judge.Prefers(q.pods[0].object) || w.softTaints > 0
	judged, refusal := w.judge.Case(q.pods[0].object)
	var names []string
	if refusal.IsSuccess() {
		names = judged.Feasible()
		if q.prefers && len(names) > 1 {
			names = judged.Preferred(names)
		}
	}
	if len(names) == 0 {
		if judged != nil {
			judged.Close()
		}
		if first := q.pods[0]; !refusal.IsSuccess() && len(first.object.Spec.ResourceClaims) > 0 && w.now < first.Ready+claimsCome {
			// The claims are not there yet: no reason to rest, or to speak of it.
			w.stirAt = min(w.stirAt, first.Ready+claimsCome)
			return nil
		}
		w.postpone(q)
		return slices.Clone(q.pods)
	}
	q.judged, q.refused = judged, false
	w.open = append(w.open, q)
	rows := make([]cluster.NodeID, 0, len(names))
	for _, name := range names {
		if n := w.nodes[name]; n != nil {
			rows = append(rows, n.row)
		}
	}
	slices.Sort(rows)
	w.define(q.class, rows)
	window := q.window
	if q.prefers {
		window = 1
	}
	through := min(window, len(q.pods))
	if q.prepares {
		through = min(through, w.preparations)
		w.preparations -= through
	}
	for _, p := range slices.Clone(q.pods[:through]) {
		w.offer(p)
		q.class.waiting++
	}
	q.pods = slices.Delete(q.pods, 0, through)
	return nil
}

// postpone lets a question that found no place rest for a while.
func (w *World) postpone(q *question) {
	if q.after <= w.now {
		q.failures++
		q.after = w.now + w.backoff(q.failures)
	}
}

// settleQuestions closes the answers of this round. Pods that the core could
// not place ask again.
func (w *World) settleQuestions() {
	open := w.open
	w.open = w.open[:0]
	for _, q := range open {
		q.close()
		if q.refused {
			q.window = 1
		} else {
			q.window, q.failures, q.lastAsked = min(2*q.window, maxWindow), 0, 0
		}
		if len(q.pods) == 0 && w.asking[q.key] == q {
			delete(w.asking, q.key)
		}
	}
}

// questionKey tells apart what any filter may look at.
func questionKey(pod *v1.Pod) string {
	ownClaims := slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool { return v.Ephemeral != nil })
	if len(pod.Spec.ResourceClaims) > 0 || ownClaims {
		return string(pod.UID)
	}
	key, err := json.Marshal(struct {
		Namespace string
		Labels    map[string]string
		Spec      v1.PodSpec
	}{pod.Namespace, pod.Labels, pod.Spec})
	if err != nil {
		panic(fmt.Sprintf("world: pod %s/%s does not marshal: %v", pod.Namespace, pod.Name, err))
	}
	return string(key)
}
