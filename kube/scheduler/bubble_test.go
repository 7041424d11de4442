package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	policyclient "k8s.io/client-go/kubernetes/typed/policy/v1"
	resourceclient "k8s.io/client-go/kubernetes/typed/resource/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"github.com/prometheus/client_golang/prometheus"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/metrics"
)

// This file runs a whole scheduler, with informers, loop and binds, over a fake
// API server in a bubble of testing/synctest: time passes when everybody waits, so
// that a minute of back-off costs nothing, and is the same on every machine.

// api is an API server in memory. Tests say how it answers what the scheduler
// asks for; without that it does so. Unlike those of its embedded clientset, these
// answers may wait, and see the request's context.
type api struct {
	*fake.Clientset
	bind    func(ctx context.Context, pod string, try int) error
	evict   func(ctx context.Context, pod string, try int) error
	prepare func(ctx context.Context, claim string) error // the status of a claim is written
	read    func(pod string) error
	linger  bool // who is evicted is being deleted, and there until a test says otherwise

	mu      sync.Mutex
	version int
	sent    []request
}

// request is one that was sent. At most one of the names is given.
type request struct {
	bind, evict, read string
	at                time.Duration // since the scheduler began
}

// bubble is a scheduler in its bubble.
type bubble struct {
	*Scheduler
	t        *testing.T
	api      *api
	registry *prometheus.Registry
	began    time.Time
	stop     context.CancelFunc // the wish to stop
	lose     context.CancelFunc // the lease ends, and with it ctx
	ended    chan error
}

// inBubble runs a test in a bubble of its own, with a scheduler that knows the
// objects and has not begun. It is stopped at the end.
func inBubble(t *testing.T, objects []runtime.Object, test func(*bubble)) {
	t.Helper()
	inBubbleOf(t, config.Default(), objects, test)
}

// inBubbleOf is inBubble for a scheduler of that configuration.
func inBubbleOf(t *testing.T, c *config.SchedulerConfiguration, objects []runtime.Object, test func(*bubble)) {
	t.Helper()
	inBubbleWith(t, func(o *Options) { o.Config = c }, objects, test)
}

// inBubbleWith is inBubble for a scheduler whose options are changed, in its bubble.
func inBubbleWith(t *testing.T, change func(*Options), objects []runtime.Object, test func(*bubble)) {
	t.Helper()
	// In a bubble no time passes while a loop spins, so that this needs a real clock.
	spins := time.AfterFunc(2*time.Minute, func() { panic("a test does not end: somebody in its bubble never waits") })
	defer spins.Stop()
	synctest.Test(t, func(t *testing.T) {
		living, end := context.WithCancel(t.Context())
		b := &bubble{
			t: t, began: time.Now(), registry: prometheus.NewRegistry(), ended: make(chan error, 1),
			api: &api{Clientset: fake.NewClientset(append(objects, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})...), version: 100},
		}
		b.api.nameEvents()
		o := Options{Client: b.api, Config: config.Default(), Metrics: metrics.New(b.registry), Clock: clock.RealClock{}, PodGroups: true, CompositePodGroups: true}
		change(&o)
		o.Config.BindWorkers = 1
		s, err := New(living, o)
		if err != nil {
			t.Fatal(err)
		}
		b.Scheduler = s
		s.Start(living)
		t.Cleanup(func() {
			if b.stop != nil {
				b.stop()
				if err := <-b.ended; err != nil {
					t.Errorf("the scheduler ended with %v", err)
				}
			}
			s.explainer.stop(s)
			end()
			s.intake.informers.Shutdown()
		})
		test(b)
	})
}

// run lets the scheduler lead. What the test changes of its configuration it
// changes before.
func (b *bubble) run() {
	b.t.Helper()
	b.world.Exits().Allow(evictions(b.Options))
	b.binder = newBinder(b.Scheduler)
	lease, lose := context.WithCancel(b.t.Context())
	ctx, stop := context.WithCancel(lease)
	b.stop, b.lose = stop, lose
	go func() { b.ended <- b.Run(ctx, lease) }()
}

// pass lets so much time pass, and returns when everybody waits.
func (b *bubble) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// create puts a pod into the API server.
func (b *bubble) create(pods ...*v1.Pod) {
	b.t.Helper()
	for _, p := range pods {
		if _, err := b.api.CoreV1().Pods(p.Namespace).Create(b.t.Context(), p, metav1.CreateOptions{}); err != nil {
			b.t.Fatal(err)
		}
	}
}

// bound are the names of the pods that the API server knows on a node, in order.
func (b *bubble) bound() string {
	b.t.Helper()
	list, err := b.api.Clientset.CoreV1().Pods("default").List(b.t.Context(), metav1.ListOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	var names []string
	for i := range list.Items {
		if list.Items[i].Spec.NodeName != "" {
			names = append(names, list.Items[i].Name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// expectBound fails unless exactly these pods are on nodes.
func (b *bubble) expectBound(names string) {
	b.t.Helper()
	if got := b.bound(); got != names {
		b.t.Errorf("after %s the bound pods are %q, want %q", time.Since(b.began), got, names)
	}
}

// sum adds up a metric, of a histogram the count, over all series whose labels
// contain the values.
func (b *bubble) sum(name string, values ...string) float64 {
	b.t.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	total := 0.0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			if labels := fmt.Sprint(m.GetLabel()); !slices.ContainsFunc(values, func(v string) bool { return !strings.Contains(labels, `"`+v+`"`) }) {
				total += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return total
}

// series are those of a gauge that are not zero, in order, as in "plugin=NodeName 2".
func (b *bubble) series(name string) string {
	b.t.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	var list []string
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() != name || m.GetGauge().GetValue() == 0 {
				continue
			}
			text := ""
			for _, l := range m.GetLabel() {
				text += l.GetName() + "=" + l.GetValue() + " "
			}
			list = append(list, text+fmt.Sprint(m.GetGauge().GetValue()))
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// nameEvents gives each event a name of its own. Theirs end in the time, which in a bubble is the same for several of a pod, so that
// all but one would be refused.
func (a *api) nameEvents() {
	var made atomic.Int64
	a.PrependReactor("create", "events", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if e, is := action.(clienttesting.CreateAction).GetObject().(*eventsv1.Event); is {
			e.Name = fmt.Sprintf("%s.%d", e.Name, made.Add(1))
		}
		return false, nil, nil
	})
}

// requests are those of a kind that name the pod, in order.
func (a *api) requests(of func(request) string, pod string) []request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(a.sent), func(r request) bool { return of(r) != pod })
}

func binds(r request) string       { return r.bind }
func evictionsOf(r request) string { return r.evict }
func reads(r request) string       { return r.read }

// note keeps a request, and returns which of its kind for the pod it is.
func (a *api) note(r request, of func(request) string) int {
	a.mu.Lock()
	r.at = time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) // when bubbles begin
	a.sent = append(a.sent, r)
	a.mu.Unlock()
	return len(a.requests(of, of(r)))
}

// change replaces a pod by what becomes of it.
func (a *api) change(name string, change func(*v1.Pod)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.changeLocked(name, change)
}

// changeLocked is change for who holds mu.
func (a *api) changeLocked(name string, change func(*v1.Pod)) error {
	resource := v1.SchemeGroupVersion.WithResource("pods")
	object, err := a.Tracker().Get(resource, "default", name)
	if err != nil {
		return err
	}
	pod := object.(*v1.Pod).DeepCopy()
	a.version++
	pod.ResourceVersion = fmt.Sprint(a.version)
	change(pod)
	return a.Tracker().Update(resource, pod, "default")
}

// remove takes a pod away.
func (a *api) remove(name string) error {
	return a.Tracker().Delete(v1.SchemeGroupVersion.WithResource("pods"), "default", name)
}

// place is a bind that the API server does.
func (a *api) place(pod, node string) error {
	return a.change(pod, func(p *v1.Pod) { p.Spec.NodeName = node })
}

// CoreV1 is the clientset's but for pods.
func (a *api) CoreV1() corev1.CoreV1Interface { return coreV1{a.Clientset.CoreV1(), a} }

// PolicyV1 is the clientset's but for evictions.
func (a *api) PolicyV1() policyclient.PolicyV1Interface { return policyV1{a.Clientset.PolicyV1(), a} }

// ResourceV1 is the clientset's but for claims.
func (a *api) ResourceV1() resourceclient.ResourceV1Interface {
	return resourceV1{a.Clientset.ResourceV1(), a}
}

type coreV1 struct {
	corev1.CoreV1Interface
	api *api
}

func (c coreV1) Pods(namespace string) corev1.PodInterface {
	return podsOf{c.CoreV1Interface.Pods(namespace), c.api}
}

type podsOf struct {
	corev1.PodInterface
	api *api
}

func (p podsOf) Bind(ctx context.Context, b *v1.Binding, _ metav1.CreateOptions) error {
	try := p.api.note(request{bind: b.Name}, binds)
	if p.api.bind != nil {
		if err := p.api.bind(ctx, b.Name, try); err != nil {
			return err
		}
	}
	return p.api.place(b.Name, b.Target.Name)
}

func (p podsOf) Get(ctx context.Context, name string, o metav1.GetOptions) (*v1.Pod, error) {
	p.api.note(request{read: name}, reads)
	if p.api.read != nil {
		if err := p.api.read(name); err != nil {
			return nil, err
		}
	}
	return p.PodInterface.Get(ctx, name, o)
}

// Patch does not lose what becomes of the pod meanwhile, and refuses what is about an older version of it.
//
//nolint:revive // the API has so many arguments
func (p podsOf) Patch(ctx context.Context, name string, as types.PatchType, patch []byte, o metav1.PatchOptions, sub ...string) (*v1.Pod, error) {
	p.api.mu.Lock()
	defer p.api.mu.Unlock()
	var about v1.Pod
	if err := json.Unmarshal(patch, &about); err != nil {
		return nil, err
	}
	is, err := p.PodInterface.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if about.ResourceVersion != "" && about.ResourceVersion != is.ResourceVersion {
		return nil, apierrors.NewConflict(v1.Resource("pods"), name, fmt.Errorf("version %s is not %s", about.ResourceVersion, is.ResourceVersion))
	}
	written, err := p.PodInterface.Patch(ctx, name, as, patch, o, sub...)
	if err != nil {
		return nil, err
	}
	return written, p.api.changeLocked(name, func(*v1.Pod) {})
}

type policyV1 struct {
	policyclient.PolicyV1Interface
	api *api
}

func (c policyV1) Evictions(namespace string) policyclient.EvictionInterface {
	return evictionsIn{c.PolicyV1Interface.Evictions(namespace), c.api}
}

type evictionsIn struct {
	policyclient.EvictionInterface
	api *api
}

func (e evictionsIn) Evict(ctx context.Context, wanted *policyv1.Eviction) error {
	try := e.api.note(request{evict: wanted.Name}, evictionsOf)
	if e.api.evict != nil {
		if err := e.api.evict(ctx, wanted.Name, try); err != nil {
			return err
		}
	}
	if e.api.linger {
		return e.api.change(wanted.Name, func(p *v1.Pod) { p.DeletionTimestamp = new(metav1.Now()) })
	}
	return e.api.remove(wanted.Name)
}

type resourceV1 struct {
	resourceclient.ResourceV1Interface
	api *api
}

func (c resourceV1) ResourceClaims(namespace string) resourceclient.ResourceClaimInterface {
	return claimsIn{c.ResourceV1Interface.ResourceClaims(namespace), c.api}
}

type claimsIn struct {
	resourceclient.ResourceClaimInterface
	api *api
}

func (c claimsIn) UpdateStatus(ctx context.Context, claim *resourcev1.ResourceClaim, o metav1.UpdateOptions) (*resourcev1.ResourceClaim, error) {
	if c.api.prepare != nil {
		if err := c.api.prepare(ctx, claim.Name); err != nil {
			return nil, err
		}
	}
	written := claim.DeepCopy()
	c.api.mu.Lock()
	c.api.version++
	written.ResourceVersion = fmt.Sprint(c.api.version) // upstream's cache reads it as a number
	c.api.mu.Unlock()
	return c.ResourceClaimInterface.UpdateStatus(ctx, written, o)
}

// devices are a node's, of a class, with a claim for one each, gpu-0 and so on.
func devices(node string, count int) []runtime.Object {
	class := "gpu.example.com"
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node + "-gpus"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: class, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1},
	}}
	objects := []runtime.Object{slice, &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: class}}}
	for i := range count {
		name := fmt.Sprintf("gpu-%d", i)
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: name})
		objects = append(objects, &resourcev1.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-of-" + name), ResourceVersion: "1"},
			Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
				{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}},
			}}},
		})
	}
	return objects
}

// claiming is a pod with the claim gpu-i.
func claiming(i int) *v1.Pod {
	p, claim := plainPod(i), fmt.Sprintf("gpu-%d", i)
	p.Name = claim
	p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &claim}}
	p.Spec.Containers[0].Resources.Claims = []v1.ResourceClaim{{Name: "gpu"}}
	return p
}
