package perf

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"

	"fairlead.dev/fairlead/kube/testbed"
)

// This file carries out the operations of a workload, one after the other, on a fresh bed that a scheduler serves. No kubelet runs: bound pods stay
// pending, as in upstream's benchmark, and go when they are deleted because their grace period is none.

// Measured is one measurement of a workload.
type Measured struct {
	Name string // of what was measured
	testbed.Result
}

// Options of a run.
type Options struct {
	// Patience is how long nothing may happen for which an operation waits.
	Patience time.Duration
}

// BedOptions are those of the bed that a workload needs.
func (w *Workload) BedOptions() testbed.Options {
	o := testbed.Options{
		Tmpfs: true, FeatureGates: w.FeatureGates(),
		// Pods say their priority themselves.
		APIServerFlags: []string{"--disable-admission-plugins=Priority"},
	}
	if w.Gates["DynamicResourceAllocation"] {
		const group = "resource.k8s.io/"
		o.APIServerFlags = append(o.APIServerFlags, "--runtime-config="+group+"v1=true,"+group+"v1beta2=true,"+group+"v1beta1=true,"+group+"v1alpha3=true")
	}
	if w.Gates["GenericWorkload"] {
		o.APIServerFlags = append(o.APIServerFlags, "--runtime-config=scheduling.k8s.io/v1beta1=true")
	}
	return o
}

// Prepare starts what a workload needs beside the API server and the scheduler, before the latter.
func (w *Workload) Prepare(ctx context.Context, bed *testbed.Bed) error {
	if !w.Gates["DynamicResourceAllocation"] {
		return nil
	}
	// They make claims of templates, and remove them after their pods.
	return testbed.StartControllers(ctx, bed, "resourceclaim-controller", "garbage-collector-controller")
}

// runner is a run of a workload.
type runner struct {
	bed     *testbed.Bed
	client  kubernetes.Interface
	any     dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
	options Options

	pods     *pods
	awaited  map[string]int // by namespace that was used, the pods that a barrier waits for
	measured []Measured
	running  *measurement // if one is under way

	behind sync.WaitGroup // what goes on beside the operations
	fail   context.CancelCauseFunc
}

// measurement is one that is under way.
type measurement struct {
	name  string
	of    group
	since time.Time
	cpu   map[string]time.Duration
}

// Run carries out a workload and returns what was measured.
func Run(ctx context.Context, bed *testbed.Bed, w *Workload, o Options) ([]Measured, error) {
	r := &runner{bed: bed, options: o, pods: newPods(), awaited: map[string]int{}}
	if err := r.connect(); err != nil {
		return nil, err
	}
	ctx, r.fail = context.WithCancelCause(ctx)
	defer func() {
		r.fail(nil)
		r.behind.Wait()
	}()
	go func() {
		if err := bed.Wait(ctx); err != nil {
			r.fail(err) // Nobody would bind the rest.
		}
	}()
	if err := testbed.FollowPods(ctx, r.client.CoreV1().Pods(metav1.NamespaceAll), "", r.pods.see); err != nil {
		return nil, err
	}
	bed.Watch(testbed.LoadName, os.Getpid())
	for i, op := range w.Ops {
		err := r.do(ctx, i, op)
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		if err != nil {
			return r.measured, fmt.Errorf("operation %d (%s): %w", i, describe(op), err)
		}
	}
	return r.measured, nil
}

func (r *runner) connect() (err error) {
	if r.client, err = r.bed.Client(testbed.Admin); err != nil {
		return err
	}
	config := r.bed.Config(testbed.Admin)
	config.ContentType, config.AcceptContentTypes = "", "" // objects of any kind are JSON
	if r.any, err = dynamic.NewForConfig(config); err != nil {
		return fmt.Errorf("make a client of any kind of objects: %w", err)
	}
	r.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(r.client.Discovery()))
	return nil
}

// describe is an operation in few words.
func describe(op Op) string { return fmt.Sprintf("%T", op)[len("*perf."):] }

// do carries out the i-th operation.
func (r *runner) do(ctx context.Context, i int, op Op) error {
	switch op := op.(type) {
	case *CreateNodes:
		return r.createNodes(ctx, fmt.Sprintf("node-%d-", i), op)
	case *CreateNamespaces:
		return r.createNamespaces(ctx, op)
	case *CreatePods:
		return r.createPods(ctx, fmt.Sprintf("namespace-%d", i), op)
	case *DeletePods:
		return r.deletePods(ctx, op)
	case *CreateAny:
		return r.createAny(ctx, &op.Objects)
	case *CreateResourceClaims:
		return r.createAny(ctx, &op.Objects)
	case *CreatePodGroups:
		return r.createPodGroups(ctx, op)
	case *UpdateAny:
		return r.updateAny(ctx, op)
	case *Churn:
		return r.churn(ctx, fmt.Sprintf("namespace-%d", i), op)
	case *Barrier:
		return r.barrier(ctx, op)
	case *Sleep:
		return sleep(ctx, op.Duration.Duration)
	case *StartCollectingMetrics:
		return r.start(op.Name, group{op.Namespaces, op.LabelSelector})
	case *StopCollectingMetrics:
		return r.stop()
	case *AllocResourceClaims:
		return nil // Skipped looks that there are none
	case *StartCollectingProfile, *StopCollectingProfile:
		return errors.New(string(InProcess))
	}
	return fmt.Errorf("what to do with a %T?", op)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// every calls do with 0 to count-1, so many a second, or at once.
func every(ctx context.Context, perSecond, count int, do func(i int) error) error {
	began := time.Now()
	for i := range count {
		if perSecond > 0 {
			due := began.Add(time.Second / time.Duration(perSecond) * time.Duration(i+1))
			if err := sleep(ctx, time.Until(due)); err != nil {
				return err
			}
		}
		if err := do(i); err != nil {
			return err
		}
	}
	return nil
}

// beside lets something go on while the operations that follow are carried out. Its error ends the run.
func (r *runner) beside(ctx context.Context, do func() error) {
	r.behind.Go(func() {
		if err := do(); err != nil && ctx.Err() == nil {
			r.fail(err)
		}
	})
}

// use makes sure that there is a namespace, of which barriers know.
func (r *runner) use(ctx context.Context, namespace string) error {
	if _, used := r.awaited[namespace]; used {
		return nil
	}
	r.awaited[namespace] = 0
	return r.ensure(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
}

func (r *runner) ensure(ctx context.Context, namespace *corev1.Namespace) error {
	_, err := r.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create namespace %s: %w", namespace.Name, err)
	}
	return nil
}

// start begins a measurement.
func (r *runner) start(name string, of group) error {
	if r.running != nil {
		return fmt.Errorf("it is already measured: %s", r.running.name)
	}
	r.running = &measurement{name: name, of: of, since: time.Now(), cpu: r.bed.CPU()}
	return nil
}

// stop ends it. What was bound until now counts.
func (r *runner) stop() error {
	m := r.running
	if m == nil {
		return errors.New("nothing is measured")
	}
	r.running = nil
	used := map[string]time.Duration{}
	for name, cpu := range r.bed.CPU() {
		used[name] = cpu - m.cpu[name]
	}
	latencies, elapsed := r.pods.latencies(m.of, m.since)
	if len(latencies) == 0 {
		return errors.New("no pod was bound of those that were to be measured")
	}
	r.measured = append(r.measured, Measured{m.name, testbed.Summarize(elapsed, latencies, used)})
	return nil
}

// barrier waits for the pods of each namespace in turn.
func (r *runner) barrier(ctx context.Context, op *Barrier) error {
	namespaces := op.Namespaces
	if len(namespaces) == 0 {
		namespaces = slices.Sorted(maps.Keys(r.awaited))
	}
	attempted := op.StageRequirement == "Attempted"
	for _, namespace := range namespaces {
		want, used := r.awaited[namespace]
		if !used {
			return fmt.Errorf("no pods were created in a namespace %s", namespace)
		}
		if err := r.await(ctx, group{[]string{namespace}, op.LabelSelector}, want, attempted); err != nil {
			return err
		}
	}
	if !attempted {
		for _, namespace := range namespaces {
			delete(r.awaited, namespace)
		}
	}
	return nil
}

// await waits until so many pods of the group are bound or, if that is enough, were at least tried. It gives up when nothing has happened for long.
func (r *runner) await(ctx context.Context, of group, want int, attempted bool) error {
	verb := "bound"
	if attempted {
		verb = "attempted"
	}
	best, since := -1, time.Now()
	for {
		t := r.pods.count(of)
		have := t.bound
		if attempted {
			have += t.attempted
		}
		switch {
		case have >= want:
			return nil
		case have > best:
			best, since = have, time.Now()
		case time.Since(since) > r.options.Patience:
			return fmt.Errorf("%d of %d pods in %v were %s, and no more for %s; waiting: %s", have, want, of.namespaces, verb, r.options.Patience, t.waiting)
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// mapping says by which address objects of a kind are reached.
func (r *runner) mapping(object *unstructured.Unstructured) (dynamic.NamespaceableResourceInterface, bool, error) {
	kind := object.GroupVersionKind()
	m, err := r.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		r.mapper.Reset()
		return nil, false, fmt.Errorf("the API server has no %s: %w", kind, err)
	}
	return r.any.Resource(m.Resource), m.Scope.Name() == meta.RESTScopeNameNamespace, nil
}
