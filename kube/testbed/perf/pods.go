package perf

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// This file knows the pods of a workload, as a watcher hears of them: which wait, which the scheduler has looked at, which are bound and when.

// pods are all pods of the cluster, also those that have gone. One goroutine writes, others read.
type pods struct {
	mu    sync.Mutex
	byUID map[types.UID]*pod
	order []*pod // as first seen
}

// pod is what was seen of one.
type pod struct {
	namespace, name string
	labels          labels.Set
	node            string
	attempted       bool // the scheduler, or who admitted it, has said something of it
	gone            bool
	why             string    // what was said at last
	seen, bound     time.Time // first
}

func newPods() *pods { return &pods{byUID: map[types.UID]*pod{}} }

// see notes a pod as it is, or that it is gone.
func (p *pods) see(object *corev1.Pod, gone bool) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.byUID[object.UID]
	if one == nil {
		one = &pod{namespace: object.Namespace, name: object.Name, seen: now}
		p.byUID[object.UID] = one
		p.order = append(p.order, one)
	}
	one.labels, one.node, one.gone = object.Labels, object.Spec.NodeName, gone
	if one.node != "" && one.bound.IsZero() {
		one.bound = now
	}
	one.attempted = false
	for _, c := range object.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			one.attempted = true
			one.why = strings.TrimSpace(c.Reason + " " + c.Message)
		}
	}
}

// group is some of the pods.
type group struct {
	namespaces []string
	labels     map[string]string
}

func (g group) has(p *pod) bool {
	return slices.Contains(g.namespaces, p.namespace) && labels.SelectorFromSet(g.labels).Matches(p.labels)
}

// tally counts the pods of a group that are there, and tells of one that is not bound.
type tally struct {
	bound, attempted int // attempted are those that are not bound
	waiting          string
}

func (p *pods) count(g group) (t tally) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.order {
		switch {
		case one.gone || !g.has(one):
		case one.node != "":
			t.bound++
		default:
			if one.attempted {
				t.attempted++
			}
			if t.waiting == "" {
				t.waiting = fmt.Sprintf("%s/%s (%s)", one.namespace, one.name, one.why)
			}
		}
	}
	return t
}

// boundIn lists the names of the pods of a namespace that are there and bound.
func (p *pods) boundIn(namespace string) (names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.order {
		if !one.gone && one.namespace == namespace && one.node != "" {
			names = append(names, one.name)
		}
	}
	return names
}

// named lists the names of the pods of a group that are there.
func (p *pods) named(g group) (names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.order {
		if !one.gone && g.has(one) {
			names = append(names, one.name)
		}
	}
	return names
}

// latencies are the times from seen to bound of the pods of a group that were bound after an instant, gone or not; and the time from the first of
// them that was seen since to the last that was bound.
func (p *pods) latencies(g group, after time.Time) (list []time.Duration, elapsed time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var first, last time.Time
	for _, one := range p.order {
		if !g.has(one) || !one.bound.After(after) {
			continue
		}
		list = append(list, one.bound.Sub(one.seen))
		if first.IsZero() {
			first = one.seen
		}
		if one.bound.After(last) {
			last = one.bound
		}
	}
	if first.Before(after) {
		first = after
	}
	return list, last.Sub(first)
}
