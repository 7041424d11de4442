package e2e

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"fairlead.dev/fairlead/kube/testbed"
)

// Two schedulers on the same nodes can each take the last room of a node before
// they hear of the other. Nothing in Kubernetes prevents that; a kubelet then
// rejects the later pod. What a scheduler owes is not to bind to a node that it
// knows, or could know, to be full, and to yield. So this file orders all binds by the version
// at which the API server stored them, finds those that over-commit, and asks
// how long before our request was sent the pod that had filled the node was to
// be seen in a watch.

// tooLate is how long a bind of ours may be sent after a watch showed that the
// node had filled up: the bind may have waited its turn, and the machine may be
// busy. When this was written, all were sent before the watch showed it.
const tooLate = 3 * time.Second

// givenTwice is what part of all places may go to both. Ours were 14 and 26 of 400 on a machine that was busy with much else, where watches lagged by
// seconds; it was 110 to 152 before binds were called back.
const givenTwice = 0.2

// kube-scheduler places pods of its own on nearly full nodes while we do, both
// at full rate, and there is room for two thirds of the pods.
func TestRaceWithKubeScheduler(t *testing.T) {
	skipIfShort(t)
	c := bare(t)
	startKubeScheduler(c)
	r := &race{sent: map[string]time.Time{}}
	c.start(settings{faults: r.noteRequests})
	const size = 10
	nodes := normally(40, 200)
	c.addNodes(nodes, "n", strconv.Itoa(size))
	stop := r.watch(c)
	defer stop()
	each := nodes * size * 3 / 4
	var group sync.WaitGroup
	for name, scheduler := range map[string]string{"ours": testbed.FairleadProfile, "theirs": v1.DefaultSchedulerName} {
		group.Go(func() { c.create(several(each, name, label("app", name), scheduledBy(scheduler))...) })
	}
	group.Wait()
	c.awaitBound(time.Minute, nodes*size)
	// Both have decided about every pod: those left over were refused by both.
	c.await(time.Minute, func() string {
		for _, p := range c.pods() {
			if p.Spec.NodeName == "" && condition(&p).Message == "" {
				return "a word about pod " + p.Name
			}
		}
		return ""
	})
	stop()
	if len(r.binds) < nodes*size {
		t.Errorf("the watch saw %d binds, want all %d at least", len(r.binds), nodes*size)
	}
	if twice := r.judge(t, size); float64(twice) > givenTwice*float64(nodes*size) {
		t.Errorf("%d of %d places went to both, want %.0f at most", twice, nodes*size, givenTwice*float64(nodes*size))
	}
}

var kubeSchedulers sync.Map

// startKubeScheduler starts upstream's scheduler on the bed, once.
func startKubeScheduler(c *cluster) {
	c.t.Helper()
	if _, runs := kubeSchedulers.LoadOrStore(c.bed, true); !runs {
		c.must(c.bed.StartKubeScheduler(c.t.Context(), 10000))
	}
}

// bound is one pod as a watch saw it bound.
type bound struct {
	pod, node string
	ours      bool
	version   uint64
	seen      time.Time
}

type race struct {
	mu    sync.Mutex
	sent  map[string]time.Time // our binds
	binds []bound
}

func (r *race) noteRequests(next http.RoundTripper) http.RoundTripper {
	return transport(func(request *http.Request) (*http.Response, error) {
		if pod := bindOf(request); pod != "" {
			r.mu.Lock()
			r.sent[pod] = time.Now()
			r.mu.Unlock()
		}
		return next.RoundTrip(request)
	})
}

// watch notes when pods are first seen to be bound, until it is stopped.
func (r *race) watch(c *cluster) (stop func()) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	factory := informers.NewSharedInformerFactoryWithOptions(c.client, 0, informers.WithNamespace(c.namespace))
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(before, after any) {
		p := after.(*v1.Pod)
		if p.Spec.NodeName == "" || before.(*v1.Pod).Spec.NodeName != "" {
			return
		}
		version, err := strconv.ParseUint(p.ResourceVersion, 10, 64)
		if err != nil {
			panic(err)
		}
		r.binds = append(r.binds, bound{p.Name, p.Spec.NodeName, p.Spec.SchedulerName == testbed.FairleadProfile, version, time.Now()})
	}})
	c.must(err)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return func() {
		cancel()
		factory.Shutdown()
	}
}

// judge looks at all binds in the order of the API server, and returns how many places went to both schedulers. Every pod takes one
// of size places.
func (r *race) judge(t *testing.T, size int) int {
	t.Helper()
	slices.SortFunc(r.binds, func(a, b bound) int { return cmp.Compare(a.version, b.version) })
	ours, theirs := map[string][]time.Time{}, map[string][]time.Time{} // by node: when sent, and when seen
	var over, overByThem int
	longest := time.Duration(math.MinInt64)
	for _, b := range r.binds {
		late := len(ours[b.node])+len(theirs[b.node]) >= size
		if !b.ours {
			theirs[b.node] = append(theirs[b.node], b.seen)
			overByThem += count(late)
			continue
		}
		before := len(ours[b.node])
		ours[b.node] = append(ours[b.node], r.sent[b.pod])
		if before >= size {
			t.Errorf("pod %s: %d of our own pods were on %s before, which has room for %d", b.pod, before, b.node, size)
		}
		if !late || before >= size {
			continue
		}
		over++
		// Of their pods, this one took the last place that ours had left.
		filled := theirs[b.node][size-before-1]
		since := r.sent[b.pod].Sub(filled)
		longest = max(longest, since)
		if since > tooLate {
			t.Errorf("pod %s was sent to %s %s after a watch showed it full", b.pod, b.node, since)
		}
	}
	t.Logf("%d binds; over a node's room went %d of ours and %d of kube-scheduler's; ours were sent %s after a watch showed the node full, at most",
		len(r.binds), over, overByThem, longest)
	return over + overByThem
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
