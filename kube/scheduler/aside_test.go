package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/config"
)

// crowded sets so many replicas of one template aside, of which the first panicked.
func crowded(tb testing.TB, s *Scheduler, replicas int) {
	tb.Helper()
	s.recorders[config.DefaultSchedulerName] = recorder{&events.FakeRecorder{}, &sink{}}
	store := s.intake.informers.Core().V1().Pods().Informer().GetStore()
	for i := range replicas {
		p := plainPod(i)
		if err := store.Add(p); err != nil {
			tb.Fatal(err)
		}
		if i == 0 {
			s.aside.put(p, "panic")
		}
		s.intake.takeIn(p)
	}
	s.aside.due() // which reports them
	if pods, _, _ := s.aside.count(); pods != replicas {
		tb.Fatalf("%d pods are set aside, want %d", pods, replicas)
	}
}

// A turn in which nothing is due does nothing for the pods set aside, however many they are.
func TestCrowdSetAsideCostsNothing(t *testing.T) {
	s := idle(t)
	crowded(t, s, 10_000)
	if n := testing.AllocsPerRun(10, func() { s.aside.due(); s.aside.wake() }); n != 0 {
		t.Errorf("a turn in which nothing is due makes %v allocations", n)
	}
	if quarantines, due := len(s.aside.queue), s.aside.wake(); quarantines != 1 || due > s.now()+asideAtFirst {
		t.Errorf("%d quarantines for replicas that are alike, of which the first is due at %v", quarantines, due)
	}
}

// BenchmarkCrowdSetAside is how long it takes to set replicas of a template aside, and a turn
// in which none is due.
func BenchmarkCrowdSetAside(b *testing.B) {
	for _, replicas := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprintf("replicas=%d/taken-in", replicas), func(b *testing.B) {
			for b.Loop() {
				crowded(b, offline(b, 0), replicas)
			}
		})
		b.Run(fmt.Sprintf("replicas=%d/turn", replicas), func(b *testing.B) {
			s := offline(b, 0)
			crowded(b, s, replicas)
			for b.Loop() {
				s.aside.due()
				s.aside.wake()
			}
		})
	}
}

// Of replicas that were set aside together one is tried again at a time, less and less often;
// once nothing is wrong with it, all of them are let in.
func TestTemplateIsTriedAgain(t *testing.T) {
	objects := []runtime.Object{bigNode(0)}
	var names []string
	for i := range 20 {
		objects, names = append(objects, plainPod(i)), append(names, plainPod(i).Name)
	}
	inBubble(t, objects, func(b *bubble) {
		var panics atomic.Int32
		var mended atomic.Bool
		b.subject.before = func(o metav1.Object) {
			if p, is := o.(*v1.Pod); is && p.Spec.NodeName == "" && !mended.Load() {
				panics.Add(1)
				panic("a plugin divides by zero")
			}
		}
		b.run()
		want := func(when string, n int32) {
			b.t.Helper()
			if got := panics.Load(); got != n {
				b.t.Errorf("%d panics %s, want %d", got, when, n)
			}
		}
		b.pass(50 * time.Second)
		want("at first", 1)
		b.pass(time.Minute)
		want("after a minute", 2)
		b.pass(2 * time.Minute)
		want("after two more", 3)
		mended.Store(true)
		b.pass(6 * time.Minute)
		slices.Sort(names)
		b.expectBound(strings.Join(names, " "))
		if pods, nodes, _ := b.aside.count(); pods+nodes != 0 {
			b.t.Errorf("%d pods and %d nodes are set aside yet", pods, nodes)
		}
	})
}

// Pods of one owner that differ are set aside each for itself, and when three are, all others
// with the latest of them. One that changes is tried again unless others like it are set aside;
// who leaves is forgotten.
func TestSetAsideByShape(t *testing.T) {
	s := idle(t)
	shaped := func(i int, app string) *v1.Pod {
		p := plainPod(i)
		p.Labels = map[string]string{"app": app}
		return p
	}
	keeps := func(p *v1.Pod, want bool) {
		t.Helper()
		if got := s.aside.keeps(p); got != want {
			t.Errorf("pod %s of %v is kept: %t", p.Name, p.Labels, got)
		}
	}
	for i, app := range []string{"a", "b"} {
		s.aside.put(shaped(i, app), "panic")
	}
	keeps(shaped(2, "c"), false)
	keeps(shaped(3, "a"), true)
	keeps(shaped(2, "c"), true) // as three are set aside
	another := shaped(4, "a")
	another.OwnerReferences[0].UID = "another"
	keeps(another, false)
	bound := shaped(5, "a")
	bound.Spec.NodeName = "node-0"
	keeps(bound, false)
	for _, uid := range []types.UID{"uid-2", "uid-3"} {
		s.aside.forget(uid)
	}
	keeps(shaped(1, "d"), false) // it changed
	keeps(shaped(0, "d"), false) // and so did the other
	if pods, _, _ := s.aside.count(); pods != 0 {
		t.Errorf("%d pods are set aside, and all have changed", pods)
	}
	s.aside.put(shaped(1, "d"), "panic")
	if e := s.aside.pods["uid-1"]; e.faults != 2 || e.until < s.now()+2*asideAtFirst-cluster.Second {
		t.Errorf("after its second panic the pod waits until %v", e.until)
	}
	s.aside.forget("uid-0")
	s.aside.forget("uid-1")
	if n := len(s.aside.pods) + len(s.aside.queue) + len(s.aside.owners); n != 0 {
		t.Errorf("%d traces of pods that are gone", n)
	}
}
