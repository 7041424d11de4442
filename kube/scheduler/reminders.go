package scheduler

import (
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/world"
)

// This file says when pods that go on waiting are looked at again, as their reasons change. Many thousands may wait for weeks, and whoever
// comes meanwhile must not wait for them: to find the words takes a look at every node whenever anything has changed, and new words are written to the API server.
// So pods are looked at again together, once a second, as long as explainingLasts, and no more than a few of them get new words: those of one shape share the look.

const (
	explainAgain = cluster.Minute
	// lookTogether is how far apart looks are, and lookOn where one ended before all were looked at who were due.
	lookTogether = cluster.Second
	lookOn       = cluster.Second / 10
	// rewriteMost is for how many pods new words are written after one look.
	rewriteMost = 50
)

// reminders are pods to be looked at again.
type reminders struct {
	list []reminder         // the earliest first; one for each pod at most
	has  map[types.UID]bool // the pods of list
	next cluster.Time       // not before then
}

type reminder struct {
	pod *world.Pod
	at  cluster.Time
}

// add has the pod looked at again in a while, unless it will be anyway.
func (r *reminders) add(p *world.Pod, now cluster.Time) {
	if uid := p.Object().UID; !r.has[uid] {
		r.has[uid] = true
		r.list = append(r.list, reminder{p, now + explainAgain})
	}
}

// take takes out a pod that it is time to look at again; nil if there is none.
func (r *reminders) take(now cluster.Time) *world.Pod {
	if len(r.list) == 0 || r.list[0].at > now {
		return nil
	}
	p := r.list[0].pod
	delete(r.has, p.Object().UID)
	r.list = r.list[1:]
	return p
}

// wake is when the next pods are due.
func (r *reminders) wake() cluster.Time {
	if len(r.list) == 0 {
		return cluster.Never
	}
	return max(r.list[0].at, r.next)
}

// lookAgain looks at pods again that it is time for, the longest due first.
func (e *explainer) lookAgain(s *Scheduler) {
	now := s.now()
	if now < e.again.wake() {
		return
	}
	e.again.next = now + lookTogether
	until := s.Clock.Now().Add(explainingLasts)
	for written := 0; written < rewriteMost; {
		p := e.again.take(now)
		if p == nil {
			return
		}
		if e.explain(s, p) {
			written++
		}
		if s.Clock.Now().After(until) {
			e.again.next = now + lookOn
			return
		}
	}
}
