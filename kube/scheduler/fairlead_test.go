package scheduler

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/policies/chosen"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
)

// This file holds the default policy, fairlead, to what it promises on Kubernetes.

// smallNode is a node for so many plain pods.
func smallNode(i int, pods int64) *v1.Node {
	n := bigNode(i)
	n.Status.Allocatable[v1.ResourceCPU] = *resource.NewMilliQuantity(100*pods, resource.DecimalSI)
	return n
}

// plain is a pod of a priority with room for as many plain pods.
func plain(i int, priority int32, pods int64) *v1.Pod {
	p := plainPod(i)
	p.Spec.Priority = &priority
	p.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = *resource.NewMilliQuantity(100*pods, resource.DecimalSI)
	return p
}

// on is the pod bound to a node.
func on(node int, p *v1.Pod) *v1.Pod {
	p.Spec.NodeName = bigNode(node).Name
	return p
}

// allowEvictions lets pods be evicted, many at once.
func (b *bubble) allowEvictions() {
	e := &b.Config.Profiles[0].Evictions
	e.Enabled, e.AtOnce, e.PerMinute = true, 16, 600
}

// Of 40 equal pods, to which nothing was promised, on 32 places nobody is ever evicted for another, whether
// they have an owner or not.
func TestEqualsStay(t *testing.T) {
	for i := range 10 {
		owned, policy := i%2 == 0, []string{"fairlead", "priority", "quincy", "qos", "qos-flow"}[i/2]
		t.Run(fmt.Sprintf("%s owned=%t", policy, owned), func(t *testing.T) {
			var objects []runtime.Object
			for i := range 4 {
				objects = append(objects, smallNode(i, 8))
			}
			for i := range 40 {
				p := plainPod(i)
				if !owned {
					p.OwnerReferences = nil
				}
				objects = append(objects, p)
			}
			inBubble(t, objects, func(b *bubble) {
				b.allowEvictions()
				b.Config.Profiles[0].Policy = chosen.Policy{Name: policy}
				b.run()
				for range 30 {
					b.pass(time.Minute)
				}
				evicted, bound := b.sum("fairlead_evictions_total"), len(strings.Fields(b.bound()))
				if evicted != 0 || bound != 32 {
					b.t.Errorf("%v evictions, and %d pods are bound, want none and 32", evicted, bound)
				}
			})
		})
	}
}

// Who leaves for a pod of priority 1,000,000 are pods of 10, not the one of 900,000, though fewer would have to.
func TestLeastImportantLeave(t *testing.T) {
	objects := []runtime.Object{smallNode(0, 2), smallNode(1, 2), smallNode(2, 2), on(0, plain(0, 900_000, 2))}
	for i := range 4 {
		objects = append(objects, on(1+i/2, plain(1+i, 10, 1)))
	}
	inBubble(t, objects, func(b *bubble) {
		b.allowEvictions()
		b.run()
		b.pass(time.Second)
		b.create(plain(9, 1_000_000, 2))
		b.pass(time.Minute)
		if got := b.bound(); !strings.Contains(got, "pod-0") || !strings.Contains(got, "pod-9") || len(strings.Fields(got)) != 4 {
			b.t.Errorf("bound are %s, want all but two of priority 10", got)
		}
	})
}

// Where evictions are not allowed nobody is evicted, however important who waits is. One that is large comes to a node
// all the same, as those of its priority stay off that after two minutes; and they say so.
func TestClaimsWithoutEvictions(t *testing.T) {
	batch := func(i int, pods int64) *v1.Pod {
		p := plain(i, 100, pods)
		p.Spec.RestartPolicy, p.OwnerReferences = v1.RestartPolicyNever, nil
		return p
	}
	objects := []runtime.Object{smallNode(0, 2), on(0, batch(1, 1)), on(0, batch(2, 1)), smallNode(1, 2), on(1, plain(3, 100, 1)), on(1, plain(4, 0, 1))}
	inBubble(t, objects, func(b *bubble) {
		ends := func(pod string) {
			if err := b.api.change(pod, func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded }); err != nil {
				b.t.Fatal(err)
			}
		}
		b.Config.Profiles[0].Evictions.Enabled = false
		b.run()
		b.pass(time.Second)
		b.create(batch(9, 2))
		b.pass(3 * time.Minute)
		ends("pod-1")
		b.create(batch(5, 1))
		b.pass(time.Second)
		const why = "0 of 2 nodes take it: 1 lack cpu (needs 0.1, left at most 0), 1 are kept for tasks that have waited longer; it would fit with 0.1 more cpu free on node-1."
		if got := b.explainer.reported["uid-5"].message; !strings.HasSuffix(got, why) {
			b.t.Errorf("reported of who stays off: %s", got)
		}
		ends("pod-2")
		b.pass(time.Second)
		b.expectBound("pod-1 pod-2 pod-3 pod-4 pod-9")
		ends("pod-9")
		b.pass(time.Second)
		b.expectBound("pod-1 pod-2 pod-3 pod-4 pod-5 pod-9")
		if n := b.sum("fairlead_evictions_total"); n != 0 {
			b.t.Errorf("%v evictions", n)
		}
	})
}

// Who is full of services drains never: nobody claims it, and what comes free is everybody's.
func TestServicesAreNotClaimed(t *testing.T) {
	inBubble(t, []runtime.Object{smallNode(0, 2), on(0, plainPod(1)), on(0, plainPod(2))}, func(b *bubble) {
		b.run()
		b.pass(time.Second)
		b.create(plain(9, 0, 2))
		b.pass(3 * time.Minute)
		if err := b.api.change("pod-1", func(p *v1.Pod) { p.Status.Phase = v1.PodFailed }); err != nil {
			b.t.Fatal(err)
		}
		b.create(plainPod(3))
		b.pass(time.Second)
		b.expectBound("pod-1 pod-2 pod-3")
	})
}

// A budget lets nobody go: each pod is asked for at most once in podMaxBackoffSeconds, after a few times at first, and who
// comes waits.
func TestRefusedEvictionsAreNotAskedAgainAndAgain(t *testing.T) {
	inBubble(t, []runtime.Object{smallNode(0, 2), on(0, plainPod(1)), on(0, plainPod(2))}, func(b *bubble) {
		b.allowEvictions()
		b.api.evict = func(context.Context, string, int) error {
			return apierrors.NewTooManyRequests("the disruption budget", 0)
		}
		b.run()
		b.pass(time.Second)
		b.create(plain(3, 100, 2))
		b.pass(10 * time.Minute)
		all := 0
		for _, pod := range []string{"pod-1", "pod-2"} {
			asked := len(b.api.requests(evictionsOf, pod))
			if all += asked; asked > 64 {
				b.t.Errorf("%s was asked for %d times in ten minutes, want at most once in ten seconds", pod, asked)
			}
		}
		if all < 10 { // of one alone, where it is refused before the other was asked for, as that is called back then
			b.t.Errorf("the pods were asked for %d times in ten minutes, want some ten times at least", all)
		}
		b.expectBound("pod-1 pod-2")
	})
}

// The recording of a profile that names no policy and allows no evictions says by what it was decided, and replays.
func TestDefaultIsRecorded(t *testing.T) {
	dir := t.TempDir()
	inBubble(t, []runtime.Object{smallNode(0, 2), plain(1, 0, 2)}, func(b *bubble) {
		b.Config.Record.Path, b.Config.Profiles[0].Evictions.Enabled = dir, false
		b.run()
		b.pass(time.Second)
		b.create(plain(2, 100, 1))
		b.pass(time.Minute)
		b.expectBound("pod-1")
	})
	in := onlyRecording(t, dir)
	result, err := recording.Replay(in, in.Name(), func(l recording.Lane) (sched.Policy, error) {
		return chosen.Make(policies.All(), &l, policies.Options{})
	})
	if err != nil || result.Difference != nil || result.Wrong > 0 || result.Placements != 1 {
		t.Fatalf("replayed %d placements, %d events made no sense, difference %v, error %v", result.Placements, result.Wrong, result.Difference, err)
	}
	if l := result.Header.Lanes[0]; l.Policy != "fairlead" || l.Options["without"] != "evictions" {
		t.Errorf("recorded %+v", l)
	}
}
