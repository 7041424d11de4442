package scheduler

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
)

// theirs is a pod that another scheduler has bound to the first node, as large as so many plain pods.
func theirs(places int64) *v1.Pod {
	p := on(0, plain(50, 0, places))
	p.Spec.SchedulerName, p.OwnerReferences = v1.DefaultSchedulerName, nil
	return p
}

// addNode puts a node into the API server.
func (b *bubble) addNode(n *v1.Node) {
	b.t.Helper()
	if _, err := b.api.CoreV1().Nodes().Create(b.t.Context(), n, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

// expectOn fails unless the pod is bound to the node, by so many binds.
func (b *bubble) expectOn(pod, node string, sent int) {
	b.t.Helper()
	p, err := b.api.Clientset.CoreV1().Pods("default").Get(b.t.Context(), pod, metav1.GetOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	if binds := len(b.api.requests(binds, pod)); p.Spec.NodeName != node || binds != sent {
		b.t.Errorf("%s is on %q after %d binds, want %q and %d", pod, p.Spec.NodeName, binds, node, sent)
	}
}

// Another scheduler takes two of three places while one bind is sent and two wait for a worker. Those two are never sent there: they go to a node that comes later. The node is left
// alone for a while, although there is room on it again, and then used again.
func TestUnsentBindsAreCalledBack(t *testing.T) {
	inBubble(t, []runtime.Object{smallNode(0, 3), plainPod(1), plainPod(2), plainPod(3)}, func(b *bubble) {
		gate := make(chan struct{})
		b.api.bind = func(context.Context, string, int) error { <-gate; return nil }
		b.run()
		b.pass(100 * time.Millisecond)
		b.create(theirs(2))
		b.pass(100 * time.Millisecond)
		if n := b.sum("fairlead_bind_duration_seconds", "called-back"); n != 2 {
			b.t.Errorf("%v binds were called back, want 2", n)
		}
		if b.binder.inFlight() != 1 || len(b.binder.flights) != 1 {
			b.t.Errorf("%d binds are under way, and %d are kept, want 1", b.binder.inFlight(), len(b.binder.flights))
		}
		close(gate)
		b.addNode(smallNode(1, 2))
		b.pass(time.Second)
		perNode := map[string]int{}
		for i := range 3 { // whose bind is sent first, workers decide
			name := plainPod(i + 1).Name
			perNode[b.world.Pod(plainPod(i+1).UID).Node()]++
			if binds := len(b.api.requests(binds, name)); binds != 1 {
				b.t.Errorf("%d binds of %s were sent, want 1", binds, name)
			}
		}
		if perNode["node-0"] != 1 || perNode["node-1"] != 2 {
			b.t.Errorf("of three pods so many are on each node: %v, want one on node-0, and two on node-1", perNode)
		}
		if err := b.api.remove(theirs(2).Name); err != nil {
			b.t.Fatal(err)
		}
		b.create(plainPod(4))
		b.pass(time.Second)
		b.expectOn("pod-4", "", 0)
		if n := b.sum("fairlead_contested_nodes"); n != 1 {
			b.t.Errorf("%v nodes are left to another scheduler, want 1", n)
		}
		b.pass(4 * time.Second)
		b.expectOn("pod-4", "node-0", 1)
		b.create(plainPod(5)) // something has to happen for the loop to turn, and count
		b.pass(2 * time.Second)
		if n := b.sum("fairlead_contested_nodes"); n != 0 {
			b.t.Errorf("%v nodes are left to another scheduler, want none", n)
		}
	})
}

// A pod whose device takes its time to be prepared is called back like others: what is being prepared ends, the device is given back, and is prepared again when there is room.
func TestPreparationsAreCalledBack(t *testing.T) {
	objects := append(devices("node-0", 1), smallNode(0, 1), claiming(0))
	inBubble(t, objects, func(b *bubble) {
		prepared := 0
		b.api.prepare = func(ctx context.Context, _ string) error {
			if prepared++; prepared > 1 {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}
		b.run()
		b.pass(time.Minute)
		b.create(theirs(1))
		b.pass(time.Second)
		if p := b.world.Pod("uid-0"); b.binder.inFlight() != 0 || p.Node() != "" || p.Refusals != 0 {
			b.t.Errorf("%d pods are under way; the pod is %s on %q with %d refusals, want it waiting with none", b.binder.inFlight(), p.Stage, p.Node(), p.Refusals)
		}
		if err := b.api.remove(theirs(1).Name); err != nil {
			b.t.Fatal(err)
		}
		b.pass(time.Minute)
		b.expectOn("gpu-0", "node-0", 1)
		if prepared != 2 {
			b.t.Errorf("the device was prepared %d times, want 2", prepared)
		}
	})
}

// A pod whose device takes its time to be prepared does not keep a more important one from its room: what is being prepared ends, and the pod is placed elsewhere. Nobody is evicted for that,
// and the pod says for whom it is.
func TestPreparationsAreCalledBackForOthers(t *testing.T) {
	for _, policy := range []string{"priority", "fairlead"} {
		t.Run(policy, func(t *testing.T) {
			objects := append(devices("node-0", 1), smallNode(0, 1), claiming(0))
			inBubble(t, objects, func(b *bubble) {
				b.api.prepare = func(ctx context.Context, _ string) error {
					<-ctx.Done()
					return ctx.Err()
				}
				p := &b.Config.Profiles[0]
				p.Policy.Name, p.Evictions.Enabled, p.Evictions.AtOnce, p.Evictions.PerMinute = policy, true, 1, 1
				b.run()
				b.pass(time.Minute)
				high := plainPod(1)
				high.Spec.Priority = new(int32(100))
				b.create(high)
				b.pass(time.Second)
				b.expectOn("pod-1", "node-0", 1)
				if n := b.sum("fairlead_bind_duration_seconds", "called-back"); n != 1 || len(b.api.requests(evictionsOf, "gpu-0")) != 0 {
					b.t.Errorf("%v binds were called back, and %v sent; want one, and no eviction", n, b.api.sent)
				}
				if p := b.world.Pod("uid-0"); b.binder.inFlight() != 0 || p.Node() != "" {
					b.t.Errorf("%d binds are under way, and the pod is %s on %q, want it waiting", b.binder.inFlight(), p.Stage, p.Node())
				}
				list, err := b.api.EventsV1().Events("default").List(b.t.Context(), metav1.ListOptions{})
				want := "Preempted by pod uid-1 on node node-0 (in fairlead-scheduler memory)."
				if err != nil || !slices.ContainsFunc(list.Items, func(e eventsv1.Event) bool { return e.Regarding.Name == "gpu-0" && e.Note == want }) {
					b.t.Errorf("no event says %q: %v", want, err)
				}
			})
		})
	}
}

// A bind that was sent is not doubted: the pod is bound, and evicted then.
func TestSentBindsAreEvicted(t *testing.T) {
	inBubble(t, []runtime.Object{smallNode(0, 1), plainPod(1)}, func(b *bubble) {
		gate := make(chan struct{})
		b.api.bind = func(_ context.Context, pod string, _ int) error {
			if pod == "pod-1" {
				<-gate
			}
			return nil
		}
		p := &b.Config.Profiles[0]
		p.Policy.Name, p.Evictions.Enabled, p.Evictions.AtOnce, p.Evictions.PerMinute = "fairlead", true, 1, 60
		b.run()
		b.pass(time.Second)
		high := plainPod(2)
		high.Spec.Priority = new(int32(100))
		b.create(high)
		b.pass(time.Second)
		b.expectOn("pod-2", "", 0)
		close(gate)
		b.pass(time.Second)
		b.expectOn("pod-2", "node-0", 1)
		if n := b.sum("fairlead_bind_duration_seconds", "called-back"); n != 0 || len(b.api.requests(binds, "pod-1")) != 1 || len(b.api.requests(evictionsOf, "pod-1")) != 1 {
			b.t.Errorf("%v binds were called back, and %v sent; want none, and that pod-1 is bound and evicted", n, b.api.sent)
		}
	})
}

// A bind that the API server has refused as it has too much to do is called back while it waits to be sent again. One without an answer is not.
func TestRefusedBindsAreCalledBack(t *testing.T) {
	for _, test := range []struct {
		answer error
		back   bool
	}{
		{apierrors.NewTooManyRequests("busy", 20), true},
		{context.DeadlineExceeded, false},
	} {
		t.Run(fmt.Sprint(test.answer), func(t *testing.T) {
			inBubble(t, []runtime.Object{smallNode(0, 1), plainPod(1)}, func(b *bubble) {
				b.api.bind = func(context.Context, string, int) error { return test.answer }
				b.run()
				b.pass(firstLook / 2)
				b.create(theirs(1))
				b.pass(firstLook / 4)
				if back := b.sum("fairlead_bind_duration_seconds", "called-back") == 1; back != test.back {
					b.t.Errorf("it was called back: %t, want %t", back, test.back)
				}
			})
		})
	}
}

// Of binds that rounds beside the core have planned few are sent at a time, and others do not wait for them.
func TestBindsBesideTheCoreAreFew(t *testing.T) {
	c := newCaution()
	ended, end := context.WithCancel(t.Context())
	end()
	var first func()
	for i := range sentBeside {
		done, err := c.take(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = done
		}
	}
	if _, err := c.take(ended, true); err == nil {
		t.Errorf("one more than %d may be sent", sentBeside)
	}
	if _, err := c.take(t.Context(), false); err != nil {
		t.Errorf("another one waits for them: %v", err)
	}
	first()
	if _, err := c.take(t.Context(), true); err != nil {
		t.Errorf("none may be sent when one has its outcome: %v", err)
	}
}

// Binds of a round beside the core that wait to be sent take no room from the pods of others, however many there are, and whatever holds up the first of them.
func TestBindsBesideTheCoreLeaveRoom(t *testing.T) {
	const constrained = 3 * congestion
	var client dynamic.Interface
	few := own(t, "PlacementConstraint", "few", `{constraint: {text: "{app=web, {app=web, 0, 50}, node}"}}`)
	objects := []runtime.Object{bigNode(0)}
	for i := range constrained {
		objects = append(objects, bin(i, 10, 10))
	}
	inBubbleWith(t, constraining(&client, few), objects, func(b *bubble) {
		b.Config.BindWorkers = sentBeside + 1
		gate := make(chan struct{})
		var held atomic.Int64
		b.api.bind = func(_ context.Context, pod string, _ int) error {
			if pod != "pod-100" {
				held.Add(1)
				<-gate
			}
			return nil
		}
		b.run()
		b.pass(5 * time.Second)
		if n := b.binder.inFlight(); n != constrained || held.Load() != sentBeside {
			b.t.Fatalf("%d binds are under way, and %d of these sent; want %d and %d", n, held.Load(), constrained, sentBeside)
		}
		other := plainPod(100)
		other.Labels = nil
		b.create(other)
		b.pass(time.Second)
		b.expectOn("pod-100", "node-0", 1)
		close(gate)
		b.pass(5 * time.Second)
		if n := b.binder.inFlight(); n != 0 {
			b.t.Errorf("%d binds are under way, want none", n)
		}
		if binds, preparations := b.binder.room(); binds != congestion*(sentBeside+1) || preparations != binds {
			b.t.Errorf("there is room for %d and %d, want %d", binds, preparations, congestion*(sentBeside+1))
		}
	})
}
