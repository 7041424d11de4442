package scheduler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/world"
	"fairlead.dev/fairlead/recording"
)

func forbidden(pod string) error { return apierrors.NewForbidden(v1.Resource("pods"), pod, nil) }

// A pod whose bind was refused backs off, is decided again when that is over, and
// begins anew once it is bound: what was refused before is no longer held against it.
func TestRefusedBindIsTriedAgain(t *testing.T) {
	inBubble(t, []runtime.Object{bigNode(0), plainPod(1)}, func(b *bubble) {
		t := b.t
		b.api.bind = func(_ context.Context, pod string, try int) error {
			if try <= 2*bindTries {
				return forbidden(pod)
			}
			return nil
		}
		b.run()
		b.pass(900 * time.Millisecond)
		if p := b.world.Pod("uid-1"); p.Refusals != 1 || !b.world.Pods().BacksOff(p) {
			t.Errorf("after its first bind failed, the pod is %s with %d refusals", p.Stage, p.Refusals)
		}
		b.pass(400 * time.Millisecond) // a backoff of 1 s is over
		if p := b.world.Pod("uid-1"); p.Refusals != 2 {
			t.Errorf("after a backoff, %d binds failed, want 2", p.Refusals)
		}
		b.pass(2 * time.Second) // and one of 2 s
		b.expectBound("pod-1")
		if p := b.world.Pod("uid-1"); p.Refusals != 0 {
			t.Errorf("the bound pod has %d refusals, want none", p.Refusals)
		}
	})
}

// Whatever becomes of binds, each gives back its worker and its room: one worker
// serves all of them, and in the end there is as much room as in the beginning.
func TestBindsGiveBackTheirSlots(t *testing.T) {
	const pods = 20 // more than are under way at once
	objects := []runtime.Object{bigNode(0)}
	for i := range pods {
		objects = append(objects, plainPod(i))
	}
	inBubble(t, objects, func(b *bubble) {
		t := b.t
		b.api.bind = func(ctx context.Context, pod string, try int) error {
			n := 0
			_, _ = fmt.Sscanf(pod, "pod-%d", &n)
			switch {
			case try > 1 || n%4 == 0:
				return nil
			case n%4 == 1:
				return forbidden(pod)
			case n%4 == 2:
				<-ctx.Done() // no answer
				return ctx.Err()
			}
			return apierrors.NewTooManyRequests("busy", 2)
		}
		b.run()
		b.pass(10 * time.Minute)
		if bound := len(strings.Fields(b.bound())); bound != pods {
			t.Errorf("%d of %d pods are bound", bound, pods)
		}
		binds, preparations := b.binder.room()
		if binds != congestion || preparations != congestion || b.binder.inFlight() != 0 || len(b.binder.workers) != 0 {
			t.Errorf("with nothing under way there is room for %d binds and %d preparations of %d, %d are in flight, and %d workers at work",
				binds, preparations, congestion, b.binder.inFlight(), len(b.binder.workers))
		}
	})
}

// A bind without an answer is looked up. Only a pod that is read as bound to our
// node counts as bound.
func TestUnansweredBinds(t *testing.T) {
	for _, test := range []struct {
		name  string
		first func(a *api) error // what the first bind does, before its answer is lost
		sent  int
		bound string // in the end
		on    string // by our world
		count string // its result in the metrics
	}{
		{"not done", func(*api) error { return nil }, 2, "node-0", "node-0", "bound"},
		{"done", func(a *api) error { return a.place("pod-1", "node-0") }, 1, "node-0", "node-0", "bound"},
		{"bound by another", func(a *api) error { return a.place("pod-1", "node-1") }, 1, "node-1", "node-1", "conflict"},
		{"gone", func(a *api) error {
			return a.Tracker().Delete(v1.SchemeGroupVersion.WithResource("pods"), "default", "pod-1")
		}, 1, "", "", "conflict"},
	} {
		t.Run(test.name, func(t *testing.T) {
			theirs := bigNode(1)
			theirs.Spec.Unschedulable = true
			inBubble(t, []runtime.Object{bigNode(0), theirs, plainPod(1)}, func(b *bubble) {
				t := b.t
				b.api.bind = func(_ context.Context, _ string, try int) error {
					if try > 1 {
						return nil
					}
					if err := test.first(b.api); err != nil {
						t.Error(err)
					}
					return context.DeadlineExceeded
				}
				b.run()
				b.pass(firstLook + 100*time.Millisecond)
				if sent := len(b.api.requests(binds, "pod-1")); sent != test.sent {
					t.Errorf("%d binds were sent, want %d", sent, test.sent)
				}
				if b.sum("fairlead_ambiguous_binds_total") != 1 || len(b.api.requests(reads, "pod-1")) != 1 {
					t.Error("the outcome was not looked up once")
				}
				if b.sum("fairlead_bind_duration_seconds", test.count) != 1 {
					t.Errorf("the bind does not count as %s", test.count)
				}
				bound, on := "", ""
				if pod, err := b.api.Clientset.CoreV1().Pods("default").Get(t.Context(), "pod-1", metav1.GetOptions{}); err == nil {
					bound = pod.Spec.NodeName
				}
				if p := b.world.Pod("uid-1"); p != nil {
					on = p.Node()
				}
				if bound != test.bound || on != test.on {
					t.Errorf("the pod is bound to %q and we count it on %q, want %q and %q", bound, on, test.bound, test.on)
				}
			})
		})
	}
}

// An API server that has too much to do said that it did nothing: nothing is
// looked up, and it is left alone for as long as it wishes, within bounds.
func TestOverloadedServerIsLeftAlone(t *testing.T) {
	for _, test := range []struct {
		wish int // in seconds
		want time.Duration
	}{{7, 7 * time.Second}, {86400, longestPause}} {
		inBubble(t, []runtime.Object{bigNode(0), plainPod(1)}, func(b *bubble) {
			t := b.t
			b.api.bind = func(_ context.Context, _ string, try int) error {
				if try > 1 {
					return nil
				}
				return apierrors.NewTooManyRequests("busy", test.wish)
			}
			b.run()
			b.pass(time.Minute)
			b.expectBound("pod-1")
			sent := b.api.requests(binds, "pod-1")
			if len(sent) != 2 || sent[1].at-sent[0].at != test.want {
				t.Errorf("binds were sent at %v, want two, %s apart", sent, test.want)
			}
			if b.sum("fairlead_ambiguous_binds_total") != 0 || len(b.api.requests(reads, "pod-1")) != 0 {
				t.Error("a refusal was looked up")
			}
		})
	}
}

// A bind that fails after a device was set aside and written for its pod gives the
// device back.
func TestFailedBindGivesBackDevices(t *testing.T) {
	inBubble(t, append(devices("node-0", 1), bigNode(0), claiming(0)), func(b *bubble) {
		t := b.t
		reserved := func() int {
			claim, err := b.api.ResourceV1().ResourceClaims("default").Get(t.Context(), "gpu-0", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return len(claim.Status.ReservedFor)
		}
		b.api.bind = func(_ context.Context, pod string, _ int) error {
			if reserved() != 1 {
				t.Error("the pod is bound before its device is written to be its own")
			}
			return forbidden(pod)
		}
		b.run()
		b.pass(500 * time.Millisecond)
		if len(b.api.requests(binds, "gpu-0")) == 0 {
			t.Fatal("no bind was tried")
		}
		if got := reserved(); got != 0 {
			t.Errorf("the claim is reserved for %d pods after the bind failed, want none", got)
		}
	})
}

// A plugin that panics while devices are prepared keeps none of them: another pod gets the only
// one there is.
func TestPanickingPreparationGivesBackDevices(t *testing.T) {
	objects := append(devices("node-0", 2), bigNode(0), claiming(0), claiming(1))
	objects[0].(*resourcev1.ResourceSlice).Spec.Devices = objects[0].(*resourcev1.ResourceSlice).Spec.Devices[:1]
	inBubble(t, objects, func(b *bubble) {
		t := b.t
		b.api.prepare = func(_ context.Context, claim string) error {
			if claim == "gpu-0" {
				panic("planted")
			}
			return nil
		}
		b.run()
		b.pass(10 * time.Minute)
		b.expectBound("gpu-1")
		if b.sum("fairlead_panics_total", "bind") == 0 {
			t.Error("nothing panicked")
		}
	})
}

// Pods whose devices take their time to be prepared take room of their own: only so
// many are prepared for at once, and plain pods go on meanwhile.
func TestPreparationsTakeRoom(t *testing.T) {
	const pods = congestion + 4
	objects := append(devices("node-0", pods), bigNode(0))
	for i := range pods {
		objects = append(objects, claiming(i))
	}
	inBubble(t, objects, func(b *bubble) {
		t := b.t
		gate := make(chan struct{})
		b.api.prepare = func(context.Context, string) error { <-gate; return nil }
		b.run()
		b.pass(5 * time.Minute)
		evaluated := b.judge.Evaluations()
		b.pass(5 * time.Minute)
		if more := b.judge.Evaluations() - evaluated; more != 0 {
			t.Errorf("%d evaluations for pods that cannot be prepared for", more)
		}
		if binds, preparations := b.binder.room(); b.binder.inFlight() != congestion || preparations != 0 || binds != congestion {
			t.Errorf("%d pods are under way, with room for %d more preparations and %d binds; want %d, none and %d",
				b.binder.inFlight(), preparations, binds, congestion, congestion)
		}
		b.create(plainPod(100))
		b.pass(time.Second)
		b.expectBound("pod-100")
		close(gate)
		b.pass(10 * time.Second)
		if bound := len(strings.Fields(b.bound())); bound != pods+1 {
			t.Errorf("%d pods are bound, want %d", bound, pods+1)
		}
	})
}

// While as many binds are under way as may be, a turn takes in what happens and reports it to the
// core, but decides nothing, not even on a pod that waits in the core and comes to have a node; and the
// loop sleeps although pods are queued. With the first answer the most important of them goes on, and in
// the end each is bound, once.
func TestTurnsWithoutRoomForBinds(t *testing.T) {
	const first, late = congestion, 5
	waits := plainPod(300)
	waits.Spec.NodeSelector = bigNode(1).Labels
	objects := []runtime.Object{bigNode(0), waits}
	for i := range first {
		objects = append(objects, plainPod(i))
	}
	inBubble(t, objects, func(b *bubble) {
		t := b.t
		answers := make(chan struct{})
		b.api.bind = func(context.Context, string, int) error { <-answers; return nil }
		b.Config.BindTimeout.Duration = time.Hour
		b.run()
		b.pass(time.Second)
		if binds, _ := b.binder.room(); binds != 0 {
			t.Fatalf("there is room for %d binds, want none", binds)
		}
		rounds := b.epochs.core.Counts().Rounds
		expectQueued := func(queued int) {
			t.Helper()
			b.pass(time.Minute)
			if got := b.world.Counts(); got.Queued != queued || got.Assumed != first || b.epochs.core.Counts().Rounds != rounds {
				t.Errorf("%d pods are queued, %d are decided, and there were %d rounds more; want %d, %d and none",
					got.Queued, got.Assumed, b.epochs.core.Counts().Rounds-rounds, queued, first)
			}
		}
		for i := range late {
			b.create(plainPod(100 + i))
		}
		expectQueued(late)
		important := plainPod(200)
		important.Spec.Priority = new(int32(100))
		b.create(important)
		expectQueued(late + 1)
		if err := b.api.Tracker().Delete(v1.SchemeGroupVersion.WithResource("pods"), "default", "pod-100"); err != nil {
			t.Fatal(err)
		}
		expectQueued(late)
		if _, err := b.api.CoreV1().Nodes().Create(t.Context(), bigNode(1), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		expectQueued(late)
		if b.world.Pending() || b.epochs.core.View().NodeRows() != 2 {
			t.Error("the core does not know of the new node")
		}
		answers <- struct{}{}
		b.pass(time.Second)
		for _, uid := range []types.UID{"uid-200", "uid-300"} {
			if p := b.world.Pod(uid); p.Stage != world.Assumed || b.world.Pods().Queued() != late-1 {
				t.Errorf("after one answer %d pods are queued, and %s is %s; want %d and assumed", b.world.Pods().Queued(), p.Object().Name, p.Stage, late-1)
			}
		}
		close(answers)
		b.pass(time.Second)
		b.expectBound("pod-0 pod-1 pod-101 pod-102 pod-103 pod-104 pod-2 pod-200 pod-3 pod-300 pod-4 pod-5 pod-6 pod-7")
		if sent := len(b.api.sent); sent != first+late+1 {
			t.Errorf("%d binds were sent, want %d: %v", sent, first+late+1, b.api.sent)
		}
	})
}

// While there is no room for binds, pods are asked to leave when their time has come.
func TestEvictionsWithoutRoomForBinds(t *testing.T) {
	var answers chan struct{}
	before := func(b *bubble, high *v1.Pod) {
		answers = make(chan struct{}) // in the bubble
		high.Spec.NodeSelector = bigNode(0).Labels
		b.api.bind = func(context.Context, string, int) error { <-answers; return nil }
		b.Config.BindTimeout.Duration = time.Hour
	}
	pressed(t, before, func(b *bubble, _ *v1.Pod) {
		t := b.t
		if _, err := b.api.CoreV1().Nodes().Create(t.Context(), bigNode(1), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		for i := range congestion {
			b.create(plainPod(100 + i))
		}
		b.pass(time.Second)
		asked := func() (pods int) {
			b.inbox.put(func() { pods = len(b.binder.departures) }) // the loop's
			b.pass(0)
			return pods
		}
		if binds, _ := b.binder.room(); binds != 0 || asked() != 0 {
			t.Fatalf("there is room for %d binds, and %d pods are asked to leave; want none", binds, asked())
		}
		b.pass(time.Minute)
		if got := asked(); got != 1 { // its request waits for the worker
			t.Errorf("%d pods are asked to leave after a minute, want the second", got)
		}
		close(answers)
		b.pass(time.Second)
		if p := b.world.Pod("uid-3"); p.Stage != world.Bound {
			t.Errorf("the pod for which others left is %s, want bound", p.Stage)
		}
	})
}

// Beyond its lease by the clock, a leader sends no bind and no eviction, and writes nothing for
// devices, though nobody has told it yet. When it holds the lease after all, it goes on.
func TestNothingIsSentBeyondTheLease(t *testing.T) {
	objects := append(devices("node-0", 1), bigNode(0), claiming(0), plainPod(1))
	inBubble(t, objects, func(b *bubble) {
		t := b.t
		var beyond atomic.Bool
		beyond.Store(true)
		b.Holds = func() (time.Time, error) {
			if beyond.Load() {
				return time.Time{}, errors.New("the lease has run out")
			}
			return time.Time{}, nil
		}
		b.api.prepare = func(context.Context, string) error {
			if beyond.Load() {
				t.Error("a claim was written")
			}
			return nil
		}
		b.run()
		b.pass(time.Second)
		err := b.binder.dismiss(t.Context(), &departure{object: plainPod(1)})
		if err == nil || len(b.api.sent) != 0 {
			t.Errorf("%v were sent beyond the lease; the eviction ended with %v", b.api.sent, err)
		}
		beyond.Store(false)
		b.pass(time.Minute)
		b.expectBound("gpu-0 pod-1")
	})
}

// What was sent within the lease is given up when that ends by the clock, though its timeout is longer and nobody has told the
// scheduler; where the lease is renewed meanwhile it goes on.
func TestRequestsEndWithTheLease(t *testing.T) {
	for name, renewed := range map[string]bool{"it ends": false, "it is renewed": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, []runtime.Object{bigNode(0), plainPod(1)}, func(b *bubble) {
				const lasts, takes = 5 * time.Second, 20 * time.Second
				began := time.Now()
				b.Config.BindTimeout.Duration, b.Config.BindWorkers = time.Minute, 2
				b.Holds = func() (time.Time, error) {
					until := began.Add(lasts)
					if renewed {
						until = time.Now().Add(lasts)
					}
					if !time.Now().Before(until) {
						return time.Time{}, errors.New("the lease has run out")
					}
					return until, nil
				}
				var mu sync.Mutex
				sent := 0
				given := map[string]time.Duration{}
				slow := func(what string) func(context.Context, string, int) error {
					return func(ctx context.Context, _ string, _ int) error {
						mu.Lock()
						sent++
						mu.Unlock()
						select {
						case <-ctx.Done():
							mu.Lock()
							defer mu.Unlock()
							given[what] = time.Since(began).Round(time.Second)
							return ctx.Err()
						case <-time.After(takes):
							return nil
						}
					}
				}
				b.api.bind, b.api.evict = slow("bind"), slow("eviction")
				b.run()
				b.pass(time.Second)
				go func() { _ = b.binder.dismiss(b.binder.life, &departure{object: plainPod(9)}) }()
				b.pass(2 * takes)
				want := map[string]time.Duration{"bind": lasts, "eviction": lasts}
				if renewed {
					want = map[string]time.Duration{}
					b.expectBound("pod-1")
				}
				if !maps.Equal(given, want) || sent != 2 {
					b.t.Errorf("of %d requests these were given up: %v, want %v", sent, given, want)
				}
			})
		})
	}
}

// A scheduler that stops carries out what it decided, but not beyond its limit:
// what was not sent by then never is, whatever becomes of the requests before it.
func TestNoBindAfterTheDrain(t *testing.T) {
	inBubble(t, []runtime.Object{bigNode(0), plainPod(1), plainPod(2)}, func(b *bubble) {
		t := b.t
		answer := make(chan struct{})
		b.api.bind = func(context.Context, string, int) error { <-answer; return forbidden("") } // ignores its context
		b.run()
		b.pass(time.Second)
		if got := b.binder.inFlight(); got != 2 {
			t.Fatalf("%d binds are in flight, want 2, one of them in line", got)
		}
		b.stop()
		stopped := time.Now()
		err := <-b.ended
		b.ended <- err
		if limit := b.Config.BindTimeout.Duration; time.Since(stopped) < limit || time.Since(stopped) > limit+lastEvents {
			t.Errorf("it stopped after %s, want %s, and a little for events", time.Since(stopped), limit)
		}
		close(answer)
		b.pass(time.Minute)
		if one, two := b.api.requests(binds, "pod-1"), b.api.requests(binds, "pod-2"); len(one)+len(two) != 1 {
			t.Errorf("binds were sent at %v and %v, want the one that was under way", one, two)
		}
	})
}

// When the lease is lost, a bind and an eviction under way are cancelled at that
// moment, and none is sent any more: neither what waits for a worker, nor another
// try, nor what is decided yet.
func TestNothingLeavesWithoutALease(t *testing.T) {
	running := plainPod(3)
	running.Spec.NodeName = "node-0"
	inBubble(t, []runtime.Object{bigNode(0), running, plainPod(1)}, func(b *bubble) {
		t := b.t
		b.Config.BindWorkers = 2
		var cancelled []time.Duration
		hang := func(ctx context.Context, _ string, _ int) error {
			<-ctx.Done()
			b.api.mu.Lock()
			defer b.api.mu.Unlock()
			cancelled = append(cancelled, time.Since(b.began))
			return ctx.Err()
		}
		b.api.bind, b.api.evict = hang, hang
		b.run()
		b.pass(time.Second)
		b.binder.evict(t.Context(), &departure{pod: b.world.Pod("uid-3"), object: running})
		synctest.Wait()
		b.create(plainPod(2)) // both workers are at work
		b.pass(time.Second)
		if binds, _ := b.binder.room(); binds != 2*congestion-2 || len(b.api.sent) != 2 {
			t.Fatalf("there is room for %d binds, and %v were sent", binds, b.api.sent)
		}
		b.inbox.put(func() { b.world.SeePod(plainPod(4)); b.lose() }) // decided in the same turn
		b.ended <- <-b.ended
		b.pass(time.Minute)
		if at := 2 * time.Second; !slices.Equal(cancelled, []time.Duration{at, at}) {
			t.Errorf("requests were cancelled at %v, want two at %s", cancelled, at)
		}
		if late := b.api.sent[2:]; len(late) != 0 {
			t.Errorf("%v were sent after the lease was lost", late)
		}
	})
}

// A refusal to evict is reported to the world: the pod stays, counts no more as one on
// its way out, and may be chosen again when it has rested.
func TestRefusedEvictionIsReported(t *testing.T) {
	low, high, node := plainPod(1), plainPod(2), bigNode(0)
	node.Status.Allocatable[v1.ResourcePods] = resource.MustParse("1")
	low.Spec.NodeName, high.Spec.Priority = node.Name, new(int32(100))
	inBubble(t, []runtime.Object{node, low}, func(b *bubble) {
		t := b.t
		p := &b.Config.Profiles[0]
		p.Policy.Name, p.Evictions.Enabled, p.Evictions.AtOnce, p.Evictions.PerMinute = "priority", true, 1, 60
		b.api.evict = func(_ context.Context, _ string, try int) error {
			if try == 3 {
				return nil
			}
			refusal := apierrors.NewTooManyRequests("budget", 10)
			refusal.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause}}
			return refusal
		}
		b.run()
		b.pass(time.Second)
		b.create(high)
		b.pass(500 * time.Millisecond)
		if queued, requested := b.world.Exits().Lingering(); queued+requested != 0 || len(b.api.requests(evictionsOf, "pod-1")) != 1 {
			t.Errorf("after a refusal %d pods are queued and %d asked to leave", queued, requested)
		}
		b.pass(10 * time.Second)
		sent := b.api.requests(evictionsOf, "pod-1")
		if len(sent) != 3 || sent[1].at-sent[0].at < time.Second || sent[2].at-sent[1].at < 2*time.Second {
			t.Errorf("the pod was asked to leave at %v, want three times, with pauses of 1 s and 2 s", sent)
		}
		b.expectBound("pod-2")
	})
}

// An API server that has too much to do is asked for the eviction again, since no
// budget keeps the pod.
func TestOverloadIsNoBudget(t *testing.T) {
	inBubble(t, []runtime.Object{bigNode(0)}, func(b *bubble) {
		t := b.t
		b.api.evict = func(_ context.Context, _ string, try int) error {
			if try == 1 {
				return apierrors.NewTooManyRequests("busy", 3)
			}
			return apierrors.NewNotFound(v1.Resource("pods"), "pod-1")
		}
		b.binder.begin(t.Context())
		err := b.binder.dismiss(t.Context(), &departure{object: plainPod(1)})
		if sent := b.api.requests(evictionsOf, "pod-1"); !apierrors.IsNotFound(err) || len(sent) != 2 || sent[1].at-sent[0].at != 3*time.Second {
			t.Errorf("evictions were sent at %v and ended with %v; want two, 3s apart", sent, err)
		}
	})
}

// What was decided is in the recording's file soon after, so that little is lost if
// the process is killed.
func TestRecordingIsFlushed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "recording")
	inBubble(t, []runtime.Object{bigNode(0), plainPod(1)}, func(b *bubble) {
		t := b.t
		b.Config.Record.Path = dir
		b.run()
		b.pass(2 * time.Second)
		b.create(plainPod(2)) // the loop turns
		b.pass(time.Second)
		in := onlyRecording(t, dir)
		result, err := recording.Describe(in, in.Name())
		if err != nil {
			t.Fatal(err)
		}
		if result.Placements < 1 {
			t.Error("the first pod was placed a second ago, and the file does not have it")
		}
	})
}

// A turn that does not end makes the loop stuck, from a minute on and until it ends.
// A loop that has nothing to do is not.
func TestStuck(t *testing.T) {
	inBubble(t, []runtime.Object{bigNode(0)}, func(b *bubble) {
		t := b.t
		if err := b.Stuck(); err != nil {
			t.Errorf("a scheduler that does not lead: %v", err)
		}
		b.run()
		b.pass(3 * time.Hour)
		if err := b.Stuck(); err != nil {
			t.Errorf("an idle loop: %v", err)
		}
		hang := make(chan struct{})
		b.inbox.put(func() { <-hang })
		b.pass(turnsLast)
		if err := b.Stuck(); err != nil {
			t.Errorf("after %s: %v", turnsLast, err)
		}
		b.pass(5 * time.Second)
		if err := b.Stuck(); err == nil || !strings.Contains(err.Error(), "began at 2000-01-01T03:00:00Z, 1m5s ago") {
			t.Errorf("a loop that hangs says %v, want since when", err)
		}
		close(hang)
		b.pass(0)
		if err := b.Stuck(); err != nil {
			t.Errorf("a loop that goes on: %v", err)
		}
	})
}

// A core that makes no sense of what happens is replaced at once, and if that
// happens again and again, less and less often; the loop goes on meanwhile, and
// decides when there is a core that understands.
func TestMistakesBackOff(t *testing.T) {
	inBubble(t, []runtime.Object{bigNode(0)}, func(b *bubble) {
		t := b.t
		b.run()
		b.pass(time.Second)
		node := 0
		mistake := func() {
			node++
			b.inbox.put(func() {
				if !b.epochs.mistakes.broken { // the core has a node of the row that the world uses next
					row := cluster.NodeID(b.epochs.core.View().NodeRows())
					if _, err := b.epochs.core.Observe(b.now(), []cluster.Event{cluster.NodeAdded{
						Node: row, Spec: cluster.NodeSpec{Name: "planted", Capacity: make(cluster.Vector, len(b.world.Columns().Kinds()))},
					}}, nil); err != nil {
						t.Error(err)
					}
				}
				b.world.SeeNode(bigNode(node))
			})
		}
		mistake()
		b.pass(10 * time.Millisecond)
		if got := b.sum("fairlead_epochs_total", "mistake"); got != 1 {
			t.Errorf("%v new cores after the first mistake, want one at once", got)
		}
		for range 600 {
			mistake()
			b.pass(100 * time.Millisecond)
		}
		if got := b.sum("fairlead_epochs_total", "mistake"); got < 5 || got > 7 {
			t.Errorf("%v new cores after a minute of mistakes, want 1, and then after 1, 2, 4, 8, 16 and 32 s", got)
		}
		if !b.epochs.mistakes.broken || b.world.Pending() {
			t.Error("while there is no core, what happens is kept for it, though the next is given a snapshot")
		}
		b.create(plainPod(1))
		b.pass(time.Minute)
		b.expectBound("pod-1")
		b.pass(3 * time.Minute)
		before := b.sum("fairlead_epochs_total", "mistake")
		mistake()
		b.pass(10 * time.Millisecond)
		if got := b.sum("fairlead_epochs_total", "mistake"); got != before+1 {
			t.Error("after a good time, the first mistake is not mended at once")
		}
	})
}
