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
	vacant   map[string][]time.Time // by node: when places came free that nobody has taken since, the first first
	took     took
	left     []time.Time // when pods were gone
}

// took is how long requests took to run, from when they came and the place they got was free: the first time, and again.
type took struct{ first, again []time.Duration }

// request is how one fares.
type request struct {
	came        time.Time // when its first pod was seen
	pod         types.UID // that runs; empty if none does
	since       time.Time // when that began to run
	ran         time.Duration
	began       bool
	preemptions int
}

func newCounter() *counter {
	return &counter{requests: map[string]*request{}, vacant: map[string][]time.Time{}}
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
	node := pod.Spec.NodeName
	switch {
	case gone && r.pod == pod.UID:
		r.pod, r.ran = "", r.ran+now.Sub(r.since)
		r.preemptions++
		c.left = append(c.left, now)
		c.vacant[node] = append(c.vacant[node], now)
	case !gone && node != "" && r.pod != pod.UID:
		c.begin(r, node, now)
		r.pod, r.since = pod.UID, now
	}
}

// begin notes how long the request took to run.
func (c *counter) begin(r *request, node string, now time.Time) {
	from := r.came
	if free := c.vacant[node]; len(free) > 0 {
		if free[0].After(from) {
			from = free[0]
		}
		c.vacant[node] = free[1:]
	}
	into := &c.took.again
	if !r.began {
		into, r.began = &c.took.first, true
	}
	*into = append(*into, now.Sub(from))
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

// leaving is how long pods went on that were told to leave, but for the first that left of those that were told together: what a watch shows of it.
func (c *counter) leaving() []time.Duration {
	var all []time.Duration
	first := 0
	for i, at := range c.left {
		if i > 0 && at.Sub(c.left[i-1]) > together {
			first = i
		}
		all = append(all, at.Sub(c.left[first]))
	}
	return all
}
