package scheduler

import (
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/world"
)

// This file says when pods that go on waiting are looked at again, as their reasons change. Many thousands may wait for weeks, and whoever
// comes meanwhile must not wait for them: to find the words takes a look at every node whenever anything has changed, and new words are written to the API server.
// So pods are looked at again together, once a second, and a bounded number of them: those of one shape share the look.

const (
	explainAgain = cluster.Minute
	// lookTogether is how far apart looks are, and remindMost how many pods share one.
	lookTogether = cluster.Second
	remindMost   = 50
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

// due takes out the pods that it is time to look at again.
func (r *reminders) due(now cluster.Time) (pods []*world.Pod) {
	if now < r.next {
		return nil
	}
	for len(pods) < remindMost && len(r.list) > 0 && r.list[0].at <= now {
		pods = append(pods, r.list[0].pod)
		delete(r.has, r.list[0].pod.Object().UID)
		r.list = r.list[1:]
	}
	if len(pods) > 0 {
		r.next = now + lookTogether
	}
	return pods
}

// wake is when the next pods are due.
func (r *reminders) wake() cluster.Time {
	if len(r.list) == 0 {
		return cluster.Never
	}
	return max(r.list[0].at, r.next)
}
