package calibration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"fairlead.dev/fairlead/kube/testbed"
)

// This file is a run on a bed. A pod works from when the watch shows it on its node until this program, in place of a kubelet, says that it has succeeded.

const (
	podLabel = "calibration"
	yes      = "true"
	// probes are so many pods of the smallest size that come one after the other before anything else, each with the cluster to itself: what they take is the overhead of the control plane.
	probes = 100
	// writers is how many pods are created or ended at once.
	writers = 64
	// patience is how long nothing may happen before those that still wait are given up.
	patience = 2 * time.Minute
	// flatOut is a limit of requests a second that nothing reaches.
	flatOut = 10_000
)

// Ran is what became of a pod. Times are from the start of the run.
type Ran struct {
	Created time.Duration // its request was sent
	Bound   time.Duration // the watch showed its node
	Ended   time.Duration // it was said to have succeeded
	size    size
}

// Latency is how long the pod waited for its node.
func (r *Ran) Latency() time.Duration { return r.Bound - r.Created }

// Outcome is what happened on the bed.
type Outcome struct {
	// Overheads are how long pods took to be bound for which there was room, and nobody else waited; rising.
	Overheads []time.Duration
	Pods      []Ran
	Took      time.Duration
}

// play creates pods, ends those whose work is done, and notes what becomes of them.
type play struct {
	pods  typedcorev1.PodInterface
	began time.Time
	name  string // prefix of theirs

	mu      sync.Mutex
	come    []pod
	ran     []Ran
	number  map[string]int // by name
	last    time.Time      // something happened
	open    int            // pods that have not ended
	done    chan struct{}  // closed when all have
	trouble error          // of a request to end a pod
}

// Run runs the workload on a bed of its own.
func Run(ctx context.Context, o *Options) (out Outcome, err error) {
	bed, err := testbed.Start(ctx, testbed.Options{Tmpfs: true})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	if err := errors.Join(testbed.Define(ctx, bed), testbed.GrantRoles(ctx, bed)); err != nil {
		return out, err
	}
	client, err := bed.Client(testbed.Admin)
	if err != nil {
		return out, err
	}
	nodes := testbed.NodeOptions{Count: o.Nodes, CPU: fmt.Sprint(nodeCores), Memory: fmt.Sprintf("%dGi", nodeGiB)}
	if err := testbed.AddNodes(ctx, client, nodes); err != nil {
		return out, err
	}
	if err := bed.StartFairlead(ctx, o.Scheduler, testbed.ProfileOf("{name: "+o.Policy+"}"), flatOut); err != nil {
		return out, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		if err := bed.Wait(ctx); err != nil {
			cancel(err)
		}
	}()
	pods := client.CoreV1().Pods(metav1.NamespaceDefault)
	alone, err := serve(ctx, pods, "probe", oneByOne())
	if err != nil {
		return out, err
	}
	for i := range alone {
		out.Overheads = append(out.Overheads, alone[i].Latency())
	}
	slices.Sort(out.Overheads)
	began := time.Now()
	if out.Pods, err = serve(ctx, pods, "pod", draw(o)); err != nil {
		return out, err
	}
	out.Took = time.Since(began)
	return out, nil
}

// oneByOne are pods each of which has ended when the next one comes.
func oneByOne() []pod {
	pods := make([]pod, probes)
	for i := range pods {
		pods[i] = pod{time.Duration(i) * 200 * time.Millisecond, sizes()[0], 50 * time.Millisecond}
	}
	return pods
}

// serve has the pods come, and returns what became of them once all have ended.
func serve(ctx context.Context, pods typedcorev1.PodInterface, name string, come []pod) ([]Ran, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &play{pods: pods, began: time.Now(), name: name, come: come, ran: make([]Ran, len(come)), number: map[string]int{}, last: time.Now(), open: len(come), done: make(chan struct{})}
	for i := range come {
		p.ran[i].size = come[i].size
		p.number[p.nameOf(i)] = i
	}
	if err := testbed.FollowPods(ctx, pods, podLabel+"="+yes, func(pod *corev1.Pod, _ bool) { p.see(ctx, pod) }); err != nil {
		return nil, err
	}
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range come {
		if !sleep(running, p.began.Add(come[i].at)) {
			break
		}
		group.Go(func() error { return p.create(running, i) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return p.ran, p.await(ctx)
}

func (p *play) nameOf(i int) string { return fmt.Sprintf("%s-%06d", p.name, i) }

// sleep waits until that time, and reports whether it came.
func sleep(ctx context.Context, until time.Time) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Until(until)):
		return true
	}
}

func (p *play) create(ctx context.Context, i int) error {
	asks := p.come[i].size
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: p.nameOf(i), Namespace: metav1.NamespaceDefault, Labels: map[string]string{podLabel: yes}},
		Spec: corev1.PodSpec{
			SchedulerName: testbed.FairleadProfile, AutomountServiceAccountToken: new(false), RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{
				Name: "pause", Image: "registry.k8s.io/pause",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU:    *resource.NewMilliQuantity(asks.halves*1000/halfCores, resource.DecimalSI),
					corev1.ResourceMemory: *resource.NewQuantity(asks.gib<<30, resource.BinarySI),
				}},
			}},
		},
	}
	p.mu.Lock()
	p.ran[i].Created = time.Since(p.began)
	p.mu.Unlock()
	if _, err := p.pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return fmt.Errorf("create pod %s: %w", pod.Name, err)
	}
	return nil
}

// see takes in a pod as it is: the first time on a node its work begins.
func (p *play) see(ctx context.Context, seen *corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, ours := p.number[seen.Name]
	if !ours || seen.Spec.NodeName == "" || p.ran[i].Bound != 0 {
		return
	}
	p.last = time.Now()
	p.ran[i].Bound = p.last.Sub(p.began)
	time.AfterFunc(p.come[i].work, func() { p.end(ctx, i) })
}

// end says that a pod has succeeded, as a kubelet would.
func (p *play) end(ctx context.Context, i int) {
	_, err := p.pods.Patch(ctx, p.nameOf(i), types.StrategicMergePatchType, []byte(`{"status":{"phase":"Succeeded"}}`), metav1.PatchOptions{}, "status")
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		p.trouble = errors.Join(p.trouble, fmt.Errorf("end pod %s: %w", p.nameOf(i), err))
	}
	p.last = time.Now()
	p.ran[i].Ended = p.last.Sub(p.began)
	if p.open--; p.open == 0 {
		close(p.done)
	}
}

// await waits until all pods have ended.
func (p *play) await(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.done:
			return p.trouble
		case <-time.After(time.Second):
		}
		p.mu.Lock()
		stalled, open := time.Since(p.last) > patience, p.open
		p.mu.Unlock()
		if stalled {
			return fmt.Errorf("%d of %d pods have not ended, and nothing has happened for %v", open, len(p.come), patience)
		}
	}
}
