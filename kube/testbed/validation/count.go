package validation

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// This file counts how requests fare by what a watch of their pods shows, and by nothing that the scheduler says: a request runs while it has a pod on a node.

// requestLabel is the label of pods that names their request.
const requestLabel = "request"

// counter counts requests. Several goroutines may use it.
type counter struct {
	mu       sync.Mutex
	requests map[string]*request
	began    []time.Time // when pods were seen to have a node
	left     []time.Time // when pods that had one were gone
}

// request is how one fares.
type request struct {
	came        time.Time // when its first pod was seen
	pod         types.UID // that runs; empty if none does
	since       time.Time // when that began to run
	ran         time.Duration
	preemptions int
}

func newCounter() *counter {
	return &counter{requests: map[string]*request{}}
}

// see takes in a pod as it is at a moment.
func (c *counter) see(pod *corev1.Pod, gone bool, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := pod.Labels[requestLabel]
	r := c.requests[name]
	if r == nil {
		r = &request{came: now}
		c.requests[name] = r
	}
	switch {
	case gone && r.pod == pod.UID:
		r.pod, r.ran = "", r.ran+now.Sub(r.since)
		r.preemptions++
		c.left = append(c.left, now)
	case !gone && pod.Spec.NodeName != "" && r.pod != pod.UID:
		c.began = append(c.began, now)
		r.pod, r.since = pod.UID, now
	}
}

// availability is the share of its time up to a moment that the request has run; 1 of one that has not come.
func (r *request) availability(until time.Time) float64 {
	age, ran := until.Sub(r.came), r.ran
	if r.pod != "" {
		ran += until.Sub(r.since)
	}
	if age <= 0 {
		return 1
	}
	return float64(ran) / float64(age)
}

// came are the names of requests that have come, the first first.
func (c *counter) came() []string {
	var names []string
	for name := range c.requests {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return c.requests[a].came.Compare(c.requests[b].came) })
	return names
}

// together is how far apart pods are gone that were told to leave at once.
const together = 100 * time.Millisecond

// bursts is how long after one another pods began to leave that were told to at once.
func (c *counter) bursts() []time.Duration {
	var all []time.Duration
	var began time.Time
	for i, at := range c.left {
		switch {
		case i == 0:
			began = at
		case at.Sub(c.left[i-1]) > together:
			all = append(all, at.Sub(began))
			began = at
		}
	}
	return all
}
